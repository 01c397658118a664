--
-- COPY inserts many rows at a time, as it does with nextval; and what makes it
-- do so (src/sql/support.c) misleads nobody else
--
CREATE EXTENSION cosid;
-- How many rows were in the table when the last one was checked: all others if
-- each is inserted by itself, none if they are collected.
CREATE FUNCTION copy_look(seen regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %s', seen) INTO n;
    RETURN set_config('copy.seen', n::text, false) IS NOT NULL;
END $$;
CREATE TABLE copy_random (id float DEFAULT random(), item text, CHECK (copy_look('copy_random')));
COPY copy_random (item) FROM stdin;
a
b
c
\.
SELECT current_setting('copy.seen') AS random;
CREATE TABLE copy_serial (id bigserial, item text, CHECK (copy_look('copy_serial')));
COPY copy_serial (item) FROM stdin;
a
b
c
\.
SELECT current_setting('copy.seen') AS nextval;
CREATE TABLE copy_orders (id bigint PRIMARY KEY DEFAULT cosid_next('copy_order'), item text, CHECK (copy_look('copy_orders')));
COPY copy_orders (item) FROM stdin;
a
b
c
\.
SELECT current_setting('copy.seen') AS cosid_next;
SELECT count(DISTINCT id), string_agg(item, ' ' ORDER BY id) FROM copy_orders;

-- The share generator, and expressions over an ID
CREATE TABLE copy_kinds (
    share bigint DEFAULT cosid_next(),
    string text DEFAULT 'no. ' || cosid_next('copy_string'),
    radix text DEFAULT cosid_radix62(cosid_next('copy_radix')),
    item text,
    CHECK (copy_look('copy_kinds')));
COPY copy_kinds (item) FROM stdin;
a
b
c
\.
SELECT current_setting('copy.seen') AS seen, count(DISTINCT share) AS shares, count(DISTINCT string) AS strings, count(DISTINCT radix) AS radixes FROM copy_kinds;
-- With another default that is volatile, rows are inserted one by one as ever;
-- so they are if the name is no constant, and in a NULL's place comes NULL.
ALTER TABLE copy_kinds ADD named bigint DEFAULT cosid_next(lower(current_user) || '_copy'), ADD nothing bigint DEFAULT cosid_next(NULL);
SELECT count(DISTINCT named) AS ids, count(nothing) AS nothing FROM copy_kinds;
COPY copy_kinds (item) FROM stdin;
a
b
c
\.
SELECT current_setting('copy.seen') AS seen, count(DISTINCT named) AS ids, count(nothing) AS nothing FROM copy_kinds;

-- Triggers that look at the table see what is in it: COPY does not collect then.
CREATE FUNCTION copy_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    new.item := (SELECT count(*) FROM copy_orders)::text;
    -- Whatever else runs in the midst of a COPY: an ID for each row
    CREATE TEMP TABLE copy_inner AS SELECT n FROM generate_series(1, 10) n;
    ALTER TABLE copy_inner ADD id bigint DEFAULT cosid_next('copy_inner');
    ASSERT (SELECT count(DISTINCT id) FROM copy_inner) = 10;
    DROP TABLE copy_inner;
    RETURN new;
END $$;
CREATE TRIGGER copy_count BEFORE INSERT ON copy_orders FOR EACH ROW EXECUTE FUNCTION copy_count();
TRUNCATE copy_orders;
COPY copy_orders (item) FROM stdin;
a
b
c
\.
SELECT string_agg(item, ' ' ORDER BY id) FROM copy_orders;
DROP TRIGGER copy_count ON copy_orders;

-- WHERE, partitions by the ID, domains
COPY copy_orders (item) FROM stdin WHERE cosid_next('copy_where') > 0 AND item <> 'x';
x
y
z
\.
SELECT count(DISTINCT id) FROM copy_orders;
CREATE TABLE copy_parted (id bigint DEFAULT cosid_next('copy_parted'), n int) PARTITION BY HASH (id);
CREATE TABLE copy_parted_0 PARTITION OF copy_parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE copy_parted_1 PARTITION OF copy_parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
COPY copy_parted (n) FROM PROGRAM 'seq 3000';
SELECT count(DISTINCT tableoid) AS partitions, count(*) AS rows, count(DISTINCT id) AS ids,
       count(*) FILTER (WHERE id <= previous) AS not_increasing
  FROM (SELECT tableoid, id, lag(id) OVER (ORDER BY n) AS previous FROM copy_parted) p;
CREATE DOMAIN copy_id AS bigint DEFAULT cosid_next('copy_domain') CHECK (value > 0 AND cosid_next('copy_check') > 0);
CREATE TABLE copy_domain (id copy_id, n int);
COPY copy_domain (n) FROM PROGRAM 'seq 3000';
SELECT count(*) AS rows, count(DISTINCT id) AS ids FROM copy_domain;

-- ALTER TABLE: an ID for each row, none that stands for all
ALTER TABLE copy_parted ADD a bigint DEFAULT cosid_next('copy_added'), ADD b copy_id, ADD c bigint DEFAULT cosid_next();
SELECT count(DISTINCT a) AS a, count(DISTINCT b) AS b, count(DISTINCT c) AS c FROM copy_parted;
ALTER TABLE copy_parted ALTER c TYPE bigint USING cosid_next('copy_changed');
SELECT count(DISTINCT c) AS c FROM copy_parted;
SELECT attrelid::regclass, attname FROM pg_attribute WHERE attrelid::regclass::text LIKE 'copy%' AND atthasmissing AND attname <> 'nothing';

-- Nor can it be taken for something that does not change.
\set VERBOSITY sqlstate
CREATE INDEX ON copy_parted ((cosid_next('copy_index')));
CREATE TABLE copy_generated (n int, id bigint GENERATED ALWAYS AS (cosid_next('copy_index')) STORED);
SELECT cosid_next_row('copy_order');
SELECT cosid_next_row(NULL::internal);
\set VERBOSITY default
-- Queries keep the call: in a subquery, a CTE and a filter it is one for each row.
EXPLAIN (COSTS off, VERBOSE) SELECT cosid_next('copy_order') FROM copy_domain WHERE cosid_next('copy_order') > n;
SELECT count(DISTINCT id) FROM (SELECT cosid_next('copy_order') AS id FROM copy_domain) s;
WITH c AS (SELECT cosid_next('copy_order') AS id FROM copy_domain) SELECT count(DISTINCT id) FROM c;
SELECT count(*) FROM copy_domain WHERE id >= cosid_next('copy_order');
INSERT INTO copy_orders (item) SELECT 'inserted' FROM copy_domain;
SELECT count(DISTINCT id) FROM copy_orders WHERE item = 'inserted';
PREPARE given(bigint) AS SELECT $1 AS id;
EXECUTE given(cosid_next('copy_order')) \gset first_
EXECUTE given(cosid_next('copy_order')) \gset second_
SELECT :first_id < :second_id AS increasing;

-- Who may not mint may not COPY.
CREATE ROLE regress_cosid_copy;
GRANT INSERT ON copy_serial, copy_orders TO regress_cosid_copy;
REVOKE EXECUTE ON FUNCTION cosid_next(text) FROM PUBLIC;
SET ROLE regress_cosid_copy;
COPY copy_orders (item) FROM stdin;
\.
RESET ROLE;
GRANT EXECUTE ON FUNCTION cosid_next(text) TO PUBLIC;

DROP TABLE copy_random, copy_serial, copy_orders, copy_kinds, copy_parted, copy_domain;
DROP DOMAIN copy_id;
DROP FUNCTION copy_look, copy_count;
DROP ROLE regress_cosid_copy;
DROP EXTENSION cosid;
