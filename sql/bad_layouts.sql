--
-- What cosid_create refuses: 22023, with a message that names the parameter and
-- what it may be, and no row
--
CREATE EXTENSION cosid;
CREATE FUNCTION pg_temp.error_of(statement text, OUT code text, OUT message text, OUT detail text) AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END
$$ LANGUAGE plpgsql;
\pset format unaligned
\pset footer off

-- Bits
SELECT arguments, e.* FROM (VALUES
    ('timestamp_bit => 62, machine_bit => 1, sequence_bit => 0'),
    ('timestamp_bit => 0'),
    ('timestamp_bit => -1'),
    ('timestamp_bit => 64'),
    ('timestamp_bit => 2147483647'),
    ('machine_bit => 0'),
    ('machine_bit => 32'),
    ('machine_bit => -2147483648'),
    ('sequence_bit => 0'),
    ('sequence_bit => 64'),
    ('sequence_bit => 2147483647'),
    ('sequence_bit => 13'),
    ('timestamp_bit => 42'),
    ('timestamp_bit => 62, machine_bit => 1, sequence_bit => 1'),
    ('timestamp_unit => ''second'', machine_bit => 11'),
    ('safe_javascript => true, machine_bit => 10'),
    ('safe_javascript => true, timestamp_bit => 41, machine_bit => 10, sequence_bit => 12'),
    ('safe_javascript => true, timestamp_bit => 0'),
    ('safe_javascript => true, timestamp_unit => ''second'', sequence_bit => 20')) v(arguments),
    pg_temp.error_of(format('SELECT cosid_create(''bad'', %s)', arguments)) e;

-- The rest of the layout, namespace, converter and zone
SELECT arguments, e.* FROM (VALUES
    ('timestamp_unit => ''minute'''),
    ('timestamp_unit => ''Second'''),
    ('timestamp_unit => '''''),
    ('epoch => -1'),
    ('epoch => 253402300800000'),
    ('epoch => 253402300800, timestamp_unit => ''second'''),
    ('epoch => 1577203200000, timestamp_unit => ''second'''),
    ('epoch => 9223372036854775807'),
    ('sequence_reset_threshold => -1'),
    ('sequence_reset_threshold => 4096'),
    ('sequence_reset_threshold => 2, sequence_bit => 1'),
    ('namespace => '''''),
    ('namespace => ''with space'''),
    ('namespace => ''größe'''),
    ('converter => ''hex'''),
    ('char_size => 0'),
    ('char_size => 64'),
    ('zone => ''Mars/Olympus''')) v(arguments),
    pg_temp.error_of(format('SELECT cosid_create(''bad'', %s)', arguments)) e;

-- Texts that are too long
SELECT parameter, e.code, replace(e.message, repeat('x', 64), '<64 x>') AS message, e.detail
  FROM unnest('{namespace,prefix,suffix,zone}'::text[]) parameter,
       pg_temp.error_of(format('SELECT cosid_create(''bad'', %I => %L)', parameter, repeat('x', 64))) e;

-- Names
SELECT call, e.* FROM (VALUES
    ('cosid_create('''')'),
    ('cosid_create(''__share__'')'),
    ('cosid_create(NULL)')) v(call),
    pg_temp.error_of(format('SELECT %s', call)) e;
SELECT (pg_temp.error_of(format('SELECT cosid_create(%L)', repeat('x', 64)))).code;
SELECT (pg_temp.error_of(format('SELECT cosid_create(%L)', repeat('漢', 22)))).code;

SELECT count(*) FROM cosid_generator;

-- And what is just not too much of it
SELECT arguments, e.code FROM (VALUES
    ('epoch => 0'),
    ('epoch => 253402300799999'),
    ('epoch => 253402300799, timestamp_unit => ''second'''),
    ('sequence_reset_threshold => 0'),
    ('sequence_reset_threshold => 4095'),
    ('timestamp_bit => 1, machine_bit => 1, sequence_bit => 1'),
    ('timestamp_bit => 1, machine_bit => 31, sequence_bit => 31'),
    ('timestamp_bit => 1, machine_bit => 1, sequence_bit => 61'),
    ('timestamp_bit => 61, machine_bit => 1, sequence_bit => 1'),
    ('safe_javascript => true, timestamp_bit => 51, machine_bit => 1, sequence_bit => 1'),
    ('converter => ''snowflake_friendly'', pad_start => true, char_size => 63, zone => ''Asia/Kolkata'''),
    ('converter => ''radix36'', char_size => 1, pad_start => false'),
    (format('namespace => %L, prefix => %L, suffix => %L', repeat('~', 63), repeat('x', 63), repeat('ß', 31)))) v(arguments),
    pg_temp.error_of(format('SELECT cosid_create(%L, %s)', 'good ' || md5(arguments), arguments)) e;
SELECT count(*) FROM cosid_generator;
-- A converter's own defaults
SELECT cosid_create(c, converter => c) FROM unnest('{radix,radix36,to_string,snowflake_friendly}'::text[]) c;
SELECT converter, prefix, suffix, pad_start, char_size, zone FROM cosid_generator WHERE name = converter ORDER BY char_size, converter;

DROP EXTENSION cosid;
