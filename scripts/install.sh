#!/usr/bin/env bash
#
# install.sh - build cosid for the PostgreSQL that pg_config finds, and install
# it there: for systems that are to have no compiler, such as an image.
#
#   scripts/install.sh
#
# Debian packages that the build needs are installed, and all that this brought is
# purged again; packages that were there before stay.  With DESTDIR=DIR cosid
# goes below DIR.  The source tree gets the build output: it's one to be thrown
# away.
#
# Needs Debian's or the PostgreSQL project's packages of the server, and root.

set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
pg_config=${PG_CONFIG:-pg_config}
major=$("$pg_config" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -qq)

packages() {
    dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p' | sort
}

before=$(packages)
apt-get update -qq
"${apt[@]}" install --no-install-recommends gcc libc6-dev libpq-dev make \
    "postgresql-server-dev-$major"

# Bitcode would take clang, which not every package of the headers brings along.
make -s -j "$(nproc)" PG_CONFIG="$pg_config" with_llvm=no
make -s install PG_CONFIG="$pg_config" with_llvm=no DESTDIR="${DESTDIR:-}"

mapfile -t added < <(comm -13 <(echo "$before") <(packages))
[ ${#added[@]} -eq 0 ] || "${apt[@]}" purge "${added[@]}"
rm -rf /var/lib/apt/lists/*
