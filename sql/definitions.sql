--
-- Definitions: made on first use or by cosid_create; when they count
--
CREATE EXTENSION cosid;
CREATE VIEW definitions AS
SELECT name, namespace, timestamp_unit AS unit, timestamp_bit || '/' || machine_bit || '/' || sequence_bit AS bits, implicit
  FROM cosid_generator WHERE name LIKE 'def%';

-- First use defines a generator with the default layout, for life.
SELECT cosid_next('def_used') > 0 AS minted;
SELECT * FROM definitions;
SELECT timestamp_unit, epoch, sequence_reset_threshold, clock_sync, converter, prefix, suffix, pad_start, char_size, zone
  FROM cosid_generator;
SELECT cosid_next('def_used') > 0 AS minted;
SELECT count(*) FROM definitions;
-- Reading does not define.
SELECT cosid_parse(1, 'def_read');
SELECT count(*) FROM definitions;

-- Explicit on explicit: 42710, and the first one stays.
\set SHOW_CONTEXT never
SELECT cosid_create('def_twice');
SELECT cosid_create('def_twice', timestamp_unit => 'second');
\set VERBOSITY sqlstate
SELECT cosid_create('def_twice');
\set VERBOSITY default
SELECT * FROM definitions WHERE name = 'def_twice';

-- Explicit on implicit: it is replaced.  With another layout there's a NOTICE,
-- also where the namespace becomes another one with that.
SELECT cosid_create('def_used');
SELECT * FROM definitions WHERE name = 'def_used';
SELECT cosid_next('def_other') > 0 AS minted;
SELECT cosid_create('def_other', timestamp_unit => 'second');
SELECT * FROM definitions WHERE name = 'def_other';
SELECT cosid_next('def_bits') > 0 AS minted;
SELECT cosid_create('def_bits', safe_javascript => true);
SELECT * FROM definitions WHERE name = 'def_bits';
-- It counts from the next statement on: this ID has 53 bits.
SET client_min_messages = warning;
SELECT cosid_next('def_bits') <= 9007199254740991 AS new_layout;
-- In a function, too.
SELECT cosid_next('def_function') > 9007199254740991 AS before;
DO $$
BEGIN
    PERFORM cosid_create('def_function', namespace => 'cosid-3', safe_javascript => true);
    ASSERT cosid_next('def_function') <= 9007199254740991, 'cosid_next has not noticed cosid_create';
END
$$;

-- cosid.auto_create = off: only what is defined.
SET cosid.auto_create = off;
SELECT cosid_next('def_unknown');
SELECT * FROM cosid_next('def_unknown', 2);
\set VERBOSITY sqlstate
SELECT cosid_next('def_unknown');
\set VERBOSITY default
SELECT cosid_next('def_used') > 0 AS minted, cosid_next() > 0 AS share;
RESET cosid.auto_create;
SELECT count(*) FROM definitions WHERE name = 'def_unknown';
SELECT name, context, setting FROM pg_settings WHERE name = 'cosid.auto_create';

-- A first use that is rolled back has left no row, but its ID is not given out
-- again; the next use defines anew.
BEGIN;
SELECT cosid_next('def_rolled_back') AS id \gset
SELECT implicit FROM definitions WHERE name = 'def_rolled_back';
ROLLBACK;
SELECT count(*) FROM definitions WHERE name = 'def_rolled_back';
SELECT cosid_next('def_rolled_back') > :id AS greater;
SELECT count(*) FROM definitions WHERE name = 'def_rolled_back';

-- The same for a savepoint,
BEGIN;
SAVEPOINT first_use;
SELECT cosid_next('def_savepoint') > 0 AS minted;
ROLLBACK TO first_use;
SELECT count(*) FROM definitions WHERE name = 'def_savepoint';
SELECT cosid_next('def_savepoint') > 0 AS minted;
SELECT count(*) FROM definitions WHERE name = 'def_savepoint';
-- and for cosid_create: its layout counts until then and not after that.
SAVEPOINT created;
SELECT cosid_create('def_created', namespace => 'def_ns', timestamp_unit => 'second');
SELECT cosid_next('def_created') >> 32 < 2147483647 AS second;
ROLLBACK TO created;
SELECT cosid_next('def_created') >> 22 > 200000000000 AS millisecond;
COMMIT;
SELECT * FROM definitions WHERE name IN ('def_savepoint', 'def_created') ORDER BY name;
-- A replacement that is rolled back
SELECT cosid_next('def_kept') > 9007199254740991 AS default_layout;
BEGIN;
SELECT cosid_create('def_kept', namespace => 'cosid-3', safe_javascript => true);
SELECT cosid_next('def_kept') <= 9007199254740991 AS new_layout;
ROLLBACK;
SELECT cosid_next('def_kept') > 9007199254740991 AS default_layout;
SELECT * FROM definitions WHERE name = 'def_kept';

DROP VIEW definitions;
DROP EXTENSION cosid;
