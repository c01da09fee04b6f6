#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The interface's header: compiles alone as C and C++, has no implicit padding in any structure, and
# keeps numbers and layout that were released (tests/static/uapi_layout.c).
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- sh -euc '
	header=kmod/uapi/vpeer_ioctl.h
	gcc -std=c99 -pedantic -Wall -Wextra -Wpadded -Werror -fsyntax-only -x c $header
	g++ -Wall -Wextra -Wpadded -Werror -fsyntax-only -x c++ $header 2>/dev/null ||
		! command -v g++
	gcc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -Ikmod/uapi tests/static/uapi_layout.c
	gcc -std=gnu11 -DTEST_PADDED -Wpadded -Werror -fsyntax-only -Ikmod/uapi \
		tests/static/uapi_layout.c 2>/tmp/padded && exit 1
	grep -q Werror=padded /tmp/padded
'
