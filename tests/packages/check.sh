# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The phases "packages" of tests/run-check: packages are built in a clean Debian, looked at, installed
# on a clean system that has kernels, used in guests booted from that system, upgraded and removed.

# shellcheck source=tests/packages/lib.sh
. "$lab_top/tests/packages/lib.sh"

# The clean Debian to build in. If it cannot be made, the phase says so.
check_packages_setup() {
	[ -n "$kernel" ] || builder_setup trixie >"$check_dir/packages.setup" 2>&1
	return 0
}

check_packages() {
	# Each Debian has kernels of its own.
	if [ -n "$kernel" ]; then
		return
	elif [ "$long" = no ]; then
		check_packages_on packages trixie no 150
	else
		check_packages_on packages-trixie trixie yes 900
		check_packages_on packages-bookworm bookworm yes 900
	fi
}

# usage: check_packages_on PHASE SUITE MORE SECONDS (MORE is yes: backports' kernels too, and every case)
check_packages_on() {
	local more=$3

	phase=$1 plan=()
	debian_plan inspect library installed
	[ "$more" = no ] || debian_plan refusals
	[ ${#plan[@]} -eq 0 ] || check_phase "$1" "$4" debian_run "$2" "$more"
}

debian_cases() {
	sed -n 's/^case_\([a-z0-9_]*\)() {$/\1/p' "$packages_here/$1.sh"
}

debian_plan() {
	local group name

	for group; do
		for name in $(debian_cases "$group"); do
			[ "$more:$name" != no:upgrade ] || continue
			! check_wanted "$group.$name" || plan+=("$group.$name")
		done
	done
}

debian_planned() {
	local name

	for name in "${plan[@]}"; do
		[[ $name != $1.* ]] || printf '%s\n' "${name#*.}"
	done
}

# usage: debian_run SUITE yes|no
debian_run() {
	local suite=$1 more=$2 state=$check_dir/$phase out=$check_dir/$phase.out reported=' ' name
	local debs='' new='' machine_layers machine_kernels

	echo "check: $phase: Debian packages on $suite, ${#plan[@]} cases and guests"
	mkdir -p "$state/cases"
	if ! debian_prepare >"$out" 2>&1; then
		tail -n 25 "$out" | sed 's/^/    /'
		check_failed "no packages, or no system to install them on" "$out"
		return
	fi
	debian_inspect
	debian_library
	debian_installed
	debian_refusals
	for name in "${plan[@]}"; do
		[[ $reported == *" $name "* ]] || check_failed "$name: did not report" "$out"
	done
	rm -rf --one-file-system "$state/upper" "$state/upper.work" "$state/broken"
}

debian_prepare() {
	builder_setup "$suite" || return
	debs=$(debs_setup "$suite" "$(packages_version)") || return
	[ "$more" = no ] || new=$(debs_setup "$suite" "$(packages_next_version)") || return
	machine_setup "$suite" "$(debs_depends "$debs")" "$more"
}

# Lines of cases as they come; the rest is for the log.
debian_lines() {
	local line

	while IFS= read -r line; do
		check_line "$line"
	done < <("$@" 2>>"$out.err" </dev/null | tee -a "$out")
}

# What every script of cases is shown, as options of tests/lab/lib/enter.
debian_binds() {
	printf '%s\n' --bind-to "$lab_top" "$lab_top" --bind-to "$debs" /debs --bind-to "$state" /state \
		--bind-to /dev/null /dev/kmsg --bind-to "${new:-$debs}" /new
}

# usage: debian_command GROUP CASE...
debian_command() {
	printf '%s\n' -- env VPEER_TOP="$lab_top" VPEER_CASE_LOGS=/state/cases bash "$packages_here/$1.sh" \
		"${@:2}"
}

# Lintian is in the lab's tree.
debian_inspect() {
	local cases words

	mapfile -t cases < <(debian_planned inspect)
	mapfile -t words < <(debian_binds; debian_command inspect "${cases[@]}")
	[ ${#cases[@]} -eq 0 ] || debian_lines "$lab_top/tests/static/in-tree" "${words[@]}"
}

# usage: debian_enter LAYER... -- GROUP CASE... (UPPER is where changes go, if it is set)
debian_enter() {
	local words=()

	while [ "$1" != -- ]; do
		words+=(--layer "$1")
		shift
	done
	shift
	[ -z "${upper-}" ] || words+=(--upper "$upper")
	[ $# -gt 1 ] || return 0
	mapfile -t -O ${#words[@]} words < <(debian_binds; debian_command "$@")
	"$lab_lib/enter" "${words[@]}"
}

debian_library() {
	local cases

	mapfile -t cases < <(debian_planned library)
	debian_lines debian_enter "$packages_dir/builder-$suite/layer" "$(pristine_dir "$suite")" -- \
		library "${cases[@]}"
}

# The system is used in guests while the packages are installed.
debian_installed() {
	local upper=$state/upper before after

	mapfile -t before < <(debian_planned installed | grep -vxE 'upgrade|purge')
	mapfile -t after < <(debian_planned installed | grep -xE 'upgrade|purge')
	debian_lines debian_enter "${machine_layers[@]}" -- installed "${before[@]}"
	[ ${#before[@]} -eq 0 ] || debian_guests
	debian_lines debian_enter "${machine_layers[@]}" -- installed "${after[@]}"
}

debian_guests() {
	local kernel series name

	for kernel in "${machine_kernels[@]}"; do
		series=$(cut -d. -f1-2 "$kernel/release")
		for name in $(debian_cases guest); do
			plan+=("guest-$series.$name")
		done
		debian_lines debian_guest "$kernel"
	done
}

# usage: debian_guest KERNEL-DIRECTORY
debian_guest() {
	local machine=$state/machine-${1##*/}

	mkdir -p "$machine"
	cp "$1/release" "$1/vmlinuz" "$1/initramfs" "$machine"
	printf '%s\n' "$state/upper" "${machine_layers[@]}" >"$machine/layers"
	"$lab_top/tests/lab/run" --machine "$machine" --no-load --devices aperture,ats --timeout 200 \
		--scratch "$state" --keep-log "$state/${1##*/}.log" -- \
		env VPEER_CASE_LOGS=/scratch/cases VPEER_TEST_VERSION="$(packages_version)" \
		bash "$packages_here/guest.sh"
	rm -rf "$machine"
}

# The control: packages whose module does not build are reported as a failed installation.
debian_refusals() {
	local name upper=''

	debian_broken >>"$out" 2>&1
	for name in $(debian_planned refusals); do
		debian_lines debian_enter "${machine_layers[@]}" -- refusals "$name"
	done
	! check_wanted control.broken_source || debian_control
}

debian_broken() {
	local work=$state/broken/work

	mkdir -p "$state/broken"
	cp "$debs"/*.deb "$state/broken"
	dpkg-deb --raw-extract "$debs"/vpeer-dkms_*.deb "$work" &&
		echo '#error broken on purpose' >>"$work/usr/src/vpeer-$(packages_version)/kmod/main.c" &&
		dpkg-deb --root-owner-group --build "$work" "$state/broken" &&
		rm -r "$work"
}

debian_control() {
	local debs=$state/broken log=$check_dir/$phase.control

	debian_enter "${machine_layers[@]}" -- installed install >"$log" 2>&1 </dev/null
	if grep -q '^not ok installed.install: status 100 instead of 0' "$log"; then
		check_passed control.broken_source
	else
		check_failed "control.broken_source: it was not reported" "$log"
	fi
}
