#!/usr/bin/env bash
#
# test-versions.sh - run every test on each PostgreSQL that cosid is for.  The
# last line says how many passed and failed.
#
#   scripts/test-versions.sh [15 | 16 | 17 | 18]...
#
# Each is that of a Debian release, in a clean system of that release which has
# nothing but what scripts/test.sh installs there.  It is kept for a week, as
# installing takes a while: see scripts/chroot.sh.  No release has 16; if apt has
# its headers from elsewhere, cosid is built with them.  JOBS=n and
# KEEP=1 as for scripts/test.sh.
#
# Needs Debian and root.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/chroot.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/chroot.sh"

[ $# -gt 0 ] || set -- 15 16 17 18
for major; do
    case $major in
        15 | 16 | 17 | 18) ;;
        *) die "usage: scripts/test-versions.sh [15 | 16 | 17 | 18]..." ;;
    esac
done

work=$(mktemp -d /tmp/cosid-versions.XXXXXX)
clean_at_exit
passed=0
failed=0
summary=()

# count MAJOR PASSED FAILED
count() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    summary+=("PostgreSQL $1: $2 passed, $3 failed")
}

# suite MAJOR: all of scripts/test.sh, in a system of the release that has MAJOR.
suite() {
    local major=$1 root=$chroot_cache/postgresql-$1 log=$work/$1.log lock result
    local setting name env=()
    mkdir -p "$chroot_cache"
    # Two of us at once take turns: there is one system for each version.
    exec {lock}>"$root.lock"
    flock "$lock"
    if [ -z "$(find "$root" -maxdepth 0 -mtime -7 2>/dev/null)" ]; then
        rm -rf "$root" "$root.new"
        make_chroot "${debian_of[major]}" "$root.new"
        mv "$root.new" "$root"
    fi
    # Also what a run that was killed has left
    rm -rf "$root/srv/cosid" "$root/tmp/cosid"-*
    copy_tree "$root/srv/cosid"

    # Its npm finds the registry as ours does.
    sandbox_env=()
    keep_npm_config
    for setting in "${sandbox_env[@]}"; do
        name=${setting%%=*}
        case $name in
            NODE_EXTRA_CA_CERTS | npm_config_cafile)
                install -m 644 "${setting#*=}" "$root/srv/$name"
                setting=$name=/srv/$name
                ;;
        esac
        env+=("$setting")
    done
    logged "$log" in_chroot "$root" root env "${env[@]}" PG_MAJOR="$major" KEEP="${KEEP:-}" \
        JOBS="${JOBS:-}" /srv/cosid/scripts/test.sh || true
    exec {lock}>&-

    # Without its last line it has not come to its end.
    result=$(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log")
    # shellcheck disable=SC2086  # two numbers
    count "$major" ${result:-0 1}
}

# compile MAJOR: build it, if its headers can be had.
compile() {
    local major=$1 config=/usr/lib/postgresql/$1/bin/pg_config status=0
    if [ -z "$(apt-cache show --no-all-versions "postgresql-server-dev-$major" 2>/dev/null)" ]; then
        summary+=("PostgreSQL $major: no headers to be had")
        return
    fi
    ensure_packages "postgresql-server-dev-$major" libpq-dev gcc libc6-dev make
    copy_tree "$work/$major"
    make -s -C "$work/$major" with_llvm=no PG_CONFIG="$config" \
        COPT="-isystem $("$config" --includedir-server) -Wall -Wextra -Werror" || status=1
    count "$major" $((1 - status)) "$status"
}

ensure_packages "${chroot_packages[@]}"
for major; do
    printf '\n##### PostgreSQL %s\n' "$major"
    if [ -n "${debian_of[major]:-}" ]; then
        suite "$major"
    else
        compile "$major"
    fi
done

printf '\n'
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
