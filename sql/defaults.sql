--
-- cosid_next as a column's default, and in other places that make rows
--
CREATE EXTENSION cosid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('defaults_order'), item text UNIQUE);

-- INSERT: one row, several, from a query
INSERT INTO orders (item) VALUES ('a') RETURNING id > 0 AS minted;
INSERT INTO orders (item) VALUES ('b'), ('c');
INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 1000) n;
INSERT INTO orders DEFAULT VALUES;
INSERT INTO orders VALUES (DEFAULT, 'd'), (1, 'given');
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id = 1) AS given FROM orders;
-- What was inserted first has the lower ID.
SELECT string_agg(item, ' ' ORDER BY id) FROM orders WHERE length(item) = 1;

-- ON CONFLICT uses up an ID, as a sequence does; the row keeps its own.
SELECT id AS a FROM orders WHERE item = 'a' \gset
INSERT INTO orders (item) VALUES ('a'), ('e') ON CONFLICT DO NOTHING;
INSERT INTO orders (item) VALUES ('a'), ('f') ON CONFLICT (item) DO UPDATE SET item = upper(excluded.item)
RETURNING item, id = :a AS same;

-- MERGE
MERGE INTO orders o USING (VALUES ('f'), ('g'), ('h')) v(item) ON o.item = v.item
 WHEN MATCHED THEN UPDATE SET id = DEFAULT
 WHEN NOT MATCHED THEN INSERT (item) VALUES (v.item);
SELECT string_agg(item, ' ' ORDER BY id) FROM orders WHERE length(item) = 1;

-- UPDATE; several defaults in one row; a query of one's own
UPDATE orders SET id = cosid_next('defaults_order') WHERE item LIKE 'item%';
SELECT count(*), count(DISTINCT id) FROM orders;
CREATE TABLE pairs (a bigint DEFAULT cosid_next('defaults_order'), b bigint DEFAULT cosid_next('defaults_order'), n int);
INSERT INTO pairs (n) SELECT generate_series(1, 100);
SELECT count(DISTINCT id) FROM pairs, unnest(ARRAY[a, b]) id;
-- ADD COLUMN rewrites the table: each row gets an ID of its own.
ALTER TABLE pairs ADD c bigint NOT NULL DEFAULT cosid_next('defaults_added');
SELECT count(*), count(DISTINCT c) FROM pairs;

-- COPY
COPY orders (item) FROM stdin;
copy 1
copy 2
copy 3
\.
SELECT string_agg(item, ', ' ORDER BY id) FROM orders WHERE item LIKE 'copy%';

-- Partitions, by the ID itself: the default is evaluated before the row is
-- routed.
CREATE TABLE parted (id bigint DEFAULT cosid_next('defaults_parted'), n int) PARTITION BY RANGE (id);
CREATE TABLE parted_past PARTITION OF parted FOR VALUES FROM (0) TO (4194304);
CREATE TABLE parted_now PARTITION OF parted FOR VALUES FROM (4194304) TO (MAXVALUE);
INSERT INTO parted (n) SELECT generate_series(1, 100);
INSERT INTO parted VALUES (5, 0);
COPY parted (n) FROM stdin;
101
102
\.
SELECT tableoid::regclass, count(*), count(DISTINCT id) FROM parted GROUP BY 1 ORDER BY 1;
-- By hash: each partition gets some.
CREATE TABLE hashed (id bigint DEFAULT cosid_next('defaults_hashed'), n int) PARTITION BY HASH (id);
SELECT format('CREATE TABLE hashed_%s PARTITION OF hashed FOR VALUES WITH (MODULUS 4, REMAINDER %s)', n, n)
  FROM generate_series(0, 3) n \gexec
INSERT INTO hashed (n) SELECT generate_series(1, 1000);
SELECT count(DISTINCT tableoid) AS partitions, count(DISTINCT id) AS ids FROM hashed;

-- Temporary tables, triggers, views, inheritance
CREATE TEMP TABLE temporary (id bigint DEFAULT cosid_next('defaults_temp'), n int);
INSERT INTO temporary (n) SELECT generate_series(1, 10);
SELECT count(DISTINCT id) FROM temporary;
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    new.id := coalesce(new.id, cosid_next('defaults_trigger'));
    RETURN new;
END
$$;
CREATE TABLE triggered (id bigint PRIMARY KEY, n int);
CREATE TRIGGER fill BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION fill();
INSERT INTO triggered (n) SELECT generate_series(1, 100);
INSERT INTO triggered VALUES (7, 0);
SELECT count(*), count(*) FILTER (WHERE id = 7) AS given FROM triggered;
CREATE VIEW seen AS SELECT * FROM orders WHERE item <> 'd';
INSERT INTO seen (item) VALUES ('through a view') RETURNING id > :a AS minted;
CREATE TABLE inherited () INHERITS (orders);
INSERT INTO inherited (item) VALUES ('child') RETURNING id > :a AS minted;
WITH o AS (INSERT INTO orders (item) VALUES ('cte') RETURNING id)
INSERT INTO pairs (a, n) SELECT id, 0 FROM o RETURNING b > a AS later;

-- Each was defined on first use, and all share one machine id.
SELECT name, namespace, implicit FROM cosid_generator ORDER BY name;
SELECT count(DISTINCT (cosid_parse(id)).machine_id)
  FROM (SELECT id FROM orders WHERE id <> 1 UNION ALL SELECT id FROM hashed UNION ALL SELECT id FROM triggered WHERE id <> 7) i;

DROP TABLE inherited, orders, pairs, parted, hashed, temporary, triggered CASCADE;
DROP FUNCTION fill;
DROP EXTENSION cosid;
