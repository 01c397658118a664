--
-- Rows of cosid_generator that are written by hand, or by a restore
--
CREATE EXTENSION cosid;
CREATE FUNCTION pg_temp.error_of(statement text, OUT code text, OUT message text) AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END
$$ LANGUAGE plpgsql;

-- A row inserted is as good as cosid_create.
SELECT cosid_create('rows_a', safe_javascript => true, zone => 'Asia/Shanghai', prefix => 'p');
CREATE TEMP TABLE template AS TABLE cosid_generator;
SELECT cosid_drop('rows_a');
INSERT INTO cosid_generator TABLE template;
SELECT count(*) FROM (TABLE cosid_generator INTERSECT TABLE template) same;
SELECT cosid_next('rows_a') <= 9007199254740991 AS safe;

-- The CHECK constraints refuse what cosid_create does: 23514.
SELECT change, e.code FROM (VALUES
    ('name = '''''), ('name = repeat(''x'', 64)'), ('name = repeat(''漢'', 22)'), ('name = ''__share__'''),
    ('namespace = '''''), ('namespace = ''a b'''), ('namespace = repeat(''x'', 64)'), ('namespace = ''größe'''),
    ('namespace = E''a\n'''),
    ('timestamp_unit = ''minute'''), ('epoch = -1'), ('epoch = 253402300800000'),
    ('timestamp_unit = ''second'', epoch = 1577203200000'),
    ('timestamp_bit = 0'), ('timestamp_bit = 62'), ('machine_bit = 0'), ('machine_bit = 32'),
    ('sequence_bit = 0'), ('sequence_bit = 62'), ('sequence_bit = 20'), ('timestamp_bit = 52'),
    ('sequence_reset_threshold = -1'), ('sequence_reset_threshold = 512'),
    ('converter = ''hex'''), ('char_size = 0'), ('char_size = 64'), ('prefix = repeat(''x'', 64)'),
    ('suffix = repeat(''x'', 64)'), ('zone = repeat(''x'', 64)'), ('zone = ''''')) v(change),
    pg_temp.error_of(format('UPDATE template SET name = ''rows_bad''; UPDATE template SET %s;
        INSERT INTO cosid_generator TABLE template', change)) e;
-- NOT NULL: 23502, for all but zone.
SELECT attname, e.code
  FROM pg_attribute, pg_temp.error_of(format('UPDATE template SET name = ''rows_null_%s''; UPDATE template SET %s = NULL;
        INSERT INTO cosid_generator TABLE template', attnum, attname)) e
 WHERE attrelid = 'cosid_generator'::regclass AND attnum > 0 ORDER BY attnum;
SELECT name, zone FROM cosid_generator ORDER BY name;
SELECT cosid_drop('rows_null_15');
UPDATE template SET zone = 'UTC';

-- A restore: tables, whose defaults may define generators, come before the
-- definitions' rows.  Explicit on implicit: it is replaced.
SELECT cosid_next('rows_b') > 9007199254740991 AS default_layout;
UPDATE template SET name = 'rows_b', zone = 'Asia/Tokyo';
INSERT INTO cosid_generator TABLE template;
SELECT name, namespace, zone, implicit FROM cosid_generator WHERE name = 'rows_b';
SELECT cosid_next('rows_b') <= 9007199254740991 AS replaced;
-- Implicit on explicit and on implicit: it is skipped.
SELECT cosid_next('rows_c') > 9007199254740991 AS default_layout;
UPDATE template SET implicit = true, zone = 'UTC';
INSERT INTO cosid_generator TABLE template;
UPDATE template SET name = 'rows_c';
INSERT INTO cosid_generator TABLE template;
SELECT name, zone, implicit FROM cosid_generator WHERE name IN ('rows_b', 'rows_c') ORDER BY name;
SELECT cosid_next('rows_c') > 9007199254740991 AS default_layout;
-- Implicit on nothing
UPDATE template SET name = 'rows_d';
INSERT INTO cosid_generator TABLE template;
SELECT name, zone, implicit FROM cosid_generator WHERE name = 'rows_d';
-- Explicit on explicit: 42710.
UPDATE template SET name = 'rows_a', implicit = false;
INSERT INTO cosid_generator TABLE template;
SELECT (pg_temp.error_of('INSERT INTO cosid_generator TABLE template')).code;
SELECT name, zone FROM cosid_generator WHERE name = 'rows_a';

-- The same with triggers switched off, as pg_restore --disable-triggers and
-- logical replication have it.
SELECT cosid_next('rows_e') > 9007199254740991 AS default_layout;
SET session_replication_role = replica;
UPDATE template SET name = 'rows_e';
INSERT INTO cosid_generator TABLE template;
SELECT cosid_next('rows_e') <= 9007199254740991 AS replaced;
UPDATE template SET implicit = true, zone = 'UTC';
INSERT INTO cosid_generator TABLE template;
SELECT name, zone, implicit FROM cosid_generator WHERE name = 'rows_e';
UPDATE template SET implicit = false;
SELECT (pg_temp.error_of('INSERT INTO cosid_generator TABLE template')).code;
RESET session_replication_role;

-- COPY, what pg_dump writes
SELECT cosid_next('rows_f') > 9007199254740991 AS default_layout;
COPY cosid_generator FROM stdin;
rows_f	cosid-3	millisecond	1577203200000	41	3	9	255	t	radix			t	11	Europe/Berlin	f
rows_b	cosid	millisecond	1577203200000	41	10	12	2047	t	radix			t	11	\N	t
rows_g	cosid	millisecond	1577203200000	41	10	12	2047	t	radix			t	11	\N	t
\.
SELECT name, namespace, zone, implicit FROM cosid_generator WHERE name IN ('rows_b', 'rows_f', 'rows_g') ORDER BY name;
SELECT cosid_next('rows_f') <= 9007199254740991 AS replaced;
COPY cosid_generator FROM stdin;
rows_f	cosid	millisecond	1577203200000	41	10	12	2047	t	radix			t	11	\N	f
\.

-- UPDATE, DELETE and TRUNCATE count with the next statement, too.
UPDATE cosid_generator SET namespace = 'cosid', machine_bit = 10, sequence_bit = 12 WHERE name = 'rows_f';
SELECT cosid_next('rows_f') > 9007199254740991 AS changed;
SET cosid.auto_create = off;
DELETE FROM cosid_generator WHERE name = 'rows_f';
SELECT (pg_temp.error_of($$SELECT cosid_next('rows_f')$$)).code;
TRUNCATE cosid_generator;
SELECT (pg_temp.error_of($$SELECT cosid_next('rows_a')$$)).code;
SELECT (pg_temp.error_of($$SELECT cosid_parse(1, 'rows_a')$$)).code;
RESET cosid.auto_create;

DROP TABLE template;
DROP EXTENSION cosid;
