#!/usr/bin/env bash
#
# check-format.sh - is the C code shaped as PostgreSQL's is?
#
#   scripts/check-format.sh [--fix] [FILE...]
#
# Shows what it would change, or with --fix changes it.  Without FILE: all C
# files; of the others, only the ends of their lines.  The last line says how
# many files are right and how many are not.
#
# Needs Debian 12 and, if packages are missing, root or sudo.
#
# The shape is pgindent's, which is a script around pg_bsd_indent.  Debian has
# the latter, not the former, so what that does for it is done here:
#
# - It has to know which names are types, or "a * b" might be either.  They are
#   taken from what the compiler says of our files (its debug information), so
#   there is no list to keep.  One is left out: "text" is a variable here as
#   often as a type.
# - It can't read compound literals, "(Type) {...}".  Those of one line are shown
#   to it as calls.
# - Debian's version (2.1.1) puts the rest of an initializer, if that begins on a
#   line of its own, under the declaration; later ones indent it, and so do we.
#
# Other than pgindent, it does not fill block comments anew.  They end by column
# 85, which is checked; comments beside code are wrapped there as well.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

fix=
if [ "${1:-}" = --fix ]; then
    fix=yes
    shift
fi
case ${1:-} in
    -*) die "usage: scripts/check-format.sh [--fix] [FILE...]" ;;
esac

ensure_packages "${build_packages[@]}" "${style_packages[@]}"
files=()
for file; do
    files+=("$(realpath -- "$file")")
done
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
[ ${#files[@]} -gt 0 ] || files=(bench/*.c src/*.[ch] src/*/*.[ch] test/*/*.c
    .editorconfig Makefile ./*.md ./*.sql ./*.control bench/*.{mk,sh,sql} doc/*.md scripts/*
    spec/*.* src/*.md src/*/*.md sql/*.sql t/*.p[lm] test/*/*.mk)

tmp=$(mktemp -d /tmp/cosid-format.XXXXXX)
trap 'rm -rf "$tmp"' EXIT

# types: every name of a type that our files know
types() {
    local file flags
    for file in bench/*.c src/*.c src/*/*.c test/*/*.c; do
        flags=(-DCOSID_STANDALONE -std=gnu11 -Isrc)
        if grep -q '^#include "postgres.h"' "$file"; then
            flags=(-DCOSID_VERSION="\"\"" -Isrc -I"$("$pg_system_bin/pg_config" --includedir-server)")
        fi
        gcc -g -O0 -w "${flags[@]}" -I"$("$pg_system_bin/pg_config" --includedir)" \
            -c -o "$tmp/${file//\//-}.o" "$file"
    done
    objdump --dwarf=info "$tmp"/*.o |
        awk '/Abbrev Number/ { type = /\(DW_TAG_typedef\)/ } type && /DW_AT_name/ { print $NF }'
    # Those that no file uses are not in the debug information.
    sed -nE 's/^typedef (struct|enum|union) (\w+)$/\2/p' src/*.[ch] src/*/*.[ch] test/*/*.c
}

types | sort -u | grep -vx text >"$tmp/types"

# formatted FILE
formatted() {
    sed -E 's/\((struct )?(\w+)\) \{([^{}]*)\}/literal_of_\1\2(\3)/g; s/literal_of_struct /literal_of_struct_/' "$1" |
        pg_bsd_indent -bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 -nfc1 -nfcb -i4 \
            -l82 -lp -lpl -nip -npro -sac -tpg -ts4 -U"$tmp/types" |
        awk '
            function code(line) { sub(/[ \t]*\/\*.*\*\/$/, "", line); return line }
            function tabs(line) { match(line, /^\t*/); return RLENGTH }
            begun && tabs($0) == tabs(last) && $0 !~ /^\t*\{/ { shift = 1 }
            {
                last = $0
                begun = code($0) ~ /^\t+[A-Za-z_][A-Za-z_0-9 \t*]*=( |$)/ && code($0) !~ /[;{},\\]$/
            }
            shift && $0 != "" { $0 = "\t" $0; begun = 0 }
            code($0) ~ /;$/ { shift = 0 }
            { print }' |
        sed -E '
            s/literal_of_(struct_)?(\w+)\(([^()]*(\([^()]*\)[^()]*)*)\)/(\1\2) {\3}/g; s/\(struct_(\w+)\) \{/(struct \1) {/g
            s/^([A-Za-z_]\S*)\s+\*$/\1 */
            s/\btext \* (\w)/text *\1/g'
}

good=0
bad=0

# right FILE: compare it with what it is to be, $tmp/new.
right() {
    local ok=yes
    if ! diff -u --label "$1" --label "$1, formatted" "$1" "$tmp/new" >"$tmp/diff"; then
        if [ "$fix" ]; then
            cat "$tmp/new" >"$1"
            echo "changed $1"
        else
            cat "$tmp/diff"
            ok=
        fi
    fi
    # This one is for people: how to say it shorter no program knows.
    if [[ $1 = *.[ch] ]] && expand -t 4 "$1" | grep -nE '^ *(/\*| \* ).{83}' >"$tmp/long"; then
        sed "s|^|comment past column 85: $1:|" "$tmp/long"
        ok=
    fi
    if [ "$ok" ]; then
        good=$((good + 1))
    else
        bad=$((bad + 1))
    fi
}

for file in "${files[@]}"; do
    case $file in
        *.[ch]) formatted "$file" ;;
        *) awk '{ sub(/[ \t\r]+$/, ""); print }' "$file" ;;
    esac >"$tmp/new"
    right "$file"
done

echo "$good passed, $bad failed"
[ "$bad" -eq 0 ]
