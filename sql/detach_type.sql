--
-- cosid_detach of a column that can't be an identity: nothing of its owner's runs,
-- such as a cast
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_mallory;
CREATE SCHEMA detach_m AUTHORIZATION regress_cosid_mallory;
SELECT cosid_create('det_type');
SET ROLE regress_cosid_mallory;
CREATE TYPE detach_m.evil AS (x bigint);
CREATE FUNCTION detach_m.evil_int8(detach_m.evil) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'run by %', CASE WHEN current_user = 'regress_cosid_mallory' THEN 'its owner' ELSE 'another' END;
    RETURN 5;
END
$$;
CREATE CAST (detach_m.evil AS bigint) WITH FUNCTION detach_m.evil_int8(detach_m.evil);
CREATE TABLE detach_m.det_t (id detach_m.evil DEFAULT ROW(cosid_next('det_type'))::detach_m.evil, t text DEFAULT cosid_next_string('det_type'));
INSERT INTO detach_m.det_t DEFAULT VALUES;
RESET ROLE;
\set VERBOSITY sqlstate
SELECT cosid_detach('detach_m.det_t', 'id');
SELECT cosid_detach('detach_m.det_t', 't');
\set VERBOSITY default
-- A domain's column can't be an identity, which is said before anything is read.
CREATE DOMAIN detach_m.det_id AS bigint;
CREATE TABLE detach_m.det_d (id detach_m.det_id DEFAULT cosid_next('det_type'));
SELECT cosid_detach('detach_m.det_d', 'id');
-- What inherits from the table had the default, too.
CREATE TABLE detach_m.det_p (id bigint DEFAULT cosid_next('det_type'));
CREATE TABLE detach_m.det_heir () INHERITS (detach_m.det_p);
SELECT cosid_detach('detach_m.det_p', 'id');
SET client_min_messages = warning;
DROP SCHEMA detach_m CASCADE;
DROP EXTENSION cosid;
DROP ROLE regress_cosid_mallory;
