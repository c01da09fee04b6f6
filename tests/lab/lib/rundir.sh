# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The directory of one run: what the guest is told, what it answers, logs and backing files.

rundir_keep=20

# Old runs are removed, but never one whose guest still runs (it holds the directory's lock).
rundir_prune() {
	local old

	find "$VPEER_LAB_DIR/runs" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' |
		sort -rn | tail -n +$((rundir_keep + 1)) | cut -d' ' -f2- |
		while read -r old; do
			flock --nonblock --exclusive "$old" rm -rf "$old"
		done
}

rundir_make() {
	mkdir -p "$VPEER_LAB_DIR/runs"
	rundir_prune
	run_dir=$(lab_new_directory runs "$(date +%H%M%S)") || exit
	chmod 755 "$run_dir"
	exec 7<"$run_dir"
	flock --shared 7
	run_scratch=${opt_scratch:-$run_dir/scratch}
	run_backing=${opt_backing:-$run_dir/backing}
	mkdir -p "$run_dir/control" "$run_dir/disk" "$run_scratch" "$run_backing" ||
		lab_die "cannot make $run_scratch or $run_backing"
	run_scratch=$(cd "$run_scratch" && pwd -P)
	run_backing=$(cd "$run_backing" && pwd -P)
	: >"$run_dir/console.log"
	: >"$run_dir/stdout"
	: >"$run_dir/stderr"
}

# A disk with random data at its head, so that a compare cannot succeed by chance.
rundir_disk() {
	local file=$run_dir/disk/$1.img

	head -c 16M /dev/urandom >"$file"
	truncate -s 64M "$file"
}

rundir_backing() {
	local number

	for ((number = 0; number < opt_apertures; number++)); do
		rm -f "$run_backing/ap$number"
		truncate -s "$opt_bar_size" "$run_backing/ap$number" ||
			lab_die "cannot make $run_backing/ap$number of $opt_bar_size"
	done
}

rundir_guest_cwd() {
	case $PWD/ in
	"$lab_top"/*) printf '%s\n' "$PWD" ;;
	*) printf '%s\n' "$lab_top" ;;
	esac
}

# As tests/lab/matrix has it.
rundir_level() {
	if [ "$opt_passthrough" = yes ]; then
		echo "on-$opt_host_iommu"
	else
		echo one
	fi
}

# Shell code that the guest's init reads; every value is quoted for it.
# usage: rundir_tell_guest ROLE CONTROL-DIRECTORY COMMAND... (ROLE: guest, or host of one)
rundir_tell_guest() {
	{
		printf 'lab_role=%q\n' "$1"
		printf 'lab_passthrough=%q\n' "$opt_passthrough"
		printf 'lab_top=%q\n' "$lab_top"
		printf 'lab_devices=%q\n' "$opt_devices"
		printf 'lab_apertures=%q\n' "$opt_apertures"
		printf 'lab_backing=%q\n' "$run_backing"
		printf 'lab_bar_size=%q\n' "$opt_bar_size"
		printf 'lab_load=%q\n' "$opt_load"
		printf 'lab_attach=%q\n' "$opt_attach"
		printf 'lab_kernel=%q\n' "$opt_kernel"
		printf 'lab_iommu=%q lab_flush=%q lab_level=%q\n' "$opt_iommu" "$opt_flush" "$(rundir_level)"
		printf 'lab_cwd=%q\n' "$(rundir_guest_cwd)"
		printf 'lab_vgpus=%q lab_vrnics=%q\n' "${sim_count[vgpu]}" "${sim_count[vrnic]}"
		printf 'lab_faults=(%s)\n' "${sim_faults[*]@Q}"
		printf 'lab_pair=%q\n' "$pair_number"
		printf 'lab_command=('
		printf ' %q' "${@:3}"
		printf ' )\n'
	} >"$2/settings"
}

rundir_status() {
	local status

	status=$(cat "$run_dir/control/status" 2>/dev/null)
	[[ $status =~ ^[0-9]{1,3}$ ]] && [ "$status" -le 255 ] && printf '%s\n' "$status"
}
