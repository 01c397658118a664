--
-- cosid_machine_forget: the machine id of a server that is gone for good
--
CREATE EXTENSION cosid;
CREATE FUNCTION pg_temp.ms("off" interval DEFAULT '0') RETURNS bigint LANGUAGE sql AS
$$ SELECT floor(extract(epoch FROM clock_timestamp() + "off") * 1000)::bigint $$;
-- A row: its watermark; who holds it, if anyone; fence as Java services leave it.
CREATE FUNCTION pg_temp.put(machine_id int, watermark interval, instance_id text, stable boolean, java boolean DEFAULT false)
RETURNS bigint LANGUAGE sql AS
$$ INSERT INTO cosid_machine VALUES (format('gone.%s', to_char(machine_id, 'FM0000000009')), 'gone', machine_id,
    pg_temp.ms(watermark), instance_id, 1000, 0, stable, CASE WHEN java THEN '' ELSE 'x' END, CASE WHEN java THEN 0 ELSE 1000 END)
   RETURNING last_timestamp $$;
CREATE FUNCTION pg_temp.claim(identity text, machine_bit int, OUT status text, OUT machine_id int, OUT floor bigint) LANGUAGE sql AS
$$ SELECT status, machine_id, floor FROM cosid_machine_claim('gone', machine_bit, identity, identity, false, -1, -1, false,
                                                             pg_temp.ms(), 10000, 300000, 0) $$;

-- A stable server's, which nobody else gets by itself.
SELECT pg_temp.put(0, '-1 day', 'pg-0', true) AS watermark \gset
SELECT pg_temp.put(1, '-1 day', 'pg-1', true) IS NULL AS nothing;
SELECT status FROM pg_temp.claim('new', 1);
SELECT cosid_machine_forget('gone', 0);
SELECT last_timestamp - :watermark AS moved, instance_id, owner, stable, distribute_time > 1000 AS new_token, fence = distribute_time AS fence,
       abs(revert_time - pg_temp.ms()) < 60000 AS at
  FROM cosid_machine WHERE namespace = 'gone' AND machine_id = 0;
-- Its holder, should it come back, matches no row.
SELECT cosid_machine_guard('gone', 0, 'pg-0', 1000, :watermark, 'x', pg_temp.ms(), 10000);
SELECT cosid_machine_revert('gone', 0, 'pg-0', 1000, :watermark, :watermark);
-- Whoever gets it starts above the watermark.
SELECT status, machine_id, floor >= :watermark AS floor FROM pg_temp.claim('new', 1);

-- While the lease is live, refused; a watermark that has passed not long ago
-- counts, and one ahead, and that of the new holder.
SELECT cosid_machine_forget('gone', 0);
SELECT pg_temp.put(2, '-4 minutes', 'pg-2', false) IS NULL AS nothing;
SELECT cosid_machine_forget('gone', 2);
SELECT pg_temp.put(3, '1 hour', 'pg-3', true) IS NULL AS nothing;
SELECT cosid_machine_forget('gone', 3);
SELECT machine_id, instance_id, stable, distribute_time FROM cosid_machine WHERE namespace = 'gone' AND machine_id IN (2, 3) ORDER BY 1;

-- Given back before, by a server with a clock that was ahead: the watermark stays.
SELECT pg_temp.put(4, '1 hour', '', false) AS watermark \gset
SELECT cosid_machine_forget('gone', 4);
SELECT last_timestamp - :watermark AS moved, owner FROM cosid_machine WHERE namespace = 'gone' AND machine_id = 4;

-- A Java service's heartbeat trails its IDs.
SELECT pg_temp.put(5, '-1 day', 'java', false, true) AS watermark \gset
SELECT cosid_machine_forget('gone', 5);
SELECT last_timestamp - :watermark AS moved FROM cosid_machine WHERE namespace = 'gone' AND machine_id = 5;

-- Errors
SELECT cosid_machine_forget('gone', 77);
SELECT cosid_machine_forget('nowhere', 0);
SELECT cosid_machine_forget(NULL, 0);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT cosid_machine_forget('gone', 1);
ROLLBACK;
CREATE ROLE regress_cosid_forget;
SET ROLE regress_cosid_forget;
SELECT cosid_machine_forget('gone', 1);
RESET ROLE;
-- A grant of the function is enough.
GRANT EXECUTE ON FUNCTION cosid_machine_forget TO regress_cosid_forget;
SET ROLE regress_cosid_forget;
SELECT cosid_machine_forget('gone', 1);
RESET ROLE;
SELECT stable, instance_id FROM cosid_machine WHERE namespace = 'gone' AND machine_id = 1;
REVOKE ALL ON FUNCTION cosid_machine_forget FROM regress_cosid_forget;
DROP ROLE regress_cosid_forget;

DROP EXTENSION cosid;
