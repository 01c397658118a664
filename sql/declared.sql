--
-- A default that calls cosid_next with a constant name defines the generator
-- when it is declared
--
CREATE EXTENSION cosid;
-- The generators that are defined; then they are forgotten.
CREATE FUNCTION declared_defined() RETURNS SETOF text LANGUAGE sql AS
    $$ WITH gone AS (DELETE FROM cosid_generator WHERE implicit RETURNING name) SELECT name FROM gone ORDER BY name $$;

-- CREATE TABLE: of every kind, with all its defaults; nothing is minted.
CREATE TABLE declared_a (id bigint PRIMARY KEY DEFAULT cosid_next('declared_a'), b bigint DEFAULT cosid_next('declared_b'), n int);
CREATE TEMP TABLE declared_temp (id bigint DEFAULT cosid_next('declared_temp'));
CREATE UNLOGGED TABLE declared_unlogged (id bigint DEFAULT cosid_next('declared_unlogged'));
CREATE TABLE IF NOT EXISTS declared_a (id bigint DEFAULT cosid_next('declared_not'));
SELECT count(*) FROM cosid_stat WHERE name IN ('declared_a', 'declared_temp');
SELECT * FROM declared_defined();
DROP TABLE declared_temp, declared_unlogged;

-- SET DEFAULT; ADD COLUMN, where the rows that are there get an ID each
ALTER TABLE declared_a ALTER n TYPE bigint, ALTER n SET DEFAULT cosid_next('declared_set');
INSERT INTO declared_a (id, b, n) SELECT n, n, n FROM generate_series(1, 100) n;
SELECT * FROM declared_defined();
ALTER TABLE declared_a ADD c bigint NOT NULL DEFAULT cosid_next('declared_c'), ADD d bigint NOT NULL DEFAULT cosid_next('declared_c');
SELECT count(DISTINCT new_id) FROM declared_a, unnest(ARRAY[c, d]) new_id;
ALTER TABLE declared_a ADD COLUMN IF NOT EXISTS c bigint DEFAULT cosid_next('declared_not');
ALTER TABLE declared_a ALTER d DROP DEFAULT;
ALTER TABLE declared_a ALTER b TYPE numeric;
SELECT * FROM declared_defined();

-- A default that is copied, or made anew by another change
CREATE TABLE declared_like (LIKE declared_a INCLUDING DEFAULTS);
SELECT * FROM declared_defined();
CREATE TABLE declared_bare (LIKE declared_a);
CREATE TABLE declared_inherits () INHERITS (declared_a);
SELECT * FROM declared_defined();
ALTER TABLE declared_like ALTER n TYPE numeric;
SELECT * FROM declared_defined();
DROP TABLE declared_inherits, declared_like, declared_bare, declared_a;

-- Partitions, with defaults of their own
CREATE TABLE declared_p (id bigint DEFAULT cosid_next('declared_p'), n int) PARTITION BY LIST (n);
CREATE TABLE declared_p1 PARTITION OF declared_p FOR VALUES IN (1);
SELECT * FROM declared_defined();
CREATE TABLE declared_p2 PARTITION OF declared_p (id DEFAULT cosid_next('declared_p2')) FOR VALUES IN (2);
ALTER TABLE declared_p ADD other bigint DEFAULT cosid_next('declared_other');
SELECT * FROM declared_defined();
DROP TABLE declared_p;

-- Foreign tables; views; the tables of CREATE SCHEMA
CREATE FOREIGN DATA WRAPPER declared_fdw;
CREATE SERVER declared_server FOREIGN DATA WRAPPER declared_fdw;
CREATE FOREIGN TABLE declared_f (id bigint DEFAULT cosid_next('declared_f'), n bigint) SERVER declared_server;
ALTER FOREIGN TABLE declared_f ALTER n SET DEFAULT cosid_next('declared_f_n');
CREATE VIEW declared_v AS SELECT 1::bigint AS id;
ALTER VIEW declared_v ALTER id SET DEFAULT cosid_next('declared_v');
CREATE SCHEMA declared_s
    CREATE TABLE t (id bigint DEFAULT cosid_next('declared_s_t'))
    CREATE VIEW v AS SELECT id FROM t
    CREATE TABLE u (id bigint DEFAULT cosid_next('declared_s_u'));
SELECT * FROM declared_defined();
DROP FOREIGN DATA WRAPPER declared_fdw CASCADE;
DROP SCHEMA declared_s CASCADE;
DROP VIEW declared_v;

-- Domains: their defaults are checked when these are declared, not the tables.
CREATE DOMAIN declared_id AS bigint DEFAULT cosid_next('declared_id');
SELECT * FROM declared_defined();
CREATE TABLE declared_t (id declared_id);
SELECT * FROM declared_defined();
ALTER DOMAIN declared_id SET DEFAULT cosid_next('declared_id_2');
ALTER DOMAIN declared_id DROP DEFAULT;
ALTER DOMAIN declared_id ADD CHECK (VALUE > 0);
SELECT * FROM declared_defined();
DROP DOMAIN declared_id CASCADE;

-- Calls in all forms
CREATE FUNCTION declared_text() RETURNS text LANGUAGE sql IMMUTABLE RETURN 'declared_function';
ALTER TABLE declared_t
    ADD a bigint DEFAULT cosid_next(name => 'declared_named'),
    ADD b numeric DEFAULT abs(1 - (coalesce(NULL, cosid_next('declared_nested')) % 10)),
    ADD c text DEFAULT 'T-' || upper(cosid_next_string('declared_string')),
    ADD d bigint DEFAULT CASE WHEN random() < 2 THEN cosid_next('declared_case'::varchar) ELSE cosid_next($$declared_else$$) END,
    ADD e bigint[] DEFAULT ARRAY[cosid_next('declared_element')],
    ADD f bigint DEFAULT greatest(cosid_next('declared Größe'), cosid_next('declared_a b"''\')),
    ADD g bigint DEFAULT public.cosid_next('declared_' || 'operator'),
    ADD h bigint DEFAULT cosid_next(current_user),
    ADD i bigint DEFAULT cosid_next(declared_text()),
    ADD j bigint DEFAULT cosid_next(NULL),
    ADD k bigint DEFAULT cosid_next(),
    ADD l bigint DEFAULT cosid_next('__share__');
-- A name that is not a constant is not looked at.
SELECT * FROM declared_defined();
DROP TABLE declared_t;
DROP FUNCTION declared_text;

-- What is a definition already stays as it is.
SELECT cosid_create('declared_explicit', timestamp_unit => 'second');
CREATE TABLE declared_t (id bigint DEFAULT cosid_next('declared_explicit'));
SELECT name, timestamp_unit, implicit FROM cosid_generator;

DROP TABLE declared_t;
DROP FUNCTION declared_defined;
DROP EXTENSION cosid;
