# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs vpeer bench and reads its table of counted work.

# usage: bench FILE OPTION...
bench() {
	local file=$1

	shift
	expect_output "$file" 0 vpeer bench --quiet --seconds 1 --rdma rxe0 "$@"
}

# usage: figure OPERATION MEMORY COLUMN FILE (from the table of counted work, without its unit)
figure() {
	awk -F '  +' -v operation="$1" -v memory="$2" -v column="$3" '
		$1 == "WORK PER GiB" { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$1 == operation && $3 == memory { sub(/ MiB$/, "", $at); print $at; exit }' "$4"
}

# usage: expect_figure OPERATION MEMORY COLUMN FILE TEST VALUE (as in: -eq 0)
expect_figure() {
	local got

	got=$(figure "$1" "$2" "$3" "$4")
	[[ $got =~ ^[0-9]+$ ]] || fail "$1, $2: $3 is '$got', no number"
	test "$got" "$5" "$6" || fail "$1, $2: $3 is $got, not $5 $6"
}
