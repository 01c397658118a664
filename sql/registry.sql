--
-- The registry: which machine id a claim gets.  (What a worker calls, called by
-- hand, in namespaces that no server has.)
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

-- Machine ids without a row: from the lowest on, as many as the bits have.
SELECT identity, c.status, c.machine_id, c.token IS NULL AND c.floor IS NULL AND c.watermark IS NULL AS nothing, c.holder
  FROM unnest('{a,b,c,d,e}'::text[]) identity, pg_temp.claim('free', identity) c;
SELECT name, machine_id, instance_id, owner, stable, fence = distribute_time AS fence, revert_time,
       abs(distribute_time - pg_temp.ms()) < 5000 AS token, abs(last_timestamp - pg_temp.ms() - 10000) < 5000 AS watermark
  FROM cosid_machine WHERE namespace = 'free' ORDER BY machine_id;
-- The floor is the later of the registry's and the server's clock, the watermark
-- the lead after the server's, but no less than the registry's.
SELECT abs(floor - pg_temp.ms('1 hour')) < 5000 AS floor, watermark - floor AS lead, abs(token - pg_temp.ms()) < 5000 AS token
  FROM pg_temp.claim('clock', 'ahead', clock => '1 hour');
SELECT abs(floor - pg_temp.ms()) < 5000 AS floor, watermark - floor AS lead FROM pg_temp.claim('clock', 'behind', clock => '-1 hour');
SELECT pg_temp.put('clock_row', 0, 'x', '-2 hours', true);
SELECT machine_id, watermark - token AS watermark, watermark > floor AS raised FROM pg_temp.claim('clock_row', 'behind', clock => '-1 hour');
-- And no less than what the server has given out.
SELECT pg_temp.ms('2 hours') AS least \gset
SELECT floor - :least AS floor, watermark - :least AS watermark FROM pg_temp.claim('clock', 'jumped', least_floor => :least);

-- What is taken, and when it is given back or expired.  Each row of this table
-- is a registry with one row, for machine id 0; the claim gets that or, as it
-- waits for nobody while one is free, the next.
CREATE TEMP TABLE cases (id int GENERATED ALWAYS AS IDENTITY, owner text, watermark interval, given_back boolean, clock interval, comment text);
INSERT INTO cases (owner, watermark, given_back, clock, comment) VALUES
    ('me', '-1 s', false, '0', 'own, after a crash'),
    ('me', '-1 s', true, '0', 'own, given back'),
    ('me', '1 min', false, '0', 'own, not passed'),
    ('me', '1 min', true, '0', 'own, given back, not passed'),
    ('me', '-1 min', false, '-1 hour', 'own, not passed by the server''s clock'),
    ('me', '1 min', false, '1 hour', 'own, not passed by the registry''s clock'),
    ('other', '-1 s', true, '0', 'given back'),
    ('other', '1 min', true, '0', 'given back, not passed'),
    ('other', '-1 min', true, '-1 hour', 'given back, not passed by the server''s clock'),
    ('other', '1 min', true, '1 hour', 'given back, not passed by the registry''s clock'),
    ('other', '1 min', false, '0', 'held'),
    ('other', '-4 min', false, '0', 'silent, not expired'),
    ('other', '-4 min', false, '1 hour', 'not expired by the registry''s clock'),
    ('other', '-6 min', false, '0', 'expired'),
    ('other', '-6 min', false, '-1 hour', 'expired, not passed by the server''s clock');
SELECT sum(pg_temp.put('case_' || id, 0, owner, watermark, given_back)) FROM cases;
SELECT comment, c.status, c.machine_id, machine_id = 0 AND c.floor = m.last_timestamp AS old_watermark_is_floor,
       c.token > m.distribute_time AS token
  FROM cases JOIN (SELECT namespace, distribute_time, last_timestamp FROM cosid_machine) m ON m.namespace = 'case_' || id,
       pg_temp.claim(m.namespace, 'me', clock => cases.clock) c ORDER BY id;

-- Its own row first, then the lowest.  A server that crashes again and again
-- never waits as long as there is a free one; then it takes the row with the
-- earliest watermark, which the clocks have to pass.
SELECT pg_temp.put('order', 0, 'x', '-1 hour', true), pg_temp.put('order', 1, 'x', '-2 hours', true),
       pg_temp.put('order', 2, 'me', '-1 s');
SELECT n, c.machine_id, c.floor > pg_temp.ms() AS to_wait
  FROM generate_series(1, 6) n, pg_sleep(0.002 * sign(n)), pg_temp.claim('order', CASE WHEN n > 0 THEN 'me' END) c;
SELECT machine_id, owner, instance_id FROM cosid_machine WHERE namespace = 'order' ORDER BY machine_id;
-- Earliest of all, its own or not; what others hold is not among them.
SELECT pg_temp.put('wait', 0, 'me', '3 min'), pg_temp.put('wait', 1, 'x', '1 min', true), pg_temp.put('wait', 2, 'x', '30 s'),
       pg_temp.put('wait', 3, 'x', '2 min', true);
SELECT machine_id, abs(floor - pg_temp.ms('1 min')) < 5000 AS floor, watermark - floor AS lead FROM pg_temp.claim('wait', 'me');
SELECT machine_id FROM pg_temp.claim('wait', 'you');
-- Full, until one expires.
SELECT pg_temp.put('full', 0, 'x', '-1 min'), pg_temp.put('full', 1, 'y', '1 min');
SELECT status, machine_id FROM pg_temp.claim('full', 'me', 1);
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-301 s') WHERE namespace = 'full' AND machine_id = 0;
SELECT status, machine_id FROM pg_temp.claim('full', 'me', 1);

-- The machine id that was lost is left alone until it has expired.
SELECT pg_temp.put('avoid', 0, 'me', '-1 s'), pg_temp.put('avoid', 1, 'x', '-1 hour', true);
SELECT machine_id FROM pg_temp.claim('avoid', 'me', avoid => 0);
SELECT machine_id FROM pg_temp.claim('avoid', 'you', avoid => 2);
SELECT status, machine_id FROM pg_temp.claim('avoid', 'they', avoid => 2);
SELECT pg_temp.put('avoid_1', 0, 'me', '-1 s'), pg_temp.put('avoid_1', 1, 'x', '1 min');
SELECT status, machine_id FROM pg_temp.claim('avoid_1', 'me', 1, avoid => 0);
UPDATE cosid_machine SET last_timestamp = pg_temp.ms('-301 s') WHERE namespace = 'avoid_1' AND machine_id = 0;
SELECT status, machine_id FROM pg_temp.claim('avoid_1', 'me', 1, avoid => 0);

-- Only machine ids that fit the bits
SELECT pg_temp.put('bits', 4, 'x', '-1 hour', true), pg_temp.put('bits', 5, 'me', '-1 hour');
SELECT machine_id FROM pg_temp.claim('bits', 'me');
SELECT machine_id FROM pg_temp.claim('bits', 'me', 3);
SELECT pg_temp.put('bits_31', 2147483647, 'me', '-1 hour');
SELECT machine_id FROM pg_temp.claim('bits_31', 'you', 31);
SELECT machine_id FROM pg_temp.claim('bits_31', 'me', 31);

DROP TABLE cases;
DROP EXTENSION cosid;
