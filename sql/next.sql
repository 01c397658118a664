--
-- cosid_next: the next ID of a generator, of the share generator, and a batch
--
CREATE EXTENSION cosid;

-- The default layout: 41 bits of milliseconds, 10 of machine id, 12 of sequence,
-- taken apart here without cosid_parse.  A new generator's first sequence is 1.
SELECT clock_timestamp() AS before \gset
SELECT cosid_next('next_order') AS first \gset
SELECT to_timestamp(((:first >> 22) + 1577203200000) / 1000.0)
         BETWEEN date_trunc('milliseconds', :'before'::timestamptz) AND clock_timestamp() AS now,
       (:first >> 12) & 1023 = machine_id AS own_machine_id, :first & 4095 AS sequence
  FROM cosid_lease WHERE namespace = 'cosid';
SELECT pg_typeof(cosid_next('next_order')), cosid_next('next_order') > :first AS greater;

-- Strictly increasing in one statement, and on to the next one.
CREATE TEMP TABLE drawn AS
SELECT n, cosid_next('next_order') AS id FROM generate_series(1, 20000) n;
SELECT count(*), count(DISTINCT id) AS ids, count(*) FILTER (WHERE id > previous) AS greater,
       min(id) > :first AS on
  FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM drawn) d;
SELECT cosid_next('next_order') > (SELECT max(id) FROM drawn) AS greater;

-- A batch: as many as were asked for, in order.
SELECT count(*), count(*) FILTER (WHERE id > previous) AS greater
  FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous
          FROM cosid_next('next_order', 5000) WITH ORDINALITY AS b(id, n)) d;
SELECT count(*) FROM cosid_next('next_order', 1);
SELECT count(*) FROM cosid_next('next_order', 0);
SELECT count(*) FROM cosid_next('next_order', NULL);
SELECT count(*) FROM cosid_next(NULL, 1);
SELECT cosid_next(NULL) IS NULL AS "null";
SELECT count(*), count(DISTINCT id) AS ids
  FROM (SELECT n, cosid_next('next_order', 3) AS id FROM generate_series(1, 4) n) b;
-- Each is minted when it is fetched.
SELECT count(*) FROM (SELECT cosid_next('next_order', 2147483647) LIMIT 3) b;
SELECT * FROM cosid_next('next_order', -1);
\set VERBOSITY sqlstate
SELECT * FROM cosid_next('next_order', -1);
\set VERBOSITY default

-- The share generator is built in: no row, and no other generator's IDs.
SELECT cosid_next() AS share \gset
SELECT cosid_next() > :share AS greater, cosid_next('__share__') > :share AS by_name;
SELECT (p).machine_id = l.machine_id AS own_machine_id FROM cosid_parse(:share) p, cosid_lease l
 WHERE l.namespace = 'cosid';
SELECT name, implicit FROM cosid_generator;

-- cosid_stat has a row for each.
SELECT cosid_next('next_order') AS last \gset
SELECT s.name, s.namespace, s.machine_id = l.machine_id AS own, s.timestamp_unit AS unit, s.epoch,
       s.timestamp_bit AS t, s.machine_bit AS m, s.sequence_bit AS s, s.safe_javascript AS js
  FROM cosid_stat s JOIN cosid_lease l USING (namespace)
 WHERE s.name IN ('next_order', '__share__') ORDER BY s.name COLLATE "C";
SELECT last_id = :last AS last_id, last_timestamp = (cosid_parse(:last)).timestamp AS last_timestamp,
       tick_waits >= 0 AND clock_waits >= 0 AND grant_waits >= 0 AS waits
  FROM cosid_stat WHERE name = 'next_order';

-- cosid_lease: what this server holds.
SELECT machine_id BETWEEN 0 AND 1023 AS machine_id, machine_bit, instance_id ~ ':[0-9]+$' AS host_port, state,
       floor < clock_timestamp() AS floor_passed, watermark > clock_timestamp() - interval '1 minute' AS watermark,
       claimed_at <= guarded_at AS guarded, guarded_at <= clock_timestamp() AS not_later
  FROM cosid_lease WHERE namespace = 'cosid';

-- Names: what SQL can quote, case and spaces count, 63 bytes in UTF-8.
SELECT count(*), count(cosid_next(name)) AS ids
  FROM (VALUES ('next O''Brien'), ('next "quoted" \ ; --'), ('next'), ('Next'), ('next '), ('next.dot'),
               ('ключ 🔑'), (repeat('漢', 21)), (repeat('n', 63)), (E'next\nline')) v(name);
SELECT name, octet_length(name) FROM cosid_generator
 WHERE name <> 'next_order' ORDER BY name COLLATE "C";
SELECT (cosid_parse(cosid_next('next O''Brien'), 'next O''Brien')).id > 0 AS parsed;
SELECT cosid_next('next') < cosid_next('next') AS increasing;
SELECT name, last_id IS NOT NULL AS has_last_id FROM cosid_stat WHERE name IN ('ключ 🔑', repeat('漢', 21));
SELECT cosid_next(repeat('n', 64));
SELECT cosid_next('');
\set VERBOSITY sqlstate
SELECT cosid_next(repeat('n', 64));
SELECT cosid_next(repeat('漢', 22));
SELECT cosid_next('');
SELECT * FROM cosid_next('', 1);
\set VERBOSITY default
SELECT count(*) FROM cosid_generator;

DROP TABLE drawn;
DROP EXTENSION cosid;
