#!/usr/bin/env bash
#
# test-long.sh - the tests that take longer than anyone waits for before a
# commit.  The last line says how many passed and failed.
#
#   scripts/test-long.sh                   everything
#   scripts/test-long.sh fuzz              10,000,000 texts that may be IDs
#
# KEEP=1 keeps the temporary directory.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

clang_major=14 # Debian 12's
fuzz_runs=10000000

if [ "${1:-}" != --in-sandbox ]; then
    case ${1:-all} in
        all | fuzz) ;;
        *) die "usage: scripts/test-long.sh [fuzz]" ;;
    esac
    ensure_packages "${build_packages[@]}" "clang-$clang_major" "libclang-rt-$clang_major-dev"
    enter_sandbox test-long "$@"
fi
in_sandbox "$2"
shift 2
only=${1:-all}

passed=0
failed=0

# count GROUP STATUS
count() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "--- $1: passed"
    else
        failed=$((failed + 1))
        echo "--- $1: failed"
    fi
}

header() {
    printf '\n=== %s\n\n' "$1"
}

# From the kept corpus on, with the same seed each time.  libFuzzer shows an
# input that fails as Base64: with two bytes of choices before it, it is a file
# for test/fuzz/corpus, once the bug is mended.
fuzz() {
    header "fuzz: $fuzz_runs texts under AddressSanitizer and UndefinedBehaviorSanitizer"
    local dir=$work/fuzz log=$work/fuzz/log status=0 calm=() sources=()
    mkdir -p "$dir/corpus"
    sources=(src/converter.c src/friendly.c src/radix.c src/snowflake.c)
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
    count fuzz "$status"
}

case $only in
    all) fuzz ;;
    *) "$only" ;;
esac

printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
