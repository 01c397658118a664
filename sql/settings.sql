--
-- Settings: their defaults, units and who may change them
--
SELECT name, setting, unit, context, vartype, min_val, max_val
  FROM pg_settings WHERE name LIKE 'cosid.%' ORDER BY name COLLATE "C";
SELECT name FROM pg_settings WHERE name LIKE 'cosid.%' AND short_desc IS NULL;

-- Everyone's
CREATE ROLE regress_cosid_settings;
SET ROLE regress_cosid_settings;
SET cosid.wait_timeout = '2min';
SHOW cosid.wait_timeout;
RESET cosid.wait_timeout;
SHOW cosid.wait_timeout;
-- A superuser's, and the server's
\set VERBOSITY sqlstate
SET cosid.auto_create = off;
SET cosid.guard_interval = '1min';
RESET ROLE;
SET cosid.auto_create = off;
SET cosid.guard_interval = '1min';
SET cosid.safe_guard_duration = '1min';
SET cosid.watermark_lead = '1min';
SET cosid.clock_backwards_spin_threshold = 2;
SET cosid.clock_backwards_broken_threshold = 2;
SET cosid.registry = 'host=other';
SET cosid.namespace = 'other';
SET cosid.database = 'other';
SET cosid.distributor = 'manual';
SET cosid.machine_id = 1;
SET cosid.instance_id = 'other';
SET cosid.stable = on;
SET cosid.worker = off;
SET cosid.max_generators = 1;
SET cosid.max_namespaces = 1;
-- No others: the prefix is reserved.
SET cosid.no_such_setting = 1;
SET cosid.wait_timeout = -1;
\set VERBOSITY default
DROP ROLE regress_cosid_settings;
