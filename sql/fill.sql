--
-- cosid_fill: a trigger that gives an ID to a key that is sent as NULL
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_filler;
CREATE TABLE fill_t (id bigint PRIMARY KEY, n int);
CREATE TRIGGER fill BEFORE INSERT ON fill_t FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_g');
-- The generator is defined now, and can't be dropped.
SELECT name, implicit FROM cosid_generator;
SELECT cosid_drop('fill_g');

-- NULL, left out, given; nothing else is changed.
INSERT INTO fill_t VALUES (NULL, 1) RETURNING id > 5 AS filled, n;
INSERT INTO fill_t (n) VALUES (2) RETURNING id > 5 AS filled, n;
INSERT INTO fill_t VALUES (3, 3), (0, 0), (-1, -1) RETURNING *;
INSERT INTO fill_t SELECT NULL, n FROM generate_series(4, 103) n;
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id > 5) AS filled FROM fill_t;
SELECT bool_and(previous IS NULL OR id > previous) AS ordered FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM fill_t WHERE n >= 4) l;
COPY fill_t FROM stdin NULL 'null';
null	201
202	202
null	203
\.
SELECT count(*) FILTER (WHERE id > 1000) AS filled, count(*) FILTER (WHERE id = n) AS kept FROM fill_t WHERE n > 200;
INSERT INTO fill_t VALUES (202, 0) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING *;
INSERT INTO fill_t VALUES (NULL, 300) ON CONFLICT DO NOTHING RETURNING id > 1000 AS filled;
MERGE INTO fill_t USING (VALUES (400), (401)) v(n) ON fill_t.n = v.n WHEN NOT MATCHED THEN INSERT VALUES (NULL, v.n);
SELECT count(*) FROM fill_t WHERE n >= 400;
\set VERBOSITY sqlstate
UPDATE fill_t SET id = NULL WHERE n = 1;
\set VERBOSITY default
-- One ID a row
SELECT max(id) AS max FROM fill_t \gset
INSERT INTO fill_t VALUES (NULL, 500);
SELECT cosid_sequence(max(id)) IN (cosid_sequence(:max) + 1, 0) AS next FROM fill_t;

-- Partitions, whose columns are in another order, and a dropped one
CREATE TABLE fill_p (n int, id bigint) PARTITION BY LIST (n);
CREATE TABLE fill_p1 (gone text, id bigint, n int);
ALTER TABLE fill_p1 DROP gone;
ALTER TABLE fill_p ATTACH PARTITION fill_p1 FOR VALUES IN (1);
CREATE TRIGGER fill BEFORE INSERT ON fill_p FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_p');
CREATE TABLE fill_p2 PARTITION OF fill_p FOR VALUES IN (2);
INSERT INTO fill_p VALUES (1, NULL), (2, NULL), (1, 7), (2, 8);
INSERT INTO fill_p1 (n) VALUES (1);
SELECT tableoid::regclass, n, count(*), count(id), count(*) FILTER (WHERE id > 10) AS filled FROM fill_p GROUP BY 1, 2 ORDER BY 2;
SELECT cosid_drop('fill_p');
DROP TABLE fill_p;
SELECT cosid_drop('fill_p');
-- Other columns: of a domain, quoted, not a key; two of one table; a
-- column that was renamed
CREATE DOMAIN fill_id AS bigint CHECK (VALUE > 0);
CREATE TABLE fill_d (id fill_id, "Other ""one" bigint, n int);
CREATE TRIGGER a BEFORE INSERT ON fill_d FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_d');
CREATE TRIGGER b BEFORE INSERT ON fill_d FOR EACH ROW WHEN (new.n > 0) EXECUTE FUNCTION cosid_fill('Other "one', 'fill_d');
INSERT INTO fill_d (n) VALUES (0), (1) RETURNING id > 0 AS id, "Other ""one" > id AS other, n;
ALTER TABLE fill_d RENAME id TO key;
INSERT INTO fill_d (n) VALUES (1);
-- Through a view
CREATE VIEW fill_v AS SELECT id, n FROM fill_t;
INSERT INTO fill_v VALUES (NULL, 600) RETURNING id > 0 AS filled;

-- Wrong use
CREATE TABLE fill_e (id bigint, n int, t text);
\set SHOW_CONTEXT always
CREATE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill();
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('id');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_e', 'more');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('none', 'fill_e');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('ctid', 'fill_e');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('n', 'fill_e');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('t', 'fill_e');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e AFTER INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_e');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH STATEMENT EXECUTE FUNCTION cosid_fill('id', 'fill_e');
INSERT INTO fill_e VALUES (NULL);
CREATE OR REPLACE TRIGGER e BEFORE INSERT OR UPDATE ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_e');
INSERT INTO fill_e VALUES (1);
UPDATE fill_e SET id = NULL;
SELECT cosid_fill();
-- Errors say which column and table they are about, also when there is
-- nothing to mint from.
CREATE OR REPLACE TRIGGER e BEFORE INSERT ON fill_e FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_late');
DELETE FROM cosid_generator WHERE name = 'fill_late';
SET cosid.auto_create = off;
INSERT INTO fill_e VALUES (NULL);
RESET cosid.auto_create;
INSERT INTO fill_e VALUES (NULL) RETURNING id > 0 AS filled;

-- What a domain does not take is refused, as with a default.
CREATE DOMAIN fill_small AS bigint CHECK (VALUE < 1000);
CREATE TABLE fill_s (id fill_small);
CREATE TRIGGER fill BEFORE INSERT ON fill_s FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_s');
INSERT INTO fill_s VALUES (NULL);
INSERT INTO fill_s VALUES (5) RETURNING id;
DROP TABLE fill_s;
DROP DOMAIN fill_small;

-- A role with INSERT alone; minting takes EXECUTE on cosid_next.
GRANT INSERT ON fill_e, fill_t TO regress_cosid_filler;
SET ROLE regress_cosid_filler;
INSERT INTO fill_e VALUES (NULL);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION cosid_next(text) FROM PUBLIC;
SET ROLE regress_cosid_filler;
INSERT INTO fill_e VALUES (NULL);
INSERT INTO fill_e VALUES (4);
CREATE TEMP TABLE fill_mine (id bigint);
CREATE TRIGGER mine BEFORE INSERT ON fill_mine FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_late');
CREATE TRIGGER mine BEFORE INSERT ON fill_mine FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'fill_new');
RESET ROLE;
SELECT count(*), count(id) FROM fill_e;

DROP VIEW fill_v;
DROP TABLE fill_t, fill_d, fill_e;
DROP TABLE IF EXISTS fill_mine;
DROP DOMAIN fill_id;
DROP EXTENSION cosid;
DROP ROLE regress_cosid_filler;
