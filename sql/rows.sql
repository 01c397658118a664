--
-- One ID a row, whichever statement makes it: nothing is minted that no row
-- gets, and no row's ID changes afterwards
--
CREATE EXTENSION cosid;
CREATE TABLE rows_t (id bigint PRIMARY KEY DEFAULT cosid_next('rows_g'), n int UNIQUE);
INSERT INTO rows_t (n) VALUES (0);
-- How many IDs a statement has taken: the generator is quiet, so its sequence
-- counts on (and starts over once it has got as far as 2047).
CREATE TABLE rows_start (id bigint);
INSERT INTO rows_start SELECT id FROM rows_t;
CREATE FUNCTION rows_taken() RETURNS bigint LANGUAGE sql AS $$
    WITH mark AS (SELECT cosid_next('rows_g') AS id), old AS (SELECT id FROM rows_start),
         new AS (UPDATE rows_start SET id = mark.id FROM mark)
    SELECT cosid_sequence(mark.id) - cosid_sequence(old.id) - 1 FROM mark, old
$$;
SELECT rows_taken();

-- RETURNING gives what is stored.
CREATE TABLE rows_returned (id bigint, n int);
WITH new AS (INSERT INTO rows_t (n) SELECT generate_series(1, 10) RETURNING id, n) INSERT INTO rows_returned SELECT * FROM new;
SELECT rows_taken();
SELECT count(*) FROM rows_t JOIN rows_returned USING (id, n);
-- COPY
COPY rows_t (n) FROM stdin;
11
12
13
\.
SELECT rows_taken();
COPY rows_t (id, n) FROM stdin WHERE n > 14;
14	14
15	15
\.
SELECT rows_taken();
-- ON CONFLICT takes one for what is not inserted, too, as a sequence does.
INSERT INTO rows_t (n) VALUES (1), (16) ON CONFLICT DO NOTHING;
SELECT rows_taken();
INSERT INTO rows_t (n) VALUES (1), (17) ON CONFLICT (n) DO UPDATE SET n = -excluded.n RETURNING n, id IN (SELECT id FROM rows_returned) AS same;
SELECT rows_taken();
INSERT INTO rows_t (n) VALUES (2) ON CONFLICT (n) DO UPDATE SET id = excluded.id RETURNING id > (SELECT max(id) FROM rows_returned) AS new;
SELECT rows_taken();
-- MERGE takes one for each row that it inserts or sets to DEFAULT.
MERGE INTO rows_t t USING (VALUES (3), (18), (19)) v(n) ON t.n = v.n
 WHEN MATCHED THEN UPDATE SET n = 103
 WHEN NOT MATCHED THEN INSERT (n) VALUES (v.n);
SELECT rows_taken();
MERGE INTO rows_t t USING (VALUES (4), (20)) v(n) ON t.n = v.n
 WHEN MATCHED THEN UPDATE SET id = DEFAULT
 WHEN NOT MATCHED THEN INSERT VALUES (DEFAULT, v.n);
SELECT rows_taken();
-- UPDATE
UPDATE rows_t SET id = DEFAULT WHERE n IN (5, 6, 7);
SELECT rows_taken();
SELECT count(DISTINCT id) FROM rows_t WHERE n IN (5, 6, 7) AND id > (SELECT max(id) FROM rows_returned);
UPDATE rows_t SET (id, n) = (DEFAULT, 108) WHERE n = 8;
UPDATE rows_t SET n = 109 WHERE n = 9;
SELECT rows_taken();
-- A statement that fails has taken what it took; the rest go on.
\set VERBOSITY sqlstate
INSERT INTO rows_t (n) VALUES (200), (200);
\set VERBOSITY default
SELECT rows_taken();
-- Views: those that can be updated take the table's default, or their own.
CREATE VIEW rows_v AS SELECT * FROM rows_t;
INSERT INTO rows_v (n) VALUES (21), (22) RETURNING id > 1000 AS minted;
SELECT rows_taken();
ALTER VIEW rows_v ALTER id SET DEFAULT cosid_next('rows_g') + 0;
INSERT INTO rows_v (n) VALUES (23), (24) RETURNING id > 1000 AS minted;
SELECT rows_taken();
-- INSTEAD OF triggers: the view's default is evaluated for each row, and the
-- trigger's INSERT takes it or one of the table's.
CREATE VIEW rows_i AS SELECT id, n FROM rows_t OFFSET 0;
CREATE FUNCTION rows_instead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.id IS NULL THEN
        INSERT INTO rows_t (n) VALUES (new.n) RETURNING id INTO new.id;
    ELSE
        INSERT INTO rows_t VALUES (new.*);
    END IF;
    RETURN new;
END
$$;
CREATE TRIGGER rows_instead INSTEAD OF INSERT ON rows_i FOR EACH ROW EXECUTE FUNCTION rows_instead();
WITH new AS (INSERT INTO rows_i (n) SELECT generate_series(30, 34) RETURNING id, n) SELECT count(DISTINCT id) FROM new;
SELECT rows_taken();
ALTER VIEW rows_i ALTER id SET DEFAULT cosid_next('rows_g');
WITH new AS (INSERT INTO rows_i (n) SELECT generate_series(35, 39) RETURNING id, n) INSERT INTO rows_returned SELECT * FROM new;
SELECT rows_taken();
SELECT count(*) FROM rows_t JOIN rows_returned USING (id, n) WHERE n >= 35;
-- Prepared, and in PL/pgSQL
PREPARE rows_p AS INSERT INTO rows_t (n) VALUES ($1) RETURNING id > 1000 AS minted;
EXECUTE rows_p(40);
EXECUTE rows_p(41);
SELECT rows_taken();
DO $$
DECLARE
    first bigint;
    second bigint;
BEGIN
    INSERT INTO rows_t (n) VALUES (42) RETURNING id INTO first;
    INSERT INTO rows_t (n) VALUES (43) RETURNING id INTO STRICT second;
    ASSERT first < second AND EXISTS (SELECT FROM rows_t WHERE id = first AND n = 42);
END
$$;
SELECT rows_taken();
SELECT count(*) - count(DISTINCT id) AS duplicates FROM rows_t;

DROP TABLE rows_t, rows_start, rows_returned CASCADE;
DROP FUNCTION rows_taken, rows_instead;
DROP EXTENSION cosid;
