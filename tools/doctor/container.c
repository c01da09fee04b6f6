// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether this is a container, and device nodes that programs need. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

static void say_node(struct findings *all, const struct site *site, bool contained,
		     const char *object, const char *path)
{
	struct site_node node = { 0 };
	int err = site->place->calls->node(site->place->data, path, &node);
	char text[64];

	if (!err && node.usable)
		return;
	finding_add(all, "device-node", object);
	text_format(text, sizeof(text), "mode %04o, group %u", node.mode, node.gid);
	finding_saw(all, err ? strerror(-err) : text, "/%s", path);
	if (err)
		finding_says(all, STATE_FAIL, "there is no /%s: programs %scannot open the device",
			     path, contained ? "in this container " : "");
	else
		finding_says(all, STATE_FAIL, "/%s is not for who runs this", path);
	if (contained)
		finding_remedy(all, job_container, "docker run --device /%s; Kubernetes: a device "
			       "plugin that gives it to the pod", path);
	else
		finding_remedy(all, job_guest, err ? "udevadm trigger; is /dev a devtmpfs?" :
			       "mode 0666, as rdma-core's and NVIDIA's rules set; or the node's "
			       "group for this user");
}

/* sys/class/infiniband_verbs/uverbsN/ibdev is the device's name. */
static size_t look_at_verbs(struct findings *all, const struct site *site, bool contained)
{
	char **names, device[64], path[64];
	size_t count = site_names(site, &names, "sys/class/infiniband_verbs"), seen = 0;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(names[i], "uverbs", 6) ||
		    site_text(site, device, sizeof(device), "sys/class/infiniband_verbs/%s/ibdev",
			      names[i]))
			continue;
		text_format(path, sizeof(path), "dev/infiniband/%s", names[i]);
		say_node(all, site, contained, device, path);
		seen++;
	}
	site_names_free(names, count);
	return seen;
}

static void look_at_nvidia(struct findings *all, const struct site *site)
{
	static const char *const nodes[] = { "dev/nvidiactl", "dev/nvidia-uvm" };
	struct site_node node;

	if (!site_has_driver(site, "nvidia"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (!site->place->calls->node(site->place->data, nodes[i], &node) && node.usable)
			continue;
		say_node(all, site, true, "machine", nodes[i]);
		finding_remedy(all, job_container, "docker run --gpus all; Kubernetes: NVIDIA's "
			       "device plugin");
		return;
	}
}

void check_container(struct findings *all, const struct site *site)
{
	const char *by;
	bool contained = site_in_container(site, &by);
	size_t seen;

	finding_add(all, "container", "machine");
	finding_saw(all, contained ? "a container's" : "no container's", "%s", contained ? by :
		    "/proc/1/cgroup, /.dockerenv, /run/.containerenv, the environment");
	finding_says(all, STATE_OK, contained ? "a container: what it was given counts, not what "
		     "the machine has" : "no container");
	seen = look_at_verbs(all, site, contained);
	if (contained && seen)
		say_node(all, site, contained, "machine", "dev/infiniband/rdma_cm");
	if (contained)
		look_at_nvidia(all, site);
}
