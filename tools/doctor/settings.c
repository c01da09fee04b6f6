// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Variables of NCCL, UCX, libfabric, CUDA and the loader that keep programs from peers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../util.h"
#include "guest.h"
#include "settings.h"

static bool is_no(const struct site *site, const char *value)
{
	static const char *const words[] = { "0", "n", "no", "off", "false", "disable" };

	(void)site;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(value, words[i]))
			return true;
	return false;
}

static bool is_yes(const struct site *site, const char *value)
{
	return !is_no(site, value);
}

static bool is_no_without_peermem(const struct site *site, const char *value)
{
	return is_no(site, value) && !site_has_peermem(site);
}

static bool is_no_with_peermem(const struct site *site, const char *value)
{
	return is_no(site, value) && site_has_peermem(site);
}

static bool is_socket(const struct site *site, const char *value)
{
	(void)site;
	return !strcasecmp(value, "socket");
}

/* 0, or the name of the least distance. */
static bool is_local(const struct site *site, const char *value)
{
	(void)site;
	return !strcasecmp(value, "LOC") || !strcmp(value, "0");
}

static bool hides_gpus(const struct site *site, const char *value)
{
	return site_has_driver(site, "nvidia") &&
	       (!strcmp(value, "-1") || !strcasecmp(value, "void") || !strcasecmp(value, "none") ||
		!strcmp(value, "NoDevFiles"));
}

static bool is_forked_slowly(const struct site *site, const char *value)
{
	(void)value;
	return !site_variable(site, "RDMAV_HUGEPAGES_SAFE");
}

static bool lacks_preload(const struct site *site, const char *value)
{
	char text[PATH_MAX], *rest = text, *word;

	text_format(text, sizeof(text), "%s", value);
	while ((word = strsep(&rest, ": ")))
		if (*word == '/' && strstr(word, "libvpeer-preload") &&
		    !site_has(site, "%s", word + 1))
			return true;
	return false;
}

static const struct setting {
	const char *name;
	bool (*hurts)(const struct site *site, const char *value);
	enum state state;
	const char *meaning;
	const char *instead;	/* NULL: unset it */
} settings[] = {
	{ "NCCL_IB_DISABLE", is_yes, STATE_FAIL, "NCCL uses no RDMA device: all goes by TCP",
	  NULL },
	{ "NCCL_NET", is_socket, STATE_FAIL, "NCCL uses no RDMA device: all goes by TCP", NULL },
	{ "NCCL_NET_GDR_LEVEL", is_local, STATE_FAIL,
	  "NCCL lets no RDMA device reach GPU memory: all is copied through the host", "PHB" },
	{ "NCCL_IB_CUDA_SUPPORT", is_no, STATE_FAIL,
	  "NCCL lets no RDMA device reach GPU memory: all is copied through the host", NULL },
	{ "NCCL_NET_GDR_READ", is_no, STATE_WARN,
	  "NCCL copies what a GPU sends to the host first; only what it receives goes straight",
	  "1" },
	{ "NCCL_DMABUF_ENABLE", is_no_without_peermem, STATE_FAIL,
	  "NCCL registers no DMA-bufs, and there is no peer memory: GPU memory is copied through "
	  "the host", NULL },
	{ "NCCL_DMABUF_ENABLE", is_no_with_peermem, STATE_WARN,
	  "NCCL registers by peer memory instead of DMA-bufs: mlx5 does not use ATS for it", NULL },
	{ "NCCL_P2P_DISABLE", is_yes, STATE_WARN,
	  "GPUs of this machine do not reach one another: NCCL copies through host memory", NULL },
	{ "NCCL_P2P_LEVEL", is_local, STATE_WARN,
	  "GPUs of this machine do not reach one another: NCCL copies through host memory", NULL },
	{ "NCCL_IB_PCI_RELAXED_ORDERING", is_no, STATE_WARN,
	  "MRs without relaxed ordering: slower, and mlx5 does not use ATS for them", NULL },
	{ "NCCL_IB_HCA", setting_names_no_device, STATE_FAIL,
	  "no RDMA device of this machine fits: NCCL goes by TCP", NULL },
	{ "UCX_TLS", setting_lacks_rdma, STATE_WARN,
	  "UCX uses no RDMA transport: harmless only if UCX does no more than start the job",
	  "all" },
	{ "UCX_TLS", setting_lacks_cuda, STATE_WARN,
	  "UCX does not know CUDA memory: it crashes on it, or takes it for the host's", "all" },
	{ "UCX_NET_DEVICES", setting_names_no_rdma, STATE_WARN,
	  "no RDMA device of this machine is named: UCX goes by TCP; harmless only if UCX does no "
	  "more than start the job", "all" },
	{ "UCX_IB_GPU_DIRECT_RDMA", is_no, STATE_FAIL,
	  "UCX lets no RDMA device reach GPU memory: all is copied through the host", "try" },
	{ "UCX_IB_PCI_RELAXED_ORDERING", is_no, STATE_WARN,
	  "MRs without relaxed ordering: slower, and mlx5 does not use ATS for them", "auto" },
	{ "FI_HMEM_DISABLE_P2P", is_yes, STATE_FAIL,
	  "libfabric lets no device reach GPU memory: all is copied through the host", NULL },
	{ "FI_HMEM_CUDA_USE_DMABUF", is_no_without_peermem, STATE_FAIL,
	  "libfabric registers no DMA-bufs, and there is no peer memory", NULL },
	{ "FI_HMEM_CUDA_USE_DMABUF", is_no_with_peermem, STATE_WARN,
	  "libfabric registers by peer memory instead of DMA-bufs: mlx5 does not use ATS for it",
	  NULL },
	{ "FI_PROVIDER", setting_lacks_provider, STATE_FAIL,
	  "libfabric uses no RDMA provider: all goes by TCP", NULL },
	{ "FI_EFA_USE_DEVICE_RDMA", is_no, STATE_WARN,
	  "EFA copies instead of reading and writing memory of peers", "1" },
	{ "CUDA_VISIBLE_DEVICES", hides_gpus, STATE_FAIL, "programs see no GPU", NULL },
	{ "NVIDIA_VISIBLE_DEVICES", hides_gpus, STATE_FAIL,
	  "the container was given no GPU by NVIDIA's runtime", "all" },
	{ "RDMAV_FORK_SAFE", is_forked_slowly, STATE_WARN,
	  "each registration takes its pages one by one from children of fork(), huge pages too; "
	  "Linux needs that no more from 5.12 on", NULL },
	{ "IBV_FORK_SAFE", is_forked_slowly, STATE_WARN,
	  "each registration takes its pages one by one from children of fork(), huge pages too; "
	  "Linux needs that no more from 5.12 on", NULL },
	{ "LD_PRELOAD", lacks_preload, STATE_WARN,
	  "libvpeer-preload.so is not there: the loader goes on without it", NULL },
};

static void say_setting(struct findings *all, const struct setting *setting, const char *value,
			const char *where)
{
	const char *job = !strncmp(where, "/etc", 4) ? job_guest :
			  !strcmp(setting->name, "NVIDIA_VISIBLE_DEVICES") ? job_container :
									     job_user;

	finding_add(all, "library-settings", "machine");
	finding_saw(all, value, "%s in %s", setting->name, where);
	finding_says(all, setting->state, "%s=%.64s: %s", setting->name, value, setting->meaning);
	if (where[0] != '/')
		finding_remedy(all, job, setting->instead ? "export %s=%s" : "unset %s",
			       setting->name, setting->instead);
	else if (setting->instead)
		finding_remedy(all, job, "write %s=%s in %s", setting->name, setting->instead,
			       where);
	else
		finding_remedy(all, job, "take %s out of %s", setting->name, where);
}

/* "" means no GPU at all, where other variables mean nothing by it. */
static size_t look_at_empty(struct findings *all, const struct site *site)
{
	static const struct setting empty = {
		"CUDA_VISIBLE_DEVICES", NULL, STATE_FAIL, "programs see no GPU", NULL,
	};
	const char *value = site_variable(site, empty.name);

	if (!value || *value || !site_has_driver(site, "nvidia"))
		return 0;
	say_setting(all, &empty, "", "the environment");
	return 1;
}

void check_settings(struct findings *all, const struct site *site)
{
	size_t found = site_has_peers(site) ? look_at_empty(all, site) : 0;
	char value[1024], where[PATH_MAX];

	for (size_t i = 0; site_has_peers(site) && i < ARRAY_SIZE(settings); i++) {
		if (!site_setting(site, settings[i].name, value, sizeof(value), where,
				  sizeof(where)) ||
		    !settings[i].hurts(site, value))
			continue;
		say_setting(all, &settings[i], value, where);
		found++;
	}
	if (found)
		return;
	finding_add(all, "library-settings", "machine");
	finding_saw(all, "nothing in the way", "NCCL_*, UCX_*, FI_*, CUDA_* in the environment, "
		    "/etc/nccl.conf, ~/.nccl.conf, /etc/ucx/ucx.conf");
	finding_says(all, STATE_OK, "no variable keeps NCCL, UCX or libfabric from peers");
}
