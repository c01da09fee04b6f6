#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The library's packages, installed on a system that has a compiler.
. "$(dirname "$0")/tree.sh"

sample() {
	cat <<-'END'
		#include <stdio.h>
		#include <vpeer/vpeer.h>
		#include <vpeer/vpeer_ioctl.h>
		int main(void)
		{
			struct vpeer_aperture *aperture;
			struct vpeer_error error;

			puts(vpeer_reason_name(VPEER_REASON_PINNED));
			return !vpeer_open(&aperture, "0000:ff:1f.7", &error);
		}
	END
}

case_program_builds_and_runs() {
	local flags

	apt-get install --yes --no-install-recommends /debs/libvpeer1_*.deb /debs/libvpeer-dev_*.deb
	[ "$(pkg-config --modversion vpeer)" = "$version" ]
	sample >/tmp/sample.c
	read -ra flags < <(pkg-config --cflags --libs vpeer)
	gcc -Wall -Wextra -Werror -o /tmp/sample /tmp/sample.c "${flags[@]}"
	/tmp/sample
	ldd /tmp/sample >/tmp/ldd
	expect_line 'libvpeer\.so\.1 => /' /tmp/ldd
	apt-get purge --yes libvpeer-dev
	expect_status 1 gcc -o /tmp/sample /tmp/sample.c "${flags[@]}"
}

run_cases "$@"
