--
-- cosid.column_default beside what a table, or one that inherits from it, has
-- already
--
CREATE EXTENSION cosid;
CREATE VIEW column_default_seen AS
    SELECT adrelid::regclass::text AS "table", attname AS "column", pg_get_expr(adbin, adrelid) AS "default"
      FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
     WHERE adrelid::regclass::text ~ '^cdo_[^.]*$' ORDER BY 1, 2;
SET cosid.column_default = primary_key;

-- A key is not inherited: what inherits from the table keeps its own defaults.
CREATE TABLE cdo_parent (id bigint);
CREATE TABLE cdo_serial (id bigserial) INHERITS (cdo_parent);
CREATE TABLE cdo_own (id bigint DEFAULT 7) INHERITS (cdo_parent);
ALTER TABLE cdo_parent ADD PRIMARY KEY (id);
SELECT * FROM column_default_seen;
SET cosid.column_default = serial;
ALTER TABLE cdo_serial ADD PRIMARY KEY (id);
SELECT * FROM column_default_seen;
-- Nor does the default that goes when a key turns out to be a reference take
-- theirs along.
CREATE TABLE cdo_referred (id bigint PRIMARY KEY);
ALTER TABLE cdo_parent ADD FOREIGN KEY (id) REFERENCES cdo_referred;
SELECT * FROM column_default_seen;
DROP TABLE cdo_parent CASCADE;
DROP TABLE cdo_referred;

-- ADD COLUMN IF NOT EXISTS of a column that is there
CREATE TABLE cdo_there (id bigint NOT NULL);
ALTER TABLE cdo_there ADD COLUMN IF NOT EXISTS id bigint, ADD PRIMARY KEY (id);
CREATE TABLE cdo_not_there (n int);
ALTER TABLE cdo_not_there ADD COLUMN IF NOT EXISTS id bigint, ADD PRIMARY KEY (id);

-- Of several columns one that has a sequence is it, whatever the others have.
CREATE TABLE cdo_tenant (tenant bigint DEFAULT 5, id bigserial, PRIMARY KEY (tenant, id));
CREATE TABLE cdo_late (tenant bigint DEFAULT 5, id bigserial);
ALTER TABLE cdo_late ADD PRIMARY KEY (tenant, id);
CREATE TABLE cdo_other (tenant bigint DEFAULT 5, id bigint, PRIMARY KEY (tenant, id));
SELECT * FROM column_default_seen;
DROP TABLE cdo_there, cdo_not_there, cdo_tenant, cdo_late, cdo_other;

-- Who may not look into the extension's schema is told why that matters.
CREATE SCHEMA cdo_schema;
DROP EXTENSION cosid;
CREATE EXTENSION cosid SCHEMA cdo_schema;
CREATE ROLE regress_cosid_keys;
GRANT CREATE ON SCHEMA public TO regress_cosid_keys;
GRANT EXECUTE ON FUNCTION cdo_schema.cosid_create TO regress_cosid_keys;
SET ROLE regress_cosid_keys;
CREATE TABLE cdo_keys (id bigint PRIMARY KEY);
RESET ROLE;
GRANT USAGE ON SCHEMA cdo_schema TO regress_cosid_keys;
SET ROLE regress_cosid_keys;
CREATE TABLE cdo_keys (id bigint PRIMARY KEY);
RESET ROLE;
SELECT * FROM column_default_seen;

DROP TABLE cdo_keys;
DROP VIEW column_default_seen;
DROP EXTENSION cosid;
DROP SCHEMA cdo_schema;
REVOKE CREATE ON SCHEMA public FROM regress_cosid_keys;
DROP ROLE regress_cosid_keys;
