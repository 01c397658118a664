/* cosid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION cosid" to load this file. \quit

--
-- Minting
--

-- The same for COPY, see src/sql/support.c.  Nobody can call it.
CREATE FUNCTION cosid_next_row(internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_next'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_next_row(internal) IS 'for COPY: cosid_next for each row';

CREATE FUNCTION cosid_next_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'cosid_next_support'
LANGUAGE C STRICT;
COMMENT ON FUNCTION cosid_next_support(internal) IS 'planner support: lets COPY insert many rows at a time';
REVOKE ALL ON FUNCTION cosid_next_support(internal) FROM PUBLIC;

CREATE FUNCTION cosid_next(name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_next'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT cosid_next_support;
COMMENT ON FUNCTION cosid_next(text) IS 'the next ID of a generator';

CREATE FUNCTION cosid_next() RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_next_share'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT cosid_next_support;
COMMENT ON FUNCTION cosid_next() IS 'the next ID of the share generator, which is built in';

CREATE FUNCTION cosid_next(name text, count integer) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'cosid_next_batch'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION cosid_next(text, integer) IS 'the next IDs of a generator';

--
-- Defining generators
--

CREATE TABLE cosid_generator (
    name text COLLATE "C" PRIMARY KEY
        CHECK (pg_catalog.octet_length(name) BETWEEN 1 AND 63 AND
               pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) BETWEEN 1 AND 63 AND
               name <> '__share__'),
    namespace text COLLATE "C" NOT NULL
        CHECK (namespace ~ '^[!-~]{1,63}$'),
    timestamp_unit text COLLATE "C" NOT NULL
        CHECK (timestamp_unit IN ('millisecond', 'second')),
    epoch bigint NOT NULL,
    timestamp_bit integer NOT NULL CHECK (timestamp_bit BETWEEN 1 AND 61),
    machine_bit integer NOT NULL CHECK (machine_bit BETWEEN 1 AND 31),
    sequence_bit integer NOT NULL CHECK (sequence_bit BETWEEN 1 AND 61),
    sequence_reset_threshold bigint NOT NULL,
    clock_sync boolean NOT NULL,
    converter text COLLATE "C" NOT NULL
        CHECK (converter IN ('radix', 'radix36', 'to_string', 'snowflake_friendly')),
    prefix text COLLATE "C" NOT NULL CHECK (pg_catalog.octet_length(prefix) <= 63),
    suffix text COLLATE "C" NOT NULL CHECK (pg_catalog.octet_length(suffix) <= 63),
    pad_start boolean NOT NULL,
    char_size integer NOT NULL CHECK (char_size BETWEEN 1 AND 63),
    zone text COLLATE "C" CHECK (pg_catalog.octet_length(zone) BETWEEN 1 AND 63),
    implicit boolean NOT NULL DEFAULT false,
    CHECK (epoch BETWEEN 0 AND CASE timestamp_unit WHEN 'second' THEN 253402300799
                                                   ELSE 253402300799999 END),
    CHECK (timestamp_bit + machine_bit + sequence_bit <= 63),
    CHECK (sequence_reset_threshold BETWEEN 0 AND (1::bigint << sequence_bit) - 1)
);
COMMENT ON TABLE cosid_generator IS 'generators of this database: what cosid_next draws from';
COMMENT ON COLUMN cosid_generator.name IS 'what cosid_next is called with';
COMMENT ON COLUMN cosid_generator.namespace IS 'which machine id it mints with: one for each namespace';
COMMENT ON COLUMN cosid_generator.timestamp_unit IS 'millisecond or second';
COMMENT ON COLUMN cosid_generator.epoch IS 'Unix time of timestamp 0, in the unit';
COMMENT ON COLUMN cosid_generator.timestamp_bit IS 'bits of the timestamp';
COMMENT ON COLUMN cosid_generator.machine_bit IS 'bits of the machine id';
COMMENT ON COLUMN cosid_generator.sequence_bit IS 'bits of the sequence';
COMMENT ON COLUMN cosid_generator.sequence_reset_threshold IS 'a new tick starts from sequence 0 if the last one got as far as this';
COMMENT ON COLUMN cosid_generator.clock_sync IS 'wait for a clock that is a little behind, rather than fail';
COMMENT ON COLUMN cosid_generator.converter IS 'how an ID becomes a string: radix, radix36, to_string or snowflake_friendly';
COMMENT ON COLUMN cosid_generator.prefix IS 'before the string';
COMMENT ON COLUMN cosid_generator.suffix IS 'after the string';
COMMENT ON COLUMN cosid_generator.pad_start IS 'pad the string to its full length';
COMMENT ON COLUMN cosid_generator.char_size IS 'that length';
COMMENT ON COLUMN cosid_generator.zone IS 'time zone of friendly IDs; null: the session''s';
COMMENT ON COLUMN cosid_generator.implicit IS 'defined on first use or for a default, not by cosid_create';

SELECT pg_catalog.pg_extension_config_dump('cosid_generator', '');

CREATE FUNCTION cosid_generator_insert() RETURNS trigger
AS 'MODULE_PATHNAME', 'cosid_generator_insert'
LANGUAGE C;
COMMENT ON FUNCTION cosid_generator_insert() IS 'trigger: an explicit definition replaces one that was made on first use';
REVOKE ALL ON FUNCTION cosid_generator_insert() FROM PUBLIC;

CREATE FUNCTION cosid_generator_changed() RETURNS trigger
AS 'MODULE_PATHNAME', 'cosid_generator_changed'
LANGUAGE C;
COMMENT ON FUNCTION cosid_generator_changed() IS 'trigger: tells all sessions that definitions have changed';
REVOKE ALL ON FUNCTION cosid_generator_changed() FROM PUBLIC;

CREATE TRIGGER cosid_generator_insert BEFORE INSERT ON cosid_generator
    FOR EACH ROW EXECUTE FUNCTION cosid_generator_insert();
ALTER TABLE cosid_generator ENABLE ALWAYS TRIGGER cosid_generator_insert;
COMMENT ON TRIGGER cosid_generator_insert ON cosid_generator IS 'an explicit definition replaces an implicit one; restores need it';

-- For each row, since the apply worker of logical replication fires no others.
CREATE TRIGGER cosid_generator_changed AFTER INSERT OR UPDATE OR DELETE ON cosid_generator
    FOR EACH ROW EXECUTE FUNCTION cosid_generator_changed();
ALTER TABLE cosid_generator ENABLE ALWAYS TRIGGER cosid_generator_changed;
COMMENT ON TRIGGER cosid_generator_changed ON cosid_generator IS 'tells all sessions that definitions have changed';

CREATE TRIGGER cosid_generator_truncated AFTER TRUNCATE ON cosid_generator
    FOR EACH STATEMENT EXECUTE FUNCTION cosid_generator_changed();
ALTER TABLE cosid_generator ENABLE ALWAYS TRIGGER cosid_generator_truncated;
COMMENT ON TRIGGER cosid_generator_truncated ON cosid_generator IS 'tells all sessions that definitions have changed';

-- Anyone may see what an ID means; pg_dump and restore need both.
GRANT SELECT ON cosid_generator TO PUBLIC;
GRANT INSERT ON cosid_generator TO pg_database_owner;

CREATE FUNCTION cosid_create(
    name text,
    namespace text DEFAULT NULL,
    timestamp_unit text DEFAULT NULL,
    epoch bigint DEFAULT NULL,
    timestamp_bit integer DEFAULT NULL,
    machine_bit integer DEFAULT NULL,
    sequence_bit integer DEFAULT NULL,
    sequence_reset_threshold bigint DEFAULT NULL,
    clock_sync boolean DEFAULT NULL,
    safe_javascript boolean DEFAULT NULL,
    converter text DEFAULT NULL,
    prefix text DEFAULT NULL,
    suffix text DEFAULT NULL,
    pad_start boolean DEFAULT NULL,
    char_size integer DEFAULT NULL,
    zone text DEFAULT NULL
) RETURNS void
AS 'MODULE_PATHNAME', 'cosid_create'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION cosid_create IS 'define a generator';
REVOKE ALL ON FUNCTION cosid_create FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cosid_create TO pg_database_owner;

CREATE FUNCTION cosid_drop(name text) RETURNS void
AS 'MODULE_PATHNAME', 'cosid_drop'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION cosid_drop(text) IS 'drop a generator''s definition';
REVOKE ALL ON FUNCTION cosid_drop(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cosid_drop(text) TO pg_database_owner;

--
-- Existing tables and clients
--

CREATE FUNCTION cosid_attach("table" regclass, "column" name, generator text) RETURNS void
AS 'MODULE_PATHNAME', 'cosid_attach'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION cosid_attach(regclass, name, text) IS 'let a table''s column draw from a generator';

CREATE FUNCTION cosid_detach("table" regclass, "column" name) RETURNS void
AS 'MODULE_PATHNAME', 'cosid_detach'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION cosid_detach(regclass, name) IS 'turn such a column into an identity column that goes on after its greatest value';

CREATE FUNCTION cosid_fill() RETURNS trigger
AS 'MODULE_PATHNAME', 'cosid_fill'
LANGUAGE C;
COMMENT ON FUNCTION cosid_fill() IS 'trigger: fills a column (first argument) that is null with an ID of a generator (second argument)';

--
-- Reading IDs
--

CREATE TYPE cosid_state AS (
    id bigint,
    "timestamp" timestamp with time zone,
    machine_id integer,
    sequence bigint,
    friendly_id text
);
COMMENT ON TYPE cosid_state IS 'the parts of an ID';
COMMENT ON COLUMN cosid_state.id IS 'the ID itself';
COMMENT ON COLUMN cosid_state."timestamp" IS 'when it was minted, to the tick of its layout';
COMMENT ON COLUMN cosid_state.machine_id IS 'on which server it was minted';
COMMENT ON COLUMN cosid_state.sequence IS 'which one of that tick';
COMMENT ON COLUMN cosid_state.friendly_id IS 'local time, machine id and sequence';

-- What shows a time zone or reads a definition is STABLE, the rest IMMUTABLE.

CREATE FUNCTION cosid_parse(id bigint) RETURNS cosid_state
AS 'MODULE_PATHNAME', 'cosid_parse'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_parse(bigint) IS 'the parts of an ID of the default layout';

CREATE FUNCTION cosid_parse(id bigint, name text) RETURNS cosid_state
AS 'MODULE_PATHNAME', 'cosid_parse'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_parse(bigint, text) IS 'the parts of an ID of a generator';

CREATE FUNCTION cosid_timestamp(id bigint) RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'cosid_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_timestamp(bigint) IS 'the time of an ID of the default layout';

CREATE FUNCTION cosid_timestamp(id bigint, name text) RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'cosid_timestamp'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_timestamp(bigint, text) IS 'the time of an ID of a generator';

CREATE FUNCTION cosid_machine_id(id bigint) RETURNS integer
AS 'MODULE_PATHNAME', 'cosid_machine_id'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_machine_id(bigint) IS 'the machine id of an ID of the default layout';

CREATE FUNCTION cosid_machine_id(id bigint, name text) RETURNS integer
AS 'MODULE_PATHNAME', 'cosid_machine_id'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_machine_id(bigint, text) IS 'the machine id of an ID of a generator';

CREATE FUNCTION cosid_sequence(id bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_sequence(bigint) IS 'the sequence of an ID of the default layout';

CREATE FUNCTION cosid_sequence(id bigint, name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_sequence'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_sequence(bigint, text) IS 'the sequence of an ID of a generator';

CREATE FUNCTION cosid_friendly(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'cosid_friendly'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_friendly(bigint) IS 'an ID of the default layout as local time, machine id and sequence';

CREATE FUNCTION cosid_friendly(id bigint, name text) RETURNS text
AS 'MODULE_PATHNAME', 'cosid_friendly'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_friendly(bigint, text) IS 'an ID of a generator as local time, machine id and sequence';

CREATE FUNCTION cosid_from_friendly(friendly text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_from_friendly'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_from_friendly(text) IS 'the inverse of cosid_friendly, for the default layout';

CREATE FUNCTION cosid_from_friendly(friendly text, name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_from_friendly'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_from_friendly(text, text) IS 'the inverse of cosid_friendly, for a generator';

CREATE FUNCTION cosid_next_string(name text) RETURNS text
AS 'MODULE_PATHNAME', 'cosid_next_string'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_next_string(text) IS 'the next ID of a generator as its converter writes it';

CREATE FUNCTION cosid_to_string(id bigint, name text) RETURNS text
AS 'MODULE_PATHNAME', 'cosid_to_string'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_to_string(bigint, text) IS 'an ID as its generator''s converter writes it';

CREATE FUNCTION cosid_from_string(string text, name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_from_string'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_from_string(text, text) IS 'the inverse of cosid_to_string';

CREATE FUNCTION cosid_radix62(id bigint, pad_start boolean DEFAULT true, char_size integer DEFAULT 11) RETURNS text
AS 'MODULE_PATHNAME', 'cosid_radix62'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_radix62(bigint, boolean, integer) IS 'an ID as digits of radix 62';

CREATE FUNCTION cosid_from_radix62(string text, char_size integer DEFAULT 11) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_from_radix62'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_from_radix62(text, integer) IS 'the inverse of cosid_radix62';

CREATE FUNCTION cosid_radix36(id bigint, pad_start boolean DEFAULT true, char_size integer DEFAULT 13) RETURNS text
AS 'MODULE_PATHNAME', 'cosid_radix36'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_radix36(bigint, boolean, integer) IS 'an ID as digits of radix 36';

CREATE FUNCTION cosid_from_radix36(string text, char_size integer DEFAULT 13) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_from_radix36'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_from_radix36(text, integer) IS 'the inverse of cosid_radix36';

CREATE FUNCTION cosid_first_id("time" timestamp with time zone) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_first_id'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_first_id(timestamp with time zone) IS 'no ID of the default layout of that tick or later is less';

CREATE FUNCTION cosid_first_id("time" timestamp with time zone, name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_first_id'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_first_id(timestamp with time zone, text) IS 'no ID of a generator of that tick or later is less';

CREATE FUNCTION cosid_last_id("time" timestamp with time zone) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_last_id'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_last_id(timestamp with time zone) IS 'no ID of the default layout of that tick or earlier is greater';

CREATE FUNCTION cosid_last_id("time" timestamp with time zone, name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_last_id'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_last_id(timestamp with time zone, text) IS 'no ID of a generator of that tick or earlier is greater';

CREATE FUNCTION cosid_is_safe_javascript(id bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'cosid_is_safe_javascript'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_is_safe_javascript(bigint) IS 'whether JavaScript''s numbers hold it exactly: 0 to 2^53 - 1';

--
-- The registry of machine ids (used in the database that cosid.database names)
--

-- The first seven columns are those of CosId's JDBC distributor: a row that
-- sets only them works for both.
CREATE TABLE cosid_machine (
    name varchar(100) COLLATE "C" PRIMARY KEY,
    namespace varchar(100) COLLATE "C" NOT NULL,
    machine_id integer NOT NULL DEFAULT 0 CHECK (machine_id >= 0),
    last_timestamp bigint NOT NULL DEFAULT 0,
    instance_id varchar(100) COLLATE "C" NOT NULL DEFAULT '',
    distribute_time bigint NOT NULL DEFAULT 0,
    revert_time bigint NOT NULL DEFAULT 0,
    stable boolean NOT NULL DEFAULT false,
    owner text COLLATE "C" NOT NULL DEFAULT '',
    fence bigint NOT NULL DEFAULT 0,
    UNIQUE (namespace, machine_id)
);
COMMENT ON TABLE cosid_machine IS 'the registry: who holds which machine id, and up to when IDs may carry it';
COMMENT ON COLUMN cosid_machine.name IS '<namespace>.<machine id, at least 8 digits>';
COMMENT ON COLUMN cosid_machine.namespace IS 'machine ids are unique within it';
COMMENT ON COLUMN cosid_machine.machine_id IS 'the machine id';
COMMENT ON COLUMN cosid_machine.last_timestamp IS 'the watermark, Unix ms: no ID of this machine id is later';
COMMENT ON COLUMN cosid_machine.instance_id IS 'its holder; empty after it was given back';
COMMENT ON COLUMN cosid_machine.distribute_time IS 'when it was claimed, Unix ms; also the fencing token';
COMMENT ON COLUMN cosid_machine.revert_time IS 'when it was given back, Unix ms; 0: not since it was claimed';
COMMENT ON COLUMN cosid_machine.stable IS 'its holder keeps it across restarts';
COMMENT ON COLUMN cosid_machine.owner IS 'identity of its holder, kept after it was given back';
COMMENT ON COLUMN cosid_machine.fence IS 'equals distribute_time if the holder persists watermarks';

CREATE FUNCTION cosid_machine_keep() RETURNS trigger
AS 'MODULE_PATHNAME', 'cosid_machine_keep'
LANGUAGE C;
COMMENT ON FUNCTION cosid_machine_keep() IS 'trigger: rows of cosid_machine and cosid_registry are not deleted';
REVOKE ALL ON FUNCTION cosid_machine_keep() FROM PUBLIC;

CREATE TRIGGER cosid_machine_keep BEFORE DELETE ON cosid_machine
    FOR EACH ROW EXECUTE FUNCTION cosid_machine_keep();
ALTER TABLE cosid_machine ENABLE ALWAYS TRIGGER cosid_machine_keep;
COMMENT ON TRIGGER cosid_machine_keep ON cosid_machine IS 'the watermark of a machine id is not to be lost';

CREATE TRIGGER cosid_machine_keep_all BEFORE TRUNCATE ON cosid_machine
    FOR EACH STATEMENT EXECUTE FUNCTION cosid_machine_keep();
ALTER TABLE cosid_machine ENABLE ALWAYS TRIGGER cosid_machine_keep_all;
COMMENT ON TRIGGER cosid_machine_keep_all ON cosid_machine IS 'the watermark of a machine id is not to be lost';

-- One row: which server this is, for a failover that loses commits.  It is there
-- from the start, so that one that is missing was lost.
CREATE TABLE cosid_registry (
    system_identifier bigint NOT NULL,
    timeline bigint NOT NULL,
    first_seen bigint NOT NULL,
    largest_lead bigint NOT NULL,
    shared boolean NOT NULL
);
CREATE UNIQUE INDEX cosid_registry_one_row ON cosid_registry ((true));
COMMENT ON INDEX cosid_registry_one_row IS 'keeps cosid_registry to one row';
COMMENT ON TABLE cosid_registry IS 'which server the registry is, one row';
COMMENT ON COLUMN cosid_registry.system_identifier IS 'that of the server''s data directory';
COMMENT ON COLUMN cosid_registry.timeline IS 'the timeline that it writes';
COMMENT ON COLUMN cosid_registry.first_seen IS 'when these two were first seen to have changed, Unix ms; 0: never';
COMMENT ON COLUMN cosid_registry.largest_lead IS 'the largest lead that a watermark was ahead by, ms';
COMMENT ON COLUMN cosid_registry.shared IS 'whether other servers than this one have claimed here';

INSERT INTO cosid_registry
SELECT system_identifier,
       ('x' || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint,
       0, 0, false
  FROM pg_catalog.pg_control_system();

CREATE TRIGGER cosid_registry_keep BEFORE DELETE ON cosid_registry
    FOR EACH ROW EXECUTE FUNCTION cosid_machine_keep();
ALTER TABLE cosid_registry ENABLE ALWAYS TRIGGER cosid_registry_keep;
COMMENT ON TRIGGER cosid_registry_keep ON cosid_registry IS 'without its row, a failover that lost commits would go unnoticed';

CREATE TRIGGER cosid_registry_keep_all BEFORE TRUNCATE ON cosid_registry
    FOR EACH STATEMENT EXECUTE FUNCTION cosid_machine_keep();
ALTER TABLE cosid_registry ENABLE ALWAYS TRIGGER cosid_registry_keep_all;
COMMENT ON TRIGGER cosid_registry_keep_all ON cosid_registry IS 'without its row, a failover that lost commits would go unnoticed';

CREATE FUNCTION cosid_machine_claim(
    namespace text,
    machine_bit integer,
    identity text,
    instance_id text,
    stable boolean,
    fixed_machine_id integer,
    avoid_machine_id integer,
    local boolean,
    server_now bigint,
    lead bigint,
    safe_guard_duration bigint,
    least_floor bigint,
    OUT status text,
    OUT machine_id integer,
    OUT token bigint,
    OUT floor bigint,
    OUT watermark bigint,
    OUT holder text
) RETURNS record
AS 'MODULE_PATHNAME', 'cosid_machine_claim_sql'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION cosid_machine_claim IS 'for a server''s worker: claim a machine id; -1 stands for no fixed or avoided one';
REVOKE ALL ON FUNCTION cosid_machine_claim FROM PUBLIC;

CREATE FUNCTION cosid_machine_guard(
    namespace text,
    machine_id integer,
    instance_id text,
    token bigint,
    confirmed bigint,
    identity text,
    server_now bigint,
    lead bigint
) RETURNS bigint
AS 'MODULE_PATHNAME', 'cosid_machine_guard_sql'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION cosid_machine_guard IS 'for a server''s worker: raise the watermark of its machine id; null: it is lost';
REVOKE ALL ON FUNCTION cosid_machine_guard FROM PUBLIC;

CREATE FUNCTION cosid_machine_revert(
    namespace text,
    machine_id integer,
    instance_id text,
    token bigint,
    confirmed bigint,
    watermark bigint
) RETURNS boolean
AS 'MODULE_PATHNAME', 'cosid_machine_revert_sql'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION cosid_machine_revert IS 'for a server''s worker: give its machine id back; false: it was lost';
REVOKE ALL ON FUNCTION cosid_machine_revert FROM PUBLIC;

--
-- Watching this server
--

CREATE FUNCTION cosid_lease_rows(
    OUT namespace text,
    OUT machine_id integer,
    OUT machine_bit integer,
    OUT instance_id text,
    OUT state text,
    OUT floor timestamp with time zone,
    OUT watermark timestamp with time zone,
    OUT grant_seconds double precision,
    OUT claimed_at timestamp with time zone,
    OUT guarded_at timestamp with time zone,
    OUT claims bigint,
    OUT losses bigint,
    OUT last_error text,
    OUT last_error_at timestamp with time zone
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cosid_lease_rows'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_lease_rows() IS 'the rows of view cosid_lease';
REVOKE ALL ON FUNCTION cosid_lease_rows() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cosid_lease_rows() TO pg_monitor;

CREATE VIEW cosid_lease AS SELECT * FROM cosid_lease_rows();
COMMENT ON VIEW cosid_lease IS 'this server''s leases of machine ids, one for each namespace';
COMMENT ON COLUMN cosid_lease.namespace IS 'of the generators that mint with it';
COMMENT ON COLUMN cosid_lease.machine_id IS 'the machine id, in state lost or released the last one; null: none yet';
COMMENT ON COLUMN cosid_lease.machine_bit IS 'how many bits the machine id was asked to fit in';
COMMENT ON COLUMN cosid_lease.instance_id IS 'what the registry calls this server';
COMMENT ON COLUMN cosid_lease.state IS 'claiming, held, lost or released';
COMMENT ON COLUMN cosid_lease.floor IS 'IDs are later than this';
COMMENT ON COLUMN cosid_lease.watermark IS 'IDs are no later than this, which the registry has committed';
COMMENT ON COLUMN cosid_lease.grant_seconds IS 'how long IDs may still be given out if nothing happens; null: no machine id is held';
COMMENT ON COLUMN cosid_lease.claimed_at IS 'when the machine id was claimed';
COMMENT ON COLUMN cosid_lease.guarded_at IS 'when the watermark was last raised';
COMMENT ON COLUMN cosid_lease.claims IS 'how often a machine id was claimed since the server started';
COMMENT ON COLUMN cosid_lease.losses IS 'how often one was lost to another server, or given up, since then';
COMMENT ON COLUMN cosid_lease.last_error IS 'what kept the worker from claiming, raising or giving back, last; kept when that is over';
COMMENT ON COLUMN cosid_lease.last_error_at IS 'when that was';
GRANT SELECT ON cosid_lease TO pg_monitor;

CREATE FUNCTION cosid_stat_rows(
    OUT name text,
    OUT namespace text,
    OUT machine_id integer,
    OUT timestamp_unit text,
    OUT epoch bigint,
    OUT timestamp_bit integer,
    OUT machine_bit integer,
    OUT sequence_bit integer,
    OUT safe_javascript boolean,
    OUT last_id bigint,
    OUT last_timestamp timestamp with time zone,
    OUT tick_waits bigint,
    OUT tick_wait_time double precision,
    OUT clock_waits bigint,
    OUT clock_wait_time double precision,
    OUT grant_waits bigint,
    OUT grant_wait_time double precision,
    OUT clock_errors bigint,
    OUT grant_errors bigint,
    OUT machine_id_errors bigint,
    OUT timestamp_errors bigint,
    OUT stats_reset timestamp with time zone
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cosid_stat_rows'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_stat_rows() IS 'the rows of view cosid_stat';
REVOKE ALL ON FUNCTION cosid_stat_rows() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cosid_stat_rows() TO pg_monitor;

CREATE VIEW cosid_stat AS SELECT * FROM cosid_stat_rows();
COMMENT ON VIEW cosid_stat IS 'generators that this server has minted from since it started, of all databases';
COMMENT ON COLUMN cosid_stat.name IS 'of the generator; databases that use one name and layout share it';
COMMENT ON COLUMN cosid_stat.namespace IS 'whose machine id it mints with';
COMMENT ON COLUMN cosid_stat.machine_id IS 'of the last ID';
COMMENT ON COLUMN cosid_stat.timestamp_unit IS 'millisecond or second';
COMMENT ON COLUMN cosid_stat.epoch IS 'Unix time of timestamp 0, in the unit';
COMMENT ON COLUMN cosid_stat.timestamp_bit IS 'bits of the timestamp';
COMMENT ON COLUMN cosid_stat.machine_bit IS 'bits of the machine id';
COMMENT ON COLUMN cosid_stat.sequence_bit IS 'bits of the sequence';
COMMENT ON COLUMN cosid_stat.safe_javascript IS 'whether JavaScript''s numbers hold all its IDs exactly';
COMMENT ON COLUMN cosid_stat.last_id IS 'the last ID; null: none since the server started';
COMMENT ON COLUMN cosid_stat.last_timestamp IS 'its time';
COMMENT ON COLUMN cosid_stat.tick_waits IS 'how often a call waited for the next tick, all IDs of one being given out';
COMMENT ON COLUMN cosid_stat.tick_wait_time IS 'what they waited in all, in ms';
COMMENT ON COLUMN cosid_stat.clock_waits IS 'how often a call waited for a clock that was behind';
COMMENT ON COLUMN cosid_stat.clock_wait_time IS 'what they waited in all, in ms';
COMMENT ON COLUMN cosid_stat.grant_waits IS 'how often a call waited for the worker: a machine id, or a higher watermark';
COMMENT ON COLUMN cosid_stat.grant_wait_time IS 'what they waited in all, in ms';
COMMENT ON COLUMN cosid_stat.clock_errors IS 'how often a call failed with ID001, clock moved backwards';
COMMENT ON COLUMN cosid_stat.grant_errors IS 'how often a call failed with ID002, machine id lost or unavailable';
COMMENT ON COLUMN cosid_stat.machine_id_errors IS 'how often a call failed with ID003, machine id overflow';
COMMENT ON COLUMN cosid_stat.timestamp_errors IS 'how often a call failed with ID004, timestamp overflow';
COMMENT ON COLUMN cosid_stat.stats_reset IS 'since when waits and errors are counted';
GRANT SELECT ON cosid_stat TO pg_monitor;

CREATE FUNCTION cosid_stat_reset() RETURNS void
AS 'MODULE_PATHNAME', 'cosid_stat_reset'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosid_stat_reset() IS 'count the waits and errors of cosid_stat from 0 again, for all databases';
REVOKE ALL ON FUNCTION cosid_stat_reset() FROM PUBLIC;

--
-- Looking after this server, and the registry
--

CREATE FUNCTION cosid_machine_forget(namespace text, machine_id integer) RETURNS void
AS 'MODULE_PATHNAME', 'cosid_machine_forget'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION cosid_machine_forget(text, integer) IS 'in the registry: give back the machine id of a server that is gone for good; its watermark stays';
REVOKE ALL ON FUNCTION cosid_machine_forget(text, integer) FROM PUBLIC;

CREATE FUNCTION cosid_release() RETURNS void
AS 'MODULE_PATHNAME', 'cosid_release'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION cosid_release() IS 'give back all machine ids of this server and claim none, until cosid_resume or a restart';
REVOKE ALL ON FUNCTION cosid_release() FROM PUBLIC;

CREATE FUNCTION cosid_resume() RETURNS void
AS 'MODULE_PATHNAME', 'cosid_resume'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION cosid_resume() IS 'claim machine ids again after cosid_release';
REVOKE ALL ON FUNCTION cosid_resume() FROM PUBLIC;
