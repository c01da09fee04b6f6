# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Paths, messages, locks and phase times that every lab script shares.

lab_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
# shellcheck disable=SC2034 # used by those who source this file
lab_lib=$lab_top/tests/lab/lib
declare -A lab_lock_handles
# What this process's ancestors hold shared.
lab_held_above=" ${VPEER_LAB_HELD-} "
export VPEER_LAB_DIR=${VPEER_LAB_DIR:-$lab_top/.lab}

lab_say() {
	printf 'lab: %s\n' "$*" >&2
}

# 125 means: the lab failed, COMMAND did not run or did not finish.
lab_die() {
	lab_say "$@"
	exit 125
}

# 2 means: this cannot be meant.
lab_bad_usage() {
	lab_say "$@"
	exit 2
}

lab_check_paths() {
	case $lab_top$VPEER_LAB_DIR in
	*[:,\\[:space:]]*)
		lab_die "'$lab_top' or '$VPEER_LAB_DIR' has a colon, comma, backslash or space," \
			"which overlay mounts cannot take; move the tree or set VPEER_LAB_DIR"
		;;
	esac
	case $VPEER_LAB_DIR in
	/*) ;;
	*) lab_die "VPEER_LAB_DIR is '$VPEER_LAB_DIR'; give an absolute path" ;;
	esac
}

lab_need_root() {
	[ "$(id -u)" -eq 0 ] ||
		lab_die "mounts and chroots need root; run as root or by sudo"
}

lab_begin() {
	lab_check_paths
	lab_need_root
	mkdir -p "$VPEER_LAB_DIR/log" "$VPEER_LAB_DIR/mnt" "$VPEER_LAB_DIR/cache" ||
		lab_die "cannot make $VPEER_LAB_DIR; set VPEER_LAB_DIR to a writable place"
}

# Makes a directory for what a run leaves, in .lab/ROOM, and prints its path.
# usage: DIRECTORY=$(lab_new_directory ROOM NAME) || exit
lab_new_directory() {
	local room=$VPEER_LAB_DIR/$1

	mkdir -p "$room"
	mktemp -d "$room/$2-XXXX" || lab_die "cannot make a directory under $room"
}

# Guests hold the locks of what they run on shared; a set-up that replaces a thing holds its lock
# alone. The lock lasts as long as the process, and a second call changes how it is held.
lab_lock() {
	local how=$1 what=$2 place=$VPEER_LAB_DIR/lock.$2 handle

	handle=${lab_lock_handles[$what]-}
	if [ -z "$handle" ]; then
		exec {handle}>>"$place" || lab_die "cannot open $place"
		lab_lock_handles[$what]=$handle
	fi
	[ "$how" = --exclusive ] || export VPEER_LAB_HELD="${VPEER_LAB_HELD-} $what"
	flock "$how" --nonblock "$handle" && return
	[ "$how" = --shared ] || [[ $lab_held_above != *" $what "* ]] ||
		lab_die "what $what is made from changed while a run that uses it goes on; start that again"
	lab_say "waiting for another set-up or guest that uses $what of $VPEER_LAB_DIR"
	flock "$how" "$handle"
}

lab_unlock() {
	flock --unlock "${lab_lock_handles[$1]}"
}

# Runs a command with its output in a log, and prints what it was and how long it took.
lab_phase() {
	local name=$1 log start status

	shift
	log=$VPEER_LAB_DIR/log/${name// /-}.log
	start=$(date +%s%N)
	( set -e; "$@" ) >"$log" 2>&1 </dev/null
	status=$?
	if [ "$status" -ne 0 ]; then
		tail -n 25 "$log" >&2
		lab_die "$name failed with status $status; the whole log is $log"
	fi
	lab_say "$name: $(lab_seconds_since "$start") s"
}

lab_seconds_since() {
	local tenths=$((($(date +%s%N) - $1) / 100000000))

	printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

lab_hash() {
	sha256sum | cut -c1-16
}

# True when DIR was completed from the inputs that HASH stands for.
lab_is_current() {
	[ "$(cat "$1/.lab-stamp" 2>/dev/null)" = "$2" ]
}

# Puts a finished directory in its place by one rename, so that nobody ever sees half of it.
lab_publish() {
	local made=$1 place=$2 hash=$3

	printf '%s\n' "$hash" >"$made/.lab-stamp"
	if [ -e "$place" ]; then
		mv -T "$place" "$made.old"
	fi
	mv -T "$made" "$place"
	rm -rf --one-file-system "$made.old"
}

# Makes PLACE by COMMAND DIRECTORY, unless it is there as HASH wants it; dies if it fails. Who calls
# holds its lock, and does so where set -e is not ignored, or COMMAND must not count on it.
# usage: lab_make PLACE HASH NAME COMMAND...
lab_make() {
	local place=$1 hash=$2 name=$3 made=${1%/*}/tmp.${1##*/}

	shift 3
	! lab_is_current "$place" "$hash" || return 0
	mkdir -p "${place%/*}"
	rm -rf --one-file-system "$made"
	lab_phase "$name" "$@" "$made"
	lab_publish "$made" "$place" "$hash"
}

# True when PLACE is to be made, with LOCK held alone; else it is there, and LOCK is held shared. Who makes it
# goes on holding LOCK shared, as long as it is used; to wait for no more than the making there is a lock for that.
# usage: lab_lock_to_make LOCK PLACE HASH
lab_lock_to_make() {
	lab_lock --shared "$1"
	! lab_is_current "$2" "$3" || return
	lab_unlock "$1"
	lab_lock --exclusive "$1.make"
	lab_lock --shared "$1"
	if lab_is_current "$2" "$3"; then
		lab_unlock "$1.make"
		return 1
	fi
	lab_lock --exclusive "$1"
}

# After lab_lock_to_make, when it is made. usage: lab_lock_made LOCK
lab_lock_made() {
	lab_lock --shared "$1"
	lab_unlock "$1.make"
}

# lab_make with a lock, which is then held shared, so that PLACE is not replaced as long as this process lives.
# usage: lab_make_once LOCK PLACE HASH NAME COMMAND...
lab_make_once() {
	local lock=$1

	shift
	lab_lock_to_make "$lock" "$1" "$2" || return 0
	lab_make "$@"
	lab_lock_made "$lock"
}
