--
-- A server whose shared_preload_libraries lacks cosid.  Whether it mints is the
-- matter of t/104_not_preloaded.pl.
--
SHOW shared_preload_libraries;
CREATE EXTENSION cosid;

-- IDs can be read,
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT * FROM cosid_parse(3373882720435522670);
SELECT cosid_friendly(3373882720435522670);
-- and generators defined and dropped.
SELECT cosid_create('order');
SELECT cosid_create('small', safe_javascript => true, converter => 'snowflake_friendly', pad_start => true, zone => 'Asia/Shanghai');
SELECT name, namespace, implicit FROM cosid_generator ORDER BY name;
SELECT cosid_friendly(2921651344080571, 'small');
\set VERBOSITY sqlstate
SELECT cosid_create('order');
SELECT cosid_create('bad', machine_bit => 32);
SELECT cosid_drop('order');
SELECT cosid_drop('order');
SELECT cosid_parse(1, 'order');
\set VERBOSITY default

-- Settings of the postmaster's level are not defined; others are.
SELECT name, context FROM pg_settings WHERE name LIKE 'cosid.%' ORDER BY name;
\set VERBOSITY sqlstate
SHOW cosid.namespace;
\set VERBOSITY default
SET cosid.wait_timeout = '1s';
SHOW cosid.wait_timeout;
\set VERBOSITY sqlstate
SET cosid.wait_timeout = -1;
\set VERBOSITY default

-- What a worker calls in a registry works: a registry need not mint.
SELECT (cosid_machine_claim('elsewhere', 10, 'i', 'i', false, -1, -1, false, 0, 0, 0, 0)).machine_id;

DROP EXTENSION cosid;
