--
-- cosid_parse and cosid_friendly
--
CREATE EXTENSION cosid;

-- An ID of the default layout, in the session's time zone
SET DateStyle = 'ISO';
SET TimeZone = 'UTC';
SELECT * FROM cosid_parse(3373882720435522670);
SELECT cosid_friendly(3373882720435522670);
SET TimeZone = 'Pacific/Chatham';
SELECT * FROM cosid_parse(443890943345899851);
SELECT cosid_friendly(443890943345899851);
-- The ends of the range
SET TimeZone = 'UTC';
SELECT * FROM cosid_parse(0);
SELECT * FROM cosid_parse(9223372036854775807);
SELECT (cosid_parse(NULL)).id IS NULL AS parse, cosid_friendly(NULL) IS NULL AS friendly,
       (cosid_parse(NULL, 'parse_none')).id IS NULL AS name, cosid_friendly(1, NULL) IS NULL AS friendly_name;

-- Every line of the test vectors: a generator for each layout, zone and padding
-- in them.  That of the default layout without padding needs no generator, only
-- the zone.
\getenv abs_srcdir PG_ABS_SRCDIR
\set vectors :abs_srcdir '/test/vectors/parse.tsv'
CREATE TEMP TABLE lines (line text);
COPY lines FROM :'vectors' (DELIMITER E'\x01');
CREATE TEMP TABLE vectors AS
SELECT f[1] AS unit, f[2]::bigint AS epoch, f[3]::int AS timestamp_bit, f[4]::int AS machine_bit, f[5]::int AS sequence_bit,
       f[6] AS zone, f[7]::boolean AS pad_start, f[8]::bigint AS id, f[9]::timestamp AS local, f[10]::int AS machine_id,
       f[11]::bigint AS sequence, f[12] AS friendly_id
  FROM (SELECT string_to_array(line, E'\t') AS f FROM lines WHERE line !~ '^#') l;
ALTER TABLE vectors ADD generator text;
UPDATE vectors v SET generator = 'parse_' || n
  FROM (SELECT *, row_number() OVER () AS n
          FROM (SELECT DISTINCT unit, epoch, timestamp_bit, machine_bit, sequence_bit, zone, pad_start FROM vectors) d) g
 WHERE (v.unit, v.epoch, v.timestamp_bit, v.machine_bit, v.sequence_bit, v.zone, v.pad_start) =
       (g.unit, g.epoch, g.timestamp_bit, g.machine_bit, g.sequence_bit, g.zone, g.pad_start);
SELECT count(cosid_create(generator, timestamp_unit => unit, epoch => epoch, timestamp_bit => timestamp_bit,
                          machine_bit => machine_bit, sequence_bit => sequence_bit, zone => zone,
                          converter => 'snowflake_friendly', pad_start => pad_start)) = count(*) AS created
  FROM (SELECT DISTINCT ON (generator) * FROM vectors) g;
SELECT unit, timestamp_bit || '/' || machine_bit || '/' || sequence_bit AS bits, count(*), count(DISTINCT zone) AS zones,
       count(*) FILTER (WHERE pad_start) AS padded,
       count(*) FILTER (WHERE (p.id, p.machine_id, p.sequence, p.friendly_id) =
                              (v.id, v.machine_id, v.sequence, v.friendly_id)) AS parsed,
       count(*) FILTER (WHERE p.timestamp AT TIME ZONE zone = local) AS timestamps,
       count(*) FILTER (WHERE cosid_friendly(v.id, generator) = v.friendly_id) AS friendly
  FROM vectors v, cosid_parse(v.id, generator) p GROUP BY 1, 2 ORDER BY 1, 2;
SELECT v.*, cosid_friendly(id, generator) FROM vectors v WHERE cosid_friendly(id, generator) IS DISTINCT FROM friendly_id;
CREATE FUNCTION pg_temp.friendly_at(zone text, id bigint) RETURNS text AS $$
BEGIN
    PERFORM set_config('TimeZone', zone, true);
    RETURN cosid_friendly(id);
END
$$ LANGUAGE plpgsql;
SELECT zone, count(*), count(*) FILTER (WHERE pg_temp.friendly_at(zone, id) = friendly_id) AS friendly
  FROM vectors WHERE (unit, machine_bit, pad_start) = ('millisecond', 10, false) GROUP BY 1 ORDER BY 1;

-- A generator's own zone goes before the session's; without one, the session's
-- counts.  Padded only with snowflake_friendly and pad_start.
SET TimeZone = 'Asia/Kolkata';
SELECT cosid_create('parse_zone', zone => 'America/New_York');
SELECT cosid_create('parse_plain');
SELECT cosid_create('parse_friendly', converter => 'snowflake_friendly');
SELECT cosid_create('parse_padded', converter => 'snowflake_friendly', pad_start => true);
SELECT cosid_create('parse_radix', converter => 'radix', pad_start => true);
SELECT cosid_create('parse_js', safe_javascript => true, converter => 'snowflake_friendly', pad_start => true);
SELECT cosid_create('parse_second', timestamp_unit => 'second', converter => 'snowflake_friendly', pad_start => true);
SELECT name, p.* FROM cosid_generator, cosid_parse(907260670771200005, name) p
 WHERE name IN ('parse_zone', 'parse_plain', 'parse_friendly', 'parse_padded', 'parse_radix', 'parse_second')
UNION ALL SELECT 'parse_js', p.* FROM cosid_parse(886011494400005, 'parse_js') p
UNION ALL SELECT '__share__', p.* FROM cosid_parse(907260670771200005, '__share__') p ORDER BY 1;
SELECT name, cosid_friendly(907260670771200005, name) FROM cosid_generator
 WHERE name IN ('parse_zone', 'parse_padded') ORDER BY 1;
SELECT cosid_next('parse_used') AS id \gset
SELECT cosid_friendly(:id) = cosid_friendly(:id, 'parse_used') AS same;

-- Layouts that last long: to the end of timestamptz, and no further.
SELECT cosid_create('parse_far', timestamp_bit => 61, machine_bit => 1, sequence_bit => 1, zone => 'UTC');
SELECT cosid_create('parse_far_second', timestamp_bit => 61, machine_bit => 1, sequence_bit => 1, zone => 'UTC',
                    timestamp_unit => 'second', epoch => 253402300799);
SELECT p.timestamp AT TIME ZONE 'UTC' AS timestamp, machine_id, sequence, friendly_id
  FROM cosid_parse((253402300800000 - 1577203200000) * 4 + 3, 'parse_far') p;
SELECT cosid_friendly((9224318015999999 - 1577203200000) * 4, 'parse_far');
SELECT cosid_friendly((9224318016000000 - 1577203200000) * 4, 'parse_far');
SELECT cosid_friendly(0, 'parse_far_second');
SELECT cosid_parse(9223372036854775807, 'parse_far_second');

-- What is no ID of the layout: 22003.
SELECT cosid_parse(-1);
SELECT cosid_friendly(9007199254740992, 'parse_js');
\set VERBOSITY sqlstate
SELECT cosid_parse(-1);
SELECT cosid_parse(-9223372036854775808, 'parse_plain');
SELECT cosid_friendly(-1);
SELECT cosid_friendly(-1, 'parse_js');
SELECT cosid_parse(9007199254740992, 'parse_js');
SELECT cosid_friendly((9224318016000000 - 1577203200000) * 4, 'parse_far');
SELECT cosid_parse(9223372036854775807, 'parse_far_second');
\set VERBOSITY default
SELECT cosid_friendly(9007199254740991, 'parse_js');

-- An unknown generator: 42704, and none is made.
SELECT cosid_friendly(1, 'parse_none');
\set VERBOSITY sqlstate
SELECT cosid_friendly(1, 'parse_none');
SELECT cosid_parse(1, 'parse_none');
SELECT cosid_parse(1, '');
\set VERBOSITY default
SELECT count(*) FROM cosid_generator WHERE name = 'parse_none';

DROP TABLE lines, vectors;
DROP EXTENSION cosid;
