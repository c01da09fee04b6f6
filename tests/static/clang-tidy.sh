#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# clang-tidy finds nothing in library and command (.clang-tidy holds the checks), and finds what is
# wrong with a sample.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)
cd "$top"

# The tree has no MPI.
mapfile -t files < <(git ls-files --cached --others --exclude-standard lib tools | grep '\.c$' | xargs grep -L '<mpi.h>')
[ ${#files[@]} -gt 25 ] || { echo "only ${#files[@]} files found"; exit 1; }

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- bash -euc '
	read -ra flags < <(pkg-config --cflags libkmod json-c libxml-2.0 libibverbs libnl-route-3.0)
	read -ra mpi < <(pkg-config --cflags ompi-c)
	# Nothing is looked for in it.
	flags+=("${mpi[@]/#-I/-isystem}")
	flags+=(-std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Ilib -Itools -Ikmod/uapi -I/tmp/include)
	# As installed, for the examples.
	mkdir -p /tmp/include/vpeer
	cp lib/vpeer.h lib/vpeer_reg.h kmod/uapi/vpeer_ioctl.h /tmp/include/vpeer

	! clang-tidy --quiet tests/static/clang-tidy_sample.c -- "${flags[@]}" >/tmp/found 2>&1 ||
		{ echo "the sample passes"; exit 1; }
	for check in unix.Malloc misplaced-operator-in-strlen-in-alloc core.NullDereference; do
		grep -q "\[.*$check" /tmp/found || { echo "$check: not found in the sample"; exit 1; }
	done
	printf "%s\n" "$@" | xargs -P "$(nproc)" -I FILE clang-tidy --quiet FILE -- "${flags[@]}" 2>/dev/null
' bash "${files[@]}"
