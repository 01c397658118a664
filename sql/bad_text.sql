--
-- Texts that are no ID: 22P02, with the text and the reason.  IDs and sizes that
-- can't be: 22003, 22023.
--
CREATE EXTENSION cosid;
SET TimeZone = 'America/New_York';
SELECT cosid_create('bad_affix', prefix => 'ord-', suffix => '-x'), cosid_create('bad_decimal', converter => 'to_string', prefix => 'no_'),
       cosid_create('bad_friendly', converter => 'snowflake_friendly'), cosid_create('bad_zone', zone => 'UTC'),
       cosid_create('bad_second', timestamp_unit => 'second', converter => 'snowflake_friendly'),
       cosid_create('bad_js', safe_javascript => true, converter => 'snowflake_friendly', prefix => 'é', suffix => 'é');
-- The message itself
SELECT cosid_from_radix62('15 1');
SELECT cosid_from_string('1-x', 'bad_affix');
\set VERBOSITY sqlstate
SELECT cosid_from_radix62('15 1');
\set VERBOSITY default

-- What a call comes to: its result, or the SQLSTATE and the reason; also how
-- the text is shown.
CREATE TYPE pg_temp.outcome AS (shown text, result text);
CREATE FUNCTION pg_temp.outcome(call text, VARIADIC arguments text[]) RETURNS pg_temp.outcome AS $$
DECLARE
    message text;
    detail text;
    result text;
BEGIN
    EXECUTE format('SELECT %s', format(call, VARIADIC arguments)) INTO result;
    RETURN (NULL::text, result);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
    RETURN (substring(message FROM '^invalid text for an ID: "(.*)"$'), SQLSTATE || ': ' || coalesce(nullif(detail, ''), message));
END
$$ LANGUAGE plpgsql;

-- No digits, other characters, too many, too large.  (E'\u0000' can't be in a text.)
CREATE TEMP TABLE texts (text text);
INSERT INTO texts VALUES (''), (' '), (' 5'), ('5 '), (E'5\t'), (E'5\n'), ('-5'), ('+5'), ('5_'), ('0x5'), ('1.5'), ('5é'), ('٥'), ('５'), ('𝟓'),
    (E'\x01'), (E'5\x7f'), (E'5\u0085'), (E'\u200b5'), ('%s%n'), ('"'), ('\'), ('AzL8n0Y58m8'), ('zzzzzzzzzzz'), ('000000000005'),
    ('1Y2P0IJ32E8E8'), ('ZZZZZZZZZZZZZ'), ('00000000000005'), ('05'), ('a');
SELECT CASE WHEN text ~ '^[ -~]*$' AND text <> '' THEN text ELSE text::bytea::text END AS text,
       o62.result AS radix62, o36.result AS radix36, o62.shown = text AND o36.shown IS NOT DISTINCT FROM CASE WHEN o36.shown IS NOT NULL THEN text END AS shown
  FROM texts, pg_temp.outcome('cosid_from_radix62(%L)', text) o62, pg_temp.outcome('cosid_from_radix36(%L)', text) o36;
-- A long text is shown up to 100 bytes, and no part of a character.
SELECT length(repeat(c, 1000)) AS characters, result, length(shown) AS shown, octet_length(shown) AS bytes, right(shown, 3) AS "end",
       rtrim(shown, '.') = repeat(c, length(shown) - 3) AS same
  FROM unnest('{0, é, €, 𝟓}'::text[]) c, pg_temp.outcome('cosid_from_radix62(%L)', repeat(c, 1000)) o;
SELECT o.* FROM pg_temp.outcome('cosid_from_string(%L, %L)', repeat('9', 100000), 'bad_decimal') o
UNION ALL SELECT left(o.shown, 30), o.result FROM pg_temp.outcome('cosid_from_string(%L, %L)', 'no_' || repeat('9', 100000), 'bad_decimal') o;

-- Affixes.  A decimal number may be negative, as the reference implementation
-- has it, and have any number of zeros.
SELECT name, text, o.shown = text AS shown, o.result
  FROM (VALUES ('bad_affix', ''), ('bad_affix', 'ord-'), ('bad_affix', 'ord-x'), ('bad_affix', 'ord--x'), ('bad_affix', '-x'), ('bad_affix', '5'),
               ('bad_affix', 'ord-5'), ('bad_affix', 'ord-5-X'), ('bad_affix', 'ORD-5-x'), ('bad_affix', ' ord-5-x'), ('bad_affix', 'ord-5-x '),
               ('bad_affix', 'ord-ord-5-x-x'), ('bad_affix', 'ord-000000000005-x'), ('bad_affix', 'ord-zzzzzzzzzzz-x'), ('bad_affix', 'ord-5-x'),
               ('bad_decimal', 'no_'), ('bad_decimal', 'no_-'), ('bad_decimal', 'no_--5'), ('bad_decimal', 'no_+5'), ('bad_decimal', 'no_5 '),
               ('bad_decimal', 'no_5a'), ('bad_decimal', 'no_٥'), ('bad_decimal', 'no_9223372036854775808'), ('bad_decimal', 'no_-9223372036854775809'),
               ('bad_decimal', 'no_9223372036854775807'), ('bad_decimal', 'no_-5'), ('bad_decimal', 'no_0000000000000000000000000000005'),
               ('bad_js', 'é'), ('bad_js', 'éé'), ('bad_js', 'e20260101000000000-0-0é'), ('bad_js', 'é20260101000000000-0-0e')) v (name, text),
       pg_temp.outcome('cosid_from_string(%L, %L)', text, name) o;

-- Friendly IDs, each part.  (Right ones: 20261101003000000-1023-4095.)
SELECT text, o.shown = text AS shown, o.result
  FROM unnest('{"", -, --, 20261101003000000, 20261101003000000-0, 20261101003000000-0-, 20261101003000000--0, -0-0, 20261101003000000-0-0-0,
                20261101003000000-0-0-, -20261101003000000-0-0, 2026110100300000-0-0, 202611010030000-0-0, 20261101003000-0-0, 00000020261101003000000-0-0,
                2026-11-01-0-0, 20261101T03000000-0-0, "20261101 03000000-0-0", ２０２６-0-0, 20261101003000000-a-0, 20261101003000000-0-a,
                20261101003000000-+0-0, "20261101003000000- 0-0", "20261101003000000-0-0 ", 20261301003000000-0-0, 20260001003000000-0-0, 20261100003000000-0-0,
                20261131003000000-0-0, 20261101240000000-0-0, 20261101006000000-0-0, 20261101000060000-0-0, 20270229003000000-0-0, 21000229003000000-0-0,
                20280229003000000-0-0, 00001101003000000-0-0, 20260308023000000-0-0, 20260308015959999-0-0, 20260308030000000-0-0, 20261101003000000-1024-0,
                20261101003000000-0-4096, 20261101003000000-00001-0, 20261101003000000-0-00001, 20261101003000000-1023-4095,
                20261101003000000-99999999999999999999-0, 20261101003000000-0-99999999999999999999, 20191224105959999-0-0, 20191224110000000-0-0,
                20890830034735551-0-0, 20890830034735552-0-0, 99991231235959999-0-0, 2942761231185959999-0-0, 9999991231235959999-0-0}'::text[]) text,
       pg_temp.outcome('cosid_from_friendly(%L)', text) o;
-- Units, layouts and zones of generators: milliseconds are there exactly if the
-- layout has them.
SELECT name, text, o.shown = text AS shown, o.result
  FROM (VALUES ('bad_second', '20261101003000000-0-0'), ('bad_second', '20261101003000-0-0'), ('bad_second', '20261101003000-0-4194303'),
               ('bad_second', '20261101003000-0-4194304'), ('bad_second', '20880111141407-0-0'), ('bad_second', '20880111141408-0-0'), ('bad_second', '20191224105959-0-0'), ('bad_second', '20260308023000-0-0'),
               ('bad_friendly', '20261101003000-0-0'), ('bad_zone', '20260308023000000-0-0'), ('bad_js', '20261101003000000-8-0'), ('bad_js', '20261101003000000-0-512'))
       v (name, text),
       pg_temp.outcome('cosid_from_friendly(%L, %L)', text, name) o;

-- IDs that are negative, or too large for the layout or the size: 22003.
SELECT call, o.result
  FROM unnest(ARRAY['cosid_parse(-1)', 'cosid_timestamp(-1)', 'cosid_machine_id(-1)', 'cosid_sequence(-1)', 'cosid_friendly(-1)', 'cosid_radix62(-1)', 'cosid_radix36(-1)',
                    'cosid_radix62(-9223372036854775808)', 'cosid_radix62(62, char_size => 1)', 'cosid_radix36(36, false, 1)', 'cosid_radix62(9223372036854775807, true, 10)']
              || ARRAY(SELECT format('%s(%s, %L)', f, id, name)
                         FROM unnest('{cosid_parse, cosid_timestamp, cosid_machine_id, cosid_sequence, cosid_friendly, cosid_to_string}'::text[]) f,
                              (VALUES ('bad_affix', -1), ('bad_decimal', -1), ('bad_js', -1), ('bad_js', 9007199254740992)) v (name, id)
                        WHERE f = 'cosid_to_string' OR name = 'bad_js')) call,
       pg_temp.outcome(replace(call, '%', '%%'), '') o;
-- Sizes: 1 to 63.
SELECT call, o.result
  FROM unnest('{"cosid_radix62(1, true, 0)", "cosid_radix62(1, true, 64)", "cosid_radix36(1, false, -1)", "cosid_radix36(1, true, 2147483647)",
                "cosid_from_radix62(''1'', 0)", "cosid_from_radix62(''1'', 64)", "cosid_from_radix36(''1'', 0)", "cosid_from_radix36(''1'', 64)"}'::text[]) call,
       pg_temp.outcome(call, '') o;
-- No such generator: 42704, and none is made.
SELECT f, o.result
  FROM unnest('{cosid_timestamp, cosid_machine_id, cosid_sequence, cosid_to_string, cosid_from_string, cosid_from_friendly}'::text[]) f,
       pg_temp.outcome(f || '(%L, %L)', '1', 'bad_none') o;
SELECT count(*) FROM cosid_generator WHERE name = 'bad_none';

DROP TABLE texts;
DROP EXTENSION cosid;
