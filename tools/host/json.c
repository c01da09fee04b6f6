// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The document of "vpeer host check --json"; vpeer-host(8) describes it. */
#include "../document.h"
#include "../util.h"
#include "check.h"

#define SCHEMA_VERSION	1

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

		json_put_signed(item, "node", host->pools[i].node);
		json_put_number(item, "size", host->pools[i].size);
		json_put_number(item, "nr_hugepages", host->pools[i].total);
		json_put_number(item, "free_hugepages", host->pools[i].free);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *cpu_object(const struct cpu *cpu)
{
	struct json_object *object = json_object_new_object();

	json_put_known(object, "vendor_id", cpu->vendor);
	json_put_signed(object, "physical_bits", cpu->physical ? (long)cpu->physical : NO_NUMBER);
	json_put_signed(object, "virtual_bits", cpu->virtual ? (long)cpu->virtual : NO_NUMBER);
	return object;
}

static struct json_object *iommu_object(const struct iommu *iommu)
{
	struct json_object *object = json_object_new_object();

	json_put_known(object, "driver", iommu->driver);
	json_put_number(object, "units", iommu->units);
	json_put_number(object, "groups", iommu->groups);
	json_put_signed(object, "address_width", iommu->width ? (long)iommu->width : NO_NUMBER);
	put_answer(object, "interrupt_remapping", iommu->remapping);
	return object;
}

static struct json_object *vfio_object(const struct vfio *vfio)
{
	struct json_object *object = json_object_new_object();

	json_put_flag(object, "vfio_pci", vfio->pci);
	json_put_flag(object, "container", vfio->container);
	json_put_flag(object, "vfio_iommu_type1", vfio->type1);
	json_put_flag(object, "iommufd", vfio->iommufd);
	put_answer(object, "allow_unsafe_interrupts", vfio->unsafe_interrupts);
	return object;
}

static struct json_object *kvm_object(const struct kvm *kvm)
{
	struct json_object *object = json_object_new_object();

	json_put_flag(object, "kvm", kvm->there);
	json_put_known(object, "module", kvm->module);
	put_answer(object, "nested", kvm->nested);
	return object;
}

static struct json_object *host_object(const struct host *host)
{
	struct json_object *object = json_object_new_object();

	json_put_known(object, "osrelease", host->release);
	json_put_text(object, "cmdline", host->cmdline);
	json_object_object_add(object, "cpu", cpu_object(&host->cpu));
	json_object_object_add(object, "iommu", iommu_object(&host->iommu));
	json_object_object_add(object, "vfio", vfio_object(&host->vfio));
	json_object_object_add(object, "kvm", kvm_object(&host->kvm));
	json_put_number(object, "numa_nodes", host->node_count);
	json_put_known(object, "transparent_hugepage", host->thp);
	json_object_object_add(object, "hugepages", pools_array(host));
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
	json_put_signed(object, "min_tx_rate", (long)settings->min_tx_rate);
	json_put_signed(object, "max_tx_rate", (long)settings->max_tx_rate);
	json_put_known(object, "link_state", settings->link_state);
	return object;
}

static struct json_object *sriov_object(const struct sriov *sriov)
{
	struct json_object *object = json_object_new_object();

	json_put_known(object, "physfn", sriov->physfn);
	json_put_signed(object, "vf", sriov->vf);
	json_put_signed(object, "sriov_totalvfs", sriov->totalvfs);
	json_put_signed(object, "sriov_numvfs", sriov->numvfs);
	json_put_known(object, "netdev", sriov->netdev);
	json_object_object_add(object, "settings", vf_object(sriov));
	return object;
}

static void put_link(struct json_object *object, const struct link *link)
{
	json_put_known(object, "current_link_speed", link->speed);
	json_put_known(object, "max_link_speed", link->max_speed);
	json_put_known(object, "current_link_width", link->width);
	json_put_known(object, "max_link_width", link->max_width);
}

static struct json_object *device_object(const struct function *function)
{
	struct json_object *object = function_document(function);

	json_put_text(object, "role", function_is_memory(function) ? "memory" : "initiator");
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
	json_put_text(object, "memory", path->memory->pci);
	json_put_text(object, "initiator", path->initiator->pci);
	json_put_known(object, "common", path->common);
	json_object_object_add(object, "bridges", bridges);
	json_put_text(object, "route", route_name(path->route));
	json_put_text(object, "reason", path->reason);
	return object;
}

struct json_object *host_document(const struct host *host, const struct path *paths,
				  size_t count, const struct findings *all)
{
	struct json_object *document = json_object_new_object(), *array;

	json_object_object_add(document, "schema_version", json_object_new_int(SCHEMA_VERSION));
	json_put_text(document, "version", TOOL_VERSION);
	json_object_object_add(document, "host", host_object(host));
	array = json_object_new_array();
	for (size_t i = 0; i < host->function_count; i++)
		json_object_array_add(array, device_object(&host->functions[i]));
	json_object_object_add(document, "devices", array);
	array = json_object_new_array();
	for (size_t i = 0; i < host->bridge_count; i++)
		json_object_array_add(array, function_document(&host->bridges[i]));
	json_object_object_add(document, "bridges", array);
	array = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, path_object(&paths[i]));
	json_object_object_add(document, "paths", array);
	json_object_object_add(document, "checks", findings_document(all));
	json_object_object_add(document, "summary", findings_summary(all));
	return document;
}
