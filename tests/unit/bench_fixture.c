// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bench_fixture.h"

#include <math.h>
#include <sys/sysmacros.h>

#include "fixture.h"
#include "util.h"

bool near(double got, double wanted, double most)
{
	return fabs(got - wanted) <= most;
}

const char disk_read_trace[] =
	" a-1 [0] .. 1: map: IOMMU: iova=0x1000 - 0x2000 paddr=0xff000 size=4096\n"
	" a-1 [0] .. 1: map: IOMMU: iova=0x3000 - 0x4000 paddr=0x101000 size=4096\n"
	" a-1 [0] .. 1: map: IOMMU: iova=0x5000 - 0x7000 paddr=0x102000 size=8192\n"
	" a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:01:00.0 dma_mask=1 "
	"dev_addr=1 size=100 FORCE\n"
	" a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:02:00.1 dma_mask=1 "
	"dev_addr=1 size=512 FORCE\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 R 24576 () 2048 + 48 [vpeer]\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 R 8192 () 2096 + 16 none,0,0 [vpeer]\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 FF 0 () 18446744073709551615 + 0 [flush]\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 R 4096 () 8 + 8 [other]\n"
	" a-1 [0] .. 1: block_rq_issue: 8,0 R 4096 () 2048 + 8 [other]\n"
	" a-1 [0] .. 1: vpeer_chunk_map: 0000:05:00.0 bar2 offset=0x0 size=0x40000000\n";

void disk_read_make(struct disk_read *read)
{
	*read = (struct disk_read){
		.disk = { .kind = INITIATOR_BLOCK, .pci = "0000:02:00.1",
			  .number = makedev(259, 0) },
	};
	ranges_add(&read->ranges, 0x101000, 0x3000);
	ranges_add(&read->ranges, 0x201000, 0x4000);
	ranges_add(&read->ranges, 0x301000, 0x1000);
	read->subject = (struct subject){
		.window = true,
		.initiator = &read->disk,
		.bytes = 32768,
		.place = MIB,
		.ranges = &read->ranges,
	};
}

void disk_read_end(struct disk_read *read)
{
	ranges_end(&read->ranges);
}

void read_trace(const char *root, const char *header, const char *text,
		const struct subject *subject, struct events *events)
{
	char path[512], all[4096];

	text_format(path, sizeof(path), "%s/trace", root);
	text_format(all, sizeof(all), "%s%s", header, text);
	fixture_file(root, "trace", all);
	events_read(events, path, subject, 4096);
}
