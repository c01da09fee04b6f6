// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/sysfs.h"
#include "pci/function.h"
#include "module.h"
#include "pcidev.h"
#include "util.h"

/* What the command line asks for. */
struct wish {
	struct vpeer_pci_address address;
	unsigned int bar;
	unsigned int flags;
	bool range;
	uint64_t offset;
	uint64_t size;
};

/* udev sets a new node's group after devtmpfs made it: up to this long. */
#define NODE_WAIT_MS	2000

static int parse_bar(const char *text, unsigned int *bar)
{
	uint64_t number;

	if (vpeer_parse_u64(text, &number) || number >= PCI_BARS)
		return -EINVAL;
	*bar = (unsigned int)number;
	return 0;
}

/* "OFFSET:SIZE" */
static int parse_range(const char *text, struct wish *wish)
{
	const char *colon = strchr(text, ':');
	char offset[32];

	if (!colon || (size_t)(colon - text) >= sizeof(offset))
		return -EINVAL;
	memcpy(offset, text, (size_t)(colon - text));
	offset[colon - text] = '\0';
	if (parse_size(offset, &wish->offset) || parse_size(colon + 1, &wish->size) ||
	    !wish->size)
		return -EINVAL;
	wish->range = true;
	return 0;
}

/* Names the owner, which the module's reason cannot. */
static void name_driver(const char *pci, struct vpeer_error *error)
{
	char driver[64];

	pci_driver("/sys", pci, driver, sizeof(driver));
	if (!driver[0])
		return;
	text_format(error->message, sizeof(error->message),
		    "cannot attach: the driver %s owns the function", driver);
	text_format(error->remedy, sizeof(error->remedy),
		    "stop its users, then 'echo %s > /sys/bus/pci/drivers/%s/unbind'; or share a part "
		    "of the BAR that it does not use with --range", pci, driver);
}

static int wait_for_node(const char *node)
{
	for (int waited = 0; waited <= NODE_WAIT_MS; waited += 10) {
		if (!access(node, F_OK))
			return 0;
		usleep(10000);
	}
	return -ENOENT;
}

/* It is attached, but of no use. */
static void warn_trapped(const char *pci, unsigned int index)
{
	char status[16];

	if (vpeer_sysfs_read(status, sizeof(status), "/sys/class/vpeer/vpeer%u/status", index) ||
	    strcmp(status, vpeer_reason_name(VPEER_REASON_TRAPPED)))
		return;
	fprintf(stderr, "vpeer: %s: warning: %s\n  remedy: %s\n", pci,
		vpeer_reason_text(VPEER_REASON_TRAPPED),
		vpeer_reason_remedy(VPEER_REASON_TRAPPED));
}

static int announce(const char *pci, unsigned int index, struct vpeer_error *error)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	struct vpeer_aperture *aperture;
	char node[32], bytes[BYTES_LEN];
	int err;

	text_format(node, sizeof(node), "/dev/vpeer%u", index);
	err = wait_for_node(node);
	if (err)
		return vpeer_fail(error, -err, VPEER_REASON_NONE, pci,
				  "mount devtmpfs on /dev, or make the node from "
				  "/sys/class/vpeer/vpeerN/dev",
				  "attached, but %s does not appear", node);
	err = vpeer_open(&aperture, node, error);
	if (err)
		return err;
	err = vpeer_aperture_info(aperture, &info, error);
	vpeer_close(aperture);
	if (err)
		return err;
	printf("%s BAR %u: %s ", pci, info.bar, format_bytes(info.size, bytes));
	if (info.kind == VPEER_APERTURE_FOREIGN)
		printf("at 0x%llx shared as %s", (unsigned long long)info.bar_offset, node);
	else
		printf("attached as %s", node);
	printf(" (%s)\n",
	       info.memory_type == VPEER_MEMORY_WRITE_COMBINING ? "write-combining" : "uncached");
	warn_trapped(pci, index);
	return 0;
}

static int call(struct vpeer_control *control, const struct wish *wish, unsigned int *index,
		struct vpeer_error *error)
{
	if (wish->range)
		return vpeer_attach_range(control, &wish->address, wish->bar, wish->flags,
					  wish->offset, wish->size, index, error);
	return vpeer_attach(control, &wish->address, wish->bar, wish->flags, index, error);
}

/* Unbinding a driver is of no use where no BAR would do. */
static void judge_bound(const char *pci, const struct wish *wish, struct vpeer_error *error)
{
	unsigned int reason = pci_judge_bar("/sys", pci, wish->bar,
					    wish->flags & VPEER_ATTACH_FORCE);

	if (reason == VPEER_REASON_NONE) {
		name_driver(pci, error);
		return;
	}
	vpeer_fail(error, error->err, reason, pci, vpeer_reason_remedy(reason),
		   "cannot attach: %s", vpeer_reason_text(reason));
	vpeer_name_bar(pci, wish->bar, error);
}

static int attach(const struct wish *wish, struct vpeer_error *error)
{
	struct vpeer_control *control;
	char pci[VPEER_PCI_LEN];
	unsigned int index = 0;
	int err;

	vpeer_pci_format(&wish->address, pci);
	if (pci_is_bridge("/sys", pci))
		return vpeer_fail(error, EINVAL, VPEER_REASON_NONE, pci,
				  "name an endpoint; 'vpeer list --all' shows candidates",
				  "cannot attach: it is a bridge, which has no memory of its own");
	err = module_ensure_loaded(error);
	if (!err)
		err = vpeer_control_open(&control, error);
	if (err)
		return err;
	err = call(control, wish, &index, error);
	vpeer_control_close(control);
	if (err && error->reason == VPEER_REASON_DRIVER_BOUND)
		judge_bound(pci, wish, error);
	return err ? err : announce(pci, index, error);
}

static int run_attach(int argc, char **argv)
{
	static const struct option options[] = {
		{ "bar", required_argument, NULL, 'b' },
		{ "force", no_argument, NULL, 'f' },
		{ "clean", no_argument, NULL, 'c' },
		{ "range", required_argument, NULL, 'r' },
		{ 0 },
	};
	struct wish wish = { .bar = VPEER_BAR_AUTO };
	struct vpeer_error error;
	int code;

	opterr = 0;
	while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (code == 'b' && parse_bar(optarg, &wish.bar))
			return usage_error(&command_attach, "'%s' is no BAR from 0 to 5", optarg);
		else if (code == 'r' && parse_range(optarg, &wish))
			return usage_error(&command_attach, "'%s' is no range OFFSET:SIZE", optarg);
		else if (code == 'f')
			wish.flags |= VPEER_ATTACH_FORCE;
		else if (code == 'c')
			wish.flags |= VPEER_ATTACH_CLEAN;
		else if (code != 'b' && code != 'r')
			return option_error(&command_attach, code, argv);
	}
	if (pci_operand(&command_attach, argc, argv, &wish.address))
		return EXIT_USAGE;
	if (!attach(&wish, &error))
		return EXIT_PASS;
	report_error(&error);
	return EXIT_FAIL;
}

const struct command command_attach = {
	.name = "attach",
	.summary = "load the module and make a BAR of a PCI function an aperture",
	.usage = "PCI [--bar N] [--range OFFSET:SIZE] [--force] [--clean]",
	.options = "  PCI      the function, like 0000:01:00.0\n"
		   "  --bar N  this BAR, 0 to 5, not the largest prefetchable one\n"
		   "  --range OFFSET:SIZE\n"
		   "           share this part of the BAR with the function's driver, which stays\n"
		   "           bound and must not use it; multiples of 2M, like 1G:256M\n"
		   "  --force  also a BAR that looks like registers, or with swiotlb=force\n"
		   "  --clean  the memory holds no one's data: do not zero it before first use\n"
		   "  --help   this text\n",
	.manual = "vpeer-attach",
	.run = run_attach,
};
