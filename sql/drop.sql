--
-- cosid_drop
--
CREATE EXTENSION cosid;

SELECT cosid_drop('drop_none');
\set VERBOSITY sqlstate
SELECT cosid_drop('drop_none');
SELECT cosid_drop('__share__');
SELECT cosid_drop(repeat('x', 64));
\set VERBOSITY default
SELECT cosid_drop(NULL) IS NULL AS "null";

-- Explicit and implicit definitions.  What is created again goes on where it
-- stopped.
SELECT cosid_create('drop_a');
SELECT cosid_next('drop_a') AS a, cosid_next('drop_b') AS b \gset
SELECT cosid_drop('drop_a'), cosid_drop('drop_b');
SELECT count(*) FROM cosid_generator;
SET cosid.auto_create = off;
\set VERBOSITY sqlstate
SELECT cosid_next('drop_a');
SELECT cosid_drop('drop_a');
\set VERBOSITY default
RESET cosid.auto_create;
SELECT cosid_create('drop_a');
SELECT p.sequence - (:a & 4095) AS next_sequence, p.id > :a AS greater FROM cosid_parse(cosid_next('drop_a')) p;
SELECT p.sequence - (:b & 4095) AS next_sequence, p.id > :b AS greater FROM cosid_parse(cosid_next('drop_b')) p;
-- Another layout may repeat IDs, which is worth a NOTICE; in another namespace,
-- too.  The layout that it had is none.
SELECT cosid_drop('drop_a'), cosid_drop('drop_b');
SELECT cosid_create('drop_a', timestamp_unit => 'second');
SELECT cosid_create('drop_b', machine_bit => 9);
SELECT cosid_drop('drop_a'), cosid_drop('drop_b');
SELECT cosid_create('drop_a', clock_sync => false, sequence_reset_threshold => 1, zone => 'UTC');
SELECT cosid_create('drop_b');
SELECT cosid_next('drop_a') > :a AS greater;

-- Rolled back
BEGIN;
SELECT cosid_drop('drop_a');
SELECT count(*) FROM cosid_generator WHERE name = 'drop_a';
ROLLBACK;
SELECT count(*) FROM cosid_generator WHERE name = 'drop_a';

-- While a column's default draws from it, it can't be dropped.
CREATE TABLE drop_t (id bigint PRIMARY KEY DEFAULT cosid_next('drop_a'), other bigint DEFAULT cosid_next('drop_b') + 1);
SELECT cosid_drop('drop_a');
SELECT cosid_drop('drop_b');
\set VERBOSITY sqlstate
SELECT cosid_drop('drop_a');
\set VERBOSITY default
-- Another generator's default does not matter.
SELECT cosid_create('drop');
SELECT cosid_drop('drop');
INSERT INTO drop_t DEFAULT VALUES RETURNING id > :a AS greater;
ALTER TABLE drop_t ALTER other DROP DEFAULT;
SELECT cosid_drop('drop_b');
-- With drop_a's spelled in other ways, the name remains the same.
ALTER TABLE drop_t ALTER id SET DEFAULT cosid_next(name => 'drop_a');
SELECT cosid_drop('drop_a');
SELECT count(*) FROM cosid_generator WHERE name = 'drop_a';
ALTER TABLE drop_t ALTER id SET DEFAULT coalesce(NULL::bigint, cosid_next('drop_a'::varchar));
SELECT cosid_drop('drop_a');
DROP TABLE drop_t;
SELECT cosid_drop('drop_a');

-- Partitions, and what they have of their own
SELECT cosid_create('drop_a');
CREATE TABLE drop_parted (id bigint, k int) PARTITION BY LIST (k);
CREATE TABLE drop_part PARTITION OF drop_parted FOR VALUES IN (1);
ALTER TABLE drop_part ALTER id SET DEFAULT cosid_next('drop_a');
SELECT cosid_drop('drop_a');
DROP TABLE drop_parted;
-- A view's default, and a generated batch
CREATE VIEW drop_v AS SELECT 1::bigint AS id;
ALTER VIEW drop_v ALTER id SET DEFAULT cosid_next('drop_a');
SELECT cosid_drop('drop_a');
DROP VIEW drop_v;
CREATE TABLE drop_batch (ids bigint DEFAULT cosid_next('drop_a', 2));

-- The default of a domain
CREATE DOMAIN drop_id AS bigint DEFAULT cosid_next('drop_a');
CREATE TABLE drop_t (id drop_id, n int);
INSERT INTO drop_t (n) VALUES (1) RETURNING id > :a AS greater;
SELECT cosid_drop('drop_a');
\set VERBOSITY sqlstate
SELECT cosid_drop('drop_a');
\set VERBOSITY default
ALTER DOMAIN drop_id DROP DEFAULT;
SELECT cosid_drop('drop_a');
SELECT count(*) FROM cosid_generator;

DROP TABLE drop_t;
DROP DOMAIN drop_id;
DROP EXTENSION cosid;
