#!/usr/bin/env bash
#
# soak.sh - faults at random while 8 clients mint: is any ID given out twice?
#
#   scripts/soak.sh MINUTES [SEED]
#
# Each client writes down every ID that it gets, also those of transactions that
# are rolled back, and connects again when its connection is gone. The same seed
# gives the same faults in the same order. The last line says how many checks
# passed and failed.  KEEP=1 keeps the temporary directory.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

if [ "${1:-}" != --in-sandbox ]; then
    [[ ${1:-} =~ ^[1-9][0-9]*$ && ${2:-1} =~ ^[0-9]+$ && $# -le 2 ]] ||
        die "usage: scripts/soak.sh MINUTES [SEED]"
    ensure_packages "${build_packages[@]}" perl
    enter_sandbox soak "$1" "${2:-$RANDOM}"
fi
in_sandbox "$2"
minutes=$3
seed=$4

clients=8
data=$work/server/data
got=$work/got
stopping=$work/stopping

# What a client may be told, while its server is treated like this: cancelled, and
# the rest of its transaction refused; terminated, crashed, starting or stopping;
# no grant in time.
expected_sqlstates='57014|25P02|57P01|57P02|57P03|ID002'

export PGHOST=$work/server PGUSER=postgres PGDATABASE=postgres

# ------------------------------------------------------------------ clients

# Rounds of one client.  A line of output is a generator and an ID.
client_script() {
    local round
    printf '%s\n' '\set VERBOSITY verbose'
    for ((round = 1; round <= 200; round++)); do
        cat <<'SQL'
SELECT 'order', cosid_next('order') FROM generate_series(1, 20);
SELECT 'invoice', cosid_next('invoice') FROM generate_series(1, 5);
BEGIN;
SELECT 'own', cosid_next('own') FROM generate_series(1, 5);
INSERT INTO orders DEFAULT VALUES RETURNING 'order', id;
ROLLBACK;
COPY (SELECT 'order', cosid_next('order') FROM generate_series(1, 10)) TO STDOUT (DELIMITER ' ');
DO 'BEGIN PERFORM pg_sleep(0.03); END';
SQL
        # Now and then as fast as it can
        [ $((round % 100)) -ne 0 ] ||
            echo "COPY (SELECT 'order', cosid_next('order') FROM generate_series(1, 5000)) TO STDOUT (DELIMITER ' ');"
    done
}

client() {
    while [ ! -e "$stopping" ]; do
        PGAPPNAME=client "$bin/psql" -XAtq -F ' ' -f "$work/client.sql" \
            >>"$got/$1.ids" 2>>"$got/$1.err" </dev/null || sleep 0.05
    done
}

# ------------------------------------------------------------------- faults

# Does not wait for a standby that is away.
sql() {
    PGOPTIONS='-c synchronous_commit=local' "$bin/psql" -XAtq -v ON_ERROR_STOP=1 -c "$1" \
        2>>"$work/sql.err" </dev/null
}

# Up to a minute.
wait_for_server() {
    local attempt
    for ((attempt = 0; attempt < 600; attempt++)); do
        [ "$(sql 'SELECT 1')" != 1 ] || return 0
        sleep 0.1
    done
    die "the server does not come back"
}

start() {
    local attempt
    # After kill -9 it does not start before all old processes are gone.
    for ((attempt = 0; attempt < 600; attempt++)); do
        ! "$bin/pg_ctl" start -s -w -D "$data" -l "$work/server/server.log" \
            >/dev/null 2>&1 </dev/null || return 0
        sleep 0.1
    done
    die "the server does not start"
}

postmaster() {
    head -n 1 "$data/postmaster.pid"
}

worker() {
    sql "SELECT pid FROM pg_stat_activity WHERE backend_type = 'cosid worker'"
}

backend() {
    sql "SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY pid LIMIT 1"
}

# random FROM TO: into $n.  Not by a subshell, which would not advance the seed.
random() {
    n=$(($1 + RANDOM % ($2 - $1 + 1)))
}

# sleep_ms FROM TO
sleep_ms() {
    random "$1" "$2"
    sleep "$((n / 1000)).$(printf %03d $((n % 1000)))"
}

# Not longer than that: pause TO PID...
pause() {
    local to=$1
    shift
    stopped="$*"
    # shellcheck disable=SC2086  # several
    kill -STOP $stopped 2>/dev/null || true
    sleep_ms 50 "$to"
    # shellcheck disable=SC2086
    kill -CONT $stopped 2>/dev/null || true
    stopped=
}

# setting NAME VALUE: takes effect with a reload.
setting() {
    sql "ALTER SYSTEM SET $1 = '$2'" && sql 'SELECT pg_reload_conf()' >/dev/null
}

fault_worker_terminate() { kill -TERM "$(worker)" 2>/dev/null || true; }
fault_worker_cancel() { kill -INT "$(worker)" 2>/dev/null || true; }
fault_worker_stop() { pause 4000 "$(worker)"; }
fault_worker_kill() { kill -KILL "$(worker)" 2>/dev/null || true; }
fault_backend_stop() { pause 2000 "$(backend)"; }
fault_backend_kill() { kill -KILL "$(backend)" 2>/dev/null || true; }
fault_server_stop() { # the postmaster first: then it has no new children
    local pid
    pid=$(postmaster)
    kill -STOP "$pid"
    pause 3000 "$(cat "/proc/$pid/task/$pid/children")" "$pid"
}
fault_postmaster_kill() {
    kill -KILL "$(postmaster)"
    start
}
fault_stop_fast() {
    "$bin/pg_ctl" stop -s -w -m fast -D "$data"
    start
}
fault_stop_immediate() {
    "$bin/pg_ctl" stop -s -w -m immediate -D "$data"
    start
}
fault_registry_lock() {
    random 500 5000
    sql "BEGIN; SET LOCAL lock_timeout = '5s'; LOCK TABLE cosid_machine;
         SELECT FROM pg_sleep($n / 1000.0); COMMIT" || true
}
fault_token_edit() {
    sql "UPDATE cosid_machine SET distribute_time = distribute_time + 1
         WHERE (namespace, machine_id) IN
               (SELECT namespace, machine_id FROM cosid_lease WHERE state = 'held')"
}
fault_standby_away() {
    setting synchronous_standby_names nobody
    sleep_ms 200 6000
    setting synchronous_standby_names ''
}
fault_cancel_storm() {
    sql "DO 'BEGIN
         FOR turn IN 1 .. 200 LOOP
             PERFORM pg_stat_clear_snapshot();
             PERFORM pg_cancel_backend(pid) FROM pg_stat_activity
             WHERE application_name = ''client'';
             PERFORM pg_sleep(0.005);
         END LOOP;
         END'"
}
fault_settings() {
    local leads=(100ms 300ms 1s 3s 10s)
    random 0 4
    setting cosid.watermark_lead "${leads[n]}"
    random 100 3000
    setting cosid.guard_interval "${n}ms"
}

# All kinds in random order, again and again.  A fault may come upon the traces of
# the one before it: that counts, too.
faults() {
    local end=$((SECONDS + minutes * 60)) kinds deck=() kind
    mapfile -t kinds < <(compgen -A function fault_)
    while [ $SECONDS -lt $end ]; do
        [ ${#deck[@]} -gt 0 ] || deck=("${kinds[@]}")
        random 0 $((${#deck[@]} - 1))
        kind=${deck[n]}
        unset "deck[n]"
        deck=("${deck[@]}")
        echo "${kind#fault_}" >>"$work/faults"
        "$kind" || echo "${kind#fault_}" >>"$work/faults-failed"
        sleep_ms 0 1500
        wait_for_server
    done
}

soak() {
    local client
    set +m
    stopped=
    # shellcheck disable=SC2154,SC2086
    trap '[ -z "$stopped" ] || kill -CONT $stopped 2>/dev/null || true' EXIT
    trap 'exit 143' TERM INT HUP
    RANDOM=$seed
    for ((client = 1; client <= clients; client++)); do
        client $client &
    done
    faults

    # All is well again by itself: each client gets IDs before it ends.
    date +%s%3N >"$work/calm"
    sleep 8
    touch "$stopping"
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'client'" \
        >/dev/null || true
    wait
}

# ------------------------------------------------------------------- checks

passed=0
failed=0

check() { # WHAT STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
    fi
}

# Reads what the clients got.  Times without IDs: between IDs of generator
# "order" that are more than 100 ms apart by their own timestamps.
report_clients() {
    # shellcheck disable=SC2016  # Perl's
    perl -e '
        my ($began, $calm, $ended, @files) = @ARGV;
        my ($disorder, $late, $malformed) = (0, 0, 0);
        printf "%-8s %9s  %s\n", "client", "IDs", "s without IDs: in all, longest";
        foreach my $file (@files) {
            my ($count, $without, $longest, $last_ms, %last) = (0, 0, 0, $began);
            my $gap = sub {
                my $gap = $_[0] - $last_ms;
                $without += $gap if $gap > 100;
                $longest = $gap if $gap > $longest;
                $last_ms = $_[0];
            };
            open(my $ids, "<", $file) or die;
            while (<$ids>) {
                my ($generator, $id) = /^(order|invoice|own) (\d+)$/
                  or do { $malformed++; next };
                $count++;
                $disorder++ if $id <= ($last{$generator} // 0);
                $last{$generator} = $id;
                $gap->(($id >> 22) + 1577203200000) if $generator eq "order";
            }
            $late++ if $last_ms < $calm;
            $gap->($ended);
            my ($name) = $file =~ m{([^/]*)\.ids$};
            printf "%-8s %9d  %.1f, %.1f\n", $name, $count, $without / 1000, $longest / 1000;
        }
        print "disorder $disorder late $late malformed $malformed\n";
    ' "$1" "$2" "$3" "$got"/*.ids
}

checks() {
    local total distinct summary disorder late malformed alarms

    printf '\nfaults:\n'
    sort "$work/faults" | uniq -c
    if [ -s "$work/faults-failed" ]; then
        echo 'of which could not be made, or not in full:'
        sort "$work/faults-failed" | uniq -c
    fi

    echo
    report_clients "$began" "$(cat "$work/calm")" "$ended" | tee "$work/report" | grep -v '^disorder'
    summary=$(tail -n 1 "$work/report")
    total=$(cat "$got"/*.ids | wc -l)
    distinct=$(sort -S 200M -T "$work" -u "$got"/*.ids | wc -l)
    printf '\n%s IDs, %s distinct\n\n' "$total" "$distinct"

    check "no ID was given out twice" $((total != distinct || total == 0))
    read -r _ disorder _ late _ malformed <<<"$summary"
    check "each client's IDs of a generator increase strictly" $((disorder != 0))
    check "each client gets IDs again after the last fault" $((late != 0))
    check "clients get IDs and nothing else" $((malformed != 0))

    grep -hE '(ERROR|FATAL|PANIC):  [0-9A-Z]{5}: ' "$got"/*.err |
        sed -E 's/.*(ERROR|FATAL|PANIC):  ([0-9A-Z]{5}): .*/\2/' | sort | uniq -c >"$work/sqlstates" || true
    echo "SQLSTATEs that clients got:"
    cat "$work/sqlstates"
    check "no unexpected SQLSTATE" \
        "$(grep -cvE " ($expected_sqlstates)\$" "$work/sqlstates")"
    alarms=$(grep -E 'PANIC|TRAP|terminated by signal ([1-8]|1[0-9]):' "$work/server/server.log") || true
    [ -z "$alarms" ] || echo "$alarms"
    check "no PANIC, TRAP or crash of its own in the server's log" "${#alarms}"
}

# --------------------------------------------------------------------- main

echo "soak: $minutes min, $clients clients, seed $seed"
private_install "$prefix"
run "${pgxs[@]}" -j "$(nproc)" all install DESTDIR="$prefix" >"$work/build.log" 2>&1 || {
    cat "$work/build.log"
    die "cosid does not build"
}
mkdir "$got"
start_server server "shared_preload_libraries = 'cosid'" "fsync = off" "shared_buffers = 16MB" \
    "restart_after_crash = on" "cosid.watermark_lead = 1s" "cosid.guard_interval = 500ms" \
    "cosid.safe_guard_duration = 5s" "log_statement = none"
sql "CREATE EXTENSION cosid;
     SELECT cosid_create('order');
     SELECT cosid_create('invoice', timestamp_unit => 'second');
     SELECT cosid_create('own', namespace => 'own');
     CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'));" >/dev/null
client_script >"$work/client.sql"

began=$(date +%s%3N)
soaked=0
run soak || soaked=$?
ended=$(date +%s%3N)
check "the server came back after each fault" "$soaked"
[ "$soaked" -ne 0 ] || checks
if [ "$failed" -gt 0 ]; then
    printf '\nthe end of the server log:\n'
    tail -n 60 "$work/server/server.log"
fi

echo
echo "seed $seed"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
