--
-- Defaults whose generator can't be defined when they are declared; and what a
-- statement that fails or is rolled back leaves behind
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_declarer;
GRANT CREATE ON SCHEMA public TO regress_cosid_declarer;
CREATE TABLE declared_e (id bigint, t text);

-- What can't be a name fails now, not at the first INSERT.
\set VERBOSITY sqlstate
CREATE TABLE declared_bad (id bigint DEFAULT cosid_next(''));
CREATE TABLE declared_bad (id bigint DEFAULT cosid_next(repeat('x', 64)), other bigint DEFAULT cosid_next('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'));
ALTER TABLE declared_e ALTER id SET DEFAULT cosid_next('');
ALTER TABLE declared_e ADD other bigint DEFAULT cosid_next('');
CREATE DOMAIN declared_bad AS bigint DEFAULT cosid_next('');
CREATE TEMP TABLE declared_bad (id bigint DEFAULT cosid_next(''));
CREATE TRIGGER declared_bad BEFORE INSERT ON declared_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', '');
SELECT to_regclass('declared_bad'), to_regtype('declared_bad');
\set VERBOSITY default
ALTER TABLE declared_e ALTER id SET DEFAULT cosid_next('');

-- A role without the right to define: nothing is left of what it tried.
SET ROLE regress_cosid_declarer;
CREATE TABLE declared_mine (id bigint DEFAULT cosid_next('declared_mine'));
\set VERBOSITY sqlstate
CREATE TABLE declared_mine (id bigint DEFAULT cosid_next('declared_mine'));
CREATE TEMP TABLE declared_mine (id bigint DEFAULT cosid_next('declared_mine'));
CREATE TEMP TABLE declared_mine (t text DEFAULT cosid_next_string('declared_mine'));
CREATE DOMAIN declared_mine AS bigint DEFAULT cosid_next('declared_mine');
CREATE DOMAIN pg_temp.declared_mine AS bigint DEFAULT cosid_next('declared_mine');
CREATE TEMP TABLE declared_temp (id bigint);
ALTER TABLE declared_temp ALTER id SET DEFAULT cosid_next('declared_mine');
ALTER TABLE declared_temp ADD other bigint DEFAULT cosid_next('declared_mine');
CREATE TRIGGER declared_mine BEFORE INSERT ON declared_temp FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'declared_mine');
CREATE VIEW pg_temp.declared_view AS SELECT 1::bigint AS id;
ALTER VIEW declared_view ALTER id SET DEFAULT cosid_next('declared_mine');
DO $$ BEGIN CREATE TEMP TABLE declared_mine (id bigint DEFAULT cosid_next('declared_mine')); END $$;
\set VERBOSITY default
SELECT to_regclass('declared_mine'), to_regtype('declared_mine'), (SELECT count(*) FROM pg_attrdef WHERE adrelid = 'declared_temp'::regclass) AS defaults;
SELECT count(*) FROM cosid_generator;
-- Of a generator that is defined, whoever may create tables may declare a default.
RESET ROLE;
SELECT cosid_create('declared_theirs');
SET ROLE regress_cosid_declarer;
CREATE TABLE declared_mine (id bigint DEFAULT cosid_next('declared_theirs'), n int);
INSERT INTO declared_mine (n) VALUES (1) RETURNING id > 0 AS minted;
DROP TABLE declared_mine;
DROP VIEW declared_view;
RESET ROLE;

-- With cosid.auto_create off it's a warning, so that a dump can be restored.
SET cosid.auto_create = off;
CREATE TABLE declared_off (id bigint DEFAULT cosid_next('declared_off'), other bigint DEFAULT cosid_next('declared_theirs'));
\set SHOW_CONTEXT always
CREATE DOMAIN declared_off_id AS bigint DEFAULT cosid_next('declared_off');
CREATE TRIGGER declared_off BEFORE INSERT ON declared_off FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'declared_off');
\set SHOW_CONTEXT errors
\set VERBOSITY sqlstate
CREATE TABLE declared_bad (id bigint DEFAULT cosid_next(''));
INSERT INTO declared_off DEFAULT VALUES;
\set VERBOSITY default
SELECT cosid_create('declared_off');
INSERT INTO declared_off DEFAULT VALUES RETURNING id > 0 AS minted;
DROP TABLE declared_off;
DROP DOMAIN declared_off_id;
RESET cosid.auto_create;

-- Rolled back: no definition is left, and no trace in the session.
BEGIN;
CREATE TABLE declared_r (id bigint DEFAULT cosid_next('declared_r'));
INSERT INTO declared_r DEFAULT VALUES RETURNING id > 0 AS minted;
SELECT name FROM cosid_generator WHERE name = 'declared_r';
ROLLBACK;
BEGIN;
CREATE TABLE declared_r (id bigint DEFAULT cosid_next('declared_r1'));
SAVEPOINT s;
ALTER TABLE declared_r ADD n bigint DEFAULT cosid_next('declared_r2');
SAVEPOINT t;
ALTER TABLE declared_r ADD o bigint DEFAULT cosid_next('');
ROLLBACK TO t;
ALTER TABLE declared_r ADD o bigint DEFAULT cosid_next('declared_r3');
ROLLBACK TO s;
ALTER TABLE declared_r ADD p bigint DEFAULT cosid_next('declared_r4');
COMMIT;
SELECT string_agg(name, ' ' ORDER BY name) FROM cosid_generator;
DO $$
BEGIN
    CREATE TABLE declared_do (id bigint DEFAULT cosid_next('declared_do'));
    BEGIN
        CREATE TABLE declared_do2 (id bigint DEFAULT cosid_next('declared_do2'));
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        ALTER TABLE declared_do ADD n bigint DEFAULT cosid_next('declared_do3');
    END;
    BEGIN
        CREATE TABLE declared_do4 (id bigint DEFAULT cosid_next(''));
    EXCEPTION WHEN invalid_parameter_value THEN
        RAISE NOTICE 'caught: %', sqlerrm;
    END;
    EXECUTE 'CREATE DOMAIN declared_do5 AS bigint DEFAULT cosid_next(''declared_do5'')';
END
$$;
SELECT string_agg(name, ' ' ORDER BY name) FROM cosid_generator WHERE name LIKE 'declared_do%';
-- A procedure may commit in between.
CREATE PROCEDURE declared_commit() LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE declared_p (id bigint DEFAULT cosid_next('declared_p'));
    COMMIT;
    ALTER TABLE declared_p ADD n bigint DEFAULT cosid_next('declared_p2');
    ROLLBACK;
    ALTER TABLE declared_p ADD n bigint DEFAULT cosid_next('declared_p3');
END
$$;
CALL declared_commit();
SELECT string_agg(name, ' ' ORDER BY name) FROM cosid_generator WHERE name LIKE 'declared_p%';

DROP TABLE declared_e, declared_r, declared_do, declared_p, declared_temp;
DROP PROCEDURE declared_commit;
DROP DOMAIN declared_do5;
DROP EXTENSION cosid;
REVOKE CREATE ON SCHEMA public FROM regress_cosid_declarer;
DROP ROLE regress_cosid_declarer;
