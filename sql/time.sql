--
-- cosid_first_id and cosid_last_id: from times to IDs, for ranges and partitions
--
CREATE EXTENSION cosid;
SET DateStyle = 'ISO';
SET TimeZone = 'UTC';
SELECT cosid_create('time_second', timestamp_unit => 'second') AS second, cosid_create('time_js', safe_javascript => true) AS js,
       cosid_create('time_js_second', safe_javascript => true, timestamp_unit => 'second') AS js_second,
       cosid_create('time_1970', epoch => 0) AS "1970", cosid_create('time_default') AS "default",
       cosid_create('time_long', epoch => 253402300799000, timestamp_bit => 61, machine_bit => 1, sequence_bit => 1) AS long;
CREATE TEMP TABLE layouts AS
SELECT name, epoch, 63 - timestamp_bit - machine_bit - sequence_bit AS unused, timestamp_bit, machine_bit, sequence_bit,
       CASE timestamp_unit WHEN 'second' THEN interval '1 second' ELSE interval '1 millisecond' END AS tick,
       to_timestamp(epoch / CASE timestamp_unit WHEN 'second' THEN 1.0 ELSE 1000.0 END) AS start
  FROM cosid_generator;
SELECT name, cosid_first_id(start, name) AS first, cosid_last_id(start, name) AS last, start FROM layouts ORDER BY 1;
SELECT cosid_first_id('2026-11-01 05:30+00'), cosid_last_id('2026-11-01 05:30+00');
SELECT cosid_first_id('2026-11-01 05:30+00', 'time_second'), cosid_last_id('2026-11-01 05:30+00', 'time_second');

-- Ticks of many times, at a microsecond before, at, and after a tick begins:
-- adjacent ones adjoin, and their bounds have that time and all machine ids and
-- sequences.
CREATE TEMP TABLE ticks AS
SELECT l.*, t, date_trunc(CASE tick WHEN '1 second' THEN 'second' ELSE 'millisecond' END, t) AS tick_start,
       cosid_first_id(t, name) AS first, cosid_last_id(t, name) AS last
  FROM layouts l, generate_series(0, 300) n, unnest('{-1, 0, 1, 999}'::int[]) us,
       LATERAL (SELECT start + (1 + n * n * n) * interval '37 seconds' + us * interval '1 microsecond' AS t) t;
SELECT name, count(*), count(*) FILTER (WHERE cosid_first_id(t + tick, name) = last + 1 AND cosid_last_id(t - tick, name) = first - 1) AS adjoin,
       count(*) FILTER (WHERE last - first = (1::bigint << (machine_bit + sequence_bit)) - 1) AS complete,
       count(*) FILTER (WHERE cosid_timestamp(first, name) = tick_start AND cosid_timestamp(last, name) = tick_start) AS times,
       count(*) FILTER (WHERE (cosid_machine_id(first, name), cosid_sequence(first, name), cosid_machine_id(last, name), cosid_sequence(last, name)) =
                              (0, 0, (1::bigint << machine_bit) - 1, (1::bigint << sequence_bit) - 1)) AS parts
  FROM ticks GROUP BY 1 ORDER BY 1;
SELECT count(*) = count(*) FILTER (WHERE (cosid_first_id(t), cosid_last_id(t)) = (first, last)) AS "default" FROM ticks WHERE name = 'time_default';

-- An ID is between the bounds of its own time and of the time it was minted at.
CREATE TEMP TABLE drawn AS
SELECT name, clock_timestamp() AS before, cosid_next(name) AS id, clock_timestamp() AS after
  FROM (SELECT name FROM layouts WHERE name <> 'time_long') l, generate_series(1, 500);
SELECT name, count(*), count(*) FILTER (WHERE id BETWEEN cosid_first_id(cosid_timestamp(id, name), name) AND cosid_last_id(cosid_timestamp(id, name), name)) AS own,
       count(*) FILTER (WHERE id BETWEEN cosid_first_id(before, name) AND cosid_last_id(after, name)) AS minted
  FROM drawn GROUP BY 1 ORDER BY 1;

-- What the layout has no room for: 22003.
SELECT cosid_first_id('2019-12-24 15:59:59.999999+00');
SELECT cosid_last_id('2089-08-30 07:47:35.552+00');
SELECT cosid_first_id('infinity', 'time_js');
SELECT cosid_first_id('2019-12-24 16:00+00') AS first, cosid_last_id('2089-08-30 07:47:35.551999+00') AS last;
SELECT cosid_first_id('1970-01-01 00:00+00', 'time_1970') AS first;
CREATE FUNCTION pg_temp.result_of(call text) RETURNS text AS $$
DECLARE
    result text;
BEGIN
    EXECUTE 'SELECT ' || call INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END
$$ LANGUAGE plpgsql;
SELECT l.name, r.result, count(*)
  FROM layouts l, unnest('{cosid_first_id, cosid_last_id}'::text[]) f,
       LATERAL (SELECT unnest(ARRAY['infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '0001-01-01 00:00+00 BC', '1969-12-31 23:59:59.999999+00',
                                    (start - interval '1 microsecond')::text])) t (t),
       LATERAL (SELECT pg_temp.result_of(format('%s(%L, %L)', f, t, l.name)) AS result) r
 GROUP BY 1, 2 ORDER BY 1, 2;
-- The last tick, and the one after it
SELECT name, cosid_last_id(last, name) = 9223372036854775807 >> unused AS last,
       pg_temp.result_of(format('cosid_first_id(%L, %L)', last + tick, name)) AS after
  FROM layouts, LATERAL (SELECT cosid_timestamp(9223372036854775807 >> unused, name) AS last) l WHERE name <> 'time_long' ORDER BY 1;
SELECT cosid_timestamp(cosid_last_id(t, 'time_long'), 'time_long') FROM unnest('{294247-01-10 04:00:54.775807+00, 294276-12-31 23:59:59.999999+00}'::timestamptz[]) t;
SELECT pg_temp.result_of($$cosid_first_id(now(), 'time_none')$$) AS unknown;
SELECT num_nulls(cosid_first_id(NULL), cosid_last_id(NULL), cosid_first_id(NULL, 'time_js'), cosid_last_id(now(), NULL)) AS nulls;

-- A range of time is an index range scan; without a generator the bounds are
-- constants already in the plan.
CREATE TABLE time_orders (id bigint PRIMARY KEY, item int);
INSERT INTO time_orders SELECT cosid_first_id('2026-01-01 00:00+00'::timestamptz + n * interval '1 minute'), n FROM generate_series(0, 20000) n;
ANALYZE time_orders;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM time_orders
 WHERE id BETWEEN cosid_first_id('2026-01-02 00:00+00') AND cosid_last_id('2026-01-02 00:59:59.999+00');
EXPLAIN (COSTS OFF) SELECT * FROM time_orders
 WHERE id BETWEEN cosid_first_id('2026-01-02 00:00+00', 'time_default') AND cosid_last_id('2026-01-02 00:59:59.999+00', 'time_default');
EXPLAIN (COSTS OFF) SELECT * FROM time_orders WHERE id >= cosid_first_id(now() - interval '1 day');
SELECT count(*), min(item), max(item) FROM time_orders
 WHERE id BETWEEN cosid_first_id('2026-01-02 00:00+00') AND cosid_last_id('2026-01-02 00:59:59.999+00');

-- Partitions by month
CREATE TABLE time_events (id bigint PRIMARY KEY, item int) PARTITION BY RANGE (id);
CREATE TABLE time_2026_01 PARTITION OF time_events FOR VALUES FROM (cosid_first_id('2026-01-01 00:00+00')) TO (cosid_first_id('2026-02-01 00:00+00'));
CREATE TABLE time_2026_02 PARTITION OF time_events FOR VALUES FROM (cosid_first_id('2026-02-01 00:00+00')) TO (cosid_first_id('2026-03-01 00:00+00'));
CREATE TABLE time_2026_03 PARTITION OF time_events FOR VALUES FROM (cosid_first_id('2026-03-01 00:00+00')) TO (cosid_first_id('2026-04-01 00:00+00'));
SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind = 'r' AND relname LIKE 'time_2026%' ORDER BY 1;
SET enable_seqscan = off;
INSERT INTO time_events SELECT cosid_last_id('2026-01-01 00:00+00'::timestamptz + n * interval '1 hour'), n FROM generate_series(0, 2159) n;
ANALYZE time_events;
SELECT tableoid::regclass, count(*), min(cosid_timestamp(id)), max(cosid_timestamp(id)) FROM time_events GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM time_events WHERE id BETWEEN cosid_first_id('2026-02-10 00:00+00') AND cosid_last_id('2026-02-11 00:00+00');
-- With a generator's name, pruned when the execution starts
EXPLAIN (COSTS OFF) SELECT * FROM time_events WHERE id >= cosid_first_id('2026-03-10 00:00+00', 'time_default');

DROP TABLE layouts, ticks, drawn, time_orders, time_events;
DROP EXTENSION cosid;
