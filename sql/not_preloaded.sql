--
-- A server whose shared_preload_libraries lacks cosid
--
SHOW shared_preload_libraries;
CREATE EXTENSION cosid;

-- No IDs, by no call, and nothing is defined by the attempt.
SELECT cosid_next('order');
SELECT cosid_next();
SELECT * FROM cosid_next('order', 2);
\set VERBOSITY sqlstate
SELECT cosid_next('order');
SELECT cosid_next();
SELECT * FROM cosid_next('order', 2);
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'), item text);
INSERT INTO orders (item) VALUES ('a');
\set VERBOSITY default
INSERT INTO orders VALUES (1, 'given');
SELECT count(*) FROM orders;
SELECT count(*) FROM cosid_generator;

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
SELECT cosid_next('order');
SELECT cosid_create('order');
SELECT cosid_create('bad', machine_bit => 32);
SELECT cosid_drop('order');
DROP TABLE orders;
SELECT cosid_drop('order');
SELECT cosid_drop('order');
SELECT cosid_parse(1, 'order');
\set VERBOSITY default

-- There is nothing to see, and no worker.
SELECT count(*) FROM cosid_lease;
SELECT count(*) FROM cosid_stat;
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cosid worker';

-- Settings of the postmaster's level are not defined; others are.
SELECT name, context FROM pg_settings WHERE name LIKE 'cosid.%' ORDER BY name;
\set VERBOSITY sqlstate
SHOW cosid.namespace;
\set VERBOSITY default
SET cosid.wait_timeout = '1s';
SHOW cosid.wait_timeout;
SET cosid.wait_timeout = -1;

-- What a worker calls in a registry works: a registry need not mint.
SELECT (cosid_machine_claim('elsewhere', 10, 'i', 'i', false, -1, -1, false, 0, 0, 0, 0)).machine_id;

DROP EXTENSION cosid;
