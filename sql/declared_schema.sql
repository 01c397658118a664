--
-- Which function a default calls is what counts, not what it is called
--
CREATE SCHEMA "declared schema";
CREATE EXTENSION cosid SCHEMA "declared schema";
SET search_path = public, "declared schema";
CREATE TABLE declared_a (id bigint DEFAULT cosid_next('declared_path'), other bigint DEFAULT "declared schema".cosid_next('declared_qualified'));
RESET search_path;
SELECT name FROM "declared schema".cosid_generator ORDER BY name;

-- Someone's own cosid_next in front of the extension's: nothing is defined.
CREATE FUNCTION cosid_next(text) RETURNS bigint LANGUAGE sql RETURN 7;
CREATE FUNCTION "declared schema".cosid_next(text, text) RETURNS bigint LANGUAGE sql RETURN 8;
CREATE FUNCTION cosid_fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.id := 9; RETURN new; END';
SET search_path = public, "declared schema";
CREATE TABLE declared_b (id bigint DEFAULT cosid_next('declared_public'), other bigint DEFAULT cosid_next('declared_two', ''));
CREATE TRIGGER declared_b BEFORE INSERT ON declared_b FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION cosid_fill('id', 'declared_fill');
INSERT INTO declared_b VALUES (DEFAULT, DEFAULT), (NULL, DEFAULT) RETURNING *;
SELECT name FROM cosid_generator ORDER BY name;
-- With the extension's own it is.
CREATE TRIGGER declared_c BEFORE INSERT ON declared_b FOR EACH ROW EXECUTE FUNCTION "declared schema".cosid_fill('id', 'declared_fill');
SELECT name FROM cosid_generator ORDER BY name;
DROP TRIGGER declared_c ON declared_b;

-- Operators, casts and tables in front of pg_catalog's do not matter to what
-- the extension does.
CREATE FUNCTION declared_false(text, text) RETURNS boolean LANGUAGE sql RETURN false;
CREATE OPERATOR public.= (FUNCTION = declared_false, LEFTARG = text, RIGHTARG = text);
CREATE TABLE pg_class (oid oid);
CREATE TABLE cosid_generator (LIKE "declared schema".cosid_generator);
CREATE DOMAIN text AS varchar(1);
CREATE DOMAIN int8 AS varchar(1);
SET search_path = public, pg_catalog, "declared schema";
CREATE TABLE declared_c (id pg_catalog.int8 DEFAULT "declared schema".cosid_next('declared_hostile'));
SET cosid.column_default = serial;
CREATE TABLE declared_d (id bigserial PRIMARY KEY);
CREATE TABLE declared_e (id bigint);
ALTER TABLE declared_e ADD PRIMARY KEY (id);
RESET cosid.column_default;
CREATE TABLE declared_f (id pg_catalog.int8 GENERATED ALWAYS AS IDENTITY);
INSERT INTO declared_f DEFAULT VALUES;
SELECT "declared schema".cosid_attach('declared_f', 'id', 'declared_f');
SELECT "declared schema".cosid_detach('declared_f', 'id');
SELECT "declared schema".cosid_drop('declared_f');
SET search_path = pg_catalog;
SELECT name FROM "declared schema".cosid_generator ORDER BY name COLLATE "C";
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid::regclass::text LIKE 'public.declared%' ORDER BY 1, adnum;
DROP TYPE public.text, public.int8;
DROP OPERATOR public.= (text, text);
DROP TABLE public.pg_class, public.cosid_generator;
RESET search_path;

DROP TABLE declared_a, declared_b, declared_c, declared_d, declared_e, declared_f;
DROP FUNCTION cosid_next, cosid_fill, declared_false, "declared schema".cosid_next(text, text);
DROP EXTENSION cosid;
DROP SCHEMA "declared schema";
