--
-- Prepared transactions
--
CREATE EXTENSION cosid;
CREATE TABLE prepared_t (id bigint PRIMARY KEY, item text);

-- A first use in a prepared transaction: the row comes with its commit
BEGIN;
INSERT INTO prepared_t SELECT cosid_next('prepared_a'), item FROM unnest('{first,second}'::text[]) item;
PREPARE TRANSACTION 'cosid_first_use';
SELECT count(*) FROM cosid_generator WHERE name = 'prepared_a';
-- another session does not wait for it to mint
SELECT cosid_next('prepared_a') > 0 AS minted;
COMMIT PREPARED 'cosid_first_use';
SELECT name, implicit FROM cosid_generator WHERE name = 'prepared_a';
SELECT count(*), count(DISTINCT id) FROM prepared_t;

-- Rolled back, its IDs are not given out again, and the next statement defines
BEGIN;
SELECT cosid_next('prepared_b') AS b \gset
PREPARE TRANSACTION 'cosid_rollback';
ROLLBACK PREPARED 'cosid_rollback';
SELECT count(*) FROM cosid_generator WHERE name = 'prepared_b';
SELECT cosid_next('prepared_b') > :b AS later;
SELECT count(*) FROM cosid_generator WHERE name = 'prepared_b';

-- cosid_create in a prepared transaction: its layout holds from its commit on
BEGIN;
SELECT cosid_create('prepared_c', safe_javascript => true);
PREPARE TRANSACTION 'cosid_create';
SET lock_timeout = '10ms';
SELECT cosid_create('prepared_c');
RESET lock_timeout;
COMMIT PREPARED 'cosid_create';
SELECT cosid_next('prepared_c') < 2::numeric ^ 53 AS safe;

DROP TABLE prepared_t;
DROP EXTENSION cosid;
