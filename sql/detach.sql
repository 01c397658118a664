--
-- cosid_detach: an identity column that continues after the greatest value
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_detacher;
GRANT CREATE ON SCHEMA public TO regress_cosid_detacher;
CREATE VIEW detach_seen AS
    SELECT attrelid::regclass AS "table", attnotnull AS "not null", attidentity AS identity, pg_get_expr(adbin, adrelid) AS "default", seqstart = 1 AS from_1
      FROM pg_attribute LEFT JOIN pg_attrdef ON attrelid = adrelid AND attnum = adnum
           LEFT JOIN pg_sequence ON seqrelid = pg_get_serial_sequence(attrelid::regclass::text, attname)::regclass
     WHERE attrelid::regclass::text LIKE 'det\_%' AND attname = 'id' AND attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r') ORDER BY attrelid::regclass::text;

-- There and back: no row's key is another's.
CREATE TABLE det_a (id bigserial PRIMARY KEY, n serial);
INSERT INTO det_a DEFAULT VALUES;
SELECT cosid_attach('det_a', 'id', 'det_a');
INSERT INTO det_a DEFAULT VALUES;
SELECT max(id) AS max FROM det_a \gset
SELECT cosid_detach('det_a', 'id');
INSERT INTO det_a DEFAULT VALUES RETURNING id - :max AS after;
INSERT INTO det_a VALUES (5);
SELECT cosid_attach('det_a', 'id', 'det_a');
INSERT INTO det_a DEFAULT VALUES RETURNING id > :max + 1 AS greater;
SELECT max(id) AS max FROM det_a \gset
SELECT cosid_detach('det_a', 'id');
INSERT INTO det_a DEFAULT VALUES RETURNING id - :max AS after;
SELECT count(*), count(DISTINCT id) FROM det_a;
SELECT relname FROM pg_class WHERE relkind = 'S' AND relname LIKE 'det%' ORDER BY 1;
-- The generator is free now.
SELECT cosid_drop('det_a');
-- Twice is once too much.
SELECT cosid_detach('det_a', 'id');

-- Empty; negative values only; a nested default; 4 bytes; the share generator
CREATE TABLE det_empty (id bigint DEFAULT cosid_next('det_empty'));
CREATE TABLE det_negative (id bigint DEFAULT cosid_next('det_negative'));
INSERT INTO det_negative VALUES (-9), (-9223372036854775808);
CREATE TABLE det_nested (id bigint NOT NULL DEFAULT coalesce(NULL, cosid_next('det_nested') + 1));
INSERT INTO det_nested VALUES (100);
CREATE TABLE det_small (id int DEFAULT cosid_next('det_small') % 1000);
INSERT INTO det_small VALUES (41);
CREATE TABLE det_share (id bigint DEFAULT cosid_next('__share__'));
CREATE TABLE det_hooked (id bigint);
SET cosid.column_default = serial;
ALTER TABLE det_hooked ADD PRIMARY KEY (id);
SELECT cosid_detach('det_' || t, 'id') FROM unnest('{empty,negative,nested,small,share,hooked}'::text[]) t;
RESET cosid.column_default;
SELECT * FROM detach_seen;
INSERT INTO det_empty DEFAULT VALUES RETURNING id;
INSERT INTO det_negative DEFAULT VALUES RETURNING id;
INSERT INTO det_nested DEFAULT VALUES RETURNING id;
INSERT INTO det_small DEFAULT VALUES RETURNING id;
INSERT INTO det_empty (id) VALUES (77) RETURNING id;

-- Refused: the greatest value there is, a NULL, no default of a generator.
-- Nothing is left behind.
CREATE TABLE det_full (id bigint DEFAULT cosid_next('det_full'));
INSERT INTO det_full VALUES (9223372036854775807);
CREATE TABLE det_null (id bigint DEFAULT cosid_next('det_null'));
INSERT INTO det_null VALUES (NULL);
CREATE TABLE det_plain (id bigint DEFAULT 5);
CREATE TABLE det_text (id text DEFAULT cosid_next_string('det_text'));
SELECT cosid_detach('det_full', 'id');
\set VERBOSITY sqlstate
SELECT cosid_detach('det_full', 'id');
SELECT cosid_detach('det_null', 'id');
SELECT cosid_detach('det_plain', 'id');
SELECT cosid_detach('det_text', 'id');
SET ROLE regress_cosid_detacher;
SELECT cosid_detach('det_full', 'id');
RESET ROLE;
\set VERBOSITY default
SELECT * FROM detach_seen WHERE "table"::text ~ 'full|null|plain|text';
UPDATE det_full SET id = 9223372036854775806;
SELECT cosid_detach('det_full', 'id');
INSERT INTO det_full DEFAULT VALUES RETURNING id;
SELECT relname FROM pg_class WHERE relkind = 'S' AND relname ~ 'det_(null|plain|text)';

-- Row security does not hide the greatest value from the table's owner, who would
-- make duplicates; not where it is forced on him either.
CREATE TABLE det_policy (id bigint DEFAULT cosid_next('det_policy'), mine boolean);
INSERT INTO det_policy VALUES (1000, false), (1, true);
CREATE POLICY p ON det_policy USING (mine);
ALTER TABLE det_policy ENABLE ROW LEVEL SECURITY;
ALTER TABLE det_policy OWNER TO regress_cosid_detacher;
SET ROLE regress_cosid_detacher;
SELECT cosid_detach('det_policy', 'id');
INSERT INTO det_policy DEFAULT VALUES RETURNING id;
SELECT cosid_attach('det_policy', 'id', 'det_policy');
ALTER TABLE det_policy FORCE ROW LEVEL SECURITY;
SELECT cosid_detach('det_policy', 'id');
SELECT start_value FROM pg_sequences WHERE sequencename = 'det_policy_id_seq';
SELECT cosid_attach('det_policy', 'id', 'det_policy');
SHOW row_security;
ALTER TABLE det_policy NO FORCE ROW LEVEL SECURITY;
SELECT cosid_detach('det_policy', 'id');
INSERT INTO det_policy DEFAULT VALUES RETURNING id;
RESET ROLE;

DROP VIEW detach_seen;
DROP TABLE det_a, det_empty, det_negative, det_nested, det_small, det_share, det_hooked, det_full, det_null, det_plain, det_text, det_policy;
DROP EXTENSION cosid;
REVOKE CREATE ON SCHEMA public FROM regress_cosid_detacher;
DROP ROLE regress_cosid_detacher;
