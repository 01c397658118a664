# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034  # formats of apt's; what the scripts use
#
# chroot.sh - clean systems of a Debian release, in which the scripts here
# install and test what they must not install on this one.  For scripts that
# have sourced lib.sh.
#
#   dir=$(mktemp -d /tmp/cosid-NAME.XXXXXX)
#   make_chroot trixie "$dir/root"
#   in_chroot "$dir/root" root apt-get install -y make
#   copy_tree "$dir/root/srv/cosid"
#   in_chroot "$dir/root" nobody ls /srv/cosid
#   rm -rf "$dir"
#
# Needs root.  What debootstrap makes is kept in $chroot_cache for a week, as it
# takes a minute; deleting it does no harm.
#
# Nothing is ever mounted where this system could see it: each in_chroot has
# namespaces of its own for mounts and processes.  Its mounts end with it however
# it ends, and so does all that it has started.  So "rm -rf" is safe, and a
# server that one in_chroot has started isn't there for the next.

chroot_cache=/var/cache/cosid-chroot
chroot_packages=(debootstrap debian-archive-keyring)

# chroot_sources SUITE: lines for sources.list.  The mirror is the one that apt
# uses here, and for this system's own release so are updates.
chroot_sources() {
    local suite=$1 own all
    own=$(running_suite)
    all=$(apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u)
    if [ "$suite" = "$own" ]; then
        echo "$all"
    else
        sed -n "s/ $own main\$/ $suite main/p" <<<"$all"
    fi
}

# base_chroot SUITE: make the tar file of a minimal SUITE, and print its name.
base_chroot() {
    local suite=$1 tar=$chroot_cache/$1.tar mirror script tmp
    mkdir -p "$chroot_cache"
    # Two of us at once: the second one waits, and finds it.
    exec {lock}>"$chroot_cache/$suite.lock"
    flock "$lock"
    if [ -z "$(find "$tar" -mtime -7 2>/dev/null)" ]; then
        [ -n "$(chroot_sources "$(running_suite)")" ] || apt-get update >&2
        mirror=$(chroot_sources "$suite" | sed -n "s/^deb \(.*\) $suite main\$/\1/p" | head -n 1)
        [ -n "$mirror" ] || die "apt has no mirror of Debian $(running_suite)"
        echo "Making a chroot of Debian $suite ..." >&2
        tmp=$(mktemp -d "$chroot_cache/$suite.XXXXXX")
        # For a release that is younger than debootstrap
        script=/usr/share/debootstrap/scripts/$suite
        [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
        # A proxy that apt is told of in its configuration, debootstrap isn't.
        if ! (
            eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
            export http_proxy
            debootstrap --variant=minbase "$suite" "$tmp/root" "$mirror" "$script"
        ) >"$tmp/log" 2>&1 </dev/null; then
            tail -n 20 "$tmp/log" >&2
            rm -rf "$tmp"
            die "debootstrap could not make a chroot of $suite"
        fi
        rm -f "$tmp/root/var/cache/apt/archives/"*.deb
        tar -C "$tmp/root" --numeric-owner --xattrs -cf "$tmp/tar" .
        mv "$tmp/tar" "$tar"
        rm -rf "$tmp"
    fi
    exec {lock}>&-
    echo "$tar"
}

# make_chroot SUITE DIR: a fresh system in DIR, which must not exist.  Its apt is
# up to date, asks nothing and installs what it must; services don't start.
make_chroot() {
    local suite=$1 dir=$2 tar
    [ "$(id -u)" -eq 0 ] || die "a chroot takes root"
    tar=$(base_chroot "$suite")
    mkdir -m 755 "$dir"
    tar -C "$dir" --numeric-owner --xattrs -xf "$tar"
    cp -L /etc/resolv.conf /etc/hosts "$dir/etc/"
    chroot_sources "$suite" >"$dir/etc/apt/sources.list"
    {
        apt-config dump --no-empty --format '%f "%v";%n' Acquire | sed -nE '/^Acquire::(Check-|https?::)/p'
        echo 'APT::Install-Recommends "false";'
        echo 'APT::Get::Assume-Yes "true";'
    } >"$dir/etc/apt/apt.conf.d/90cosid"
    echo force-unsafe-io >"$dir/etc/dpkg/dpkg.cfg.d/cosid" # it needn't outlive a crash
    printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
    chmod 755 "$dir/usr/sbin/policy-rc.d"
    in_chroot "$dir" root apt-get update -qq >&2
}

# in_chroot DIR USER COMMAND...: run it there, in /, with an environment that
# doesn't depend on ours.  The exit code is the command's.
in_chroot() {
    local dir=$1 user=$2
    shift 2
    # By pivot_root, since a process that chroot(2) has moved may not have a user
    # namespace, which tests take to mount something.
    #
    # The first process of a namespace of processes gets no signal that it has no
    # trap for; when it ends, the kernel kills the others.
    unshare --mount --pid --fork --kill-child=TERM --propagation private bash -c '
        set -e
        mount --bind "$1" "$1"
        mount -t proc proc "$1/proc"
        mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$1/dev/pts"
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
        cd "$1"
        pivot_root . .
        umount -l .
        trap "exit 143" HUP INT TERM
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive TERM=dumb \
            chroot --userspec="$2" / "${@:3}" <&0 &
        wait "$!"' in_chroot "$dir" "$user" "$@"
}
