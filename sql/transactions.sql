--
-- cosid_next in transactions and statements of every kind
--
CREATE EXTENSION cosid;

-- A read-only transaction: a defined generator
SELECT cosid_create('tx_defined');
BEGIN READ ONLY;
SELECT cosid_next('tx_defined') AS id \gset
COMMIT;
SELECT cosid_next('tx_defined') > :id AS greater;
-- and an undefined one: no row then, it is pinned by the next statement that can.
BEGIN READ ONLY;
SELECT cosid_next('tx_first') AS id \gset
SELECT cosid_next('tx_first') > :id AS greater, cosid_next() > 0 AS share;
COMMIT;
SELECT count(*) FROM cosid_generator WHERE name = 'tx_first';
SELECT cosid_next('tx_first') > :id AS greater;
SELECT name, implicit FROM cosid_generator WHERE name = 'tx_first';

-- A subtransaction that rolls back: IDs are not given out again, as with
-- nextval.
CREATE TABLE tx_t (id bigint PRIMARY KEY DEFAULT cosid_next('tx_t'), n int);
BEGIN;
INSERT INTO tx_t (n) VALUES (1) RETURNING id AS first \gset
SAVEPOINT s;
INSERT INTO tx_t (n) VALUES (2) RETURNING id AS second \gset
ROLLBACK TO s;
INSERT INTO tx_t (n) VALUES (3) RETURNING id AS third \gset
COMMIT;
SELECT :first < :second AND :second < :third AS increasing, array_agg(n ORDER BY id) FROM tx_t;
BEGIN;
INSERT INTO tx_t (n) VALUES (4) RETURNING id AS fourth \gset
ROLLBACK;
SELECT cosid_next('tx_t') > :fourth AS greater, :fourth > :third AS increasing;
-- An exception block
DO $$
DECLARE
    before bigint;
BEGIN
    BEGIN
        before := cosid_next('tx_block');
        INSERT INTO tx_t (id, n) VALUES (before, 1 / 0);
    EXCEPTION WHEN division_by_zero THEN
        ASSERT cosid_next('tx_block') > before, 'not increasing';
    END;
END
$$;
SELECT implicit FROM cosid_generator WHERE name = 'tx_block';

-- Functions, also such as promise not to write; a procedure that commits
CREATE FUNCTION tx_sql() RETURNS bigint LANGUAGE sql AS $$ SELECT cosid_next('tx_sql') $$;
CREATE FUNCTION tx_stable() RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN cosid_next('tx_stable'); END $$;
CREATE PROCEDURE tx_commit(INOUT ids bigint[]) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..3 LOOP
        ids := ids || cosid_next('tx_commit');
        COMMIT;
    END LOOP;
END
$$;
SELECT count(DISTINCT tx_sql()), count(DISTINCT tx_stable()) FROM generate_series(1, 10);
CALL tx_commit('{}') \gset
SELECT cardinality(:'ids'::bigint[]) AS ids, :'ids'::bigint[] = ARRAY(SELECT unnest(:'ids'::bigint[]) ORDER BY 1) AS increasing;
SELECT name, implicit FROM cosid_generator WHERE name ~ '^tx_(sql|stable|commit)' ORDER BY name;
-- A cursor; a prepared statement, which outlives its generator's definition
BEGIN;
DECLARE c CURSOR FOR SELECT cosid_next('tx_cursor') > 0 AS minted FROM generate_series(1, 10);
FETCH 2 FROM c;
COMMIT;
PREPARE tx_prepared(text) AS SELECT cosid_next($1) > 9007199254740991 AS default_layout;
EXECUTE tx_prepared('tx_prepared');
SET client_min_messages = warning;
SELECT cosid_create('tx_prepared', safe_javascript => true, namespace => 'cosid-3');
EXECUTE tx_prepared('tx_prepared');

-- Other isolation levels: a definition that the transaction made holds, though
-- its snapshot is older.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT cosid_next('tx_serializable') > 0 AS minted;
SELECT count(*) FROM cosid_generator WHERE name = 'tx_serializable';
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM tx_t;
SELECT cosid_next('tx_repeatable') > 9007199254740991 AS default_layout;
SELECT cosid_create('tx_created', safe_javascript => true);
SELECT cosid_next('tx_created') <= 9007199254740991 AS its_layout;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT cosid_next('tx_created') <= 9007199254740991 AS its_layout;
COMMIT;
SELECT name, implicit FROM cosid_generator WHERE name ~ '^tx_(ser|rep|cre)' ORDER BY name;

DROP TABLE tx_t;
DROP FUNCTION tx_sql(), tx_stable();
DROP PROCEDURE tx_commit;
DROP EXTENSION cosid;
