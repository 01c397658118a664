#!/usr/bin/env bash
#
# demo-fleet.sh - a registry and three PostgreSQL servers that share it, with a
# load on each.  One is stopped in the middle of it, one is killed; no id comes
# twice.  Leaves nothing behind.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

if [ "${1:-}" != --in-sandbox ]; then
    ensure_packages "${build_packages[@]}" procps
    enter_sandbox demo-fleet
fi
in_sandbox "$2"
SECONDS=0

servers=(anna bert cleo)
clients=2 # on each server
loads=()
stopped=

# say TEXT: what the reader is about to see.
say() {
    printf '\n%s\n' "$*" | fold -s -w 78 | sed "s, *$,,"
}

# ask SERVER SQL
ask() {
    "$bin/psql" -X -A -t -v ON_ERROR_STOP=1 -h "$work/$1" -U postgres -d postgres -c "$2"
}

# table SERVER SQL: as psql shows it.
table() {
    "$bin/psql" -X -v ON_ERROR_STOP=1 -P pager=off -P footer=off -h "$work/$1" -U postgres \
        -d postgres -c "$2"
}

# until_true SERVER SQL: wait for a condition, half a minute at most.
until_true() {
    for ((i = 0; i < 300; i++)); do
        [ "$(ask "$1" "$2" 2>/dev/null || true)" != t ] || return 0
        sleep 0.1
    done
    die "$1: this did not become true: $2"
}

# signal SERVER SIGNAL: to its postmaster and all processes of that.  Some may
# have ended meanwhile; the postmaster comes first, so that no more begin.
signal() {
    local postmaster children
    postmaster=$(head -n 1 "$work/$1/data/postmaster.pid")
    children=$(pgrep -P "$postmaster" || true)
    kill "-$2" "$postmaster"
    for pid in $children $(pgrep -P "$postmaster" || true); do
        kill "-$2" "$pid" 2>/dev/null || true
    done
}

# load SERVER: insert until the file "end" is there; go on after the server was
# away.
load() {
    while [ ! -e "$work/end" ]; do
        "$bin/pgbench" -n -c "$clients" -T 1 -f "$work/insert.sql" -h "$work/$1" -U postgres \
            postgres >>"$work/$1/pgbench.log" 2>&1 || sleep 0.2
    done
}

# held: who holds what, by the servers' own word.
held() {
    local server
    for server in "${servers[@]}"; do
        [ "$server" != "$stopped" ] || continue
        ask "$server" "SELECT format('    %s: machine id %s', '$server', machine_id)
                         FROM cosid_lease WHERE namespace = 'cosid'"
    done
}

# Processes that stand still have to go on before they can end.
at_exit() {
    local status=$?
    set +e # or a failure would end this, too
    touch "$work/end"
    [ -z "$stopped" ] || signal "$stopped" CONT || true
    [ ${#loads[@]} -eq 0 ] || kill "${loads[@]}" 2>/dev/null || true
    (exit "$status")
    leave_sandbox
}
trap at_exit EXIT

echo "cosid: three servers, one registry"
echo
private_install "$prefix"
run "${pgxs[@]}" -j "$(nproc)" all install DESTDIR="$prefix" >"$work/build.log" 2>&1 ||
    { cat "$work/build.log" >&2; die "the build failed"; }

# The registry hands out machine ids and mints nothing itself.
start_server registry "shared_preload_libraries = 'cosid'" "cosid.worker = off" ||
    die "the registry didn't start"
ask registry "CREATE EXTENSION cosid; CREATE ROLE fleet LOGIN;
    GRANT EXECUTE ON FUNCTION cosid_machine_claim, cosid_machine_guard, cosid_machine_revert TO fleet" >/dev/null

# Short times, so that the demo needn't take long; but anna is to be back from a
# crash before its watermark has passed.
for server in "${servers[@]}"; do
    lead=3s
    [ "$server" != anna ] || lead=30s
    start_server "$server" "shared_preload_libraries = 'cosid'" \
        "cosid.registry = 'host=$work/registry dbname=postgres user=fleet'" \
        "cosid.instance_id = '$server'" "cosid.watermark_lead = $lead" \
        "cosid.safe_guard_duration = 2s" "cosid.wait_timeout = 20s" ||
        die "$server didn't start"
    ask "$server" "CREATE EXTENSION cosid" >/dev/null
    ask "$server" "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'))" >/dev/null
    until_true "$server" "SELECT state = 'held' FROM cosid_lease WHERE namespace = 'cosid'"
done
say "Each server has claimed a machine id of its own in the registry:"
held
say "What the registry says (watermark: up to when its holder may give out ids):"
table registry "SELECT name, instance_id, to_timestamp(last_timestamp / 1000.0)::time(3) AS watermark FROM cosid_machine ORDER BY name"

say "Now $clients clients insert orders into each of them, and go on."
echo "INSERT INTO orders DEFAULT VALUES" >"$work/insert.sql"
for server in "${servers[@]}"; do
    load "$server" &
    loads+=($!)
done
for server in "${servers[@]}"; do
    until_true "$server" "SELECT count(*) > 1000 FROM orders"
done

# A paused server is the hard case: it does not know that time has passed.
lost=$(ask bert "SELECT machine_id FROM cosid_lease WHERE namespace = 'cosid'")
stopped=bert
signal bert STOP
say "bert is paused: all its processes stand still (SIGSTOP), in the middle of what they did. It lets the time pass after which others may take its machine id, $lost ..."
until_true registry "SELECT last_timestamp <= extract(epoch FROM clock_timestamp()) * 1000 - 2000
                       FROM cosid_machine WHERE machine_id = $lost"

signal anna KILL
# It starts when the last of its processes is gone.
for ((i = 0; ; i++)); do
    "$bin/pg_ctl" start -s -w -D "$work/anna/data" -l "$work/anna/server.log" \
        >>"$work/anna/pg_ctl.log" 2>&1 && break
    [ "$i" -lt 100 ] || die "anna didn't start again"
    sleep 0.1
done
until_true anna "SELECT state = 'held' FROM cosid_lease WHERE namespace = 'cosid'"
say "anna is killed (kill -9) and started again. The time up to which it might have given out ids has not passed yet, so it leaves its machine id alone and takes bert's:"
held

signal bert CONT
stopped=
until_true bert "SELECT state = 'held' AND machine_id <> $lost FROM cosid_lease WHERE namespace = 'cosid'"
say "bert goes on, finds out that its machine id is another's, and claims one anew. In between, it could give out no id beyond the watermark that it had:"
held
for server in "${servers[@]}"; do
    until_true "$server" "SELECT count(*) > $(ask "$server" "SELECT count(*) FROM orders") + 1000 FROM orders"
done

touch "$work/end"
wait "${loads[@]}"
loads=()

table registry "CREATE TABLE collected (server text, id bigint)" >/dev/null
for server in "${servers[@]}"; do
    ask "$server" "COPY (SELECT '$server', id FROM orders) TO STDOUT" |
        "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$work/registry" -U postgres -d postgres \
            -c "COPY collected FROM STDIN"
done
say "Who held which machine id when, by the ids of all orders:"
table registry "SELECT p.machine_id, server, min(p.timestamp)::time(3) AS first, max(p.timestamp)::time(3) AS last, count(*) AS ids
                  FROM collected, cosid_parse(id) p GROUP BY p.machine_id, server ORDER BY p.machine_id, first"
say "Ids that came twice:"
table registry "SELECT count(*) AS ids, count(*) - count(DISTINCT id) AS duplicates FROM collected"

holders=$(ask registry "SELECT count(DISTINCT server) FROM collected WHERE cosid_machine_id(id) = $lost")
[ "$holders" -ge 2 ] || die "machine id $lost should have had two holders"
counts=$(ask registry "SELECT count(*), count(*) - count(DISTINCT id) FROM collected")
for server in "${servers[@]}" registry; do
    stop_server "$server"
done
echo "${counts%|*} ids of 3 servers, ${counts#*|} duplicates."
[ "${counts#*|}" = 0 ]
say "Done in $SECONDS s. The servers are stopped and their directories deleted."
