# shellcheck shell=bash
# shellcheck disable=SC2034  # variables that the scripts use
#
# lib.sh - what the scripts here share: packages, a private PostgreSQL, and
# leaving nothing behind.
#
# A script runs twice.  First as the caller, where it may be root: install what
# is missing, copy the source tree to a temporary directory, start over from
# that copy (enter_sandbox).  The second time it is an ordinary user with a
# clean environment (in_sandbox); everything it starts and writes is below
# $work, and leave_sandbox ends and deletes that.  So the checkout gets no build
# output, a PostgreSQL that already runs isn't touched, and two runs don't meet.

die() {
    echo "$(basename -- "$0"): $*" >&2
    exit 1
}

# Debian's releases by the PostgreSQL that they have
debian_of=([15]=bookworm [17]=trixie [18]=forky)

# running_suite: this system's Debian release, as mirrors call it
running_suite() {
    # shellcheck source=/dev/null
    (. /etc/os-release && echo "${VERSION_CODENAME:-}")
}

# find_pg_major: the PostgreSQL to build for and to run.  PG_MAJOR says which;
# else it's the highest that is installed, else the one to install.
find_pg_major() {
    local major suite
    suite=$(running_suite)
    for major in ${PG_MAJOR:-} \
        $(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | cut -d / -f 5 | sort -rn); do
        echo "$major"
        return
    done
    for major in "${!debian_of[@]}"; do
        [ "${debian_of[major]}" != "$suite" ] || echo "$major"
    done
}

pg_major=$(find_pg_major)
[ -n "$pg_major" ] || die "which PostgreSQL?  Say so: PG_MAJOR=15"
pg_system_bin=/usr/lib/postgresql/$pg_major/bin

build_packages=("postgresql-$pg_major" "postgresql-server-dev-$pg_major" libpq-dev gcc
    libc6-dev make)

style_packages=(binutils cppcheck libcmocka-dev pg-bsd-indent)

# The second run's PATH, and NAME=VALUE pairs more that it is to have.
sandbox_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
sandbox_env=()

# ---------------------------------------------------------------- packages

# ensure_packages PACKAGE...: install those that dpkg doesn't have.  With all of
# them there, neither apt nor root is needed.
ensure_packages() {
    local package missing=() as_root=()
    command -v apt-get >/dev/null || die "needs Debian (no apt-get here)"
    for package; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0

    if [ "$(id -u)" -ne 0 ]; then
        sudo true || die "missing, and you are neither root nor allowed to sudo: ${missing[*]}"
        as_root=(sudo)
    fi
    echo "Installing ${missing[*]} ..."

    local tmp
    tmp=$(mktemp -d /tmp/cosid-apt.XXXXXX)
    # Installing Debian's server package also creates a cluster and starts it on
    # port 5432.  Nobody asked us for that one: let the package find a
    # pg_createcluster that does nothing.
    printf '#!/bin/sh\nexit 0\n' >"$tmp/pg_createcluster"
    chmod 755 "$tmp" "$tmp/pg_createcluster"
    # flock: two of us at once wait for each other instead of failing.
    if ! {
        flock -o /var/lib/dpkg "${as_root[@]}" apt-get update &&
            flock -o /var/lib/dpkg "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
                -o DPkg::Path="$tmp:/usr/sbin:/usr/bin:/sbin:/bin" "${missing[@]}"
    } >"$tmp/log" 2>&1 </dev/null; then
        cat "$tmp/log" >&2
        rm -rf "$tmp"
        die "could not install ${missing[*]}"
    fi
    rm -rf "$tmp"
}

# ensure_node: Node.js and npm, from packages unless they are there from
# elsewhere.  One after the other: some nodejs packages bring npm, and conflict
# with the one of its own.
ensure_node() {
    local PATH=$sandbox_path
    hash -r
    command -v node >/dev/null || ensure_packages nodejs
    command -v npm >/dev/null || ensure_packages npm
}

# keep_npm_config: let the second run's npm find the registry as the caller's
# does, whose configuration it doesn't see: HOME is another one there.
keep_npm_config() {
    local name value
    for name in registry cafile proxy https-proxy noproxy; do
        value=$(PATH=$sandbox_path npm config get "$name" 2>/dev/null) || continue
        case $value in
            '' | null | undefined) ;;
            *) sandbox_env+=("npm_config_${name//-/_}=$value") ;;
        esac
    done
    if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
        sandbox_env+=("NODE_EXTRA_CA_CERTS=$NODE_EXTRA_CA_CERTS")
    fi
}

# -------------------------------------------------------------------- tree

source_tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." >/dev/null && pwd -P)

# copy_tree DIR: the source tree, without git's files and without what is built,
# to DIR, which is made.  Everyone may read it.
copy_tree() {
    mkdir -p "$1"
    tar -C "$source_tree" --exclude=.git --exclude-vcs-ignores -cf - . |
        tar -C "$1" --no-same-owner -xf -
    chmod -R a+rX "$1"
}

# ----------------------------------------------------------------- sandbox

# enter_sandbox NAME [ARGUMENT...]: copy the source tree to a temporary
# directory named after NAME, and run the copy of the running script in place of
# this process, as the user postgres if we are root (PostgreSQL refuses to run as
# root).
enter_sandbox() {
    local name=$1 script dir command=()
    shift
    script=$(cd -- "$(dirname -- "$0")" >/dev/null && pwd -P)/$(basename -- "$0")

    # In /tmp whatever TMPDIR says: the user postgres must reach it, and the
    # path of a unix socket has at most 107 bytes.
    umask 022
    dir=$(mktemp -d "/tmp/cosid-$name.XXXXXX")
    # shellcheck disable=SC2064  # now: $dir is local
    trap "rm -rf '$dir'" EXIT
    mkdir "$dir/tmp"
    copy_tree "$dir/src"

    if [ "$(id -u)" -eq 0 ]; then
        chown -R postgres:postgres "$dir"
        # Unlike su and runuser it leaves no process in between that would have
        # to pass signals on.
        command=(setpriv --reuid=postgres --regid=postgres --init-groups)
    fi
    cd "$dir" || exit
    # "env -i": no PGHOST, PGOPTIONS, CFLAGS, PERL5LIB or locale of the caller.
    exec "${command[@]}" env -i \
        PATH="$sandbox_path" \
        HOME="$dir" TMPDIR="$dir/tmp" LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
        PG_MAJOR="$pg_major" KEEP="${KEEP:-}" JOBS="${JOBS:-}" SANITIZE="${SANITIZE:-}" "${sandbox_env[@]}" \
        bash "$dir/src/${script#"$source_tree/"}" --in-sandbox "$dir" "$@"
}

# in_sandbox DIR: the beginning of the second run.
in_sandbox() {
    work=$1
    src=$work/src
    prefix=$work/pg
    bin=$prefix$pg_system_bin
    # For the system's headers, which aren't in the private installation; it
    # installs there with DESTDIR=$prefix.  In spite of PGXS's -I, gcc takes a
    # -isystem directory for a system one: it warns about our sources only.
    # SANITIZE=undefined or so is for test-long.sh: a finding ends the server.
    pgxs=(make -s -C "$src" with_llvm=no
        PG_CONFIG="$pg_system_bin/pg_config"
        COPT="-isystem $("$pg_system_bin/pg_config" --includedir-server) -Wall -Wextra\
${SANITIZE:+ -fsanitize=$SANITIZE -fno-sanitize-recover=$SANITIZE}")
    clean_at_exit
    cd "$src" || exit
}

# clean_at_exit: however the script ends from now on, leave_sandbox runs.
clean_at_exit() {
    child=
    trap leave_sandbox EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Stop every server below $work and delete $work; keep the exit code.
leave_sandbox() {
    local status=$? pidfile
    trap '' HUP INT TERM # a second Ctrl-C must not leave a server behind
    if [ -n "$child" ]; then
        kill -TERM -- "-$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    # Found by their pid files: a TAP test that died may have left one, too.
    find "$work" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
        "$bin/pg_ctl" stop -s -w -m immediate -D "$(dirname "$pidfile")" >/dev/null 2>&1 || true
    done
    [ -z "$child" ] || kill -KILL -- "-$child" 2>/dev/null || true
    cd /
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $work" >&2
    else
        # Once more in case a dying process has just written something.
        rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work" || true; }
    fi
    exit "$status"
}

# run COMMAND...: for what takes longer than a moment.  Bash handles a signal
# only between foreground commands, but at once in "wait"; the process group of
# its own (set -m) lets leave_sandbox end the command with all it has started.
run() {
    local status=0
    set -m
    "$@" </dev/null &
    child=$!
    set +m
    wait "$child" || status=$?
    kill -TERM -- "-$child" 2>/dev/null || true # what it left running, if anything
    child=
    return "$status"
}

# logged LOG COMMAND...: run it, show its output and keep it.
logged() {
    run piped_to "$@"
}

piped_to() {
    local log=$1
    shift
    "$@" 2>&1 | tee "$log"
}

# -------------------------------------------------------------- PostgreSQL

# private_install DIR: a copy of the PostgreSQL installation below DIR, into
# which "make install DESTDIR=DIR" puts cosid.  PostgreSQL finds its share and
# lib directories relative to its own executable, so the programs must be
# copies; all else may be links.
private_install() {
    local dir=$1 tree
    for tree in /usr/lib/postgresql/$pg_major/lib /usr/share/postgresql/$pg_major; do
        mkdir -p "$dir$tree"
        cp -as "$tree/." "$dir$tree/"
    done
    mkdir -p "$dir$pg_system_bin"
    cp -a "$pg_system_bin/." "$dir$pg_system_bin/"
    # A cosid that is installed in the system isn't the one under test.
    find "$dir" -depth \( -name 'cosid.so' -o -name 'cosid.control' -o -name 'cosid--*' \
        -o -path '*/bitcode/cosid*' \) -exec rm -rf {} +
    [ "$("$dir$pg_system_bin/pg_config" --pkglibdir)" = "$dir/usr/lib/postgresql/$pg_major/lib" ] ||
        die "the PostgreSQL copy in $dir looks for its libraries elsewhere"
}

# start_server NAME [SETTING...]: a new server with its data in $work/NAME.  It
# listens on a unix socket in that directory only: any number of them may run.
start_server() {
    local name=$1 data=$work/$1/data
    shift
    mkdir -p "$work/$name"
    run "$bin/initdb" -D "$data" -U postgres --auth=trust --no-sync \
        >"$work/$name/initdb.log" 2>&1 || {
        cat "$work/$name/initdb.log"
        return 1
    }
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work/$name'" "$@" \
        >>"$data/postgresql.conf"
    "$bin/pg_ctl" start -s -w -D "$data" -l "$work/$name/server.log" || {
        cat "$work/$name/server.log"
        return 1
    }
}

stop_server() {
    "$bin/pg_ctl" stop -s -w -m fast -D "$work/$1/data"
}
