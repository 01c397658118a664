--
-- The registry: what it remembers of itself, for a failover that loses commits
--
CREATE EXTENSION cosid;
CREATE FUNCTION pg_temp.ms("off" interval DEFAULT '0') RETURNS bigint LANGUAGE sql AS
$$ SELECT floor(extract(epoch FROM clock_timestamp() + "off") * 1000)::bigint $$;
CREATE FUNCTION pg_temp.claim(namespace text, identity text, lead bigint DEFAULT 10000, local boolean DEFAULT false,
    clock interval DEFAULT '0', least_floor bigint DEFAULT 0, OUT status text, OUT machine_id int, OUT token bigint,
    OUT floor bigint, OUT watermark bigint, OUT holder text) LANGUAGE sql AS
$$ SELECT c.* FROM cosid_machine_claim(namespace, 2, identity, identity || ':5432', false,
                                       -1, -1, local, pg_temp.ms(clock), lead, 300000, least_floor) c $$;

-- One row, which is there from the start.
SELECT r.system_identifier = c.system_identifier AS system_identifier,
       to_hex(r.timeline) = ltrim(substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8), '0') AS timeline, first_seen, largest_lead, shared
  FROM cosid_registry r, pg_control_system() c;

-- The largest lead that was asked for, in steps of 100 ms.  What a server is ahead
-- counts as lead, up to the lead once more.
SELECT floor <= pg_temp.ms() AS floor FROM pg_temp.claim('first', 'me');
SELECT largest_lead, shared FROM cosid_registry;
SELECT status FROM pg_temp.claim('first', 'you', lead => 5000);
SELECT largest_lead FROM cosid_registry;
SELECT status FROM pg_temp.claim('first', 'she', lead => 10001);
SELECT largest_lead FROM cosid_registry;
SELECT token AS token, watermark FROM pg_temp.claim('second', 'she', clock => '5 s') \gset
SELECT largest_lead BETWEEN 14000 AND 15000 AS largest_lead FROM cosid_registry;
SELECT cosid_machine_guard('second', 0, 'she:5432', :token, :watermark, 'she', pg_temp.ms('1 hour'), 12000) > :watermark AS raised;
SELECT largest_lead, first_seen FROM cosid_registry;
-- Nothing absurd
SELECT status FROM pg_temp.claim('absurd', 'me', lead => 9000000000000000000);
SELECT largest_lead / 3600000 AS hours FROM cosid_registry;
UPDATE cosid_registry SET largest_lead = 30000;

-- Leases before a failover: one that is well, one whose extension was lost, and
-- one that had been silent for longer than the safe guard duration: another
-- server may have taken its machine id.
SELECT token AS well_token, watermark AS well_watermark FROM pg_temp.claim('well', 'me') \gset
SELECT token AS lost_token, watermark + 1 AS lost_watermark FROM pg_temp.claim('lost', 'me') \gset
SELECT token AS silent_token FROM pg_temp.claim('silent', 'me') \gset
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-301 s') WHERE namespace = 'silent' RETURNING last_timestamp AS silent_watermark \gset

-- The failover, as the first call after it finds things
UPDATE cosid_registry SET timeline = timeline - 1;
SELECT pg_temp.ms() AS now \gset
SELECT cosid_machine_guard('lost', 0, 'me:5432', :lost_token, :lost_watermark, 'me', pg_temp.ms(), 10000) AS lost;
SELECT first_seen - :now BETWEEN 0 AND 5000 AS first_seen, largest_lead FROM cosid_registry;
SELECT first_seen + largest_lead AS after_failover FROM cosid_registry \gset
SELECT cosid_machine_guard('well', 0, 'me:5432', :well_token, :well_watermark, 'me', pg_temp.ms(), 10000) >= :well_watermark AS raised;
SELECT cosid_machine_guard('silent', 0, 'me:5432', :silent_token, :silent_watermark, 'me', pg_temp.ms(), 10000) AS silent;
-- No claim gets a floor below that moment and that lead: neither a machine id
-- that had a row, nor one that had none.
SELECT machine_id, floor - :after_failover AS floor, watermark >= :after_failover AS watermark FROM pg_temp.claim('lost', 'me');
SELECT machine_id, floor - :after_failover AS floor, watermark >= :after_failover AS watermark FROM pg_temp.claim('lost', 'you');
SELECT machine_id, floor - :after_failover AS floor FROM pg_temp.claim('lost', 'she', least_floor => :after_failover + 7);
-- Nor does the server whose own registry it is, since others use it, too.
SELECT floor - :after_failover AS floor FROM pg_temp.claim('host', 'a', local => true);
-- If nobody else does there is none, but where a machine id was another server's.
UPDATE cosid_registry SET shared = false;
SELECT floor <= pg_temp.ms() AS floor FROM pg_temp.claim('own', 'a', local => true);
SELECT floor <= pg_temp.ms() AS floor FROM pg_temp.claim('own', 'b', local => true);
SELECT floor <= pg_temp.ms() AS floor FROM pg_temp.claim('own', 'c', local => true);
SELECT floor <= pg_temp.ms() AS floor FROM pg_temp.claim('own', 'd', local => true);
UPDATE cosid_machine SET instance_id = '', last_timestamp = 1 WHERE namespace = 'own';
SELECT floor - :after_failover AS floor FROM pg_temp.claim('own', 'e', local => true);
SELECT shared FROM cosid_registry;

-- Another server is a change, too, and so is a row that was lost.
UPDATE cosid_registry SET system_identifier = 1, first_seen = 1;
SELECT floor > pg_temp.ms() AS floor FROM pg_temp.claim('another', 'me');
SELECT first_seen > 1 AS first_seen FROM cosid_registry;
ALTER TABLE cosid_registry DISABLE TRIGGER cosid_registry_keep;
DELETE FROM cosid_registry;
ALTER TABLE cosid_registry ENABLE ALWAYS TRIGGER cosid_registry_keep;
SELECT floor > pg_temp.ms() AS floor FROM pg_temp.claim('gone', 'me');
SELECT first_seen > 1 AS first_seen, largest_lead, shared FROM cosid_registry;

-- The row stays, and stays alone.
DELETE FROM cosid_registry;
SET session_replication_role = replica;
TRUNCATE cosid_registry;
RESET session_replication_role;
\set VERBOSITY sqlstate
INSERT INTO cosid_registry SELECT * FROM cosid_registry;
\set VERBOSITY default
SELECT count(*) FROM cosid_registry;

DROP EXTENSION cosid;
