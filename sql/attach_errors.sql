--
-- What cosid_attach and cosid_detach refuse; then all is as it was.
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_attacher;
GRANT CREATE ON SCHEMA public TO regress_cosid_attacher;
CREATE TABLE att_t (id bigserial PRIMARY KEY, id4 int, id2 smallint, n numeric, t text, g bigint GENERATED ALWAYS AS (7) STORED, a bigint[]);

-- Types: an integer can be widened.
SELECT cosid_attach('att_t', 'id4', 'att_t');
SELECT cosid_attach('att_t', 'id2', 'att_t');
SELECT cosid_attach('att_t', 'n', 'att_t');
SELECT cosid_attach('att_t', 't', 'att_t');
SELECT cosid_attach('att_t', 'a', 'att_t');
\set VERBOSITY terse
SELECT cosid_attach('att_t', 'g', 'att_t');
\set VERBOSITY default
ALTER TABLE att_t ALTER COLUMN id4 TYPE bigint;
SELECT cosid_attach('att_t', 'id4', 'att_t');
-- Columns and tables
SELECT cosid_attach('att_t', 'none', 'att_t');
SELECT cosid_attach('att_t', 'ctid', 'att_t');
SELECT cosid_attach('att_none', 'id', 'att_t');
SELECT cosid_attach(1, 'id', 'att_t');
CREATE VIEW att_v AS SELECT 1::bigint AS id;
CREATE MATERIALIZED VIEW att_m AS SELECT 1::bigint AS id;
CREATE TYPE att_c AS (id bigint);
SELECT cosid_attach('att_v', 'id', 'att_t');
SELECT cosid_attach('att_m', 'id', 'att_t');
SELECT cosid_attach('att_c', 'id', 'att_t');
SELECT cosid_attach('att_t_id_seq', 'last_value', 'att_t');
SELECT cosid_attach('att_t_pkey', 'id', 'att_t');
SELECT cosid_detach('att_v', 'id');
SELECT cosid_detach('att_t', 'id');
SELECT cosid_detach('att_t', 'none');
-- Generators
\set VERBOSITY sqlstate
SELECT cosid_attach('att_t', 'id', '');
SELECT cosid_attach('att_t', 'id', repeat('x', 64));
SET cosid.auto_create = off;
SELECT cosid_attach('att_t', 'id', 'att_none');
RESET cosid.auto_create;
\set VERBOSITY default
-- Of others
SET ROLE regress_cosid_attacher;
SELECT cosid_attach('att_t', 'id', 'att_t');
SELECT cosid_detach('att_t', 'id4');
CREATE TABLE att_mine (id bigserial);
SELECT cosid_attach('att_mine', 'id', 'att_mine');
SELECT cosid_attach('att_mine', 'id', 'att_t');
SELECT cosid_detach('att_mine', 'id');
DROP TABLE att_mine;
SELECT cosid_attach('pg_class', 'oid', 'att_t');
RESET ROLE;
-- In use by this session
INSERT INTO att_t DEFAULT VALUES;
SELECT cosid_attach('att_t', 'id', 'att_t') FROM att_t;
BEGIN READ ONLY;
\set VERBOSITY sqlstate
SELECT cosid_attach('att_t', 'id', 'att_read_only');
ROLLBACK;
\set VERBOSITY default
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'att_t'::regclass ORDER BY adnum;
SELECT name FROM cosid_generator ORDER BY 1;

-- Values that would collide: those that an ID of the future can have.  What says
-- when they would is cut to what does not change.
CREATE FUNCTION att_try(value bigint, generator text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text; message text; detail text; hint text;
BEGIN
    CREATE TABLE att_values AS SELECT unnest(ARRAY[1, value]) AS id;
    PERFORM cosid_attach('att_values', 'id', generator);
    DROP TABLE att_values;
    RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', state || ' ' || message, regexp_replace(detail, 'go up to [0-9]+\.$', 'go up to ...'), hint);
END
$$;
SET timezone = 'UTC';
SELECT att_try(cosid_first_id('2050-01-01'), 'att_ms');
SELECT cosid_create('att_ms');
SELECT cosid_create('att_s', timestamp_unit => 'second'), cosid_create('att_js', safe_javascript => true),
       cosid_create('att_small', timestamp_bit => 32, machine_bit => 4, sequence_bit => 4, epoch => 1700000000, timestamp_unit => 'second'),
       cosid_create('att_future', epoch => 4102444800000), cosid_create('att_past', timestamp_bit => 20, machine_bit => 10, sequence_bit => 12);
SELECT att_try(cosid_first_id('2050-01-01', 'att_s'), 'att_s');
SELECT att_try(cosid_first_id('2050-01-01', 'att_js'), 'att_js');
-- The generator's bounds: of this tick and before it is past, beyond the last
-- is out of reach.
SELECT g, when_, att_try(CASE WHEN when_ = 'never' THEN beyond ELSE cosid_last_id(now() + when_::interval, g) + plus END, g) LIKE 'ok%' AS ok
  FROM (VALUES ('att_ms', NULL), ('att_s', NULL), ('att_js', 1::bigint << 53), ('att_small', 1::bigint << 40)) g(g, beyond),
       (VALUES ('-1 year', 0), ('0', 0), ('1 hour', 0), ('1 hour', 1), ('never', 0)) w(when_, plus)
 WHERE when_ <> 'never' OR beyond IS NOT NULL ORDER BY 1, 2, 3;
SELECT att_try(9223372036854775807, g), g FROM unnest('{att_js,att_small}'::text[]) g;
SELECT att_try(-9223372036854775808, 'att_ms'), att_try(NULL, 'att_ms'), att_try(0, 'att_ms');
-- Before its epoch, all is to come; after its last tick, nothing.
SELECT att_try(0, 'att_future');
SELECT att_try((1::bigint << 42) - 1, 'att_past'), att_try(1::bigint << 42, 'att_past');
-- What is of this tick may yet be given out: it is waited for to end.  (Not so the
-- second in which the server claimed its machine id: that one is past.)
SELECT cosid_next('att_s') > 0 AS claimed;
CREATE TABLE att_tick AS SELECT cosid_last_id(clock_timestamp(), 'att_s') AS id;
SELECT cosid_attach('att_tick', 'id', 'att_s');
INSERT INTO att_tick DEFAULT VALUES RETURNING id > (SELECT min(id) FROM att_tick) AS later;
DROP TABLE att_tick;

-- Another table that takes the place of ours while it is worked on (another
-- session would do it; here it is the statement's own event trigger).
CREATE SCHEMA att_schema;
CREATE TABLE att_schema.att_moved (id bigint);
CREATE FUNCTION att_move() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    ALTER SCHEMA att_schema RENAME TO att_renamed;
    CREATE SCHEMA att_schema;
    CREATE TABLE att_schema.att_moved (id bigint DEFAULT 7);
END
$$;
CREATE EVENT TRIGGER att_move ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION att_move();
SELECT cosid_attach('att_schema.att_moved', 'id', 'att_ms');
ALTER EVENT TRIGGER att_move DISABLE;
SELECT cosid_attach('att_schema.att_moved', 'id', 'att_ms');
ALTER EVENT TRIGGER att_move ENABLE;
SELECT cosid_detach('att_schema.att_moved', 'id');
DROP EVENT TRIGGER att_move;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'att_schema.att_moved'::regclass;
DROP SCHEMA att_schema CASCADE;
DROP FUNCTION att_move;

DROP FUNCTION att_try;
DROP VIEW att_v;
DROP MATERIALIZED VIEW att_m;
DROP TYPE att_c;
DROP TABLE att_t;
DROP EXTENSION cosid;
REVOKE CREATE ON SCHEMA public FROM regress_cosid_attacher;
DROP ROLE regress_cosid_attacher;
