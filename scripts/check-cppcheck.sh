#!/usr/bin/env bash
#
# check-cppcheck.sh - let cppcheck look for mistakes in the C code, as the oldest
# and as the newest PostgreSQL compile it.
#
#   scripts/check-cppcheck.sh
#
# scripts/cppcheck.txt lists what it says that is not so.  The last line says
# for how many of the two it found nothing.
#
# Needs Debian 12 and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

ensure_packages "${style_packages[@]}"
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

good=0
bad=0
for version in 150000 180000; do
    if cppcheck --quiet --error-exitcode=1 \
        --enable=warning,performance,portability,information \
        --suppressions-list=scripts/cppcheck.txt -j "$(nproc)" \
        --include=scripts/cppcheck.h -Isrc -DCOSID_VERSION="\"\"" -DPG_VERSION_NUM="$version" \
        bench src test; then
        good=$((good + 1))
    else
        echo "as PostgreSQL $((version / 10000)) compiles it"
        bad=$((bad + 1))
    fi
done

echo "$good passed, $bad failed"
[ "$bad" -eq 0 ]
