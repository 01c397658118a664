--
-- The registry: extending a lease and giving it back, the token, and what keeps
-- the rows
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

-- Extending raises the watermark to the lead after the server's clock, and only
-- raises it.
SELECT machine_id, token, watermark FROM pg_temp.claim('guard', 'me') \gset
SELECT cosid_machine_guard('guard', 0, 'me:5432', :token, :watermark, 'me', pg_temp.ms('1 hour'), 10000) AS raised \gset
SELECT abs(:raised - pg_temp.ms('1 hour 10 s')) < 5000 AS raised, last_timestamp - :raised AS stored, distribute_time - :token AS token
  FROM cosid_machine WHERE namespace = 'guard';
SELECT cosid_machine_guard('guard', 0, 'me:5432', :token, :raised, 'me', pg_temp.ms(), 10000) - :raised AS not_lowered;
-- It is never behind the registry's clock.
SELECT machine_id, token, watermark FROM pg_temp.claim('behind', 'me', clock => '-1 hour') \gset behind_
SELECT pg_temp.ms() AS now, pg_sleep(0.01) \gset
SELECT cosid_machine_guard('behind', 0, 'me:5432', :behind_token, :behind_watermark, 'me', pg_temp.ms('-1 hour'), 10000) - :now
       BETWEEN 10 AND 5000 AS registry_now;
-- The owner is rewritten when the identity has changed.
SELECT cosid_machine_guard('guard', 0, 'me:5432', :token, :raised, 'promoted', pg_temp.ms(), 10000) = :raised AS raised;
SELECT owner, instance_id FROM cosid_machine WHERE namespace = 'guard';

-- It takes the holder's token, instance id and the last watermark that it has
-- seen confirmed; so does giving back.
CREATE TEMP TABLE before AS SELECT m.*, xmin AS version FROM cosid_machine m;
SELECT why, cosid_machine_guard(namespace, machine_id, instance, token, confirmed, 'me', pg_temp.ms(), 10000) AS guard,
       cosid_machine_revert(namespace, machine_id, instance, token, confirmed, :raised) AS revert
  FROM (VALUES ('namespace', 'guards', 0, 'me:5432', :token, :raised), ('machine id', 'guard', 1, 'me:5432', :token, :raised),
               ('instance id', 'guard', 0, 'you:5432', :token, :raised), ('token, earlier', 'guard', 0, 'me:5432', :token - 1, :raised),
               ('token, later', 'guard', 0, 'me:5432', :token + 1, :raised),
               ('watermark that the row does not show', 'guard', 0, 'me:5432', :token, :raised + 1))
       v(why, namespace, machine_id, instance, token, confirmed);
SELECT count(*) AS unchanged FROM before b JOIN cosid_machine m USING (name) WHERE m.xmin = b.version AND m.last_timestamp = b.last_timestamp;

-- Giving back: the watermark falls to what was reached, the holder goes, owner
-- and token stay.
SELECT pg_temp.ms('-1 s') AS reached \gset
SELECT cosid_machine_revert('guard', 0, 'me:5432', :token, :raised, :reached) AS reverted;
SELECT last_timestamp - :reached AS watermark, instance_id, owner, distribute_time - :token AS token,
       abs(revert_time - pg_temp.ms()) < 5000 AS revert_time FROM cosid_machine WHERE namespace = 'guard';
SELECT cosid_machine_revert('guard', 0, 'me:5432', :token, :reached, :reached) AS again,
       cosid_machine_guard('guard', 0, 'me:5432', :token, :reached, 'me', pg_temp.ms(), 10000) AS guard;
-- The next claim starts above it, with a later token.
SELECT machine_id, floor - :reached AS floor, token > :token AS token, watermark > :reached AS watermark FROM pg_temp.claim('guard', 'you');
SELECT revert_time, instance_id, owner FROM cosid_machine WHERE namespace = 'guard';

-- A token is later than the one before, whatever the clock says.
UPDATE cosid_machine SET distribute_time = pg_temp.ms('1 day'), fence = pg_temp.ms('1 day'), instance_id = '', last_timestamp = 1
 WHERE namespace = 'guard';
UPDATE cosid_machine SET fence = distribute_time WHERE namespace = 'guard' RETURNING distribute_time AS future \gset
SELECT machine_id, token - :future AS token, floor FROM pg_temp.claim('guard', 'me');
-- A floor that the server asks for, when its own IDs have come further than the
-- row says
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-2 s') WHERE namespace = 'guard';
SELECT pg_temp.ms('-1 s') AS least, pg_temp.ms('1 hour') AS far \gset
SELECT machine_id, floor - :least AS floor FROM pg_temp.claim('guard', 'me', least_floor => :least);
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-2 s') WHERE namespace = 'guard';
SELECT machine_id, floor - :far AS floor, watermark - :far AS watermark FROM pg_temp.claim('guard', 'me', least_floor => :far);

-- A holder that was silent for too long has been superseded: it can't extend,
-- nor give back what is another's now.
SELECT token, watermark FROM pg_temp.claim('silent', 'me') \gset
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-301 s') WHERE namespace = 'silent' RETURNING last_timestamp AS watermark \gset
SELECT machine_id, token > :token AS token, floor - :watermark AS floor FROM pg_temp.claim('silent', 'you');
SELECT cosid_machine_guard('silent', 0, 'me:5432', :token, :watermark, 'me', pg_temp.ms(), 10000) IS NULL AS lost,
       cosid_machine_revert('silent', 0, 'me:5432', :token, :watermark, :watermark) AS reverted;
SELECT owner, instance_id FROM cosid_machine WHERE namespace = 'silent';
-- Two with one instance id: the token tells them apart.
UPDATE cosid_machine SET instance_id = 'me:5432' WHERE namespace = 'silent';
SELECT cosid_machine_guard('silent', 0, 'me:5432', :token, :watermark, 'me', pg_temp.ms(), 10000) IS NULL AS lost;

-- Only in READ COMMITTED, where the locked version of a row is its latest
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.claim('isolation', 'me');
ROLLBACK;
\set VERBOSITY sqlstate
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT pg_temp.claim('isolation', 'me');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT cosid_machine_guard('guard', 0, 'me:5432', :token, 0, 'me', 0, 0);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT cosid_machine_revert('guard', 0, 'me:5432', :token, 0, 0);
ROLLBACK;
-- Arguments
SELECT pg_temp.claim('with space', 'me');
SELECT pg_temp.claim('guard', 'me', 0);
SELECT pg_temp.claim('guard', 'me', 32);
SELECT pg_temp.claim('guard', 'me', instance => '');
SELECT pg_temp.claim('guard', 'me', instance => repeat('x', 101));
\set VERBOSITY default
SELECT pg_temp.claim(NULL, 'me') IS NULL AS "null";
SELECT machine_id FROM pg_temp.claim(repeat('n', 63), 'me', 31, instance => repeat('x', 100));
SELECT count(*) FROM cosid_machine WHERE namespace NOT IN ('guard', 'behind', 'silent', repeat('n', 63));

-- Rows are kept: a machine id's history is its watermark.
DELETE FROM cosid_machine;
TRUNCATE cosid_machine;
SET session_replication_role = replica;
DELETE FROM cosid_machine;
TRUNCATE cosid_machine CASCADE;
\set VERBOSITY sqlstate
DELETE FROM cosid_machine;
TRUNCATE cosid_machine;
\set VERBOSITY default
RESET session_replication_role;
SELECT count(*) FROM cosid_machine;

DROP TABLE before;
DROP EXTENSION cosid;
