#!/usr/bin/env bash
#
# test-long.sh - the tests that take longer than anyone waits for before a
# commit.  At the end each has a line; the last line says how many passed and
# failed.
#
#   scripts/test-long.sh                   everything
#   scripts/test-long.sh fuzz              10,000,000 texts that may be IDs
#   scripts/test-long.sh address           unit tests with AddressSanitizer
#   scripts/test-long.sh undefined         regress and TAP tests of a build with
#                                          UndefinedBehaviorSanitizer
#   scripts/test-long.sh valgrind          regress tests under valgrind
#   scripts/test-long.sh model             the model of the lease protocol
#   scripts/test-long.sh soak              random faults for 30 minutes
#   scripts/test-long.sh deb               scripts/test-deb.sh: what is installed
#
# (ThreadSanitizer is part of scripts/test.sh.)
#
# KEEP=1 keeps the temporary directory.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

clang_major=14 # Debian 12's
fuzz_runs=10000000

header() {
    printf '\n=== %s\n\n' "$1"
}

if [ "${1:-}" != --in-sandbox ]; then
    case ${1:-all} in
        all | fuzz | address | undefined | valgrind | model | soak | deb) ;;
        *) die "usage: scripts/test-long.sh [fuzz | address | undefined | valgrind | model | soak | deb]" ;;
    esac
    ensure_packages "${build_packages[@]}" "clang-$clang_major" "libclang-rt-$clang_major-dev" \
        libcmocka-dev perl libipc-run-perl openssl spin valgrind
    ensure_node
    keep_npm_config
    case ${1:-all} in
        # A chroot takes root, which is gone in the sandbox: there it's counted.
        all | deb)
            header "the Debian package, the Dockerfile and the file for PGXN in clean systems"
            status=0
            bash "$source_tree/scripts/test-deb.sh" || status=$?
            sandbox_env+=("DEB_STATUS=$status" "DEB_SECONDS=$SECONDS")
            ;;
    esac
    enter_sandbox test-long "$@"
fi
in_sandbox "$2"
shift 2
only=${1:-all}

passed=0
failed=0
results=()

# count GROUP STATUS [DETAIL]: its line, which also stands at the end
count() {
    local result=passed
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        result=failed
    fi
    results+=("$1: $result${3:+ ($3)}, $((SECONDS - began)) s")
    echo "--- ${results[-1]}"
    began=$SECONDS
}
began=$SECONDS

# From the kept corpus on, with the same seed each time.  libFuzzer shows an
# input that fails as Base64: with two bytes of choices before it, it is a file
# for test/fuzz/corpus, once the bug is mended.
fuzz() {
    header "fuzz: $fuzz_runs texts under AddressSanitizer and UndefinedBehaviorSanitizer"
    local dir=$work/fuzz log=$work/fuzz/log status=0 calm=() sources=()
    mkdir -p "$dir/corpus"
    sources=(src/id/*.c)
    run "clang-$clang_major" -std=c11 -O1 -g -Wall -Wextra -Werror -DCOSID_STANDALONE -Isrc \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -o "$dir/fuzz_text" test/fuzz/fuzz_text.c "${sources[@]}" || status=$?
    if [ "$status" -eq 0 ]; then
        # With addresses at random, sanitizers of this age may not start.
        ! setarch "$(uname -m)" -R true 2>/dev/null || calm=(setarch "$(uname -m)" -R)
        run "${calm[@]}" "$dir/fuzz_text" -runs="$fuzz_runs" -seed=1 -max_len=512 -verbosity=0 \
            -print_final_stats=1 -artifact_prefix="$dir/" "$dir/corpus" test/fuzz/corpus \
            >"$log" 2>&1 || status=$?
        tail -n 60 "$log"
        grep -q "^stat::number_of_executed_units: *$fuzz_runs\$" "$log" || status=1
    fi
    count fuzz "$status" "$fuzz_runs texts"
}

# Each unit test once more, where a byte too far is seen.
address() {
    header "unit tests under AddressSanitizer and UndefinedBehaviorSanitizer"
    local status=0
    run "${pgxs[@]}" check-unit TSAN=no \
        UNIT_SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all" || status=$?
    count address "$status"
}

# A finding ends the server, and so the test that met it.
undefined() {
    header "a build with UndefinedBehaviorSanitizer"
    local part status
    for part in regress tap; do
        status=0
        logged "$work/undefined.log" env KEEP= SANITIZE=undefined bash "$src/scripts/test.sh" "$part" || status=$?
        count "undefined, $part" "$status" "$(tail -n 1 "$work/undefined.log")"
    done
}

# valgrind_findings LOG...: what valgrind saw within cosid or in what it called
# directly.  The server was not built for valgrind: the rest is its own.
valgrind_findings() {
    perl -ne 's/^==\d+== ?//;
        if (/^\S/) { show(); @block = ($_) } elsif (/^ +(at|by) /) { push @block, $_ }
        sub show {
            my @frames = grep { !/vg_replace|libc/ } @block[1 .. $#block];
            print @block, "\n" if grep { defined && /\((\w+\.[ch]):\d+\)/
            && grep { -e } "src/$1", glob("src/*/$1") } @frames[0, 1];
        }
        END { show() }' "$@"
}

# Only the server runs under valgrind, in place of the program of its name.
# Quiet tables wait for thousands of ticks, which it makes too long.
valgrind() {
    header "regress tests under valgrind"
    local status=0 names=() name logs=$work/valgrind
    mkdir -p "$logs"
    private_install "$prefix"
    run "${pgxs[@]}" -j "$(nproc)" all install DESTDIR="$prefix" || status=$?
    mv "$bin/postgres" "$bin/postgres.real"
    printf '#!/bin/sh\nexec /usr/bin/valgrind --quiet --trace-children=yes --log-file=%s %s "$@"\n' \
        "$logs/%p.log" "$bin/postgres.real" >"$bin/postgres"
    chmod 755 "$bin/postgres"
    for name in sql/*.sql; do
        name=$(basename "$name" .sql)
        [[ " not_preloaded quiet " == *" $name "* ]] || names+=("$name")
    done
    export PGCTLTIMEOUT=300
    if [ "$status" -eq 0 ] && start_server valgrind-server \
        "shared_preload_libraries = 'cosid'" "fsync = off" "max_prepared_transactions = 5"; then
        run "$("$pg_system_bin/pg_config" --pkglibdir)/pgxs/src/test/regress/pg_regress" \
            --bindir="$bin" --inputdir="$src" --outputdir="$work/valgrind-server" \
            --host="$work/valgrind-server" --user=postgres --dbname=contrib_regression \
            "${names[@]}" || cat "$work/valgrind-server/regression.diffs"
        stop_server valgrind-server || status=$?
        valgrind_findings "$logs"/*.log >"$work/valgrind.findings"
        cat "$work/valgrind.findings"
        [ ! -s "$work/valgrind.findings" ] || status=1
    else
        status=1
    fi
    count valgrind "$status" "$(find "$logs" -name '*.log' | wc -l) processes"
}

model() {
    header "the model"
    local status=0
    run "${pgxs[@]}" model || status=$?
    count model "$status"
}

soak() {
    header "soak: 30 minutes of random faults"
    local status=0
    run env KEEP= bash "$src/scripts/soak.sh" 30 || status=$?
    count soak "$status"
}

deb() {
    began=$((SECONDS - DEB_SECONDS))
    count deb "$DEB_STATUS"
}

case $only in
    all)
        fuzz
        address
        undefined
        valgrind
        model
        soak
        deb
        ;;
    *) "$only" ;;
esac

printf '\n=== in one line each\n\n'
printf '%s\n' "${results[@]}"
printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
