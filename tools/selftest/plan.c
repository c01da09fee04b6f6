// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../pcidev.h"
#include "disk.h"

static int nothing(const char *what, const char *remedy)
{
	fprintf(stderr, "vpeer: nothing to test: %s\n  remedy: %s\n", what, remedy);
	return EXIT_NOTHING;
}

static int absent(const char *what, const char *name, const char *remedy)
{
	fprintf(stderr, "vpeer: %s: %s\n  remedy: %s\n", name, what, remedy);
	return EXIT_FAIL;
}

static bool aperture_wanted(const struct vpeer_entry *entry, const struct names *names,
			    bool *used)
{
	struct vpeer_pci_address pci;
	bool wanted = !names->count;

	for (size_t i = 0; i < names->count; i++) {
		if ((vpeer_pci_parse(names->items[i], &pci) ||
		     memcmp(&pci, &entry->pci, sizeof(pci))) &&
		    strcmp(names->items[i], entry->node))
			continue;
		used[i] = true;
		wanted = true;
	}
	return wanted;
}

static int pick_apertures(struct plan *plan, const struct names *names)
{
	bool used[MAX_NAMES] = { false };
	struct vpeer_error error;
	size_t kept = 0;

	if (vpeer_list(&plan->apertures, &plan->aperture_count, &error)) {
		report_error(&error);
		return EXIT_FAIL;
	}
	for (size_t i = 0; i < plan->aperture_count; i++)
		if (aperture_wanted(&plan->apertures[i], names, used))
			plan->apertures[kept++] = plan->apertures[i];
	plan->aperture_count = kept;
	for (size_t i = 0; i < names->count; i++)
		if (!used[i])
			return absent("there is no such aperture", names->items[i],
				      "attach it with 'vpeer attach'");
	if (kept)
		return EXIT_PASS;
	return nothing("no aperture is attached",
		       "attach one with 'vpeer attach PCI'; 'vpeer list --all' shows candidates");
}

static bool initiator_wanted(const struct initiator *initiator, const struct wishes *wishes)
{
	bool all = !wishes->rdma.count && !wishes->block.count;

	return initiator->named || initiator->scratch || (all && !initiator->in_use);
}

static int name_rdma(const struct plan *plan, const struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		struct initiator *device = initiator_by_name(&plan->initiators, INITIATOR_RDMA,
							     names->items[i]);

		if (!device)
			return absent("there is no such RDMA device", names->items[i],
				      "'rdma link' shows what there is");
		device->named = true;
	}
	return EXIT_PASS;
}

/* NULL after a message. */
static struct initiator *find_disk(const struct plan *plan, const char *text)
{
	struct initiator *disk;
	struct vpeer_error error;
	char name[64];

	if (disk_resolve("/sys", text, name, sizeof(name), &error)) {
		report_error(&error);
		return NULL;
	}
	disk = initiator_by_name(&plan->initiators, INITIATOR_BLOCK, name);
	if (!disk)
		absent("it is no disk on a PCI function", text,
		       "name a disk that is; 'lsblk -s' shows what lies below a volume");
	return disk;
}

static int name_disks(const struct plan *plan, const struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		struct initiator *disk = find_disk(plan, names->items[i]);

		if (!disk)
			return EXIT_FAIL;
		disk->named = true;
	}
	return EXIT_PASS;
}

static int place_scratch(struct scratch *scratch, struct initiator *disk)
{
	struct vpeer_error error;

	if (!disk)
		return EXIT_FAIL;
	if (disk->scratch)
		return absent("two scratch ranges on one disk", scratch->device, "name one");
	if (scratch->offset > disk->size || scratch->length > disk->size - scratch->offset)
		return absent("the scratch range leaves the disk", scratch->device,
			      "name a range inside the disk's size");
	if (scratch_check(scratch, disk, &error) || scratch_open(scratch, disk, &error)) {
		report_error(&error);
		return EXIT_FAIL;
	}
	disk->scratch = scratch;
	return EXIT_PASS;
}

static int name_initiators(struct plan *plan, struct wishes *wishes)
{
	int status = name_rdma(plan, &wishes->rdma);

	if (!status)
		status = name_disks(plan, &wishes->block);
	for (size_t i = 0; !status && i < wishes->scratch_count; i++)
		status = place_scratch(&wishes->scratch[i],
				       find_disk(plan, wishes->scratch[i].device));
	return status;
}

static int pick_initiators(struct plan *plan, struct wishes *wishes)
{
	size_t kept = 0;
	int status;
	int err = initiators_find_rdma("/sys", &plan->initiators);

	if (!err)
		err = initiators_find_block("/sys", "/dev", &plan->initiators);
	if (err)
		return absent(strerror(-err), "/sys", "mount sysfs there");
	status = name_initiators(plan, wishes);
	if (status)
		return status;
	for (size_t i = 0; i < plan->initiators.count; i++)
		if (initiator_wanted(&plan->initiators.items[i], wishes))
			plan->initiators.items[kept++] = plan->initiators.items[i];
	plan->initiators.count = kept;
	if (kept)
		return EXIT_PASS;
	return nothing("no RDMA device, and no disk that is not in use",
		       "load the driver of a NIC or disk, or name a disk in use with --block");
}

int plan_view(const char *view, const struct vpeer_entry *aperture, size_t apertures, char *path,
	      size_t size)
{
	char pci[VPEER_PCI_LEN];
	struct stat status;

	path[0] = '\0';
	if (stat(view, &status))
		return -errno;
	if (!S_ISDIR(status.st_mode)) {
		if (apertures != 1)
			return -ENOTDIR;
		text_format(path, size, "%s", view);
		return 0;
	}
	text_format(path, size, "%s/%s-bar%u", view, vpeer_pci_format(&aperture->pci, pci),
		    aperture->bar);
	if (!access(path, F_OK))
		return 0;
	path[0] = '\0';
	return -ENOENT;
}

static int add_pairs(struct plan *plan, const struct vpeer_entry *aperture,
		     const struct settings *settings)
{
	struct pci_bar bars[PCI_BARS];
	char pci[VPEER_PCI_LEN];
	struct pair pair = { .aperture = aperture, .trace = &plan->trace };
	int err;

	vpeer_pci_format(&aperture->pci, pci);
	err = pci_bars("/sys", pci, bars);
	if (err || aperture->bar >= PCI_BARS)
		return absent("its PCI resources cannot be read from sysfs", pci,
			      "attach it again");
	pair.bus_start = bars[aperture->bar].start + aperture->bar_offset;
	err = settings->owner_view ? plan_view(settings->owner_view, aperture,
					       plan->aperture_count, pair.view,
					       sizeof(pair.view)) : 0;
	if (err)
		return absent(err == -ENOTDIR ? "one file cannot show several apertures" :
						"no owner's view of this aperture there",
			      settings->owner_view,
			      "name a directory with a file <PCI address>-bar<N> per aperture, or do "
			      "without (no --owner-view, and VPEER_OWNER_VIEW unset)");
	for (size_t i = 0; i < plan->initiators.count; i++) {
		pair.initiator = &plan->initiators.items[i];
		plan->pairs = xrealloc(plan->pairs, plan->pair_count + 1, sizeof(pair));
		plan->pairs[plan->pair_count++] = pair;
	}
	return EXIT_PASS;
}

int plan_begin(struct plan *plan, struct wishes *wishes, const struct settings *settings)
{
	int status;

	*plan = (struct plan){ 0 };
	status = pick_apertures(plan, &wishes->apertures);
	if (!status)
		status = pick_initiators(plan, wishes);
	for (size_t i = 0; !status && i < plan->aperture_count; i++)
		status = add_pairs(plan, &plan->apertures[i], settings);
	return status;
}

void plan_end(struct plan *plan)
{
	for (size_t i = 0; i < plan->pair_count; i++)
		free(plan->pairs[i].result.records);
	free(plan->pairs);
	for (size_t i = 0; i < plan->initiators.count; i++)
		if (plan->initiators.items[i].scratch)
			scratch_close(plan->initiators.items[i].scratch);
	free(plan->initiators.items);
	vpeer_list_free(plan->apertures);
}
