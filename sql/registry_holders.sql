--
-- The registry: claims in a local registry, by stable instances, of fixed
-- machine ids, and beside CosId's Java services
--
CREATE EXTENSION cosid;
-- Milliseconds of this server's clock, which is the registry's, and a claim with
-- a lead of 10 s and a safe guard duration of 5 min by a server whose own clock
-- is off by some time.
CREATE FUNCTION pg_temp.ms("off" interval DEFAULT '0') RETURNS bigint LANGUAGE sql AS
$$ SELECT floor(extract(epoch FROM clock_timestamp() + "off") * 1000)::bigint $$;
CREATE FUNCTION pg_temp.claim(namespace text, identity text, machine_bit int DEFAULT 2, local boolean DEFAULT false,
    stable boolean DEFAULT false, fixed int DEFAULT -1, avoid int DEFAULT -1, clock interval DEFAULT '0',
    least_floor bigint DEFAULT 0, instance text DEFAULT NULL, OUT status text, OUT machine_id int, OUT token bigint,
    OUT floor bigint, OUT watermark bigint, OUT holder text) LANGUAGE sql AS
$$ SELECT c.* FROM cosid_machine_claim(namespace, machine_bit, identity, coalesce(instance, identity || ':5432'), stable,
                                       fixed, avoid, local, pg_temp.ms(clock), 10000, 300000, least_floor) c $$;
-- A row as another server left it: its watermark; given back, or held by owner:5432.
CREATE FUNCTION pg_temp.put(namespace text, machine_id int, owner text, watermark interval, given_back boolean DEFAULT false,
    stable boolean DEFAULT false) RETURNS int LANGUAGE sql AS
$$ INSERT INTO cosid_machine VALUES (format('%s.%s', namespace, to_char(machine_id, 'FM0000000009')), namespace, machine_id,
    pg_temp.ms(watermark), CASE WHEN given_back THEN '' ELSE owner || ':5432' END, 1000, 0, stable, owner, 1000)
   RETURNING 1 $$;

-- A local registry: servers that never hear of each other start at different
-- machine ids, each always at the same.
SELECT count(DISTINCT c.machine_id) > 4 AS spread, bool_and(c.machine_id = d.machine_id) AS same
  FROM generate_series(1, 8) i, pg_temp.claim('spread_' || i, 'server ' || i, 10, true) c,
       pg_temp.claim('again_' || i, 'server ' || i, 10, true) d;
-- From there on upwards, then from 0.
SELECT 'server ' || i AS server
  FROM generate_series(1, 100) i, pg_temp.claim('pick_' || i, 'server ' || i, local => true) c WHERE c.machine_id = 2 LIMIT 1 \gset
SELECT pg_temp.put('upwards', 2, 'x', '1 min'), pg_temp.put('wrap', 2, 'x', '1 min'), pg_temp.put('wrap', 3, 'x', '1 min'),
       pg_temp.put('wrap', 0, 'x', '1 min');
SELECT (pg_temp.claim('upwards', :'server', local => true)).machine_id AS upwards, (pg_temp.claim('wrap', :'server', local => true)).machine_id AS wrap;
-- A row of another identity means that this data directory is a copy: it is left
-- alone while there is another way.  In a shared registry it is just free.
SELECT pg_temp.put(n, 0, 'x', '-2 hours', true), pg_temp.put(n, 2, 'y', '-1 hour') FROM unnest('{local,shared}'::text[]) n;
SELECT n, CASE WHEN n < 3 THEN c.machine_id IN (1, 3) ELSE c.machine_id = 0 END AS local, d.machine_id AS shared
  FROM generate_series(1, 3) n, pg_temp.claim('local', 'copy ' || n, local => true) c, pg_temp.claim('shared', 'copy ' || n) d;
SELECT machine_id, owner FROM cosid_machine WHERE namespace = 'local' AND machine_id IN (0, 2) ORDER BY 1;
-- The last resort is the earliest watermark, passed or not; the row that is
-- lowest is another.
SELECT pg_temp.put('last', 0, 'x', '-1 hour', true), pg_temp.put('last', 1, 'y', '-2 hours');
SELECT machine_id FROM pg_temp.claim('last', 'copy', 1, true);
-- Its own goes first, here as well.
SELECT pg_temp.put('own', 0, 'x', '-2 hours', true), pg_temp.put('own', 3, 'me', '-1 s');
SELECT machine_id FROM pg_temp.claim('own', 'me', local => true);

-- A stable instance keeps its machine id and waits its watermark out.
SELECT machine_id, watermark FROM pg_temp.claim('stable', 'me', stable => true) \gset stable_
SELECT :stable_machine_id AS machine_id, stable, instance_id FROM cosid_machine WHERE namespace = 'stable';
SELECT machine_id, floor - :stable_watermark AS floor FROM pg_temp.claim('stable', 'me', stable => true);
-- It goes by its instance id: also from another machine.
SELECT machine_id FROM pg_temp.claim('stable', 'moved', stable => true, instance => 'me:5432');
-- Nobody else takes the row, be it expired or given back.
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-1 day') WHERE namespace = 'stable';
SELECT c.status, c.machine_id, c.holder FROM pg_temp.claim('stable', 'you') c;
SELECT c.status, c.machine_id, c.holder FROM pg_temp.claim('stable', 'you', fixed => 0) c;
SELECT c.status, c.machine_id, c.holder FROM pg_temp.claim('stable', 'moved again', instance => 'me:5432') c;
SELECT cosid_machine_revert('stable', 0, 'me:5432', distribute_time, last_timestamp, last_timestamp) FROM cosid_machine
 WHERE namespace = 'stable' AND machine_id = 0;
SELECT instance_id, owner, revert_time > 0 AS reverted FROM cosid_machine WHERE namespace = 'stable' AND machine_id = 0;
SELECT machine_id FROM pg_temp.claim('stable', 'they');
SELECT machine_id FROM pg_temp.claim('stable', 'me', stable => true);
-- A row that is not stable does not become another's by the instance id alone.
SELECT pg_temp.put('same', 0, 'me', '1 min');
SELECT machine_id FROM pg_temp.claim('same', 'copy', stable => true, instance => 'me:5432');
SELECT machine_id FROM pg_temp.claim('same', 'me', stable => true);

-- A fixed machine id: that one, waited out, or none.
SELECT machine_id, watermark FROM pg_temp.claim('fixed', 'me', fixed => 3) \gset fixed_
SELECT :fixed_machine_id AS machine_id, c.machine_id AS again, c.floor - :fixed_watermark AS floor
  FROM pg_temp.claim('fixed', 'me', fixed => 3) c;
SELECT * FROM pg_temp.claim('fixed', 'you', fixed => 3);
UPDATE cosid_machine SET instance_id = '' WHERE namespace = 'fixed';
SELECT status, machine_id, floor > pg_temp.ms() AS to_wait FROM pg_temp.claim('fixed', 'you', fixed => 3);
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-301 s') WHERE namespace = 'fixed';
SELECT status, machine_id, floor > pg_temp.ms() AS to_wait FROM pg_temp.claim('fixed', 'they', fixed => 3, local => true);
SELECT * FROM pg_temp.claim('fixed', 'me', fixed => 4);
SELECT machine_id, owner FROM cosid_machine WHERE namespace = 'fixed';

-- A Java service sets seven columns.  Its last_timestamp is a heartbeat that IDs
-- run ahead of, and counts as the safe guard duration later.
INSERT INTO cosid_machine (name, namespace, machine_id, last_timestamp, instance_id, distribute_time, revert_time)
SELECT format('%s.0000000%s', n, id), n, id, pg_temp.ms(heartbeat), instance, pg_temp.ms('-1 day'), 0
  FROM (VALUES ('java_held', 0, '-4 min'::interval, 'java:8080'), ('java_held', 1, '-6 min', 'java:8081'),
               ('java_clock', 0, '-6 min', 'java:8080'), ('java_back', 0, '-1 s', '')) v(n, id, heartbeat, instance);
SELECT last_timestamp AS expired FROM cosid_machine WHERE namespace = 'java_held' AND machine_id = 1 \gset
SELECT machine_id, floor - :expired AS floor FROM pg_temp.claim('java_held', 'me');
SELECT fence = distribute_time AS ours FROM cosid_machine WHERE namespace = 'java_held' ORDER BY machine_id;
-- Six minutes ago are one minute ago then, too late for a clock that is behind.
SELECT machine_id FROM pg_temp.claim('java_clock', 'me', clock => '-2 min');
SELECT machine_id FROM pg_temp.claim('java_clock', 'you');
-- Given back, its IDs have ended.
SELECT c.machine_id, c.floor - m.last_timestamp AS floor
  FROM (SELECT last_timestamp FROM cosid_machine WHERE namespace = 'java_back' OFFSET 0) m, pg_temp.claim('java_back', 'me') c;
-- It takes a row of ours, and does not know of fence: Java's again.
SELECT machine_id, token, watermark FROM pg_temp.claim('java_takes', 'me') \gset
UPDATE cosid_machine SET instance_id = 'java:8080', distribute_time = distribute_time + 1, last_timestamp = pg_temp.ms('-6 min') WHERE namespace = 'java_takes';
SELECT cosid_machine_guard('java_takes', :machine_id, 'me:5432', :token, 0, 'me', pg_temp.ms(), 10000) IS NULL AS lost;
SELECT machine_id, abs(floor - pg_temp.ms('-1 min')) < 5000 AS floor FROM pg_temp.claim('java_takes', 'you');
-- Nor does it know of owner: while it runs, its row is not our own.
SELECT status FROM pg_temp.claim('java_owner', 'me', fixed => 0);
SELECT status FROM pg_temp.claim('java_owner_1', 'me', 1);
SELECT pg_temp.put('java_owner_1', 1, 'x', '1 min');
UPDATE cosid_machine SET instance_id = 'java:8080', distribute_time = distribute_time + 1, last_timestamp = pg_temp.ms()
 WHERE namespace LIKE 'java_owner%' AND machine_id = 0;
SELECT status, holder FROM pg_temp.claim('java_owner', 'me', fixed => 0);
SELECT status, machine_id FROM pg_temp.claim('java_owner_1', 'me', 1);

-- Claims of one namespace queue up; one of a fixed machine id need not.
BEGIN;
SELECT machine_id FROM pg_temp.claim('queue', 'me', fixed => 1);
SELECT mode FROM pg_locks WHERE locktype = 'object' AND classid = 'cosid_machine'::regclass AND pid = pg_backend_pid();
SELECT machine_id FROM pg_temp.claim('queue', 'you');
SELECT mode FROM pg_locks WHERE locktype = 'object' AND classid = 'cosid_machine'::regclass AND pid = pg_backend_pid();
COMMIT;
-- A trigger of who watches the registry may use other tables.
CREATE TABLE watched (namespace text, machine_id int);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO public.watched VALUES (new.namespace, new.machine_id); RETURN NULL; END $$;
CREATE TRIGGER watch AFTER INSERT OR UPDATE ON cosid_machine FOR EACH ROW EXECUTE FUNCTION watch();
SELECT status FROM pg_temp.claim('watched', 'me');
SELECT status FROM pg_temp.claim('watched', 'you');
SELECT * FROM watched;

DROP EXTENSION cosid;
DROP TABLE watched;
DROP FUNCTION watch;
