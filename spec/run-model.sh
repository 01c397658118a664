#!/bin/sh
#
# run-model.sh - check spec/lease.pml: every configuration without an error and
# to the end, and every mutant caught.  The last line says how many passed and
# failed.
#
#   spec/run-model.sh [BUILD-DIRECTORY]     default: spec/build
#
# Needs spin and gcc, and up to MEMORY MB (default 4000).  Installs nothing.
# Of what is below the build directory, only its own subdirectories are written.

set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
build=${1:-$here/build}
memory=${MEMORY:-4000}
depth=100000

# pan's assertions: the two of lease.pml, and no other way to fail a mutant.
caught='assertion violated .*(issued|latest)'

for tool in spin gcc; do
    command -v "$tool" >/dev/null || {
        echo "run-model.sh: $tool is missing (Debian: apt-get install $tool)" >&2
        exit 1
    }
done

mkdir -p "$build"
build=$(cd -- "$build" && pwd)
passed=0
failed=0

# number PATTERN: the number before it in the verifier's output
number() {
    awk -v pattern="$1" '$0 ~ pattern && !n { n = $1 } END { printf "%.0f", n }' "$build/$name/out"
}

report() { # RESULT
    printf '%-28s %10s states %4ss %5s MB  %s\n' "$name" "$(number 'states, stored')" \
        "$(awk '/^pan: elapsed time/ { printf "%.0f", $4 }' "$build/$name/out")" \
        "$(number 'total actual memory usage')" "$1"
}

pass() {
    passed=$((passed + 1))
    report "$1"
}

fail() {
    failed=$((failed + 1))
    report "FAILED: $1 (see $build/$name/out)"
}

# verify NAME MACRO...: every state there is, stored in full: no bitstate, no
# hash-compact, no reduction.  -E: an end where nobody can go on is no error.
verify() {
    name=$1
    shift
    mkdir -p "$build/$name"
    (
        cd "$build/$name"
        rm -f pan lease.pml.trail
        # shellcheck disable=SC2046  # a word for each macro
        spin $(printf ' -D%s' "$@") -a "$here/lease.pml" &&
            gcc -O2 -w -DSAFETY -DNOREDUCE -DMEMLIM="$memory" -o pan pan.c &&
            ./pan -E -n -m"$depth"
    ) >"$build/$name/out" 2>&1 || true
}

configuration() {
    verify "$@"
    if grep -Eqi 'not completed|search depth too small|out of memory|reached -DMEMLIM' "$build/$name/out"; then
        fail "search not completed"
    elif ! grep -aq 'State-vector .*, depth reached .*, errors: 0' "$build/$name/out"; then
        fail "an error, or no run"
    else
        pass "holds"
    fi
}

mutant() {
    verify "$@"
    if grep -Eaq "$caught" "$build/$name/out"; then
        pass "caught"
    else
        fail "not caught"
    fi
}

# Two servers; T and CLAIMS as far as they go.
configuration servers T=3 CLAIMS=3
configuration servers-longer T=4 CLAIMS=2
# A row that is given back keeps its instance.
configuration stable STABLE T=3 CLAIMS=2
# Two backends race for one cursor.
configuration backends SERVERS=1 BACKENDS=2 T=3 CLAIMS=3
configuration servers-backends BACKENDS=2 T=2 CLAIMS=2
configuration sequences SERVERS=1 BACKENDS=2 SEQUENCES=2 T=2 CLAIMS=2
# A generator in milliseconds beside one in seconds (of 2 ms).
configuration seconds SERVERS=1 BACKENDS=2 UNITS=2 T=4 CLAIMS=2
# Two machine ids: a clock jump may be given up.
configuration reclaim SERVERS=1 MACHINES=2 T=3 CLAIMS=3
configuration reclaim-servers MACHINES=2 T=2 CLAIMS=2

for bug in NO_SECOND_LOOK NO_FLOOR NO_TOKEN BUG_LIMIT_BEFORE_COMMIT \
    BUG_UNKNOWN_IS_COMMITTED BUG_EXTENSION_LOWERS BUG_FLOOR_BEFORE_LOCK \
    BUG_RESUME_CLOSED; do
    mutant "$bug" "$bug" T=3 CLAIMS=2
done
mutant BUG_CHANGE_WHILE_EVEN BUG_CHANGE_WHILE_EVEN T=3 CLAIMS=3
mutant BUG_CLOSE_WITHOUT_FLOOR BUG_CLOSE_WITHOUT_FLOOR SERVERS=1 T=3 CLAIMS=3
mutant BUG_CURSORS_BEFORE_CLOSING BUG_CURSORS_BEFORE_CLOSING SERVERS=1 T=3 CLAIMS=2
mutant NO_COMPARE NO_COMPARE SERVERS=1 BACKENDS=2 T=2 CLAIMS=1
mutant BUG_SECOND_BY_ITS_LAST_MS BUG_SECOND_BY_ITS_LAST_MS \
    SERVERS=1 BACKENDS=2 UNITS=2 T=4 CLAIMS=2
mutant BUG_LOWER_WHILE_HELD BUG_LOWER_WHILE_HELD SERVERS=1 MACHINES=2 T=2 CLAIMS=3
mutant BUG_LOWER_WHILE_EVEN BUG_LOWER_WHILE_EVEN SERVERS=1 MACHINES=2 T=2 CLAIMS=3

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
