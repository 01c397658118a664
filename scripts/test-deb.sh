#!/usr/bin/env bash
#
# test-deb.sh - what is installed works, and leaves nothing behind when it goes:
# the Debian package, the Dockerfile and the file for PGXN, each in a clean system
# of this Debian release; and doc/monitoring works with Debian's Prometheus.  The
# last line says how many checks passed and failed.
#
#   scripts/test-deb.sh
#
# Needs Debian 12, a git checkout and, if you aren't root, sudo.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/chroot.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/chroot.sh"

[ "$(id -u)" -eq 0 ] || exec sudo bash "${BASH_SOURCE[0]}" "$@"
ensure_packages "${chroot_packages[@]}" "${build_packages[@]}" git

umask 022
work=$(mktemp -d /tmp/cosid-test-deb.XXXXXX)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
suite=$(running_suite)
root=$work/root
package=postgresql-$pg_major-cosid
passed=0
failed=0

# check WHAT COMMAND...
check() {
    local what=$1
    shift
    if "$@" >"$work/log" 2>&1 </dev/null; then
        passed=$((passed + 1))
        echo "ok - $what"
    else
        failed=$((failed + 1))
        echo "not ok - $what"
        tail -n 40 "$work/log" | sed 's/^/# /'
    fi
}

apt() {
    in_chroot "$root" root apt-get -qq "$@"
}

# files: each file of the system with its mode, owner and sum, but for what apt and
# dpkg write about their own work
files() {
    local skip=(-path ./proc) dir
    for dir in tmp var/cache var/lib/apt var/lib/dpkg var/log; do
        skip+=(-o -path "./$dir")
    done
    (
        cd "$root"
        find . -xdev \( "${skip[@]}" \) -prune -o -printf '%M %u %g %l %p\n' \
            -type f -fprint0 "$work/names"
        xargs -0 sha256sum <"$work/names"
    ) | sort
}

# as_before: the system is what it was when $work/before was written.
as_before() {
    files >"$work/after"
    diff "$work/before" "$work/after"
}

# clean_system: a new $root with the server that cosid is for
clean_system() {
    rm -rf "$root"
    if [ -d "$work/clean" ]; then
        cp -a "$work/clean" "$root"
    else
        make_chroot "$suite" "$root"
        prepare apt install "postgresql-$pg_major"
        cp -a "$root" "$work/clean"
    fi
}

# prepare COMMAND...: what shows only if it fails, and is no check
prepare() {
    "$@" >"$work/log" 2>&1 </dev/null || {
        cat "$work/log" >&2
        die "could not prepare a system"
    }
}

# use SCRIPT COMMAND...: run SCRIPT in the system, as root, with these functions
# and a new server's data.  COMMAND is what starts the server, but for where its
# data is.
cat >"$work/functions.sh" <<'END'
set -euo pipefail
bin=$1
shift
dir=$(mktemp -d)
export PGHOST=$dir PGUSER=postgres PGDATABASE=postgres

as_postgres() {
    setpriv --reuid=postgres --regid=postgres --init-groups "$@"
}

start() {
    as_postgres "$@" -D "$dir/data" -k "$dir" -c listen_addresses= >>"$dir/log" 2>&1 &
    server=$!
    until as_postgres "$bin/pg_isready" -q; do
        kill -0 "$server" || { cat "$dir/log"; exit 1; }
        sleep 0.1
    done
}

stop() {
    as_postgres "$bin/pg_ctl" stop -s -w -m fast -D "$dir/data"
}

sql() {
    as_postgres "$bin/psql" -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

chown postgres: "$dir"
as_postgres "$bin/initdb" -D "$dir/data" -U postgres --auth=trust --no-sync
END

use() {
    in_chroot "$root" root bash -c "$(cat "$work/functions.sh")
$1" use "$pg_system_bin" "${@:2}"
}

# What a server that loads the library does
# shellcheck disable=SC2016  # expands there
mints='start "$@"
sql "CREATE EXTENSION cosid"
test "$(sql "SELECT count(DISTINCT cosid_next(\$\$order\$\$)) FROM generate_series(1, 1000)")" = 1000
test "$(sql "SELECT state FROM cosid_lease")" = held
stop'

# With the package upgraded under it, a server goes on; the next one goes on
# above its IDs.
# shellcheck disable=SC2016
upgrades='start "$@"
sql "CREATE EXTENSION cosid"
first=$(sql "SELECT cosid_next(\$\$order\$\$)")
apt-get -qq install /srv/new.deb
test "$(dpkg-query -W -f "\${Version}" '"$package"')" = 1.0-1+next
second=$(sql "SELECT cosid_next(\$\$order\$\$)")
stop
start "$@"
third=$(sql "SELECT cosid_next(\$\$order\$\$)")
test "$first" -lt "$second"
test "$second" -lt "$third"
apt-get -qq install --reinstall /srv/new.deb
fourth=$(sql "SELECT cosid_next(\$\$order\$\$)")
test "$third" -lt "$fourth"
sql "DROP EXTENSION cosid CASCADE"
stop'

loaded=("$pg_system_bin/postgres" -c shared_preload_libraries=cosid)

# ----------------------------------------------------------------- package

# next_version DEB NEW: the same package, with a higher version
next_version() {
    dpkg-deb -R "$1" "$work/next" &&
        sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control" &&
        dpkg-deb --root-owner-group -b "$work/next" "$2"
}

unknown() {
    ! in_chroot "$root" root dpkg-query -W "$package"
}

changes_no_other_file() {
    files >"$work/installed"
    in_chroot "$root" root dpkg -L "$package" | sort >"$work/owned"
    comm -13 "$work/before" "$work/installed" | sed 's,.* \./,/,' | sort -u >"$work/new"
    [ -s "$work/new" ] && [ -z "$(comm -23 "$work/before" "$work/installed" | tee /dev/stderr)" ] &&
        [ -z "$(comm -23 "$work/new" "$work/owned" | tee /dev/stderr)" ]
}

# debian/tests, as autopkgtest runs them: with what they depend on, as an ordinary
# user
installcheck() {
    local needs
    needs=$(sed -n 's/^Depends: @, *//p' "$source_tree/debian/tests/control" | tr -d ,)
    # shellcheck disable=SC2086  # several packages
    apt install /srv/this.deb $needs &&
        copy_tree "$root/srv/cosid" &&
        in_chroot "$root" root chown -R nobody: /srv/cosid &&
        in_chroot "$root" nobody sh -c 'cd /srv/cosid && debian/tests/installcheck'
}

echo "=== the package"
find "$source_tree" -path "$source_tree/.git" -prune -o -print | sort >"$work/tree"
check "scripts/build-deb.sh builds the package" bash "$source_tree/scripts/build-deb.sh" "$work/deb"
check "and leaves nothing in the source tree" diff "$work/tree" \
    <(find "$source_tree" -path "$source_tree/.git" -prune -o -print | sort)
clean_system
cp "$work/deb/${package}"_*.deb "$root/srv/this.deb"
prepare next_version "$root/srv/this.deb" "$root/srv/new.deb"
files >"$work/before"

check "it is installed" apt install /srv/this.deb
check "and changes no file but its own: no server's configuration" changes_no_other_file
check "a server loads it, and mints" use "$mints" "${loaded[@]}"
check "it is upgraded and reinstalled under a server that mints" use "$upgrades" "${loaded[@]}"
check "it is removed" apt remove "$package"
check "and no file of it is left" as_before
check "it is installed once more" apt install /srv/this.deb
check "it is purged" apt purge "$package"
check "and no file of it is left" as_before
check "and dpkg does not know it any more" unknown
check "with it the regress tests pass" installcheck

# -------------------------------------------------------------- monitoring

# The metrics that postgres_exporter gives of a server with two databases that
# have the extension, and looks into both, are those that the rules are about.
# shellcheck disable=SC2016
exports='monitoring=/srv/cosid/doc/monitoring
start "$@"
sql "CREATE DATABASE shop"
sql "CREATE ROLE exporter LOGIN IN ROLE pg_monitor"
sql "CREATE EXTENSION cosid"
PGDATABASE=shop sql "CREATE EXTENSION cosid"
sql "SELECT cosid_next(\$\$order\$\$)"
export DATA_SOURCE_NAME="host=$dir user=exporter dbname=postgres sslmode=disable"
prometheus-postgres-exporter --web.listen-address=127.0.0.1:0 --auto-discover-databases \
    --extend.query-path=$monitoring/queries.yaml >"$dir/exporter" 2>&1 &
address() {
    sed -n "s/.*\"Listening on\" address=127.0.0.1:\([0-9]*\).*/\1/p" "$dir/exporter"
}
until [ "$(address)" ]; do
    kill -0 "$!" || { cat "$dir/exporter"; exit 1; }
    sleep 0.1
done
exec 3<>"/dev/tcp/127.0.0.1/$(address)"
printf "GET /metrics HTTP/1.0\r\n\r\n" >&3
cat <&3 >"$dir/metrics"
grep -v "^#" "$dir/metrics"
grep -q "^cosid_lease_held{.*} 1\$" "$dir/metrics"
grep -o "cosid_[a-z_]*" $monitoring/alerts.yaml | grep -E "^cosid_(lease|stat)_" | sort -u >"$dir/used"
test -s "$dir/used"
while read -r metric; do
    grep -q "^$metric{" "$dir/metrics"
done <"$dir/used"
stop'

echo "=== doc/monitoring"
clean_system
cp "$work/deb/${package}"_*.deb "$root/srv/this.deb"
prepare apt install /srv/this.deb prometheus prometheus-postgres-exporter
copy_tree "$root/srv/cosid"
check "promtool finds no fault with alerts.yaml" in_chroot "$root" root \
    promtool check rules /srv/cosid/doc/monitoring/alerts.yaml
check "its rules fire when they should, and only then" in_chroot "$root" root \
    promtool test rules /srv/cosid/test/monitoring/alerts.yaml
check "postgres_exporter gives all metrics that they use" use "$exports" "${loaded[@]}"

# -------------------------------------------------------------- Dockerfile

# The words of the Dockerfile, without Docker: what it runs is run, what it copies
# is copied, and what it starts is started.
field() {
    sed -n "s/^$1 //p" "$source_tree/Dockerfile"
}

packages() {
    in_chroot "$root" root dpkg-query -W
}

echo "=== the Dockerfile"
clean_system
packages >"$work/packages"
copy_tree "$root$(field 'COPY \.')"
check "the build stage builds" in_chroot "$root" root sh -c "$(field RUN)"
check "and purges what it has installed" diff "$work/packages" <(packages)
prepare mv "$root/out" "$work/"
clean_system
prepare cp -a "$work/out/." "$root/"
mapfile -t command < <(field CMD | tr -d '[]",' | tr ' ' '\n')
command[0]=$pg_system_bin/${command[0]} # the image has it in PATH
check "the image's command mints" use "$mints" "${command[@]}"

# -------------------------------------------------------------------- PGXN

# To install, the client needs a Makefile only; then it creates what META.json says
# is provided.
# shellcheck disable=SC2016
describes='start "$@"
as_postgres pgxn load --yes --pg_config "$bin/pg_config" /srv/cosid.zip
test "$(sql "SELECT cosid_next()")" -gt 0
stop'

echo "=== PGXN's file"
clean_system
prepare apt install pgxnclient make gcc libc6-dev libpq-dev "postgresql-server-dev-$pg_major"
# Git is told that the checkout may be another user's.
check "make dist makes it" env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory \
    GIT_CONFIG_VALUE_0='*' make -s -C "$source_tree" dist DISTDIR="$work"
version=$(sed -n 's/^    "version": "\(.*\)",$/\1/p' "$source_tree/META.json")
check "under the name that PGXN wants" cp "$work/cosid-$version.zip" "$root/srv/cosid.zip"
check "pgxn installs it" in_chroot "$root" root \
    pgxn install --yes --pg_config "$pg_system_bin/pg_config" /srv/cosid.zip
check "pgxn creates what META.json describes, and it mints" use "$describes" "${loaded[@]}"

printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
