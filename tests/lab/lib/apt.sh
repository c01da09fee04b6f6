# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Where Debian packages come from: the mirrors that this machine's own apt uses.

# Prints "CODENAME URI" for each Debian index that apt knows.
apt_indexes() {
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		awk '$1 == "Debian" { print $2, $3 }' | sort -u
}

apt_has_lists() {
	apt_indexes | grep -q .
}

apt_refresh() {
	apt-get update
}

# The mirror that serves whole suites, and the one that serves security updates.
apt_mirror() {
	apt_indexes | awk '$1 !~ /-/ { print $2; exit }'
}

apt_security_mirror() {
	apt_indexes | awk '$1 ~ /-security$/ { print $2; exit }'
}

# Prints sources.list lines for SUITE, with updates and security where this machine has such a mirror.
apt_sources() {
	local suite=$1 mirror security

	mirror=$(apt_mirror)
	security=$(apt_security_mirror)
	[ -n "$mirror" ] || return 1
	echo "deb $mirror $suite main"
	echo "deb $mirror $suite-updates main"
	[ -z "$security" ] || echo "deb $security $suite-security main"
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"
}

# Installs on this machine what is missing for making a tree, and nothing else.
apt_prepare_machine() {
	local have=yes

	lab_lock --exclusive apt
	command -v apt-get >/dev/null ||
		lab_die "no apt-get here; the lab is made of Debian packages and needs Debian 12 or 13"
	command -v mmdebstrap >/dev/null || have=no
	if [ $have = no ] || ! apt_has_lists; then
		lab_phase "package lists" apt_refresh
	fi
	[ $have = yes ] || lab_phase "install mmdebstrap" apt_install mmdebstrap
	[ -n "$(apt_mirror)" ] ||
		lab_die "apt on this machine names no Debian mirror; add one to its sources"
	lab_unlock apt
}

# mmdebstrap writes "cat >&N" for sh, which knows no descriptor above 9; so inherit none but 0-2.
apt_make_tree() (
	for descriptor in /proc/self/fd/*; do
		descriptor=${descriptor##*/}
		case $descriptor in
		0 | 1 | 2 | 255) ;;
		*) eval "exec $descriptor>&-" ;;
		esac
	done
	exec mmdebstrap --mode=root --variant=minbase --format=directory "$@"
)
