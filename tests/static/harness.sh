#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The harness of the guest cases tells every way in which a case can end.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- sh -euc '
	harness=tests/guest/harness
	gcc -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -I$harness -Ikmod/uapi \
		-o /tmp/harness_sample tests/static/harness_sample.c $harness/harness.c \
		$harness/kmsg.c $harness/settle.c $harness/aperture.c
	status=0
	/tmp/harness_sample >/tmp/got || status=$?
	[ $status -eq 1 ] || { echo "status $status although cases failed"; exit 1; }
	/tmp/harness_sample good || { echo "status $? although the case passed"; exit 1; }
	status=0
	/tmp/harness_sample skipped || status=$?
	[ $status -eq 77 ] || { echo "status $status although all was skipped"; exit 1; }
	sed "s/ ([0-9]* ms)$//; s/harness.c:[0-9]*/harness.c:LINE/" /tmp/got |
		diff tests/static/harness.expected -
'
