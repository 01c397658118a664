--
-- What stands in front of the extension in search_path changes nothing
--
CREATE EXTENSION cosid;
CREATE ROLE regress_cosid_search;
GRANT EXECUTE ON FUNCTION cosid_create, cosid_drop TO regress_cosid_search;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_cosid_search', current_database()) \gexec

-- Tables, functions and operators such as the extension's code might mean
SET ROLE regress_cosid_search;
CREATE SCHEMA search_trap;
SET search_path = search_trap, pg_catalog, public;
CREATE TABLE search_trap.cosid_generator (LIKE public.cosid_generator INCLUDING ALL);
CREATE TABLE search_trap.cosid_machine (LIKE pg_catalog.pg_class);
CREATE FUNCTION search_trap.trap(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING 'the trap "%" has been called by %', what, current_user;
END
$$;
CREATE FUNCTION search_trap.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM search_trap.trap('=');
    RETURN true;
END
$$;
CREATE OPERATOR search_trap.= (FUNCTION = search_trap.equal, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR search_trap.<> (FUNCTION = search_trap.equal, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR search_trap.~ (FUNCTION = search_trap.equal, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION search_trap.octet_length(text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    PERFORM search_trap.trap('octet_length');
    RETURN 1;
END
$$;
CREATE FUNCTION search_trap.cosid_create(name text) RETURNS void LANGUAGE sql AS $$ SELECT search_trap.trap('cosid_create') $$;
CREATE FUNCTION search_trap.cosid_lease_rows() RETURNS void LANGUAGE sql AS $$ SELECT search_trap.trap('cosid_lease_rows') $$;
CREATE TEMP TABLE cosid_generator AS SELECT 'search_temp'::text AS name;
-- They are traps indeed.
SELECT 'a'::text = 'b'::text AS trapped;

SELECT cosid_next('search_first') > 0 AS minted;
SELECT public.cosid_create('search_second', safe_javascript => true);
SELECT cosid_next('search_second') <= 9007199254740991 AS minted;
SELECT public.cosid_create('search_first');
SELECT public.cosid_create('search_third');
SELECT public.cosid_drop('search_third');
SELECT (cosid_parse(1, 'search_second')).sequence;
RESET ROLE;
SELECT count(*) FROM public.cosid_lease WHERE namespace OPERATOR(pg_catalog.=) 'cosid';

-- A superuser who walks into the same search_path
INSERT INTO public.cosid_generator SELECT * FROM public.cosid_generator WHERE false;
SELECT (public.cosid_machine_claim('search', 1, 'i', 'i', false, -1, -1, false, 0, 0, 0, 0)).status;
SELECT cosid_next('search_fourth') > 0 AS minted;
RESET search_path;
SELECT name, implicit FROM public.cosid_generator ORDER BY name;
SELECT count(*) FROM search_trap.cosid_generator;
SELECT count(*) FROM search_trap.cosid_machine;
SELECT namespace, machine_id FROM public.cosid_machine;

-- A superuser's cosid_drop looks at everyone's defaults and evaluates none.
CREATE FUNCTION search_trap.name() RETURNS text IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'evaluated by %', current_user; END $$;
CREATE TABLE search_trap.trap (id bigint DEFAULT public.cosid_next(search_trap.name()));
SELECT public.cosid_drop('search_fourth');

SET client_min_messages = warning;
DROP SCHEMA search_trap CASCADE;
DROP EXTENSION cosid;
DROP OWNED BY regress_cosid_search;
DROP ROLE regress_cosid_search;
