#!/usr/bin/env bash
#
# run.sh - how fast is cosid beside what would be used instead of it?
#
#   bench/run.sh [--quick] [DIRECTORY]
#
# Builds cosid, starts a server of its own, and measures in rounds: in each,
# every contender has its turn, so that a machine that gets slower meanwhile is
# slower for all; before each measurement it waits a little for others that use
# it (not with --quick).  Writes results.md (tables of medians), results.svg (a plot)
# and results.tsv (every single measurement) into DIRECTORY, by default a new one
# in /tmp.  --quick takes 2 minutes instead of 15 and is not to be quoted.
#
# KEEP=1 keeps the temporary directory.  Do nothing else with the machine.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
bench=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$bench/../scripts/lib.sh"

if [ "${1:-}" != --in-sandbox ]; then
    quick=
    if [ "${1:-}" = --quick ]; then
        quick=1
        shift
    fi
    [[ $# -le 1 && ${1:-} != -* ]] || die "usage: bench/run.sh [--quick] [DIRECTORY]"
    ensure_packages "${build_packages[@]}" gnuplot-nox
    results=${1:-$(mktemp -d /tmp/cosid-results.XXXXXX)}
    mkdir -p "$results"
    # The second run may not be allowed to write there: it inherits open files.
    exec 7>"$results/results.md" 8>"$results/results.svg" 9>"$results/results.tsv"
    enter_sandbox bench "$results" "$quick"
fi
in_sandbox "$2"
results=$3
quick=$4
SECONDS=0

if [ -n "$quick" ]; then
    rounds=3 calls=500000 span_ids=2000000 rows=100000 burst_s=1 sessions=40 idle_s=5 wal_ids=10000000
else
    rounds=9 calls=2000000 span_ids=8000000 rows=1000000 burst_s=3 sessions=200 idle_s=60 wal_ids=10000000
fi
cores=$(nproc)
ceiling=4096 # IDs a millisecond, of the default layout

raw=$work/raw.tsv # what, contender, round, value
export PGHOST=$work/server PGUSER=postgres PGDATABASE=bench PGOPTIONS="-c jit=off"
settings=("shared_preload_libraries = 'cosid'" "shared_buffers = 512MB" "max_wal_size = 8GB"
    "checkpoint_timeout = 1h" "autovacuum = off" "synchronous_commit = off" "max_connections = 200"
    "max_parallel_workers_per_gather = 0")

sql() {
    "$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}

# record WHAT CONTENDER VALUE
record() {
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$round" "$3" >>"$raw"
}

# cpu_times: busy and all, of all cores since the machine started
cpu_times() {
    awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $2 + $3 + $4 + $5 + $6 + $7 + $8; exit }' /proc/stat
}

# settle: wait half a minute at most for others to leave the machine alone, and
# note how much of it they have, in percent.
settle() {
    local busy=100 before all_before after all_after left=60
    while [ "$busy" -gt 12 ] && [ "$left" -gt 0 ]; do
        read -r before all_before < <(cpu_times)
        sleep 0.5
        read -r after all_after < <(cpu_times)
        busy=$(((after - before) * 100 / (all_after - all_before)))
        left=$((left - 1))
        [ -z "$quick" ] || break
    done
    record others cpu "$busy"
}

# --------------------------------------------------------------- statements

# A script for psql is made of these; timed prints and record_times reads.

# timed WHAT CONTENDER UNITS STATEMENT: note how many ns a unit takes
timed() {
    printf '\\echo @ %s %s %s\n\\timing on\n%s;\n\\timing off\n' "$1" "$2" "$3" "$4"
}

# record_times: run a script of them in a session of its own.
record_times() {
    sql -o /dev/null -f - | awk -v round="$round" -v OFS='\t' '
        $1 == "@" { what = $2; contender = $3; units = $4 }
        $1 == "Time:" { print what, contender, round, $2 * 1e6 / units }' >>"$raw"
}

# ten_calls EXPRESSION VALUES CALLS: a statement that evaluates an expression so
# often, ten times a row, so that most of its time goes there.  No result is one
# of the ten VALUES; that they differ keeps the planner from seeing one call in
# ten.
ten_calls() {
    local condition='' i
    for i in 0 1 2 3 4 5 6 7 8 9; do
        # shellcheck disable=SC2059  # VALUES is a format
        condition+="${condition:+ OR }$1 = $(printf -- "$2" "$i")"
    done
    echo "SELECT count(*) FROM (SELECT generate_series(1, $(($3 / 10)))) AS s WHERE $condition"
}

uuid_value="'00000000-0000-0000-0000-00000000000%s'"

# call_contenders: a contender, what it calls, the values it is compared with,
# and its share of the calls.
call_contenders() {
    cat <<SQL
empty;bench_empty('bench_default');-%s;1
nextval;nextval('bench_plain');-%s;1
nextval_100;nextval('bench_cached');-%s;1
cosid_wide;cosid_next('bench_wide');-%s;1
cosid;cosid_next('bench_default');-%s;1
uuid;gen_random_uuid();$uuid_value;5
${has_uuidv7:+uuidv7;uuidv7();$uuid_value;5
}plpgsql;bench_plpgsql();-%s;10
SQL
}

# The order turns from round to round.
rotated() {
    awk -v round="$round" '{ line[NR] = $0 }
        END { for (i = 0; i < NR; i++) print line[(i + round) % NR + 1] }'
}

measure_calls() {
    local contender expression values share
    call_contenders | rotated | while IFS=';' read -r contender expression values share; do
        ten_calls "$expression" "$values" 1000
        echo ';'
        timed call "$contender" $((calls / share)) \
            "$(ten_calls "$expression" "$values" $((calls / share)))"
    done | record_times
}

# As the IDs themselves tell: how many there are in each millisecond of their span
measure_one_backend() {
    record one_backend cosid "$(sql <<SQL
SELECT round($span_ids::numeric / (max(ms) - min(ms) + 1), 1)
  FROM (SELECT cosid_next('bench_default') >> 22 AS ms FROM (SELECT generate_series(1, $span_ids)) AS s) AS ids;
SQL
    )"
}

# Reading and writing: for each function the plain SQL that gives the same.
base_digits() { # VALUE RADIX DIGITS
    echo "(SELECT string_agg(substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', ($1 / power($2::numeric, n)::bigint % $2)::int + 1, 1), '' ORDER BY n DESC) FROM generate_series(0, $(($3 - 1))) AS n)"
}

from_digits() { # VALUE RADIX
    echo "(SELECT sum((strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', substr($1, n, 1)) - 1) * power($2::numeric, length($1) - n))::bigint FROM generate_series(1, length($1)) AS n)"
}

id_time="to_timestamp(((id >> 22) + 1577203200000) / 1000.0)"
friendly="to_char($id_time, 'YYYYMMDDHH24MISSMS') || '-' || ((id >> 12) & 1023) || '-' || (id & 4095)"

reading_contenders() {
    cat <<SQL
cosid_timestamp(id);$id_time
cosid_machine_id(id);((id >> 12) & 1023)::int
cosid_parse(id);ROW(id, $id_time, ((id >> 12) & 1023)::int, id & 4095, $friendly)::cosid_state
cosid_friendly(id);$friendly
cosid_radix62(id);$(base_digits id 62 11)
cosid_from_radix62(radix62);$(from_digits radix62 62)
cosid_radix36(id);$(base_digits id 36 13)
cosid_from_radix36(radix36);$(from_digits radix36 36)
cosid_first_id(at);(((extract(epoch FROM at) * 1000)::bigint - 1577203200000) << 22)
SQL
}

# The plain SQL is to give the same; it is slow: a tenth of the rows will do.
check_reading() {
    local call plain
    reading_contenders | while IFS=';' read -r call plain; do
        [ "$(sql -c "SELECT count(*) FROM (SELECT * FROM bench_strings LIMIT 1000) AS s WHERE ($call) IS DISTINCT FROM ($plain)")" = 0 ] ||
            die "$call and its plain SQL differ"
    done
}

measure_reading() {
    local call plain name
    # "count(x IS NULL)" would do for a row, but not be the same for all.
    reading_contenders | while IFS=';' read -r call plain; do
        name=${call%%(*}
        timed "read_$name" cosid 100000 "SELECT max(($call)::text) FROM bench_strings"
        timed "read_$name" plain 10000 "SELECT max(($plain)::text) FROM (SELECT * FROM bench_strings LIMIT 10000) AS s"
    done | record_times
}

# ------------------------------------------------------------------- tables

table_contenders="nextval nextval_100 identity cosid uuid plpgsql"

measure_tables() {
    local contender
    for contender in $table_contenders; do echo "$contender"; done | rotated | while read -r contender; do
        echo "TRUNCATE bench_t_$contender; CHECKPOINT;"
        timed insert_select "$contender" "$rows" \
            "INSERT INTO bench_t_$contender (item) SELECT 'item number ' || n FROM generate_series(1, $rows) AS n"
        echo "TRUNCATE bench_t_$contender; CHECKPOINT;"
        timed copy "$contender" "$rows" "COPY bench_t_$contender (item) FROM '$work/rows'"
        echo "TRUNCATE bench_t_$contender;"
    done | record_times
}

# ------------------------------------------------------------------ clients

# pgbench_run CLIENTS SCRIPT [OPTION...]: leaves the log in $work/pgbench, and the
# transactions a second in $tps.
pgbench_run() {
    local clients=$1 script=$2
    shift 2
    rm -f "$work"/transactions.*
    (cd "$work" && run "$bin/pgbench" -n -M prepared -c "$clients" -j "$((clients < cores ? clients : cores))" \
        -T "$burst_s" -f "$script" "$@") >"$work/pgbench" 2>&1 || { cat "$work/pgbench" >&2; die "pgbench failed"; }
    tps=$(sed -nE 's/^tps = ([0-9.]+) .*/\1/p' "$work/pgbench")
}

# percentile P: of the latencies that pgbench logged, in ms
percentile() {
    cat "$work"/transactions.* | awk '{ print $3 }' | sort -n |
        awk -v p="$1" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.999999); print v[i < 1 ? 1 : i] / 1000 }'
}

# TPS vary more than the contenders differ: the two that the target is about have
# three turns.
measure_inserts() {
    local contender
    for contender in $table_contenders nextval cosid cosid nextval; do
        echo "$contender"
    done | rotated | while read -r contender; do
        sql -c "TRUNCATE bench_t_$contender"
        echo "INSERT INTO bench_t_$contender (item) VALUES ('item');" >"$work/insert.sql"
        pgbench_run 8 insert.sql
        record insert_tps "$contender" "$tps"
        sql -c "TRUNCATE bench_t_$contender"
    done
}

# 1,000 IDs a statement from one generator: the share of the ceiling that comes
# out, and how much longer than its fair share a statement takes.
measure_sharing() {
    local clients
    echo "SELECT max(cosid_next('bench_default')) FROM (SELECT generate_series(1, 1000)) AS s;" >"$work/mint.sql"
    for clients in 8 64; do
        pgbench_run "$clients" mint.sql -l --log-prefix=transactions
        record "total_$clients" cosid "$(awk -v tps="$tps" -v c=$ceiling 'BEGIN { printf "%.3f", tps / c }')"
        record "p99_$clients" cosid "$(awk -v p="$(percentile 99)" -v n="$clients" -v c=$ceiling \
            'BEGIN { printf "%.2f", p / (n * 1000 / c) }')"
    done
}

# One generator for each client; a core of one client's, and of each of 64.
measure_scaling() {
    echo "SELECT max(cosid_next('bench_wide_' || :client_id)) FROM (SELECT generate_series(1, 20000)) AS s;" >"$work/own.sql"
    pgbench_run 1 own.sql
    record per_core 1 "$(awk -v tps="$tps" 'BEGIN { print tps * 20000 / 1e6 }')"
    pgbench_run 64 own.sql
    record per_core 64 "$(awk -v tps="$tps" -v n="$cores" 'BEGIN { print tps * 20000 / 1e6 / n }')"
}

# backend_seconds: what all backends that have ended have used of the CPU
backend_seconds() {
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($14 + $15) / hz }' \
        "/proc/$(head -n 1 "$work/server/data/postmaster.pid")/stat"
}

# The same with a library that only sleeps until the next tick: the CPU that a
# million IDs take, and how many come out.
measure_spinning() {
    local library=$prefix/usr/lib/postgresql/$pg_major/lib/cosid.so variant used
    for variant in sleep spin; do
        stop_server server
        cp "$work/cosid-$variant.so" "$library"
        restart
        sql -c "SELECT cosid_next('bench_default')" >/dev/null
        used=$(backend_seconds)
        pgbench_run 64 mint.sql
        sleep 0.2
        record spin_cpu "$variant" "$(awk -v a="$used" -v b="$(backend_seconds)" -v tps="$tps" \
            -v s="$burst_s" 'BEGIN { print (b - a) / (tps * s / 1000) }')"
        record spin_total "$variant" "$(awk -v tps="$tps" -v c=$ceiling 'BEGIN { printf "%.3f", tps / c }')"
    done
}

restart() {
    "$bin/pg_ctl" start -s -w -D "$work/server/data" -l "$work/server/server.log"
    # Not what is left to do after a start
    sql -c "SELECT cosid_next('bench_default')" >/dev/null
}

# -------------------------------------------------------------- single things

# The first statement of a session
measure_first_call() {
    local i
    for ((i = 0; i < sessions; i++)); do
        printf '\\c\n'
        timed first_call nextval 1 "SELECT nextval('bench_plain')"
        printf '\\c\n'
        timed first_call cosid 1 "SELECT cosid_next('bench_default')"
    done | record_times
}

measure_wal() {
    local contender expression
    for contender in cosid nextval; do
        expression="cosid_next('bench_default')"
        [ "$contender" = cosid ] || expression="nextval('bench_plain')"
        sql -c CHECKPOINT
        record wal "$contender" "$(sql <<SQL
SELECT pg_current_wal_insert_lsn() AS before \gset
SELECT count($expression) FROM (SELECT generate_series(1, $wal_ids)) AS s \g /dev/null
SELECT pg_current_wal_insert_lsn() - :'before';
SQL
        )"
    done
}

# cpu_ns PID
cpu_ns() {
    if [ -r "/proc/$1/schedstat" ]; then # as a file it is empty
        cut -d' ' -f1 "/proc/$1/schedstat"
    else
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13) * 1e9 / hz }' "/proc/$1/stat"
    fi
}

# The worker of an idle server, with a heartbeat each second, and with so few that
# there is none meanwhile: the difference is what a heartbeat takes, and by
# default there is one a minute.
measure_idle() {
    local pid before interval
    sleep 12 # longer than the lead: nothing is minted any more
    for interval in 150 1; do
        sql -c "ALTER SYSTEM SET cosid.guard_interval = '${interval}s'" -c "SELECT pg_reload_conf()" >/dev/null
        sleep 2
        pid=$(sql -c "SELECT pid FROM pg_stat_activity WHERE backend_type = 'cosid worker'")
        before=$(cpu_ns "$pid")
        sleep "$idle_s"
        record idle "$interval" $((($(cpu_ns "$pid") - before) / idle_s))
    done
    sql -c "ALTER SYSTEM RESET cosid.guard_interval" -c "SELECT pg_reload_conf()" >/dev/null
}

# ------------------------------------------------------------------ results

# median WHAT CONTENDER
median() {
    awk -F'\t' -v w="$1" -v c="$2" '$1 == w && $2 == c { print $4 }' "$raw" | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2; else print "nan" }'
}

# ratio WHAT CONTENDER REFERENCE: the median of the rounds' ratios, the lowest
# and the highest.  (In a round each has the median of its measurements.)
ratio() {
    sort -t$'\t' -k3,3g -k4,4g "$raw" | awk -F'\t' -v w="$1" -v c="$2" -v r="$3" -v empty="${4:-}" '
        $1 == w { key = $3 SUBSEP $2; value[key, ++n[key]] = $4; seen[$3] }
        function of(round, who,   k) { k = round SUBSEP who; return value[k, int((n[k] + 1) / 2)] }
        END { for (i in seen) {
            base = empty == "" ? 0 : of(i, empty)
            print (of(i, c) - base) / (of(i, r) - base) } }' | sort -g |
        awk '{ v[NR] = $1 } END { printf "%.3f %.3f %.3f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

# lowest_highest WHAT CONTENDER
lowest_highest() {
    awk -F'\t' -v w="$1" -v c="$2" '$1 == w && $2 == c { print $4 }' "$raw" | sort -g | sed -n '1p;$p' | tr '\n' ' '
}

# row WORK OPERATOR TARGET MEASURED [LOWEST HIGHEST] [NOTE]
row() {
    local verdict
    verdict=$(awk -v m="$4" -v t="$3" -v o="$2" 'BEGIN { print (o == "<=" ? m + 0 <= t : o == "<" ? m + 0 < t : m + 0 >= t) ? "pass" : "miss" }')
    printf '| %s | %s %s%s | %s | %s | %s |\n' "$1" "$2" "$3" "${7:-}" "$4${7:-}" "${5:+$5 to $6}" "$verdict"
}

# shellcheck disable=SC2046  # words
table_of_targets() {
    local per_hour beat
    echo "| work | target | median | lowest to highest | |"
    echo "|---|---|---|---|---|"
    row "cost of one call over an empty C function, layout 41/5/17, against \`nextval\`'s" '<=' 0.20 $(ratio call cosid_wide nextval empty)
    row "one backend, default layout, IDs per millisecond by the IDs' own timestamps" '>=' 4050 "$(median one_backend cosid)" $(lowest_highest one_backend cosid)
    for clients in 8 64; do
        row "$clients clients on one default generator, total against the ceiling" '>=' 0.95 "$(median "total_$clients" cosid)" $(lowest_highest "total_$clients" cosid)
        row "$clients clients, p99 of a 1,000-ID statement against the ideal share" '<=' 2 "$(median "p99_$clients" cosid)" $(lowest_highest "p99_$clients" cosid)
    done
    row "64 clients on 64 generators against 1 client on 1, per core" '>=' 0.9 $(ratio per_core 64 1)
    row "\`INSERT ... SELECT\` of $rows rows, against \`nextval\`" '<=' 0.90 $(ratio insert_select cosid nextval)
    row "\`COPY\` of $rows rows, against \`nextval\`" '<=' 1.00 $(ratio copy cosid nextval)
    row "pgbench, one-row INSERT, prepared, 8 clients, TPS against \`nextval\`'s" '>=' 1.00 $(ratio insert_tps cosid nextval)
    row "WAL written for $wal_ids IDs (\`nextval\`: $(awk -v b="$(median wal nextval)" 'BEGIN { printf "%.1f MB", b / 1e6 }'))" '<' 64 "$(awk -v b="$(median wal cosid)" 'BEGIN { printf "%.1f", b / 1024 }')" '' '' ' kB'
    # What is left at rest, and 60 heartbeats
    beat=$(awk -v one="$(median idle 1)" -v rest="$(median idle 150)" 'BEGIN { print one - rest }')
    per_hour=$(awk -v b="$beat" -v r="$(median idle 150)" 'BEGIN { printf "%.3f", (r * 3600 + b * 60) / 1e9 }')
    row "CPU of an idle server's worker, an hour (a heartbeat: $(awk -v b="$beat" 'BEGIN { printf "%.2f ms", b / 1e6 }'))" '<' 0.1 "$per_hour" '' '' ' s'
    row "first call in a new session, against \`nextval\`'s" '<=' 1.0 $(ratio first_call cosid nextval)
    row "waiting for a tick with 64 clients: CPU against sleeping only (total: $(median spin_total spin), sleeping only $(median spin_total sleep))" '<=' 1.2 $(ratio spin_cpu spin sleep)
}

name_of() {
    case $1 in
        empty) echo "empty C function" ;;
        nextval) echo "\`nextval\`" ;;
        nextval_100) echo "\`nextval\`, \`CACHE 100\`" ;;
        identity) echo "identity column" ;;
        cosid_wide) echo "\`cosid_next\`, layout 41/5/17" ;;
        cosid) echo "\`cosid_next\`, default layout" ;;
        uuid) echo "\`gen_random_uuid()\`" ;;
        uuidv7) echo "\`uuidv7()\`" ;;
        plpgsql) echo "plpgsql snowflake" ;;
    esac
}

table_of_calls() {
    local contender
    echo "| one call | ns | against \`nextval\`, both over the empty function |"
    echo "|---|---|---|"
    call_contenders | cut -d';' -f1 | while read -r contender; do
        printf '| %s | %.0f | %s |\n' "$(name_of "$contender")" "$(median call "$contender")" \
            "$([ "$contender" = empty ] || ratio call "$contender" nextval empty | cut -d' ' -f1)"
    done
}

table_of_tables() {
    local contender
    echo "| a row | INSERT ... SELECT, ns | against \`nextval\` | COPY, ns | against \`nextval\` | one-row INSERT, TPS | against \`nextval\` |"
    echo "|---|---|---|---|---|---|---|"
    for contender in $table_contenders; do
        printf '| %s | %.0f | %s | %.0f | %s | %.0f | %s |\n' "$(name_of "$contender")" \
            "$(median insert_select "$contender")" "$(ratio insert_select "$contender" nextval | cut -d' ' -f1)" \
            "$(median copy "$contender")" "$(ratio copy "$contender" nextval | cut -d' ' -f1)" \
            "$(median insert_tps "$contender")" "$(ratio insert_tps "$contender" nextval | cut -d' ' -f1)"
    done
}

table_of_reading() {
    local call name plain
    echo "| call | ns a row | plain SQL, ns | cosid against it |"
    echo "|---|---|---|---|"
    reading_contenders | while IFS=';' read -r call plain; do
        name=read_${call%%(*}
        # shellcheck disable=SC2016  # Markdown
        printf '| `%s` | %.0f | %.0f | %s |\n' "$call" "$(median "$name" cosid)" \
            "$(median "$name" plain)" "$(ratio "$name" cosid plain | cut -d' ' -f1)"
    done
}

machine() {
    echo "- $cores cores of $(sed -nE 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), $(awk '/^MemTotal/ { printf "%.0f GB", $2 / 1e6 }' /proc/meminfo), Linux $(uname -r), clock source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || echo unknown)"
    echo "- others used $(median others cpu) % of the cores before a measurement (median; $(lowest_highest others cpu | sed -E 's/^(.*) (.*) $/\1 to \2/'))"
    echo "- $("$bin/postgres" --version), $("${CC:-gcc}" --version | head -n 1), cosid $(sed -nE "s/^default_version = '(.*)'/\1/p" "$src/cosid.control")"
    echo "- $(printf "\`%s\`, " "${settings[@]}" "jit = off" | sed 's/, $//'), the rest as initdb leaves it"
    echo "- $rounds rounds${quick:+ (--quick: too short to be quoted)}"
}

plot() {
    local contender data=$work/plot.tsv
    for contender in empty nextval_100 nextval cosid cosid_wide uuid ${has_uuidv7:+uuidv7} plpgsql; do
        printf '%s\t%s\t%s\n' "$(name_of "$contender" | tr -d '\140')" "$(median call "$contender")" "$(lowest_highest call "$contender" | tr ' ' '\t')"
    done >"$data"
    for contender in nextval nextval_100 identity cosid uuid ${has_uuidv7:+uuidv7} plpgsql; do
        printf '%s\t%s\t%s\t%s\n' "$(name_of "$contender" | tr -d '\140')" \
            "$(ratio insert_select "$contender" nextval | cut -d' ' -f1)" \
            "$(ratio copy "$contender" nextval | cut -d' ' -f1)" \
            "$(ratio insert_tps "$contender" nextval | cut -d' ' -f1)"
    done >"$data.rows"
    (cd "$work" && gnuplot) <<'GNUPLOT'
set terminal svg size 900,760 noenhanced font "sans-serif,12" background "white"
set output "plot.svg"
set datafile separator "\t"
set multiplot layout 2,1
set style fill solid 0.8 border
set boxwidth 0.7
set bars 2
set pointintervalbox 0
set grid ytics
set key off
set xtics nomirror rotate by -15
set title "One call in a query: ns, median of the rounds (lines: lowest to highest)"
set logscale y
set yrange [5:10000]
plot "plot.tsv" using 0:2:xtic(1) with boxes lc rgb "#4477aa", "" using 0:2:3:4 with yerrorbars lc rgb "black" pt 0
unset logscale y
set yrange [0:*]
set key top left
set style data histogram
set style histogram clustered gap 1
set title "A row with such a key, against nextval: time of INSERT ... SELECT and COPY, transactions a second of one-row INSERT"
plot "plot.tsv.rows" using 2:xtic(1) title "INSERT ... SELECT, time" lc rgb "#4477aa", "" using 3 title "COPY, time" lc rgb "#66ccee", "" using 4 title "one-row INSERT, transactions" lc rgb "#ccbb44"
unset multiplot
GNUPLOT
}

# --------------------------------------------------------------------- runs

say() {
    printf '%4d s  %s\n' "$SECONDS" "$*"
}

say "building"
private_install "$prefix"
# A second library that only sleeps until the next tick
cp -a "$src" "$work/src-sleep"
{
    run make -s -C "$work/src-sleep" with_llvm=no PG_CONFIG="$pg_system_bin/pg_config" \
        COPT="${pgxs[-1]#COPT=} -DTICK_SPIN_US=0" -j "$cores" all &&
        run "${pgxs[@]}" -j "$cores" all bench install DESTDIR="$prefix"
} >"$work/build.log" 2>&1 || {
    cat "$work/build.log" >&2
    die "the build failed"
}
cp "$work/src-sleep/cosid.so" "$work/cosid-sleep.so"
cp "$src/cosid.so" "$work/cosid-spin.so"

start_server server "${settings[@]}" || die "the server didn't start"
"$bin/createdb" bench
sql -o /dev/null -v library="$src/bench/empty.so" -v copied="$work/rows" -v rows="$rows" -f "$src/bench/setup.sql"
has_uuidv7=$(sql -c "SELECT 1 WHERE to_regprocedure('uuidv7()') IS NOT NULL")
[ -z "$has_uuidv7" ] || table_contenders+=" uuidv7"
check_reading

for ((round = 1; round <= rounds; round++)); do
    say "round $round of $rounds"
    for what in calls one_backend reading tables inserts sharing scaling first_call spinning; do
        if [ -z "$quick" ] || [ "$what" = calls ]; then
            settle
        fi
        "measure_$what"
    done
done
round=1
say "WAL"
measure_wal
say "the idle worker: $((2 * idle_s)) s"
measure_idle
stop_server server

{
    echo "## cosid beside what would be used instead"
    echo
    machine
    echo
    table_of_targets
    echo
    table_of_calls
    echo
    table_of_tables
    echo
    table_of_reading
} >"$work/results.md"
plot
cat "$work/results.md"
cat "$work/results.md" >&7
cat "$work/plot.svg" >&8
cat "$raw" >&9
echo
say "done: results.md, results.svg and results.tsv are in $results"
