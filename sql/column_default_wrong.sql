--
-- cosid.column_default = serial does not make wrong statements right
--
CREATE EXTENSION cosid;
SET cosid.column_default = serial;
CREATE TABLE cdw_t (id bigserial[] PRIMARY KEY);
CREATE TABLE cdw_t (id SETOF bigserial PRIMARY KEY);
CREATE TABLE cdw_t (id bigserial(3) PRIMARY KEY);
CREATE TABLE cdw_t (id bigserial GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE cdw_t (id bigint GENERATED ALWAYS AS IDENTITY GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE cdw_t (id bigint NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
SELECT to_regclass('cdw_t');
DROP TABLE IF EXISTS cdw_t;
DROP EXTENSION cosid;
