#!/usr/bin/env bash
#
# demo.sh - build cosid, start a PostgreSQL server of its own, mint ids in it
# from 8 connections at once, show them, and leave nothing behind.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

if [ "${1:-}" != --in-sandbox ]; then
    ensure_packages "${build_packages[@]}"
    enter_sandbox demo
fi
in_sandbox "$2"
SECONDS=0

clients=8
inserts=2500 # of each client
database=postgres

bold='' plain=''
if [ -t 1 ]; then
    bold=$'\e[1m' plain=$'\e[0m'
fi

# say TEXT: what the reader is about to see.
say() {
    printf '\n%s\n' "$*" | fold -s -w 78 | sed "s, *$,,"
}

# begin TEXT ... finish: a step that shows nothing of its own.
begin() {
    printf '%s ... ' "$1"
    began=$SECONDS
}

finish() {
    echo "done ($((SECONDS - began)) s)"
}

# show PROMPT COMMAND: as if the reader had typed it.
show() {
    printf '\n%s%s%s%s\n' "$1" "$bold" "$2" "$plain"
}

sql() {
    show "$database=# " "$1"
    "$bin/psql" -X -v ON_ERROR_STOP=1 -P pager=off -P columns=78 \
        -P expanded=auto -d "$database" -c "$1"
}

ask() {
    "$bin/psql" -X -A -t -v ON_ERROR_STOP=1 -d "$database" -c "$1"
}

echo "cosid: snowflake IDs minted in PostgreSQL"
echo

begin "Building cosid"
private_install "$prefix"
run "${pgxs[@]}" -j "$(nproc)" all install DESTDIR="$prefix" >"$work/build.log" 2>&1 ||
    { cat "$work/build.log" >&2; die "the build failed"; }
finish

begin "Starting a PostgreSQL server of its own"
start_server server "shared_preload_libraries = 'cosid'" || die "the server didn't start"
finish
export PGHOST=$work/server PGUSER=postgres

say "A table whose ids come from cosid instead of a sequence:"
sql "CREATE DATABASE shop;"
sql "\\c shop"
database=shop
sql "CREATE EXTENSION cosid;"
sql "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'), item text);"

total=$((clients * inserts))
say "$clients clients at once insert $total orders, each a statement and a transaction of its own:"
cat >"$work/insert.sql" <<'SQL'
INSERT INTO orders (item) VALUES ('item ' || :client_id);
SQL
show '$ ' "cat insert.sql"
cat "$work/insert.sql"
show '$ ' "pgbench -n -c $clients -j 2 -t $inserts -f insert.sql shop"
(cd "$work" && run "$bin/pgbench" -n -c "$clients" -j 2 -t "$inserts" -f insert.sql shop) \
    >"$work/pgbench.log" 2>&1 || { cat "$work/pgbench.log" >&2; die "pgbench failed"; }
grep -E '^(number of (clients|transactions actually|failed)|latency average|tps)' "$work/pgbench.log"

say "The first three. An id is a bigint made of the time, the machine id and a sequence number:"
sql "SELECT id, (cosid_parse(id)).*, cosid_friendly(id) FROM orders ORDER BY orders.id LIMIT 3;"

say "No id was given out twice:"
sql "SELECT count(*), count(DISTINCT id) FROM orders;"
counts=$(ask "SELECT count(*), count(DISTINCT id) FROM orders")
[ "$counts" = "$total|$total" ] || die "expected $total orders with $total distinct ids, found $counts"
echo "$total orders, $total distinct ids."

say "What the server holds: the machine id that it leases, and the watermark, the time up to which it may have given out ids; a server that comes back after a crash begins above it:"
sql "SELECT * FROM cosid_lease;"
sql "SELECT * FROM cosid_stat;"

stop_server server
say "Done in $SECONDS s. The server is stopped and its directory is deleted: nothing is left behind but the Debian packages."
