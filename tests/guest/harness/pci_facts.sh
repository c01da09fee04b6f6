# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What a document of vpeer, /tmp/check.json, says of PCI functions, against lspci and sysfs.
# document_functions is the jq filter of all of them. compared counts the fields.

# usage: field FILTER (of the document of the last check)
field() {
	jq -r "$1" /tmp/check.json
}

# usage: same WHAT TOLD SEEN
same() {
	[ "$2" = "$3" ] || fail "$1: vpeer says '$2', the machine '$3'"
	compared=$((compared + 1))
}

# usage: lspci_has PCI REGISTER BIT (+ or - as lspci shows it, empty without the register, whose
# words go on in lines that name no other)
lspci_has() {
	awk -v register="$2:" -v bit="^$3[+-],?\$" '
		index($0, ":") { inside = index($0, register) }
		inside { for (i = 1; i <= NF; i++) if ($i ~ bit) {
			sub(/,$/, "", $i); print substr($i, length($i)); exit } }
		' "/tmp/lspci.$1"
}

# usage: same_bits PCI REGISTER BIT... (of every function, also bridges)
same_bits() {
	local pci=$1 register=$2 bit told

	shift 2
	for bit; do
		told=$(field "$document_functions | select(.pci == \"$pci\") | .$register |
			if . == null then \"\" elif .$bit then \"+\" else \"-\" end")
		same "$pci $register $bit" "$told" "$(lspci_has "$pci" "$register" "$bit")"
	done
}

# usage: lspci_number PCI REGISTER NAME
lspci_number() {
	awk -v register="$2:" -v name="$3" '
		index($0, ":") { inside = index($0, register) }
		inside { for (i = 1; i < NF; i++) if ($i == name || $i == register && $(i + 1) == name) {
			print $(i + ($i == name ? 1 : 2)); exit } }' "/tmp/lspci.$1"
}

# usage: same_number PCI REGISTER NAME (of every function, also bridges)
same_number() {
	same "$1 $2 $3" "$(of_function "$1" ".$2.$3 // \"\"")" "$(lspci_number "$@")"
}

# usage: of_function PCI FILTER
of_function() {
	field "$document_functions | select(.pci == \"$1\") | $2"
}

# usage: same_as_sysfs PCI FIELD FILE
same_as_sysfs() {
	same "$1 $2" "$(of_function "$1" ".$2")" "$(cat "/sys/bus/pci/devices/$1/$3")"
}

# usage: same_link_name PCI FILTER LINK
same_link_name() {
	same "$1 $3" "$(of_function "$1" "$2 // \"\"")" \
		"$(basename "$(readlink "/sys/bus/pci/devices/$1/$3" || :)")"
}

# Where every function is, also bridges; part of its path are the bridges above it.
same_place() {
	local pci=$1 place node

	place=$(readlink -f "/sys/bus/pci/devices/$pci")
	node=$(cat "$place/numa_node")
	same "$pci numa_node" "$(of_function "$pci" '.numa_node // -1')" "$node"
	same "$pci path" "$(of_function "$pci" '[.root, .bridges[], .pci] | join("/")')" \
		"${place#/sys/devices/}"
	same "$pci config_bytes" "$(of_function "$pci" .config_bytes)" "$(wc -c <"$place/config")"
	same "$pci group members" "$(of_function "$pci" '.iommu_group.devices // [] | join(" ")')" \
		"$(find "$place/iommu_group/devices/" -mindepth 1 -printf "%f\n" 2>/dev/null | sort | paste -sd' ')"
}

# A VF has the link of its PF.
same_link() {
	local pci=$1 name place=/sys/bus/pci/devices/$1

	[ ! -e "$place/physfn" ] || place+=/physfn
	for name in current_link_speed max_link_speed current_link_width max_link_width; do
		same "$pci $name" "$(of_function "$pci" ".$name // \"\"")" \
			"$(cat "$place/$name" 2>/dev/null || :)"
	done
}

# The document has addresses as text or as numbers.
told_as() {
	case $(field "[$document_functions.resource[0].start | select(. != null)][0] | type") in
	number) printf '%d' "$(($1))" ;;
	*) printf '%#x' "$(($1))" ;;
	esac
}

same_bars() {
	local pci=$1 bar=0 start end _

	while read -r start end _ && [ $bar -lt 6 ]; do
		if [ $((end)) -gt 0 ]; then
			same "$pci BAR $bar" "$(of_function "$pci" ".resource[] | select(.bar == $bar) |
				\"\(.start) \(.size)\"")" \
				"$(printf '%s %d' "$(told_as "$start")" $((end - start + 1)))"
		fi
		bar=$((bar + 1))
	done <"/sys/bus/pci/devices/$pci/resource"
}

# What no function is without.
same_function() {
	local pci=$1

	same_as_sysfs "$pci" vendor vendor
	same_as_sysfs "$pci" device device
	same_as_sysfs "$pci" class class
	same_link_name "$pci" .driver driver
	same_link_name "$pci" .iommu_group.number iommu_group
	same "$pci group type" "$(of_function "$pci" '.iommu_group.type // ""')" \
		"$(cat "/sys/bus/pci/devices/$pci/iommu_group/type" 2>/dev/null || :)"
	same_bars "$pci"
}

# As lspci decodes the configuration space.
same_config() {
	local pci=$1

	lspci -vvv -s "$pci" >"/tmp/lspci.$pci"
	same_bits "$pci" DevCtl RlxdOrd ExtTag
	same_number "$pci" DevCtl MaxPayload
	same_number "$pci" DevCtl MaxReadReq
	same_number "$pci" DevCap MaxPayload
	same_bits "$pci" ACSCap SrcValid TransBlk ReqRedir CmpltRedir UpstreamFwd EgressCtrl DirectTrans
	same_bits "$pci" ACSCtl SrcValid TransBlk ReqRedir CmpltRedir UpstreamFwd EgressCtrl DirectTrans
	same_bits "$pci" ATSCtl Enable
}
