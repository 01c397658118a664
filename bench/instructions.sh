#!/usr/bin/env bash
#
# instructions.sh - how many instructions a call takes, and whether that has
# become more.
#
#   bench/instructions.sh            count, and compare with bench/instructions.txt
#   bench/instructions.sh --print    count, and print what that file would hold
#
# A server runs under callgrind, and a session calls a function N times, another
# one 2 N times: the difference is what N calls take, without any first call.
# What is counted are the instructions in cosid's own library.  Unlike time they
# are the same whatever else the machine does, and unlike those of the C library
# they do not depend on the processor, but on the compiler they do.
#
# So the baseline is of one architecture and compiler.  With another there is
# nothing to compare with, which is no failure.  To renew it, after a change that
# is worth its instructions or for another compiler:
#
#   bench/instructions.sh --print >bench/instructions.txt
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
bench=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$bench/../scripts/lib.sh"

if [ "${1:-}" != --in-sandbox ]; then
    [[ $# -eq 0 || ( $# -eq 1 && $1 = --print ) ]] || die "usage: bench/instructions.sh [--print]"
    ensure_packages "${build_packages[@]}" valgrind >&2
    enter_sandbox instructions "${1:-}"
fi
in_sandbox "$2"
print=$3

calls=2000 # in a session, and twice as many in the other
allowed=5  # percent more than the baseline

export PGHOST=$work/server PGUSER=postgres PGDATABASE=postgres

# C function, and a call of it.  The layout has room for all calls in a tick, and
# the ID is given, so that each call does the same.
id="(918017256492949505 + 0 * n)"
functions() {
    cat <<SQL
cosid_next;cosid_next('wide')
cosid_next_share;cosid_next()
cosid_timestamp;cosid_timestamp($id)
cosid_parse;cosid_parse($id)
cosid_friendly;cosid_friendly($id)
cosid_radix62;cosid_radix62($id)
cosid_radix36;cosid_radix36($id)
SQL
}

# What the baseline is for
compiler() {
    echo "$(uname -m) $("${CC:-gcc}" -dumpfullversion)"
}

# own_instructions FILE: of callgrind, those in cosid's library.  The line after
# "calls=" has the costs of another function, seen from this one.
own_instructions() {
    awk '/^ob=/ { own = /cosid\.so$/ }
        /^calls=/ { getline; next }
        own && /^[0-9+*-]/ { sum += $2 }
        END { print sum + 0 }' "$1"
}

# session CALL COUNT: instructions in cosid's library for so many calls
session() {
    local pid
    pid=$("$bin/psql" -X -A -t -q -v ON_ERROR_STOP=1 <<SQL
SET jit = off;
SELECT pg_backend_pid();
SELECT count($1) FROM generate_series(1, $2) AS n \g /dev/null
SQL
    )
    # It is written when the process ends.
    for _ in $(seq 300); do
        ! grep -qs '^totals:' "$work/counts/$pid" || break
        sleep 0.1
    done
    own_instructions "$work/counts/$pid"
}

# From now on the server runs under callgrind, which collects while one of the
# functions runs, and nothing else.
count_in_server() {
    local toggles
    toggles=$(functions | sed 's/;.*//; s/^/--toggle-collect=/' | tr '\n' ' ')
    mkdir "$work/counts"
    mv "$bin/postgres" "$bin/postgres.real"
    cat >"$bin/postgres" <<SH
#!/bin/sh
exec /usr/bin/valgrind --tool=callgrind --quiet --compress-strings=no --compress-pos=no \
    --callgrind-out-file=$work/counts/%p $toggles $bin/postgres.real "\$@"
SH
    chmod 755 "$bin/postgres"
}

private_install "$prefix"
run "${pgxs[@]}" -j "$(nproc)" all install DESTDIR="$prefix" >"$work/build.log" 2>&1 ||
    { cat "$work/build.log" >&2; die "the build failed"; }
start_server server "shared_preload_libraries = 'cosid'" "fsync = off" || die "the server didn't start"
"$bin/psql" -X -q -o /dev/null -c "CREATE EXTENSION cosid" \
    -c "SELECT cosid_create('wide', timestamp_bit => 41, machine_bit => 5, sequence_bit => 17)"
stop_server server

count_in_server
export PGCTLTIMEOUT=300
"$bin/pg_ctl" start -s -w -D "$work/server/data" -l "$work/server/server.log"
# Not the wait for the machine ids
"$bin/psql" -X -q -o /dev/null -c "SELECT cosid_next('wide'), cosid_next()"

counts=$work/instructions.txt
compiler >"$counts"
while IFS=';' read -r function call; do
    once=$(session "$call" "$calls")
    twice=$(session "$call" $((2 * calls)))
    printf '%s %d\n' "$function" $(((twice - once + calls / 2) / calls)) >>"$counts"
done < <(functions)
stop_server server

if [ -n "$print" ]; then
    cat "$counts"
    exit
fi

baseline=$src/bench/instructions.txt
if [ "$(head -n 1 "$baseline")" != "$(compiler)" ]; then
    sed 1d "$counts"
    echo "The baseline is of $(head -n 1 "$baseline"), not $(compiler): nothing to compare with."
    echo "0 passed, 0 failed"
    exit
fi
join <(sed 1d "$baseline" | sort) <(sed 1d "$counts" | sort) | awk -v allowed="$allowed" '
    { grown = ($3 / $2 - 1) * 100; bad = grown > allowed
      printf "%-4s %s: %d instructions, %+.1f%% of the baseline%s\n", bad ? "not" : "ok", $1, $3, grown, bad ? ": see bench/instructions.sh" : ""
      failed += bad }
    END { printf "%d passed, %d failed\n", NR - failed, failed; exit failed > 0 }'
