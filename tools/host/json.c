// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The document of "vpeer host check --json"; vpeer-host(8) describes it. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "check.h"

#define SCHEMA_VERSION	1

/* Names in sysfs and the command line are bytes, JSON is UTF-8. */
static struct json_object *new_text(const char *text)
{
	struct json_object *string;
	char *copy = xstrdup(text), *at = copy;

	while (*at) {
		size_t length = utf8_length(at);

		if (!length)
			*at = '?';
		at += length ? length : 1;
	}
	string = json_object_new_string(copy);
	free(copy);
	return string;
}

static void put_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, new_text(text));
}

/* An empty text is one that is not known. */
static void put_known(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text[0] ? new_text(text) : NULL);
}

static void put_number(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static void put_signed(struct json_object *object, const char *key, long value)
{
	json_object_object_add(object, key, value < 0 ? NULL : json_object_new_int64(value));
}

static void put_flag(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

static void put_answer(struct json_object *object, const char *key, enum answer answer)
{
	json_object_object_add(object, key, answer == ANSWER_UNKNOWN ? NULL :
			       json_object_new_boolean(answer == ANSWER_YES));
}

static struct json_object *pools_array(const struct host *host)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < host->pool_count; i++) {
		struct json_object *item = json_object_new_object();

		put_signed(item, "node", host->pools[i].node);
		put_number(item, "size", host->pools[i].size);
		put_number(item, "nr_hugepages", host->pools[i].total);
		put_number(item, "free_hugepages", host->pools[i].free);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *cpu_object(const struct cpu *cpu)
{
	struct json_object *object = json_object_new_object();

	put_known(object, "vendor_id", cpu->vendor);
	put_signed(object, "physical_bits", cpu->physical ? (long)cpu->physical : NO_NUMBER);
	put_signed(object, "virtual_bits", cpu->virtual ? (long)cpu->virtual : NO_NUMBER);
	return object;
}

static struct json_object *iommu_object(const struct iommu *iommu)
{
	struct json_object *object = json_object_new_object();

	put_known(object, "driver", iommu->driver);
	put_number(object, "units", iommu->units);
	put_number(object, "groups", iommu->groups);
	put_signed(object, "address_width", iommu->width ? (long)iommu->width : NO_NUMBER);
	put_answer(object, "interrupt_remapping", iommu->remapping);
	return object;
}

static struct json_object *vfio_object(const struct vfio *vfio)
{
	struct json_object *object = json_object_new_object();

	put_flag(object, "vfio_pci", vfio->pci);
	put_flag(object, "container", vfio->container);
	put_flag(object, "vfio_iommu_type1", vfio->type1);
	put_flag(object, "iommufd", vfio->iommufd);
	put_answer(object, "allow_unsafe_interrupts", vfio->unsafe_interrupts);
	return object;
}

static struct json_object *kvm_object(const struct kvm *kvm)
{
	struct json_object *object = json_object_new_object();

	put_flag(object, "kvm", kvm->there);
	put_known(object, "module", kvm->module);
	put_answer(object, "nested", kvm->nested);
	return object;
}

static struct json_object *host_object(const struct host *host)
{
	struct json_object *object = json_object_new_object();

	put_known(object, "osrelease", host->release);
	put_text(object, "cmdline", host->cmdline);
	json_object_object_add(object, "cpu", cpu_object(&host->cpu));
	json_object_object_add(object, "iommu", iommu_object(&host->iommu));
	json_object_object_add(object, "vfio", vfio_object(&host->vfio));
	json_object_object_add(object, "kvm", kvm_object(&host->kvm));
	put_number(object, "numa_nodes", host->node_count);
	put_known(object, "transparent_hugepage", host->thp);
	json_object_object_add(object, "hugepages", pools_array(host));
	return object;
}

static struct json_object *acs_object(uint16_t bits)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < ACS_BITS; i++)
		put_flag(object, acs_bits[i].name, bits & acs_bits[i].mask);
	return object;
}

static void put_acs(struct json_object *object, const struct acs *acs)
{
	bool there = acs->presence == PRESENT;

	json_object_object_add(object, "ACSCap", there ? acs_object(acs->cap) : NULL);
	json_object_object_add(object, "ACSCtl", there ? acs_object(acs->ctl) : NULL);
}

static void put_ats(struct json_object *object, const struct ats *ats)
{
	struct json_object *cap = NULL, *ctl = NULL;

	if (ats->presence == PRESENT) {
		cap = json_object_new_object();
		put_number(cap, "InvalidateQueueDepth", ats->queue_depth);
		ctl = json_object_new_object();
		put_flag(ctl, "Enable", ats->enable);
		put_number(ctl, "SmallestTranslationUnit", ats->stu);
	}
	json_object_object_add(object, "ATSCap", cap);
	json_object_object_add(object, "ATSCtl", ctl);
}

static void put_express(struct json_object *object, const struct express *express)
{
	struct json_object *cap = NULL, *ctl = NULL;

	if (express->presence == PRESENT) {
		cap = json_object_new_object();
		put_number(cap, "MaxPayload", express->payload_cap);
		ctl = json_object_new_object();
		put_flag(ctl, "RlxdOrd", express->relaxed_ordering);
		put_flag(ctl, "ExtTag", express->ext_tag);
		put_number(ctl, "MaxPayload", express->payload);
		put_number(ctl, "MaxReadReq", express->read_request);
	}
	json_object_object_add(object, "DevCap", cap);
	json_object_object_add(object, "DevCtl", ctl);
}

static struct json_object *bars_array(const struct function *function)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];
		struct json_object *item;

		if (!bar->size)
			continue;
		item = json_object_new_object();
		put_number(item, "bar", i);
		put_number(item, "start", bar->start);
		put_number(item, "size", bar->size);
		put_flag(item, "memory", bar->memory);
		put_flag(item, "64-bit", bar->wide);
		put_flag(item, "prefetchable", bar->prefetchable);
		put_flag(item, "unassigned", bar->unassigned);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *group_object(const struct group *group)
{
	struct json_object *object, *devices;

	if (!group->known)
		return NULL;
	object = json_object_new_object();
	devices = json_object_new_array();
	for (size_t i = 0; i < group->count; i++)
		json_object_array_add(devices, json_object_new_string(group->members[i]));
	put_number(object, "number", group->number);
	put_known(object, "type", group->type);
	json_object_object_add(object, "devices", devices);
	return object;
}

static struct json_object *vf_object(const struct sriov *sriov)
{
	const struct vf_settings *settings = &sriov->settings;
	struct json_object *object;

	if (sriov->settings_err)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "trust", settings->trust_known ?
			       json_object_new_boolean(settings->trust) : NULL);
	json_object_object_add(object, "spoofchk", settings->spoof_check_known ?
			       json_object_new_boolean(settings->spoof_check) : NULL);
	put_signed(object, "min_tx_rate", (long)settings->min_tx_rate);
	put_signed(object, "max_tx_rate", (long)settings->max_tx_rate);
	put_known(object, "link_state", settings->link_state);
	return object;
}

static struct json_object *sriov_object(const struct sriov *sriov)
{
	struct json_object *object = json_object_new_object();

	put_known(object, "physfn", sriov->physfn);
	put_signed(object, "vf", sriov->vf);
	put_signed(object, "sriov_totalvfs", sriov->totalvfs);
	put_signed(object, "sriov_numvfs", sriov->numvfs);
	put_known(object, "netdev", sriov->netdev);
	json_object_object_add(object, "settings", vf_object(sriov));
	return object;
}

static void put_link(struct json_object *object, const struct link *link)
{
	put_known(object, "current_link_speed", link->speed);
	put_known(object, "max_link_speed", link->max_speed);
	put_known(object, "current_link_width", link->width);
	put_known(object, "max_link_width", link->max_width);
}

static struct json_object *bridges_array(const struct function *function)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < function->bridge_count; i++)
		json_object_array_add(array, json_object_new_string(function->bridges[i]));
	return array;
}

static struct json_object *function_object(const struct function *function)
{
	struct json_object *object = json_object_new_object();
	char class[16];

	text_format(class, sizeof(class), "0x%06x", function->class);
	put_text(object, "pci", function->pci);
	put_known(object, "vendor", function->vendor);
	put_known(object, "device", function->device);
	put_text(object, "class", class);
	put_known(object, "driver", function->driver);
	put_signed(object, "numa_node", function->numa_node);
	put_known(object, "root", function->root);
	json_object_object_add(object, "bridges", bridges_array(function));
	json_object_object_add(object, "iommu_group", group_object(&function->group));
	json_object_object_add(object, "resource", bars_array(function));
	put_number(object, "config_bytes", function->config.length);
	put_express(object, &function->express);
	put_ats(object, &function->ats);
	put_acs(object, &function->acs);
	return object;
}

static struct json_object *device_object(const struct function *function)
{
	struct json_object *object = function_object(function);

	put_text(object, "role", function_is_memory(function) ? "memory" : "initiator");
	put_link(object, &function->link);
	json_object_object_add(object, "sriov", sriov_object(&function->sriov));
	return object;
}

static struct json_object *path_object(const struct path *path)
{
	struct json_object *object = json_object_new_object();
	struct json_object *bridges = json_object_new_array();

	for (size_t i = 0; i < path->bridge_count; i++)
		json_object_array_add(bridges, json_object_new_string(path->bridges[i]->pci));
	put_text(object, "memory", path->memory->pci);
	put_text(object, "initiator", path->initiator->pci);
	put_known(object, "common", path->common);
	json_object_object_add(object, "bridges", bridges);
	put_text(object, "route", route_name(path->route));
	put_text(object, "reason", path->reason);
	return object;
}

static struct json_object *evidence_array(const struct finding *finding)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < finding->count; i++) {
		struct json_object *item = json_object_new_object();

		put_text(item, "file", finding->evidence[i].file);
		put_text(item, "value", finding->evidence[i].value);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *finding_object(const struct finding *finding)
{
	struct json_object *object = json_object_new_object();

	put_text(object, "name", finding->name);
	put_text(object, "object", finding->object);
	put_text(object, "state", state_name(finding->state));
	put_text(object, "meaning", finding->meaning);
	put_known(object, "remedy", finding->remedy);
	put_known(object, "job", finding->job);
	json_object_object_add(object, "evidence", evidence_array(finding));
	return object;
}

static struct json_object *summary_object(const struct findings *all)
{
	struct json_object *object = json_object_new_object();

	for (enum state state = STATE_OK; state < STATES; state++)
		put_number(object, state_name(state), findings_of(all, state));
	return object;
}

struct json_object *host_document(const struct host *host, const struct path *paths,
				  size_t count, const struct findings *all)
{
	struct json_object *document = json_object_new_object(), *array;

	json_object_object_add(document, "schema_version", json_object_new_int(SCHEMA_VERSION));
	put_text(document, "version", TOOL_VERSION);
	json_object_object_add(document, "host", host_object(host));
	array = json_object_new_array();
	for (size_t i = 0; i < host->function_count; i++)
		json_object_array_add(array, device_object(&host->functions[i]));
	json_object_object_add(document, "devices", array);
	array = json_object_new_array();
	for (size_t i = 0; i < host->bridge_count; i++)
		json_object_array_add(array, function_object(&host->bridges[i]));
	json_object_object_add(document, "bridges", array);
	array = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, path_object(&paths[i]));
	json_object_object_add(document, "paths", array);
	array = json_object_new_array();
	for (size_t i = 0; i < all->count; i++)
		json_object_array_add(array, finding_object(&all->items[i]));
	json_object_object_add(document, "checks", array);
	json_object_object_add(document, "summary", summary_object(all));
	return document;
}
