# SPDX-License-Identifier: GPL-2.0-only
# The tables of passthrough.json, a row a line, with tabs between columns.

def figure: if . == null then "-" else . * 100 | round / 100 | tostring end;

def of($operation): (.bench.comparisons | map(select(.operation == $operation)) | first) |
	if . == null then error("no \($operation)") elif .error then error("\(.operation) failed: \(.error)") else . end;

def per_gib($counter): .window[$counter] as $count |
	if $count == null then null else $count * 1073741824 / .bytes end;

def milliseconds: if . == null then error("a phase was not timed") else . end |
	. * 1000 | round | tostring + " ms";

def counted:
	. as $all |
	("disk read", "disk write") as $operation |
	("bytes_copied_by_cpu", "sg_entries", "iommu_maps", "iommu_table_entries") as $counter |
	[$operation, $counter] +
		[$all.host, $all.guest | of($operation) | per_gib($counter) | figure];

def exits:
	.guest.exits_per_transfer as $of |
	($of.window | keys[]) as $counter |
	["disk read", $counter, ($of.window[$counter] | figure), ($of.host[$counter] | figure)];

def phases:
	[.host.seconds, .guest.seconds] as [$host, $guest] |
	("load", "attach", "first_bytes") as $phase |
	[$phase, "", ($host[$phase] | milliseconds), ($guest[$phase] | milliseconds)];

["WORK PER GiB OF THE WINDOW", "", "HOST, NO VFIO", "GUEST, VFIO"], counted,
["VM EXITS PER TRANSFER", "", "WINDOW", "HOST MEMORY"], exits,
["FROM LOADING TO VERIFIED BYTES", "", "HOST, NO VFIO", "GUEST, VFIO"], phases
| @tsv
