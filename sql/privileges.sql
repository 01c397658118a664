--
-- Who may do what, and that nobody can lead the extension astray
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_app;
CREATE ROLE regress_cosid_definer;
CREATE ROLE regress_cosid_owner;
CREATE ROLE regress_cosid_monitor IN ROLE pg_monitor;

-- An application role with INSERT alone can insert.
CREATE TABLE priv_orders (id bigint PRIMARY KEY DEFAULT cosid_next('priv_order'), item text);
GRANT INSERT ON priv_orders TO regress_cosid_app, regress_cosid_definer;
SELECT cosid_create('priv_order');
SET ROLE regress_cosid_app;
INSERT INTO priv_orders (item) VALUES ('a'), ('b');
SELECT cosid_next('priv_order') > 0 AS minted, cosid_next() > 0 AS share, count(*) FROM cosid_next('priv_order', 3);
SELECT name FROM cosid_generator;
SELECT (cosid_parse(cosid_next('priv_order'), 'priv_order')).id > 0 AS parsed;

-- It can't define a generator, nor drop one, in whatever way.
SELECT cosid_next('priv_new');
BEGIN READ ONLY;
SELECT cosid_next('priv_new');
ROLLBACK;
SELECT * FROM cosid_next('priv O''Brien', 2);
\set VERBOSITY sqlstate
SELECT cosid_next('priv_new');
BEGIN READ ONLY;
SELECT cosid_next('priv_new');
ROLLBACK;
SELECT cosid_create('priv_new');
SELECT cosid_drop('priv_order');
INSERT INTO cosid_generator SELECT * FROM cosid_generator;
UPDATE cosid_generator SET zone = 'UTC';
DELETE FROM cosid_generator;
TRUNCATE cosid_generator;
-- Nor see or touch the registry and the server's leases.
SELECT * FROM cosid_machine;
UPDATE cosid_machine SET last_timestamp = 0;
SELECT cosid_machine_claim('x', 1, 'x', 'x', false, -1, -1, false, 0, 0, 0, 0);
SELECT cosid_machine_guard('x', 1, 'x', 1, 1, 'x', 1, 1);
SELECT cosid_machine_revert('x', 1, 'x', 1, 1, 1);
SELECT * FROM cosid_lease;
SELECT * FROM cosid_stat;
SELECT * FROM cosid_lease_rows();
SELECT * FROM cosid_stat_rows();
SET cosid.auto_create = on;
CREATE TRIGGER t BEFORE INSERT ON priv_orders FOR EACH ROW EXECUTE FUNCTION cosid_generator_insert();
RESET ROLE;
-- Minting takes EXECUTE on cosid_next.
REVOKE EXECUTE ON FUNCTION cosid_next(text) FROM PUBLIC;
SET ROLE regress_cosid_app;
SELECT cosid_next('priv_order');
INSERT INTO priv_orders (item) VALUES ('c');
RESET ROLE;
GRANT EXECUTE ON FUNCTION cosid_next(text) TO PUBLIC;
\set VERBOSITY default
SELECT count(*) FROM priv_orders;
SELECT name FROM cosid_generator;

-- pg_monitor sees leases and generators, but not the registry.
SET ROLE regress_cosid_monitor;
SELECT count(*) FROM cosid_lease WHERE namespace = 'cosid';
SELECT count(*) FROM cosid_stat WHERE name = 'priv_order';
\set VERBOSITY sqlstate
SELECT count(*) FROM cosid_machine;
\set VERBOSITY default
RESET ROLE;

-- EXECUTE on cosid_create is the right to define, by hand and on first use; for
-- the row it needs no right on cosid_generator.
GRANT EXECUTE ON FUNCTION cosid_create TO regress_cosid_definer;
SET ROLE regress_cosid_definer;
SELECT cosid_next('priv_first') > 0 AS minted;
SELECT cosid_create('priv_second', timestamp_unit => 'second');
SELECT cosid_create('priv_first');
SELECT name, implicit FROM cosid_generator ORDER BY name;
\set VERBOSITY sqlstate
INSERT INTO cosid_generator SELECT * FROM cosid_generator;
SELECT cosid_drop('priv_second');
\set VERBOSITY default
RESET ROLE;
-- A function with its owner's rights has that right for all who may call it.
CREATE FUNCTION priv_next(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT cosid_next(name)';
ALTER FUNCTION priv_next OWNER TO regress_cosid_definer;
SET ROLE regress_cosid_app;
SELECT priv_next('priv_third') > 0 AS minted;
SELECT cosid_next('priv_third') > 0 AS minted;
RESET ROLE;

-- So has the database's owner, and may drop.
SELECT format('ALTER DATABASE %I OWNER TO regress_cosid_owner', current_database()) AS command,
       format('ALTER DATABASE %I OWNER TO %I', current_database(), current_user) AS back \gset
:command;
SET ROLE regress_cosid_owner;
SELECT cosid_next('priv_fourth') > 0 AS minted;
SELECT cosid_create('priv_fourth'), cosid_drop('priv_fourth'), cosid_drop('priv_second');
CREATE TEMP TABLE dump AS SELECT * FROM cosid_generator WHERE name = 'priv_third';
UPDATE dump SET name = 'priv_restored';
INSERT INTO cosid_generator TABLE dump;
\set VERBOSITY sqlstate
DELETE FROM cosid_generator;
SELECT count(*) FROM cosid_machine;
DROP EXTENSION cosid;
\set VERBOSITY default
RESET ROLE;
:back;
SELECT name, implicit FROM cosid_generator ORDER BY name;

-- In a schema that the role can't look into, a default mints all the same, and
-- what it can't do is said in the same words.  (Of a name that is put together,
-- nothing is known before it is used.)
CREATE SCHEMA priv_schema;
DROP EXTENSION cosid CASCADE;
CREATE EXTENSION cosid SCHEMA priv_schema;
ALTER TABLE priv_orders ALTER id SET DEFAULT priv_schema.cosid_next('priv_' || 'order');
SET ROLE regress_cosid_app;
INSERT INTO priv_orders (item) VALUES ('d');
RESET ROLE;
SELECT priv_schema.cosid_create('priv_order');
SET ROLE regress_cosid_app;
INSERT INTO priv_orders (item) VALUES ('e');
RESET ROLE;
SELECT string_agg(item, ' ' ORDER BY id) FROM priv_orders;

DROP TABLE priv_orders, dump;
DROP FUNCTION priv_next;
DROP EXTENSION cosid;
DROP SCHEMA priv_schema;
DROP ROLE regress_cosid_app, regress_cosid_definer, regress_cosid_owner, regress_cosid_monitor;
