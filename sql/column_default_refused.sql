--
-- cosid.column_default where the default can't be given: the key is made all the
-- same, as the statement says, so that what is set for a role or a database does
-- not keep a dump from being restored
--
CREATE EXTENSION cosid;
SET client_min_messages = error;
SET cosid.column_default = primary_key;
-- Values that the generator may give out one day
CREATE TABLE cdx_values (id bigint);
INSERT INTO cdx_values VALUES (9000000000000000000);
ALTER TABLE cdx_values ADD PRIMARY KEY (id);
-- A generator that is not defined: CREATE TABLE only warns.
SET cosid.auto_create = off;
CREATE TABLE cdx_created (id bigint PRIMARY KEY);
CREATE TABLE cdx_late (id bigint);
ALTER TABLE cdx_late ADD PRIMARY KEY (id);
SELECT conrelid::regclass FROM pg_constraint WHERE contype = 'p' AND conrelid::regclass::text LIKE 'cdx%' ORDER BY 1;
DROP TABLE cdx_values, cdx_created, cdx_late;
DROP EXTENSION cosid;
