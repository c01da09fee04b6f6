#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Module, tool and packages carry the version that dkms.conf names; the library reads it there.
set -eu

cd "$(dirname "$0")/../.."
status=0

version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' dkms.conf)
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
	echo "dkms.conf: no PACKAGE_VERSION such as 1.2.3, but '$version'"
	exit 1
fi

# usage: same FILE SED-EXPRESSION (prints the version in its first match)
same() {
	local found

	found=$(sed -nE "$2" "$1" | head -n 1)
	[ "$found" = "$version" ] && return
	echo "$1: version '$found', but '$version' in dkms.conf"
	status=1
}

same kmod/vpeer.h 's/^#define VPEER_VERSION[[:space:]]+"(.*)"$/\1/p'
same tools/commands.h 's/^#define TOOL_VERSION[[:space:]]+"(.*)"$/\1/p'
same debian/changelog '1s/^vpeer \(([^)]*)\) .*/\1/p'
exit $status
