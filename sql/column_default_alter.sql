--
-- cosid.column_default where a table's key comes later, or from elsewhere
--
CREATE EXTENSION cosid;
CREATE VIEW column_default_seen AS
    SELECT adrelid::regclass::text AS "table", attname AS "column", pg_get_expr(adbin, adrelid) AS "default"
      FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
     WHERE adrelid::regclass::text LIKE 'cda%' ORDER BY 1, 2;
SET cosid.column_default = primary_key;

-- ADD COLUMN: the rows that are there get an ID each.
CREATE TABLE cda_rows (n int);
INSERT INTO cda_rows SELECT generate_series(1, 100);
ALTER TABLE cda_rows ADD id bigint PRIMARY KEY, ADD other bigint;
SELECT count(*), count(DISTINCT id), min(id) > 1 AS ids FROM cda_rows;
CREATE TABLE cda_rows2 (n int);
INSERT INTO cda_rows2 SELECT generate_series(1, 100);
ALTER TABLE cda_rows2 ADD id bigint, ADD CONSTRAINT k PRIMARY KEY (id);
SELECT count(*), count(DISTINCT id), min(id) > 1 AS ids FROM cda_rows2;
-- Not a key: left alone
ALTER TABLE cda_rows ADD more bigint UNIQUE;
SELECT * FROM column_default_seen;

-- ADD PRIMARY KEY: rows keep their values; by what is there, or USING INDEX
CREATE TABLE cda_late (id bigint, n int);
INSERT INTO cda_late VALUES (1, 1), (2, 2);
ALTER TABLE cda_late ADD PRIMARY KEY (id);
INSERT INTO cda_late (n) VALUES (3);
SELECT id < 3 AS old, count(*) FROM cda_late GROUP BY 1 ORDER BY 1;
CREATE TABLE cda_index (id bigint NOT NULL);
CREATE UNIQUE INDEX cda_index_i ON cda_index (id);
ALTER TABLE cda_index ADD CONSTRAINT cda_index_key PRIMARY KEY USING INDEX cda_index_i;
CREATE TABLE cda_composite (a int, b bigint, c bigint REFERENCES cda_late);
ALTER TABLE cda_composite ADD PRIMARY KEY (a, b, c);
CREATE TABLE cda_foreign (id bigint REFERENCES cda_late);
ALTER TABLE cda_foreign ADD PRIMARY KEY (id);
CREATE TABLE cda_foreign2 (id bigint);
ALTER TABLE cda_foreign2 ADD PRIMARY KEY (id), ADD FOREIGN KEY (id) REFERENCES cda_late;
CREATE TABLE cda_serial (id bigserial);
ALTER TABLE cda_serial ADD PRIMARY KEY (id);
CREATE TABLE cda_int (id int);
ALTER TABLE cda_int ADD PRIMARY KEY (id);
CREATE TABLE cda_two (a bigint, b bigint);
ALTER TABLE cda_two ADD PRIMARY KEY (a, b);
-- Values in the way: refused, and nothing is left behind.
CREATE TABLE cda_future (id bigint);
INSERT INTO cda_future VALUES (9000000000000000000);
\set VERBOSITY sqlstate
ALTER TABLE cda_future ADD PRIMARY KEY (id);
\set VERBOSITY default
SELECT count(*) FROM pg_constraint WHERE conrelid = 'cda_future'::regclass AND contype <> 'n';
-- Changing the type of a key does not give it a default, nor does what makes
-- the key anew.
ALTER TABLE cda_int ALTER id TYPE bigint;
SET cosid.column_default = off;
CREATE TABLE cda_before (id bigint PRIMARY KEY, n int);
SET cosid.column_default = serial;
ALTER TABLE cda_before ALTER n TYPE bigint, ALTER id TYPE bigint USING id + 1;
ALTER TABLE cda_before RENAME id TO key;
SET cosid.column_default = primary_key;
SELECT * FROM column_default_seen WHERE "table" NOT LIKE 'cda_rows%';
DROP TABLE cda_rows, cda_rows2, cda_foreign, cda_foreign2, cda_composite, cda_late, cda_index, cda_serial, cda_int, cda_two, cda_future, cda_before;

-- Partitions: the default is the partitioned table's.
CREATE TABLE cda_p (id bigint, n int, PRIMARY KEY (id, n)) PARTITION BY LIST (n);
CREATE TABLE cda_p1 PARTITION OF cda_p FOR VALUES IN (1);
CREATE TABLE cda_p2 PARTITION OF cda_p FOR VALUES IN (2) PARTITION BY LIST (n);
CREATE TABLE cda_p22 PARTITION OF cda_p2 FOR VALUES IN (2);
INSERT INTO cda_p (n) VALUES (1), (2);
SELECT count(DISTINCT id), min(id) > 1 AS ids FROM cda_p;
CREATE TABLE cda_p3 (id bigint, n int, PRIMARY KEY (id, n));
ALTER TABLE cda_p ATTACH PARTITION cda_p3 FOR VALUES IN (3);
CREATE TABLE cda_q (id bigint, n int) PARTITION BY LIST (n);
CREATE TABLE cda_q1 PARTITION OF cda_q FOR VALUES IN (1);
ALTER TABLE cda_q ADD PRIMARY KEY (id, n);
CREATE TABLE cda_r (id bigint, n int) PARTITION BY LIST (n);
CREATE TABLE cda_r1 PARTITION OF cda_r (PRIMARY KEY (id)) FOR VALUES IN (1);
SELECT * FROM column_default_seen;
SELECT string_agg(name, ' ' ORDER BY name) FROM cosid_generator WHERE name ~ '^cda_[pqr]';
DROP TABLE cda_p, cda_q, cda_r;

-- LIKE, typed tables, inheritance, CREATE TABLE AS
CREATE TABLE cda_plain (id bigint PRIMARY KEY, n int DEFAULT 4);
CREATE TABLE cda_like (LIKE cda_plain INCLUDING INDEXES);
CREATE TABLE cda_like_all (LIKE cda_plain INCLUDING ALL);
CREATE TABLE cda_like_none (LIKE cda_plain);
CREATE TYPE cda_type AS (id bigint, n int);
CREATE TABLE cda_typed OF cda_type (PRIMARY KEY (id));
CREATE TABLE cda_child () INHERITS (cda_plain);
CREATE TABLE cda_child_key (PRIMARY KEY (id)) INHERITS (cda_plain);
SET cosid.column_default = off;
CREATE TABLE cda_parent (id bigint, n int);
SET cosid.column_default = primary_key;
CREATE TABLE cda_heir (PRIMARY KEY (id)) INHERITS (cda_parent);
CREATE TABLE cda_heir_own (key bigint PRIMARY KEY) INHERITS (cda_parent);
CREATE TABLE cda_heir_merged (id bigint PRIMARY KEY) INHERITS (cda_parent);
CREATE TABLE cda_as AS SELECT * FROM cda_plain;
SELECT * FROM column_default_seen;

DROP TABLE cda_like, cda_like_all, cda_like_none, cda_typed, cda_child, cda_child_key, cda_plain, cda_as, cda_heir, cda_heir_own, cda_heir_merged, cda_parent;
DROP TYPE cda_type;
DROP VIEW column_default_seen;
DROP EXTENSION cosid;
