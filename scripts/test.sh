#!/usr/bin/env bash
#
# test.sh - run the tests.  The last line says how many passed and failed.
#
#   scripts/test.sh                        everything
#   scripts/test.sh unit                   C unit tests and test vectors
#   scripts/test.sh regress [NAME...]      sql/*.sql against expected/*.out
#   scripts/test.sh tap [FILE...]          t/*.pl
#   scripts/test.sh demo                   scripts/demo.sh and demo-fleet.sh
#   scripts/test.sh soak                   a minute of scripts/soak.sh
#   scripts/test.sh instructions           bench/instructions.sh: what a call takes
#   scripts/test.sh style                  the code's shape, and what cppcheck finds
#
# Each builds first, and a compiler warning is a failed test.  KEEP=1 keeps the
# temporary directory, JOBS=n runs n TAP files at once (default 2).
#
# Needs Debian and, if packages are missing, root or sudo.  It runs the PostgreSQL
# that is installed, the highest of several; PG_MAJOR=n says which.  The code's
# shape is looked at on Debian 12 only, which has the tools.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# What they say depends on their version.
style_tools() {
    [ "$(running_suite)" = bookworm ]
}

if [ "${1:-}" != --in-sandbox ]; then
    case ${1:-all} in
        all | unit | regress | tap | demo | soak | instructions | style) ;;
        *) die "usage: scripts/test.sh [unit | regress [NAME...] | tap [FILE...] | demo | soak | instructions | style]" ;;
    esac
    ensure_packages "${build_packages[@]}" libcmocka-dev perl libipc-run-perl openssl
    case ${1:-all} in
        all | tap)
            ensure_node
            keep_npm_config
            ;;
    esac
    case ${1:-all} in
        all | instructions) ensure_packages valgrind ;;
    esac
    case ${1:-all} in
        all) ! style_tools || ensure_packages "${style_packages[@]}" ;;
        style) ensure_packages "${style_packages[@]}" ;;
    esac
    enter_sandbox test "$@"
fi
in_sandbox "$2"
shift 2
only=${1:-all}
[ $# -eq 0 ] || shift

pgxs_dir=$("$pg_system_bin/pg_config" --pkglibdir)/pgxs
passed=0
failed=0
failures=()

# count GROUP PASSED FAILED STATUS: a group that ran nothing has failed, and so
# has one that ended with an error and names no test: a crash, say.
count() {
    local group=$1 ok=$2 bad=$3 status=$4
    if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$ok" -eq 0 ]; }; then
        bad=1
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    [ "$bad" -eq 0 ] || failures+=("$group ($bad)")
    echo "--- $group: $ok passed, $bad failed"
}

header() {
    printf '\n=== %s\n\n' "$1"
}

number_of() { # PATTERN LOG
    grep -cE -- "$1" "$2" || true
}

sum_of() { # SED-EXPRESSION LOG: the sum of the numbers that it prints
    sed -nE "$1" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

build() {
    header "build (-Wall -Wextra)"
    local log=$work/build.log status=0 warnings targets=(all unit clock disk fleet host bench install)
    [ "$only" != unit ] || targets=(unit)
    private_install "$prefix"
    run "${pgxs[@]}" -j "$(nproc)" "${targets[@]}" DESTDIR="$prefix" >"$log" 2>&1 || status=$?
    warnings=$(number_of 'warning:' "$log")
    if [ "$status" -ne 0 ]; then
        cat "$log"
    else
        grep -A3 'warning:' "$log" || true
    fi
    count build $((status == 0 && warnings == 0)) "$warnings" "$status"
    return "$status"
}

unit() {
    header "unit tests and test vectors"
    local log=$work/unit.log status=0 bad_vectors
    logged "$log" "${pgxs[@]}" check-unit || status=$?
    bad_vectors=$(sum_of 's/^[0-9]+ passed, ([0-9]+) failed$/\1/p' "$log")
    count unit "$(number_of '\[       OK \]' "$log")" \
        "$(sum_of 's/^\[  FAILED  \] ([0-9]+) test.*/\1/p' "$log")" \
        $((status != 0 && bad_vectors == 0))
    count vectors "$(sum_of 's/^([0-9]+) passed, [0-9]+ failed$/\1/p' "$log")" "$bad_vectors" 0
}

# regress_on SERVER PRELOAD TEST...
regress_on() {
    local server=$1 preload=$2 log=$work/$1/regress.log status=0
    shift 2
    header "pg_regress (shared_preload_libraries = '$preload')"
    if ! start_server "$server" "shared_preload_libraries = '$preload'" "fsync = off" \
        "max_prepared_transactions = 5"; then
        count "$server" 0 1 1
        return
    fi
    logged "$log" "$pgxs_dir/src/test/regress/pg_regress" --bindir="$bin" \
        --inputdir="$src" --outputdir="$work/$server" \
        --host="$work/$server" --user=postgres --dbname=contrib_regression "$@" || status=$?
    if [ "$status" -ne 0 ]; then
        cat "$work/$server/regression.diffs" || true
        grep -E 'PANIC|TRAP|terminated by signal' "$work/$server/server.log" || true
    fi
    stop_server "$server" || status=1
    # Until PostgreSQL 15 a line is "test NAME ... ok", later it is as TAP has it.
    count "$server" "$(number_of '\.\.\. ok |^ok ' "$log")" \
        "$(number_of '\.\.\. FAILED|^not ok ' "$log")" "$status"
}

regress() {
    local name preloaded=() not_preloaded=()
    [ $# -gt 0 ] || set -- sql/*.sql
    for name; do
        name=$(basename "$name" .sql)
        # This one is about a server that lacks the setting.
        if [ "$name" = not_preloaded ]; then
            not_preloaded+=("$name")
        else
            preloaded+=("$name")
        fi
    done
    [ ${#preloaded[@]} -eq 0 ] || regress_on regress cosid "${preloaded[@]}"
    [ ${#not_preloaded[@]} -eq 0 ] || regress_on regress-not-preloaded '' "${not_preloaded[@]}"
}

# As PostgreSQL's own "make prove_installcheck" does it for PGXS.
tap() {
    header "TAP tests"
    local log=$work/tap/prove.log status=0 ok bad name files=()
    [ $# -gt 0 ] || set -- t/*.pl
    for name; do
        files+=("t/$(basename "$name" .pl).pl")
    done
    mkdir -p "$work/tap"
    # What these tests need; without it they fail, no others do.
    for name in 106_javascript:js 303_orm:orm; do
        if [[ " ${files[*]} " == *" t/${name%:*}.pl "* ]]; then
            run npm ci --prefix "$src/test/${name#*:}" --ignore-scripts --no-audit --no-fund \
                --no-update-notifier || true
        fi
    done
    logged "$log" env PATH="$bin:$PATH" TESTDIR="$work/tap" PGPORT=65432 \
        TESTDATADIR="$work/tap/tmp_check" TESTLOGDIR="$work/tap/tmp_check/log" \
        PG_REGRESS="$pgxs_dir/src/test/regress/pg_regress" \
        prove --timer --jobs "${JOBS:-2}" -I "$pgxs_dir/src/test/perl" -I "$src" -I "$src/t" \
        "${files[@]}" || status=$?
    # In prove's summary there's a line for each file in which something went
    # wrong; the file that died names no failed test, but has failed.
    bad=$(sum_of 's/^.* \(Wstat: .* Tests: [0-9]+ Failed: ([0-9]+)\)$/\1/p' "$log")
    ok=$(sum_of 's/^Files=[0-9]+, Tests=([0-9]+),.*/\1/p' "$log")
    ok=$((ok - bad))
    bad=$((bad + $(number_of ' \(Wstat: .* Failed: 0\)$' "$log")))
    sed -nE 's/^t\/(.*)\.pl +\(Wstat: .*/\1/p' "$log" | while read -r name; do
        printf '\n--- the end of the log of t/%s.pl and of its servers\n' "$name"
        tail -n 40 "$work/tap/tmp_check/log/regress_log_$name" \
            "$work/tap/tmp_check/log/${name}_"*.log 2>/dev/null || true
    done
    count tap "$ok" "$bad" "$status"
}

demo() {
    header "scripts/demo.sh"
    local log=$work/demo.log status=0
    logged "$log" env KEEP= bash "$src/scripts/demo.sh" || status=$?
    grep -qx '20000 orders, 20000 distinct ids.' "$log" || status=1
    count demo $((status == 0)) 0 "$status"

    header "scripts/demo-fleet.sh"
    status=0
    logged "$log" env KEEP= bash "$src/scripts/demo-fleet.sh" || status=$?
    grep -qE '^[0-9]{4,} ids of 3 servers, 0 duplicates\.$' "$log" || status=1
    count demo-fleet $((status == 0)) 0 "$status"
}

# With the same faults each time
soak() {
    header "scripts/soak.sh"
    local log=$work/soak.log status=0
    logged "$log" env KEEP= bash "$src/scripts/soak.sh" 1 1 || status=$?
    count soak "$(sum_of 's/^([0-9]+) passed, [0-9]+ failed$/\1/p' "$log")" \
        "$(sum_of 's/^[0-9]+ passed, ([0-9]+) failed$/\1/p' "$log")" "$status"
}

# Of a compiler that has no baseline nothing is compared: one that was counted.
instructions() {
    header "bench/instructions.sh"
    local log=$work/instructions.log status=0 ok
    logged "$log" env KEEP= bash "$src/bench/instructions.sh" || status=$?
    ok=$(sum_of 's/^([0-9]+) passed, [0-9]+ failed$/\1/p' "$log")
    if [ "$status" -eq 0 ] && grep -q ': nothing to compare with\.$' "$log"; then
        ok=1
    fi
    count instructions "$ok" "$(sum_of 's/^[0-9]+ passed, ([0-9]+) failed$/\1/p' "$log")" "$status"
}

style() {
    local name log=$work/style.log status
    for name in check-format check-cppcheck; do
        header "scripts/$name.sh"
        status=0
        logged "$log" bash "$src/scripts/$name.sh" || status=$?
        count "$name" "$(sum_of 's/^([0-9]+) passed, [0-9]+ failed$/\1/p' "$log")" \
            "$(sum_of 's/^[0-9]+ passed, ([0-9]+) failed$/\1/p' "$log")" "$status"
    done
}

if build; then
    case $only in
        all)
            ! style_tools || style
            unit
            regress
            tap
            demo
            soak
            instructions
            ;;
        *) "$only" "$@" ;;
    esac
fi

printf '\n'
[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[*]}"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
