--
-- Layouts: what cosid_create accepts, and what cosid_next and cosid_parse make
-- of it
--
CREATE EXTENSION cosid;

-- What is omitted comes from the table of defaults, NULL as well; the namespace
-- is that of the number of machine bits.
SELECT cosid_create('layout_default');
SELECT cosid_create('layout_null', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT cosid_create('layout_second', timestamp_unit => 'second');
SELECT cosid_create('layout_js', safe_javascript => true);
SELECT cosid_create('layout_js_second', safe_javascript => true, timestamp_unit => 'second');
-- Some given, some not; and the extremes.
SELECT cosid_create('layout_some', timestamp_unit => 'second', sequence_bit => 8, sequence_reset_threshold => 0, clock_sync => false);
SELECT cosid_create('layout_some_js', safe_javascript => true, machine_bit => 5, sequence_bit => 7, epoch => 0);
SELECT cosid_create('layout_41_1_21', machine_bit => 1, sequence_bit => 21);
SELECT cosid_create('layout_41_21_1', machine_bit => 21, sequence_bit => 1);
SELECT cosid_create('layout_31_10_22', timestamp_unit => 'second', timestamp_bit => 31, machine_bit => 10, sequence_bit => 22);
SELECT cosid_create('layout_61_1_1', timestamp_bit => 61, machine_bit => 1, sequence_bit => 1);
SELECT cosid_create('layout_31_31_1', timestamp_unit => 'second', machine_bit => 31, sequence_bit => 1);
SELECT cosid_create('layout_own', namespace => 'layout_own', epoch => 1700000000000, sequence_reset_threshold => 4095);
SELECT name, namespace, timestamp_unit AS unit, epoch, timestamp_bit AS t, machine_bit AS m, sequence_bit AS s,
       sequence_reset_threshold AS threshold, clock_sync AS sync
  FROM cosid_generator ORDER BY name COLLATE "C";

-- Up to 40 IDs of each: distinct, of now, with the machine id of the namespace's lease;
-- no part exceeds its bits, and no ID the sum of them.
CREATE TEMP TABLE minted AS
SELECT g.name, n, cosid_next(g.name) AS id, clock_timestamp() AS at
  FROM generate_series(1, 40) n, cosid_generator g WHERE n <= 2 OR g.name <> 'layout_31_31_1';
SELECT g.name, count(*), count(DISTINCT m.id) AS ids,
       bool_and(p.machine_id = l.machine_id AND p.machine_id BETWEEN 0 AND (1::bigint << g.machine_bit) - 1) AS machine,
       bool_and(p.sequence BETWEEN 0 AND (1::bigint << g.sequence_bit) - 1) AS sequence,
       bool_and(p.timestamp BETWEEN m.at - interval '5 s' AND m.at) AS timestamp,
       bool_and(p.timestamp = date_trunc(g.timestamp_unit, p.timestamp)) AS unit,
       bool_and(m.id = ((((extract(epoch FROM p.timestamp) * CASE g.timestamp_unit WHEN 'second' THEN 1 ELSE 1000 END)::bigint
                          - g.epoch << g.machine_bit) + p.machine_id) << g.sequence_bit) + p.sequence) AS packed
  FROM minted m JOIN cosid_generator g USING (name) JOIN cosid_lease l USING (namespace), cosid_parse(m.id, g.name) p
 GROUP BY g.name ORDER BY g.name COLLATE "C";
-- safe_javascript: no ID is above Number.MAX_SAFE_INTEGER.
SELECT count(*), bool_and(id <= 9007199254740991) AS safe FROM minted WHERE name ~ 'js';
SELECT name, safe_javascript FROM cosid_stat WHERE name ~ '^layout.*(js|default)' ORDER BY name COLLATE "C";
-- With one bit of sequence every other ID waits for the next tick.
SELECT tick_waits FROM cosid_stat WHERE name = 'layout_41_21_1' \gset
SELECT count(*) FROM cosid_next('layout_41_21_1', 40);
SELECT tick_waits - :tick_waits BETWEEN 5 AND 40 AS waited FROM cosid_stat WHERE name = 'layout_41_21_1';
-- After a pause the sequence goes on, or from 1 where it had reached the
-- threshold.
SELECT cosid_create('layout_reset', sequence_reset_threshold => 3);
SELECT cosid_create('layout_reset_0', sequence_reset_threshold => 0);
CREATE TEMP TABLE paused AS
SELECT n, pg_sleep(0.002)::text, cosid_next('layout_reset') AS id, cosid_next('layout_reset_0') AS id_0 FROM generate_series(1, 7) n;
SELECT array_agg(id & 4095 ORDER BY n) AS threshold_3, array_agg(id_0 & 4095 ORDER BY n) AS threshold_0 FROM paused;

-- A namespace has one lease, as wide as the generator that first wanted it: a
-- machine id of 31 bits does not fit into 1.
SELECT cosid_create('layout_wide', namespace => 'layout_mixed', machine_bit => 31, timestamp_bit => 31, sequence_bit => 1, timestamp_unit => 'second');
SELECT cosid_create('layout_narrow', namespace => 'layout_mixed', machine_bit => 1);
SELECT cosid_next('layout_wide') > 0 AS minted;
SELECT namespace, machine_bit, machine_id > 1 AS wide FROM cosid_lease WHERE namespace = 'layout_mixed';
-- Timestamps outside of the layout.
SELECT cosid_create('layout_future', epoch => 253402300799999);
SELECT cosid_create('layout_past', epoch => 0, timestamp_bit => 40);
CREATE FUNCTION pg_temp.error_of(statement text, OUT code text, OUT message text, OUT hint text) AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    message := regexp_replace(message, 'machine id \d+', 'machine id N');
END
$$ LANGUAGE plpgsql;
\pset format unaligned
SELECT e.* FROM unnest('{layout_narrow,layout_future,layout_past}'::text[]) name,
       pg_temp.error_of(format('SELECT cosid_next(%L)', name)) e;

DROP TABLE minted, paused;
DROP EXTENSION cosid;
