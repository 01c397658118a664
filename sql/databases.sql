--
-- Several databases of one server
--
\set first_db :DBNAME
CREATE EXTENSION cosid;
SHOW cosid.database;

-- The same name and layout in two databases: one sequence of IDs.
SELECT cosid_next('db_order') AS a1 \gset
CREATE DATABASE regress_cosid_second TEMPLATE template0;
\c regress_cosid_second
CREATE SCHEMA other;
CREATE EXTENSION cosid SCHEMA other;
SELECT count(*) FROM other.cosid_generator;
SELECT other.cosid_next('db_order') AS b1 \gset
SELECT other.cosid_next() AS share \gset
\c :first_db
SELECT cosid_next('db_order') AS a2, cosid_next() AS next_share \gset
SELECT :a1 < :b1 AND :b1 < :a2 AS increasing, :share < :next_share AS share;
SELECT p.sequence FROM cosid_parse(:a1) p;
-- One slot and one lease for both
SELECT count(*) FROM cosid_stat WHERE name = 'db_order';
SELECT last_id = :a2 AS last_id FROM cosid_stat WHERE name = 'db_order';
SELECT count(*), min(machine_id) = ((:b1 >> 12) & 1023) AS own FROM cosid_lease WHERE namespace = 'cosid';
-- Their registry is in cosid.database: these have no rows.
SELECT count(*) FROM cosid_machine;

-- Another layout in the other database has a state of its own; the NOTICE tells
-- that the IDs may be equal.
\c regress_cosid_second
SELECT other.cosid_create('db_layout', timestamp_bit => 40, sequence_bit => 13);
SELECT other.cosid_next('db_layout') > 0 AS minted;
\c :first_db
SELECT cosid_create('db_layout');
SELECT cosid_next('db_layout') > 0 AS minted;
SELECT timestamp_bit, sequence_bit FROM cosid_stat WHERE name = 'db_layout' ORDER BY 1;

-- Commands that all backends and the worker take part in, while it holds leases
\c regress_cosid_second
CREATE TABLE db_t (id bigint DEFAULT other.cosid_next('db_order'), n int);
INSERT INTO db_t (n) VALUES (1) RETURNING id > :a2 AS minted;
\c :first_db
CREATE DATABASE regress_cosid_copy TEMPLATE regress_cosid_second;
\c regress_cosid_copy
INSERT INTO db_t (n) VALUES (2);
SELECT count(*), count(DISTINCT id) AS ids, bool_and(n = 1 OR id > :a2) AS greater FROM db_t;
SELECT string_agg(name, ' ' ORDER BY name) FROM other.cosid_generator;
\c :first_db
DROP DATABASE regress_cosid_copy;
DROP DATABASE regress_cosid_second;
SELECT cosid_next('db_order') > :a2 AS greater;

-- Encodings: a name is the same generator in each, whatever its bytes are.
SELECT cosid_next('größe') AS utf8 \gset
CREATE DATABASE regress_cosid_latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C';
\c regress_cosid_latin1
SET client_encoding = 'UTF8';
CREATE EXTENSION cosid;
SELECT cosid_next('größe') > :utf8 AS greater, (cosid_parse(cosid_next('größe'), 'größe')).sequence;
SELECT name, octet_length(name) FROM cosid_generator;
SELECT name FROM cosid_stat WHERE name ~ '^gr';
-- 63 bytes in UTF-8 is the limit here, too: 32 characters that have 64.
SELECT cosid_next(repeat('ö', 31)) > 0 AS minted;
\set VERBOSITY sqlstate
SELECT cosid_next(repeat('ö', 32));
\set VERBOSITY default
DROP EXTENSION cosid;
\c :first_db
SELECT count(*) FROM cosid_stat WHERE name = 'größe';
DROP DATABASE regress_cosid_latin1;
DROP EXTENSION cosid;
