--
-- cosid.column_default where statements are run again from a plan, by other
-- code, or in a database without the extension
--
CREATE EXTENSION cosid;
CREATE VIEW column_default_seen AS
    SELECT attrelid::regclass::text AS "table", attname AS "column", attidentity AS identity, pg_get_expr(adbin, adrelid) AS "default"
      FROM pg_attribute LEFT JOIN pg_attrdef ON attrelid = adrelid AND attnum = adnum
     WHERE attrelid::regclass::text LIKE 'cdr%' AND attname = 'id' AND attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r') ORDER BY 1;

-- One plan, run with the setting in each state: a parse tree that was changed in
-- place would remember the last one.
CREATE FUNCTION cdr_ddl() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE cdr_a (id bigserial PRIMARY KEY, n int);
    CREATE TABLE cdr_b (id bigint GENERATED ALWAYS AS IDENTITY, n int, PRIMARY KEY (id));
    CREATE TABLE cdr_c (id bigint PRIMARY KEY);
    CREATE TABLE cdr_d (n int);
    ALTER TABLE cdr_d ADD id bigserial PRIMARY KEY;
    CREATE TABLE cdr_e (id bigint);
    ALTER TABLE cdr_e ADD PRIMARY KEY (id);
END
$$;
CREATE FUNCTION cdr_run(setting text) RETURNS TABLE ("table" text, identity "char", "default" text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('cosid.column_default', setting, true);
    PERFORM cdr_ddl();
    RETURN QUERY SELECT s."table", s.identity, s."default" FROM column_default_seen s;
    DROP TABLE cdr_a, cdr_b, cdr_c, cdr_d, cdr_e;
END
$$;
SELECT setting, cdr_run(setting) FROM unnest('{serial,off,primary_key,serial,off}'::text[]) setting;
SELECT count(*) FROM pg_class WHERE relname LIKE 'cdr%' AND relkind = 'S';

SET cosid.column_default = serial;
-- EXECUTE, DO, nested, and caught
DO $$
BEGIN
    FOR i IN 1..3 LOOP
        EXECUTE format('CREATE TABLE cdr_do%s (id bigserial PRIMARY KEY, n int)', i);
        EXECUTE format('INSERT INTO cdr_do%s (n) SELECT generate_series(1, 10)', i);
    END LOOP;
    BEGIN
        CREATE TABLE cdr_failed (id bigserial PRIMARY KEY);
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        CREATE TABLE cdr_caught (id bigserial PRIMARY KEY);
    END;
END
$$;
SELECT * FROM column_default_seen;
-- Each has a generator of its own, and IDs of two may be equal.
SELECT count(DISTINCT (generator, id)) AS count
  FROM (SELECT 1, id FROM cdr_do1 UNION ALL SELECT 2, id FROM cdr_do2 UNION ALL SELECT 3, id FROM cdr_do3) ids(generator, id);
SELECT string_agg(name, ' ' ORDER BY name) FROM cosid_generator WHERE name ~ 'do|failed|caught';
DROP TABLE cdr_do1, cdr_do2, cdr_do3, cdr_caught;
-- The same generator goes on when a table is made again, or renamed.
CREATE TABLE cdr_again (id bigserial PRIMARY KEY);
INSERT INTO cdr_again DEFAULT VALUES RETURNING id AS first \gset
DROP TABLE cdr_again;
CREATE TABLE cdr_again (id bigserial PRIMARY KEY);
ALTER TABLE cdr_again RENAME TO cdr_renamed;
INSERT INTO cdr_renamed DEFAULT VALUES RETURNING id > :first AS greater;
SELECT * FROM column_default_seen;
DROP TABLE cdr_renamed;

-- Event triggers see one statement each, and may make tables themselves.
CREATE TABLE cdr_log (n serial, event text, tag text, object text);
CREATE FUNCTION cdr_event() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF tg_event = 'sql_drop' THEN
        INSERT INTO cdr_log (event, tag, object) SELECT tg_event, tg_tag, object_identity FROM pg_event_trigger_dropped_objects() WHERE object_type <> 'type';
    ELSIF tg_tag = 'CREATE TABLE' AND to_regclass('cdr_audit') IS NULL THEN
        CREATE TABLE cdr_audit (id bigserial PRIMARY KEY);
    ELSE
        INSERT INTO cdr_log (event, tag, object) SELECT tg_event, tg_tag, object_identity FROM pg_event_trigger_ddl_commands();
    END IF;
END
$$;
CREATE EVENT TRIGGER cdr_end ON ddl_command_end EXECUTE FUNCTION cdr_event();
CREATE EVENT TRIGGER cdr_drop ON sql_drop EXECUTE FUNCTION cdr_event();
CREATE TABLE cdr_t (id bigserial PRIMARY KEY);
CREATE TABLE cdr_u (id bigserial);
ALTER TABLE cdr_u ADD PRIMARY KEY (id);
DROP TABLE cdr_t;
-- (PostgreSQL 18 has constraints for NOT NULL.)
SELECT event, tag, object FROM cdr_log WHERE object !~ '_not_null on ' ORDER BY n;
DROP EVENT TRIGGER cdr_end;
DROP EVENT TRIGGER cdr_drop;
SELECT * FROM column_default_seen;
DROP TABLE cdr_log, cdr_audit, cdr_u;
DROP FUNCTION cdr_event;

-- A cosid.auto_create that is off, and a role without the right
SET cosid.auto_create = off;
CREATE TABLE cdr_warned (id bigserial PRIMARY KEY);
\set VERBOSITY sqlstate
CREATE TABLE cdr_late (id bigint);
ALTER TABLE cdr_late ADD PRIMARY KEY (id);
\set VERBOSITY default
RESET cosid.auto_create;
CREATE ROLE regress_cosid_ddl;
GRANT CREATE ON SCHEMA public TO regress_cosid_ddl;
SET ROLE regress_cosid_ddl;
CREATE TABLE cdr_mine (id bigserial PRIMARY KEY);
RESET ROLE;
SELECT to_regclass('cdr_mine');
DROP TABLE cdr_warned, cdr_late;
DROP VIEW column_default_seen;
DROP FUNCTION cdr_ddl, cdr_run;

-- Without the extension: a NOTICE, and the table as it is written
DROP EXTENSION cosid;
CREATE TABLE cdr_without (id bigserial PRIMARY KEY);
CREATE TABLE cdr_without2 (id bigint);
ALTER TABLE cdr_without2 ADD PRIMARY KEY (id);
INSERT INTO cdr_without DEFAULT VALUES RETURNING id;
DROP TABLE cdr_without, cdr_without2;
REVOKE CREATE ON SCHEMA public FROM regress_cosid_ddl;
DROP ROLE regress_cosid_ddl;
