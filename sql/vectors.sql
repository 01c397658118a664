--
-- Every line of the test vectors, which come from the reference implementation,
-- through SQL.  (parse.sql has cosid_parse and cosid_friendly.)
--
CREATE EXTENSION cosid;
SET DateStyle = 'ISO';
\getenv abs_srcdir PG_ABS_SRCDIR
CREATE TEMP TABLE lines (line text);

-- convert.tsv: a generator for each set of properties in it
\set vectors :abs_srcdir '/test/vectors/convert.tsv'
COPY lines FROM :'vectors' (DELIMITER E'\x01');
CREATE TEMP TABLE conversions AS
SELECT f[1] AS direction, f[2] AS converter, f[3]::boolean AS pad_start, nullif(f[4]::int, 0) AS char_size,
       f[5] AS prefix, f[6] AS suffix, f[7] AS input, f[8] AS output,
       'convert_' || dense_rank() OVER (ORDER BY f[2:6]) AS generator
  FROM (SELECT string_to_array(line, E'\t') AS f FROM lines WHERE line !~ '^#') l;
SELECT count(cosid_create(generator, converter => converter, pad_start => pad_start, char_size => char_size,
                          prefix => prefix, suffix => suffix)) AS generators
  FROM (SELECT DISTINCT ON (generator) * FROM conversions) g;

-- What a call gives: its result, or the SQLSTATE of a refusal
CREATE FUNCTION pg_temp.result_of(call text) RETURNS text AS $$
DECLARE
    result text;
BEGIN
    EXECUTE 'SELECT ' || call INTO result;
    RETURN result;
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range THEN
    RETURN SQLSTATE;
END
$$ LANGUAGE plpgsql;
CREATE FUNCTION pg_temp.expected(direction text, output text) RETURNS text
RETURN CASE WHEN output <> 'error' THEN output WHEN direction = 'as_long' THEN '22P02' ELSE '22003' END;

CREATE TEMP TABLE results AS
SELECT c.*, pg_temp.expected(direction, output) AS expected,
       pg_temp.result_of(CASE direction WHEN 'as_string' THEN format('cosid_to_string(%L, %L)', input, generator)
                                        ELSE format('cosid_from_string(%L, %L)', input, generator) END) AS result
  FROM conversions c;
SELECT direction, converter, count(*), count(*) FILTER (WHERE output = 'error') AS refused,
       count(*) FILTER (WHERE result = expected) AS reproduced
  FROM results GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM results WHERE result IS DISTINCT FROM expected;

-- Without affixes: the functions that need no generator do the same.
DROP TABLE results;
CREATE TEMP TABLE results AS
SELECT c.*, pg_temp.expected(direction, output) AS expected,
       pg_temp.result_of(CASE direction WHEN 'as_string' THEN format('cosid_%s(%L, %L, %L)', f, input, pad_start, char_size)
                                        ELSE format('cosid_from_%s(%L, %L)', f, input, char_size) END) AS result
  FROM (SELECT *, CASE converter WHEN 'radix' THEN 'radix62' ELSE converter END AS f
          FROM conversions WHERE converter LIKE 'radix%' AND prefix || suffix = '') c;
SELECT direction, converter, count(*), count(*) FILTER (WHERE output = 'error') AS refused,
       count(*) FILTER (WHERE result = expected) AS reproduced
  FROM results GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM results WHERE result IS DISTINCT FROM expected;
-- And the sizes of their own are those that every ID fits in.
SELECT converter, pad_start, count(*),
       count(*) FILTER (WHERE output = CASE converter WHEN 'radix' THEN cosid_radix62(input::bigint, pad_start)
                                                      ELSE cosid_radix36(input::bigint, pad_start) END) AS reproduced
  FROM results WHERE direction = 'as_string' AND char_size = CASE converter WHEN 'radix' THEN 11 ELSE 13 END
 GROUP BY 1, 2 ORDER BY 1, 2;

-- parse.tsv: a generator for each layout, zone and padding in it
TRUNCATE lines;
\set vectors :abs_srcdir '/test/vectors/parse.tsv'
COPY lines FROM :'vectors' (DELIMITER E'\x01');
CREATE TEMP TABLE parts AS
SELECT f[1] AS unit, f[2]::bigint AS epoch, f[3]::int AS timestamp_bit, f[4]::int AS machine_bit, f[5]::int AS sequence_bit,
       f[6] AS zone, f[7]::boolean AS pad_start, f[8]::bigint AS id, f[9]::timestamp AS local, f[10]::int AS machine_id,
       f[11]::bigint AS sequence, f[12] AS friendly_id, f[13]::bigint AS read_as,
       'parts_' || dense_rank() OVER (ORDER BY f[1:7]) AS generator
  FROM (SELECT string_to_array(line, E'\t') AS f FROM lines WHERE line !~ '^#') l;
SELECT count(cosid_create(generator, timestamp_unit => unit, epoch => epoch, timestamp_bit => timestamp_bit,
                          machine_bit => machine_bit, sequence_bit => sequence_bit, zone => zone,
                          converter => 'snowflake_friendly', pad_start => pad_start)) AS generators
  FROM (SELECT DISTINCT ON (generator) * FROM parts) g;

SELECT unit, timestamp_bit || '/' || machine_bit || '/' || sequence_bit AS bits, count(*),
       count(*) FILTER (WHERE cosid_timestamp(id, generator) AT TIME ZONE zone = local) AS timestamps,
       count(*) FILTER (WHERE cosid_machine_id(id, generator) = machine_id) AS machine_ids,
       count(*) FILTER (WHERE cosid_sequence(id, generator) = sequence) AS sequences,
       count(*) FILTER (WHERE cosid_to_string(id, generator) = friendly_id) AS to_string,
       count(*) FILTER (WHERE cosid_from_string(friendly_id, generator) = read_as) AS from_string,
       count(*) FILTER (WHERE cosid_from_friendly(friendly_id, generator) = read_as) AS from_friendly
  FROM parts GROUP BY 1, 2 ORDER BY 1, 2;
-- An ID that reads as another one is of the hour that is repeated: it reads as
-- the same time of the first hour.
SELECT zone, count(*), count(*) FILTER (WHERE read_as <> id) AS repeated,
       count(*) FILTER (WHERE cosid_timestamp(read_as, generator) = cosid_timestamp(id, generator) - interval '1 hour') AS hour_before
  FROM parts GROUP BY 1 ORDER BY 1;

-- The default layout, without a generator
CREATE FUNCTION pg_temp.from_friendly_at(zone text, friendly_id text) RETURNS bigint AS $$
BEGIN
    PERFORM set_config('TimeZone', zone, true);
    RETURN cosid_from_friendly(friendly_id);
END
$$ LANGUAGE plpgsql;
SELECT count(*), count(*) FILTER (WHERE cosid_timestamp(id) AT TIME ZONE zone = local) AS timestamps,
       count(*) FILTER (WHERE cosid_machine_id(id) = machine_id) AS machine_ids,
       count(*) FILTER (WHERE cosid_sequence(id) = sequence) AS sequences,
       count(*) FILTER (WHERE pg_temp.from_friendly_at(zone, friendly_id) = read_as) AS from_friendly
  FROM parts WHERE (unit, machine_bit) = ('millisecond', 10);

DROP TABLE lines, conversions, results, parts;
DROP EXTENSION cosid;
