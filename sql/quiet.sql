--
-- Quiet tables: 20,000 IDs, of four tables that get one every 3 ms, spread
-- evenly over id % 16
--
CREATE EXTENSION cosid;
CREATE TABLE quiet (generator text, n int, id bigint);
DO $$
BEGIN
    FOR n IN 1..5000 LOOP
        INSERT INTO quiet SELECT g, n, cosid_next(g) FROM unnest('{quiet_a,quiet_b,quiet_c,quiet_d}'::text[]) g;
        COMMIT;
        PERFORM pg_sleep(0.003);
    END LOOP;
END
$$;
SELECT count(*), count(DISTINCT (generator, id)) AS ids FROM quiet;

-- They were quiet: each ID has a millisecond of its own, after the one before.
SELECT generator, count(*) FILTER (WHERE id >> 22 >= (previous >> 22) + 2) AS later
  FROM (SELECT generator, id, lag(id) OVER (PARTITION BY generator ORDER BY n) AS previous FROM quiet) q
 GROUP BY generator ORDER BY generator;

-- Each of the 16 has 1/16 of the IDs, within 2 percent.  (Chance alone would be
-- off by some 20.)
SELECT generator, count(*) AS remainders, min(c) >= 5000 / 16 * 0.98 AND max(c) <= 5000 / 16 * 1.02 AS even
  FROM (SELECT generator, id % 16 AS remainder, count(*) AS c FROM quiet GROUP BY 1, 2) r
 GROUP BY generator ORDER BY generator;
SELECT count(*) AS remainders, min(c) >= 20000 / 16 * 0.98 AND max(c) <= 20000 / 16 * 1.02 AS even
  FROM (SELECT id % 16 AS remainder, count(*) AS c FROM quiet GROUP BY 1) r;

DROP TABLE quiet;
DROP EXTENSION cosid;
