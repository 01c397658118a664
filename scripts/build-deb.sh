#!/usr/bin/env bash
#
# build-deb.sh - build the Debian package postgresql-NN-cosid, for the PostgreSQL
# of this system's release.
#
#   scripts/build-deb.sh [DIR]
#
# The packages go to DIR, or to a new temporary directory; the names of the files
# are the output.  The checkout gets none of it.
#
# Needs Debian and, if packages are missing, root or sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ $# -le 1 ] || die "usage: scripts/build-deb.sh [DIR]"
[[ ${1:-} != -* ]] || die "usage: scripts/build-deb.sh [DIR]"
ensure_packages build-essential debhelper libpq-dev postgresql-server-dev-all >&2

umask 022
if [ $# -eq 1 ]; then
    mkdir -p "$1"
    out=$(cd "$1" >/dev/null && pwd -P)
else
    out=$(mktemp -d /tmp/cosid-deb.XXXXXX)
fi
build=$(mktemp -d /tmp/cosid-build-deb.XXXXXX)
trap 'rm -rf "$build"' EXIT
copy_tree "$build/cosid"
cd "$build/cosid"

# "env -i" as in lib.sh.  debian/control is made here: it has a package for each
# PostgreSQL of this release.
clean=(env -i PATH="$sandbox_path" HOME="$build" LC_ALL=C.UTF-8)
if ! {
    "${clean[@]}" pg_buildext updatecontrol &&
        "${clean[@]}" dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes
} >"$build/log" 2>&1 </dev/null; then
    cat "$build/log" >&2
    die "could not build the package"
fi
for deb in "$build"/*.deb; do
    mv "$deb" "$out/"
    echo "$out/$(basename "$deb")"
done
