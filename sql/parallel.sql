--
-- cosid_next in parallel plans
--
CREATE EXTENSION cosid;
CREATE TABLE par_rows AS SELECT n FROM generate_series(1, 20000) n;
ANALYZE par_rows;
-- Whose rows: pg_backend_pid() itself is parallel restricted.
CREATE FUNCTION par_pid() RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN RETURN pg_backend_pid(); END $$;
SELECT cosid_create('par_defined');
SELECT cosid_create('par_js', safe_javascript => true);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
-- Without it the leader might have all rows before the workers have started.
SET parallel_leader_participation = off;

-- Below the Gather: workers call it.
EXPLAIN (COSTS off, VERBOSE) SELECT cosid_next('par_defined') FROM par_rows;
CREATE TEMP TABLE par_a AS SELECT cosid_next('par_defined') AS id, par_pid() AS pid FROM par_rows;
SELECT count(*), count(DISTINCT id) AS ids, count(*) FILTER (WHERE pid = pg_backend_pid()) AS by_leader FROM par_a;
SELECT cosid_next('par_defined') > max(id) AS greater FROM par_a;
-- A definition's layout holds in workers.
CREATE TEMP TABLE par_b AS SELECT cosid_next('par_js') AS id, par_pid() AS pid FROM par_rows;
SELECT count(*), count(DISTINCT id) AS ids, max(id) <= 9007199254740991 AS safe,
       count(*) FILTER (WHERE pid = pg_backend_pid()) AS by_leader FROM par_b;
-- Each worker's IDs increase strictly.
CREATE TEMP TABLE par_c AS
SELECT cosid_next('par_defined') AS id, par_pid() AS pid, ctid AS at FROM par_rows;
SELECT count(*) FILTER (WHERE id <= previous) AS not_increasing, count(DISTINCT id) AS ids
  FROM (SELECT id, lag(id) OVER (PARTITION BY pid ORDER BY at) AS previous FROM par_c) c;

-- An undefined generator: workers can't pin it, and mint all the same.
CREATE TEMP TABLE par_d AS SELECT cosid_next('par_first') AS id, par_pid() AS pid FROM par_rows;
SELECT count(*), count(DISTINCT id) AS ids, count(*) FILTER (WHERE pid = pg_backend_pid()) AS by_leader FROM par_d;
SELECT count(*) FROM cosid_generator WHERE name = 'par_first';
SELECT cosid_next('par_first') > max(id) AS greater FROM par_d;
SELECT count(*) FROM cosid_generator WHERE name = 'par_first';
-- The share generator, and a definition of the same transaction
BEGIN;
SELECT cosid_create('par_new', safe_javascript => true);
CREATE TEMP TABLE par_e AS
SELECT cosid_next() AS share, cosid_next('par_new') AS id, par_pid() AS pid FROM par_rows;
SELECT count(DISTINCT share) AS shares, count(DISTINCT id) AS ids, max(id) <= 9007199254740991 AS safe,
       count(*) FILTER (WHERE pid = pg_backend_pid()) AS by_leader FROM par_e;
COMMIT;
-- Without the right to define one, a worker says so, too.
CREATE ROLE regress_cosid_parallel;
GRANT SELECT ON par_rows TO regress_cosid_parallel;
SET ROLE regress_cosid_parallel;
\set VERBOSITY sqlstate
SELECT count(DISTINCT id) FROM (SELECT cosid_next('par_undefined') AS id FROM par_rows OFFSET 0) p;
\set VERBOSITY default
SELECT count(DISTINCT id) FROM (SELECT cosid_next('par_defined') AS id FROM par_rows OFFSET 0) p;
RESET ROLE;

-- In a filter and an aggregate; cosid_parse and cosid_friendly are parallel
-- safe as well.
EXPLAIN (COSTS off) SELECT count(*) FROM par_rows WHERE cosid_next('par_defined') > n;
SELECT count(*) FROM par_rows WHERE cosid_next('par_defined') > n;
EXPLAIN (COSTS off) SELECT max(cosid_friendly(n, 'par_defined')), min((cosid_parse(n)).sequence) FROM par_rows;
SELECT count(DISTINCT f) AS ids, min(s) FROM (SELECT cosid_friendly(n, 'par_defined') AS f, (cosid_parse(n)).sequence AS s FROM par_rows OFFSET 0) p;

DROP TABLE par_rows, par_a, par_b, par_c, par_d, par_e;
DROP FUNCTION par_pid;
DROP ROLE regress_cosid_parallel;
DROP EXTENSION cosid;
