// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether functions answer, to whom, and whether a driver has them. */
#include <linux/pci_regs.h>
#include <string.h>

#include "../util.h"
#include "device.h"
#include "guest.h"

#define CLASS_NETWORK	0x02
#define CLASS_INFINIBAND	0x0207
#define VENDOR_MELLANOX	"0x15b3"

static bool is_watched(const struct site *site, const struct function *function)
{
	return device_is_either(site, function) && !device_is_given(site, function);
}

/* A single finding: with 8 GPUs and 16 VFs there would be a hundred otherwise. */
void check_config_space(struct findings *all, const struct site *site)
{
	const struct function *first = NULL;
	size_t count = 0;
	char text[64];

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (function->config.length >= CONFIG_PLAIN || !is_watched(site, function))
			continue;
		first = first ? first : function;
		count++;
	}
	if (!first)
		return;
	finding_add(all, "config-space", "machine");
	text_format(text, sizeof(text), "%zu bytes, as of %zu "
				 "functions", first->config.length, count);
	device_saw(all, first, "config", text);
	finding_says(all, STATE_UNKNOWN, "%s: ats, acs, relaxed-ordering, max-read-request, "
		     "max-payload and clique are not known", config_missing(&first->config));
	finding_remedy(all, job_guest, "run as root; in a container that takes '--cap-add "
		       "SYS_ADMIN', or run outside it");
}

static void sleeps(struct findings *all, const struct site *site,
		   const struct function *function, const char *power)
{
	if (!strncmp(power, "D3", 2)) {
		finding_says(all, STATE_WARN, "it sleeps (%s): nothing reaches it until its "
			     "driver wakes it, and what peers write meanwhile is lost", power);
		finding_remedy(all, job_guest, "'echo on > /sys/bus/pci/devices/%s/power/control'",
			       function->pci);
		return;
	}
	finding_says(all, STATE_FAIL, "it does not answer though it is not asleep: it fell off the "
		     "bus, hangs, or was taken away");
	finding_remedy(all, job_host, machine_is_guest(site) ?
		       "look at the host's log for the function (AER, vfio-pci, Xid), reset it "
		       "there, and start the guest anew" :
		       "look at the log (AER, Xid), then reset the function or the server");
}

/* Empty where the kernel does not tell. */
static void read_power(const struct site *site, const struct function *function, char *power,
		       size_t size)
{
	if (site_text(site, power, size, "sys/bus/pci/devices/%s/power_state", function->pci))
		power[0] = '\0';
}

/* Configuration space answers in D3hot, memory does not. VFIO's sleep while nobody uses them. */
static bool has_gone_to_sleep(const struct function *function, const char *power)
{
	return function->driver[0] && !function->vfio && !strcmp(power, "D3hot");
}

static void answers(struct findings *all, const struct site *site,
		    const struct function *function)
{
	bool silent = config_is_silent(&function->config);
	char power[32];

	read_power(site, function, power, sizeof(power));
	device_begin(all, function, "asleep", "config", silent ? "ones" : "it answers");
	finding_says(all, STATE_OK, "it answers");
	if (!silent && !has_gone_to_sleep(function, power))
		return;
	site_saw(all, site, "sys/bus/pci/devices/%s/power_state", function->pci);
	sleeps(all, site, function, power);
}

void check_asleep(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (is_watched(site, &site->functions[i]) && site->functions[i].config.length)
			answers(all, site, &site->functions[i]);
}

/* VFIO switches a function that nobody uses off; a VF's PF decides on its memory. */
static void command(struct findings *all, const struct site *site,
		    const struct function *function)
{
	uint16_t bits = config_command(&function->config);
	bool memory = bits & PCI_COMMAND_MEMORY || function->sriov.physfn[0];
	bool master = bits & PCI_COMMAND_MASTER || !site_is_initiator(site, function);
	char text[64], power[32];

	read_power(site, function, power, sizeof(power));
	if (function->config.length < CONFIG_HEADER || !function->driver[0] || function->vfio ||
	    (power[0] && strcmp(power, "D0")))
		return;
	text_format(text, sizeof(text), "Control: Mem%c BusMaster%c",
		    bits & PCI_COMMAND_MEMORY ? '+' : '-', bits & PCI_COMMAND_MASTER ? '+' : '-');
	device_begin(all, function, "command", "config", text);
	if (memory && master) {
		finding_says(all, STATE_OK, "it answers to its addresses%s",
			     site_is_initiator(site, function) ? ", and may do DMA" : "");
		return;
	}
	finding_says(all, STATE_FAIL, memory ? "it may not do DMA, though %s has it" :
		     "it does not answer to its addresses, though %s has it: reads give ones, "
		     "writes are lost", function->driver);
	finding_remedy(all, job_guest, "bind %s anew: 'echo %s > /sys/bus/pci/drivers/%s/unbind', "
		       "then the same into "
		       "bind", function->driver, function->pci, function->driver);
}

void check_command(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_either, command);
}

/* Memory for vpeer.ko, which is not there: the guest's check of it tells. */
static bool lacks_module(const struct site *site, const struct function *function)
{
	struct site_module file;
	char pci[VPEER_PCI_LEN];

	return !function->driver[0] && site_needs_module(site, pci) &&
	       !strcmp(pci, function->pci) && !site_has(site, "sys/module/vpeer") &&
	       site->place->calls->module_file(site->place->data, "vpeer", &file);
}

/* Without a driver it is not known as one that does DMA. */
static bool needs_driver(const struct site *site, const struct function *function)
{
	if ((device_is_emulated(function) && !device_is_memory(site, function)) ||
	    lacks_module(site, function))
		return false;
	if (device_is_either(site, function) || function->class >> 8 == CLASS_INFINIBAND)
		return true;
	return function->class >> 16 == CLASS_NETWORK &&
	       !strcmp(function->vendor, VENDOR_MELLANOX);
}

static void remedy_driver(struct findings *all, const struct site *site,
			  const struct function *function)
{
	if (device_is_memory(site, function))
		finding_remedy(all, job_guest, "load the driver of the GPU, or 'vpeer attach %s' "
			       "for memory that has none", function->pci);
	else
		finding_remedy(all, job_guest, "load the driver of the function, such as mlx5_core "
			       "and mlx5_ib; see dmesg if it refused");
}

static void bound(struct findings *all, const struct site *site, const struct function *function)
{
	const char *driver = function->driver;

	device_begin(all, function, "bound-driver", "driver", driver);
	if (!driver[0]) {
		finding_says(all, STATE_WARN, "no driver has it: %s",
			     device_is_memory(site, function) ?
			     "nobody gives its memory to others" : "it does no DMA");
		remedy_driver(all, site, function);
	} else if (function->vfio || !strcmp(driver, "pci-stub")) {
		finding_says(all, STATE_WARN, "%s has it, in a guest: it is kept for a program, or "
			     "for a guest of this guest", driver);
		finding_remedy(all, job_guest, "'driverctl unset-override %s', or take it out of "
			       "vfio-pci.ids of the kernel's command line", function->pci);
	} else {
		finding_says(all, STATE_OK, "%s has it", driver);
	}
}

void check_bound_driver(struct findings *all, const struct site *site)
{
	device_each(all, site, needs_driver, bound);
}
