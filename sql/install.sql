--
-- CREATE EXTENSION and DROP EXTENSION: what the extension consists of and who
-- may use it
--
CREATE EXTENSION cosid;
SELECT n.nspname, e.extversion, e.extrelocatable, v.superuser, v.trusted
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
       JOIN pg_available_extension_versions v ON v.name = e.extname AND v.installed
 WHERE e.extname = 'cosid';

-- Everything in it begins with cosid_, is in the extension's schema and has a
-- comment; so has each column, trigger and index of its own.  Types that tables,
-- views and arrays have are left out: PostgreSQL 17 and later list them, too.
CREATE TEMP VIEW members AS
SELECT d.classid, d.objid, o.type, o.schema, o.identity,
       obj_description(d.objid, d.classid::regclass::name) AS comment
  FROM pg_depend d, pg_identify_object(d.classid, d.objid, 0) o
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cosid')
   AND NOT EXISTS (SELECT FROM pg_depend i
                    WHERE (i.classid, i.objid) = (d.classid, d.objid) AND i.deptype = 'i' AND d.classid = 'pg_type'::regclass);
SELECT type, identity FROM members ORDER BY type, identity COLLATE "C";
SELECT identity FROM members WHERE schema <> 'public' OR schema IS NULL OR identity !~ '^public\.cosid_';
SELECT identity FROM members WHERE comment IS NULL;
WITH relations AS MATERIALIZED
    (SELECT c.oid FROM members m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
      WHERE c.relkind IN ('r', 'p', 'v', 'm')
     UNION
     SELECT c.oid FROM members m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
       JOIN pg_class c ON c.oid = t.typrelid AND c.relkind = 'c')
SELECT a.attrelid::regclass AS relation, a.attname
  FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE col_description(a.attrelid, a.attnum) IS NULL;
SELECT t.tgname
  FROM members m JOIN pg_trigger t ON m.classid = 'pg_class'::regclass AND t.tgrelid = m.objid
 WHERE NOT t.tgisinternal AND obj_description(t.oid, 'pg_trigger') IS NULL;
SELECT i.indexrelid::regclass AS index
  FROM members m JOIN pg_index i ON m.classid = 'pg_class'::regclass AND i.indrelid = m.objid
 WHERE obj_description(i.indexrelid, 'pg_class') IS NULL
   AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid);
SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'cosid';

-- How each function may be used, and by whom: the owner's own right is left out.
SELECT p.proname, p.pronargs AS args, p.provolatile AS vol, p.proparallel AS par,
       p.proisstrict AS strict, p.prosecdef AS secdef, p.proconfig,
       (SELECT string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, ', ')
          FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
         WHERE a.grantee <> p.proowner) AS grantees
  FROM members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
 ORDER BY p.proname COLLATE "C", args;
SELECT c.relname, c.relkind,
       (SELECT string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
                          || ' ' || a.privilege_type, ', ')
          FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner) AS grants
  FROM members m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
 WHERE c.relkind IN ('r', 'v') ORDER BY 1;

-- The triggers fire whatever session_replication_role is.
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger
 WHERE tgname LIKE 'cosid%' ORDER BY tgname COLLATE "C";

-- pg_dump takes definitions along and machine ids not; the script makes no rows.
SELECT c::regclass FROM pg_extension, unnest(extconfig) c WHERE extname = 'cosid';
SELECT (SELECT count(*) FROM cosid_generator) AS generators, (SELECT count(*) FROM cosid_machine) AS machines;

-- Not trusted: the right to create objects is not enough.
CREATE ROLE regress_cosid_install;
GRANT CREATE ON SCHEMA public TO regress_cosid_install;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_cosid_install', current_database()) \gexec
DROP EXTENSION cosid;
SET ROLE regress_cosid_install;
\set VERBOSITY sqlstate
CREATE EXTENSION cosid;
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_cosid_install;
DROP ROLE regress_cosid_install;

-- DROP EXTENSION leaves nothing.
SELECT count(*) FROM pg_class WHERE relname LIKE 'cosid%';
SELECT count(*) FROM pg_proc WHERE proname LIKE 'cosid%';
SELECT count(*) FROM pg_type WHERE typname LIKE 'cosid%';

-- In a schema of its own, with a name to be quoted and not in search_path, it
-- works as well; in the same session as before, too.
CREATE SCHEMA "Cosid ""s";
CREATE EXTENSION cosid SCHEMA "Cosid ""s";
SELECT identity FROM members WHERE schema <> '"Cosid ""s"' OR comment IS NULL AND identity !~ '\[\]$';
CREATE TABLE install_orders (id bigint PRIMARY KEY DEFAULT "Cosid ""s".cosid_next('install'), item text);
INSERT INTO install_orders (item) VALUES ('a') RETURNING id > 0 AS minted;
SELECT "Cosid ""s".cosid_create('install_seconds', timestamp_unit => 'second');
SELECT "Cosid ""s".cosid_next('install_seconds') > 0 AS minted;
SELECT name, implicit FROM "Cosid ""s".cosid_generator ORDER BY name;
SELECT "Cosid ""s".cosid_drop('install');
SELECT (p).machine_id = l.machine_id AS same_machine_id
  FROM install_orders, "Cosid ""s".cosid_parse(id, 'install') p, "Cosid ""s".cosid_lease l
 WHERE l.namespace = 'cosid';
-- It stays there: it is not relocatable.
ALTER EXTENSION cosid SET SCHEMA public;
-- A default that draws from it is in the way of dropping it.
DROP EXTENSION cosid;
DROP TABLE install_orders;
DROP EXTENSION cosid;
DROP SCHEMA "Cosid ""s";
