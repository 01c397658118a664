--
-- IDs as strings: converters of generators, and on their own
--
CREATE EXTENSION cosid;
SET TimeZone = 'UTC';

-- The default is radix 62, padded to the 11 characters that any ID fits in.
SELECT count(cosid_create(name, converter => converter, pad_start => pad_start, char_size => char_size,
                          prefix => prefix, suffix => suffix)) AS created
  FROM (VALUES ('strings_default', NULL, NULL::boolean, NULL::int, NULL, NULL),
               ('strings_radix', 'radix', false, NULL, NULL, NULL),
               ('strings_affix', NULL, NULL, NULL, 'ord-', '-x'),
               ('strings_36', 'radix36', NULL, NULL, NULL, NULL),
               ('strings_36_short', 'radix36', false, NULL, 'é', NULL),
               ('strings_decimal', 'to_string', NULL, NULL, NULL, NULL),
               ('strings_padded', 'to_string', true, NULL, NULL, NULL),
               ('strings_25', 'to_string', true, 25, NULL, '.'),
               ('strings_friendly', 'snowflake_friendly', NULL, NULL, NULL, NULL),
               ('strings_friendly_padded', 'snowflake_friendly', true, NULL, NULL, NULL))
       v (name, converter, pad_start, char_size, prefix, suffix);
SELECT cosid_create('strings_second', converter => 'snowflake_friendly', pad_start => true, timestamp_unit => 'second', prefix => 'S'),
       cosid_create('strings_js', safe_javascript => true, converter => 'snowflake_friendly'),
       cosid_create('strings_8', char_size => 8, machine_bit => 3, sequence_bit => 4, timestamp_bit => 40);
SELECT name, converter, pad_start, char_size, prefix, suffix FROM cosid_generator ORDER BY 1;
SELECT name, cosid_to_string(id, name), cosid_from_string(cosid_to_string(id, name), name) = id AS back
  FROM cosid_generator, LATERAL (SELECT CASE WHEN machine_bit = 3 THEN 88601149440005 ELSE 907260670771200005 END AS id) i ORDER BY 1;
-- The ends of the range
SELECT name, cosid_to_string(0, name) AS first, cosid_to_string(last, name) AS last,
       cosid_from_string(cosid_to_string(0, name), name) = 0 AND cosid_from_string(cosid_to_string(last, name), name) = last AS back
  FROM cosid_generator, LATERAL (SELECT 9223372036854775807 >> (63 - timestamp_bit - machine_bit - sequence_bit) AS last) l ORDER BY 1;

-- cosid_next_string is cosid_next through the converter: strictly increasing
-- in the order of the bytes where it is padded, and the next ID each time.
CREATE TEMP TABLE forms (name text, form text);
INSERT INTO forms VALUES
    ('strings_default', '^[0-9A-Za-z]{11}$'), ('strings_radix', '^[1-9A-Za-z][0-9A-Za-z]{0,10}$'), ('strings_affix', '^ord-[0-9A-Za-z]{11}-x$'),
    ('strings_8', '^[0-9A-Za-z]{8}$'), ('strings_36', '^[0-9A-Z]{13}$'), ('strings_36_short', '^é[1-9A-Z][0-9A-Z]{0,12}$'),
    ('strings_decimal', '^[1-9][0-9]{0,18}$'), ('strings_padded', '^[0-9]{19}$'), ('strings_25', '^000000[0-9]{19}\.$'),
    ('strings_friendly', '^20\d{15}-\d{1,4}-\d{1,4}$'), ('strings_friendly_padded', '^20\d{15}-\d{4}-\d{4}$'),
    ('strings_second', '^S20\d{12}-\d{4}-\d{7}$'), ('strings_js', '^20\d{15}-\d-\d{1,3}$');
CREATE TEMP TABLE drawn AS
SELECT f.name, n, cosid_next_string(f.name) COLLATE "C" AS string FROM forms f, generate_series(1, 3000) n;
SELECT d.name, count(*), count(*) FILTER (WHERE string ~ form) AS formed,
       count(*) FILTER (WHERE id > previous_id) AS greater,
       CASE WHEN g.pad_start THEN count(*) FILTER (WHERE string > previous) END AS sorts_after
  FROM (SELECT *, cosid_from_string(string, name) AS id,
               lag(cosid_from_string(string, name)) OVER w AS previous_id, lag(string) OVER w AS previous
          FROM drawn WINDOW w AS (PARTITION BY name ORDER BY n)) d
  JOIN forms USING (name) JOIN cosid_generator g USING (name)
 GROUP BY d.name, g.pad_start ORDER BY 1;
SELECT cosid_next('strings_default') AS before, cosid_next_string('strings_default') AS string,
       cosid_next('strings_default') AS after \gset
SELECT cosid_from_string(:'string', 'strings_default') BETWEEN :before + 1 AND :after - 1 AS between;
-- It defines a generator on first use, as cosid_next does.
SELECT cosid_next_string('strings_new') COLLATE "C" < cosid_next_string('strings_new') COLLATE "C" AS ordered;
SELECT converter, pad_start, char_size, implicit FROM cosid_generator WHERE name = 'strings_new';
CREATE TABLE strings_orders (id text COLLATE "C" PRIMARY KEY DEFAULT cosid_next_string('strings_affix'), item int);
INSERT INTO strings_orders (item) SELECT generate_series(1, 100);
SELECT count(*), array_agg(item ORDER BY id) = array_agg(item ORDER BY item) AS ordered FROM strings_orders;

-- Padded strings sort as the IDs do, over the whole range.
CREATE TEMP TABLE ids AS
SELECT (hashint8extended(n, 0) & 9223372036854775807) >> (n % 63) AS id FROM generate_series(1, 2000) n;
INSERT INTO ids SELECT (1::bigint << n) - d FROM generate_series(0, 62) n, generate_series(0, 1) d;
SELECT count(*) > 1000 AS many,
       count(*) FILTER (WHERE cosid_radix62(id) COLLATE "C" <= cosid_radix62(previous) COLLATE "C") AS radix62,
       count(*) FILTER (WHERE cosid_radix36(id) COLLATE "C" <= cosid_radix36(previous) COLLATE "C") AS radix36,
       count(*) FILTER (WHERE cosid_to_string(id, 'strings_padded') COLLATE "C"
                           <= cosid_to_string(previous, 'strings_padded') COLLATE "C") AS to_string,
       count(*) FILTER (WHERE cosid_to_string(id, 'strings_friendly_padded') COLLATE "C"
                           <= cosid_to_string(previous, 'strings_friendly_padded') COLLATE "C" AND id >> 12 = previous >> 12) AS friendly
  FROM (SELECT id, lag(id) OVER (ORDER BY id) AS previous FROM (SELECT DISTINCT id FROM ids) d) p;

-- On their own
SELECT cosid_radix62(907260670771200005), cosid_radix62(5), cosid_radix62(5, false), cosid_radix62(5, true, 3), cosid_radix62(61, char_size => 1);
SELECT cosid_radix36(907260670771200005), cosid_radix36(5), cosid_radix36(5, false), cosid_radix36(5, true, 3), cosid_radix36(35, char_size => 1);
SELECT cosid_from_radix62('15189krMzRp'), cosid_from_radix62('5'), cosid_from_radix62('z', 1), cosid_from_radix36('6W55EOKQ9V45'), cosid_from_radix36('Z', 1);
SELECT length(cosid_radix62(0, true, 63)), cosid_from_radix62(cosid_radix62(62, true, 63), 63), cosid_from_radix36(cosid_radix36(36, true, 63), 63);
SELECT count(*) > 2000 AS many, count(*) FILTER (WHERE cosid_from_radix62(cosid_radix62(id)) = id) = count(*) AS radix62,
       count(*) FILTER (WHERE cosid_from_radix62(cosid_radix62(id, false)) = id) = count(*) AS radix62_short,
       count(*) FILTER (WHERE cosid_from_radix36(cosid_radix36(id)) = id) = count(*) AS radix36,
       count(*) FILTER (WHERE cosid_from_radix36(cosid_radix36(id, false)) = id) = count(*) AS radix36_short
  FROM ids;

-- Immutable without a generator: they serve generated columns and indexes.
CREATE TABLE strings_generated (
    id bigint PRIMARY KEY DEFAULT cosid_next('strings_generated'),
    code text COLLATE "C" GENERATED ALWAYS AS (cosid_radix62(id)) STORED,
    code36 text COLLATE "C" GENERATED ALWAYS AS (cosid_radix36(id)) STORED,
    created_at timestamptz GENERATED ALWAYS AS (cosid_timestamp(id)) STORED,
    machine_id int GENERATED ALWAYS AS (cosid_machine_id(id)) STORED,
    sequence bigint GENERATED ALWAYS AS (cosid_sequence(id)) STORED,
    safe boolean GENERATED ALWAYS AS (cosid_is_safe_javascript(id)) STORED);
CREATE UNIQUE INDEX ON strings_generated (cosid_from_radix62(code));
INSERT INTO strings_generated VALUES (DEFAULT), (DEFAULT), (DEFAULT);
SELECT count(*), bool_and(cosid_from_radix62(code) = s.id AND cosid_from_radix36(code36) = s.id) AS codes,
       bool_and((created_at, s.machine_id, s.sequence) = (p.timestamp, p.machine_id, p.sequence)) AS parts, bool_or(safe) AS safe
  FROM strings_generated s, cosid_parse(s.id) p;
CREATE TABLE strings_stable (id bigint, code text GENERATED ALWAYS AS (cosid_to_string(id, 'strings_default')) STORED);

-- What JavaScript's numbers hold exactly
SELECT id, cosid_is_safe_javascript(id) FROM unnest('{0, 1, 9007199254740991, 9007199254740992, 9223372036854775807, -1, -9223372036854775808}'::bigint[]) id;
SELECT bool_and(cosid_is_safe_javascript(cosid_next('strings_js'))) AS js, cosid_is_safe_javascript(cosid_next('strings_default')) AS "default";

-- NULL for NULL, whichever argument it is
SELECT num_nulls(cosid_next_string(NULL), cosid_to_string(NULL, 'strings_default'), cosid_to_string(1, NULL), cosid_from_string(NULL, 'strings_default'),
                 cosid_from_string('1', NULL), cosid_from_friendly(NULL), cosid_from_friendly(NULL, 'strings_default'), cosid_from_friendly('1', NULL),
                 cosid_radix62(NULL), cosid_radix62(1, NULL), cosid_radix62(1, true, NULL), cosid_from_radix62(NULL), cosid_from_radix62('1', NULL),
                 cosid_radix36(NULL), cosid_radix36(1, NULL), cosid_radix36(1, true, NULL), cosid_from_radix36(NULL), cosid_from_radix36('1', NULL),
                 cosid_timestamp(NULL), cosid_timestamp(NULL, 'x'), cosid_timestamp(1, NULL), cosid_machine_id(NULL), cosid_machine_id(NULL, 'x'),
                 cosid_machine_id(1, NULL), cosid_sequence(NULL), cosid_sequence(NULL, 'x'), cosid_sequence(1, NULL), cosid_is_safe_javascript(NULL));

DROP TABLE forms, drawn, ids, strings_orders, strings_generated;
DROP EXTENSION cosid;
