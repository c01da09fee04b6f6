// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is asked of this machine otherwise than by files. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <libkmod.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <unistd.h>
#if __has_include("cpuid.h")
#include <cpuid.h>
#endif

#include "../../lib/sysfs.h"
#include "../util.h"
#include "site.h"

#define LOG_READ_ALL	3	/* syslog(2) */
#define LOG_SIZE	10
#define CAP_SYS_ADMIN	21

#if __has_include("cpuid.h")
#define HYPERVISOR_BIT	(1U << 31)
#define HYPERVISOR_LEAF	0x40000000

static int hypervisor(void *data, char vendor[13])
{
	unsigned int a, b, c, d;

	(void)data;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HYPERVISOR_BIT))
		return -ENODATA;
	__cpuid(HYPERVISOR_LEAF, a, b, c, d);
	memcpy(vendor, &b, sizeof(b));
	memcpy(vendor + 4, &c, sizeof(c));
	memcpy(vendor + 8, &d, sizeof(d));
	vendor[12] = '\0';
	return 0;
}
#else
static int hypervisor(void *data, char vendor[13])
{
	(void)data;
	(void)vendor;
	return -EOPNOTSUPP;
}
#endif

static int probe(struct ibv_device *device, int *answer)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int err = 0;

	if (!context)
		return errno ? -errno : -EIO;
	pd = ibv_alloc_pd(context);
	if (!pd) {
		err = errno ? -errno : -EIO;
		goto close_device;
	}
	errno = 0;
	mr = ibv_reg_dmabuf_mr(pd, 0, (size_t)sysconf(_SC_PAGESIZE), 0, -1, 0);
	*answer = mr ? 0 : errno;
	if (mr)
		ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
close_device:
	ibv_close_device(context);
	return err;
}

static int probe_dmabuf(void *data, const char *device, int *answer)
{
	struct ibv_device **list;
	int count, err = -ENODEV;

	(void)data;
	list = ibv_get_device_list(&count);
	if (!list)
		return errno ? -errno : -ENODEV;
	for (int i = 0; i < count; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			err = probe(list[i], answer);
	ibv_free_device_list(list);
	return err;
}

static void take_info(struct kmod_module *module, struct site_module *file)
{
	struct kmod_list *list = NULL, *item;

	if (kmod_module_get_info(module, &list) < 0)
		return;
	kmod_list_foreach(item, list) {
		const char *key = kmod_module_info_get_key(item);
		const char *value = kmod_module_info_get_value(item);

		if (!strcmp(key, "version"))
			text_format(file->version, sizeof(file->version), "%s", value);
		else if (!strcmp(key, "vermagic"))
			text_format(file->vermagic, sizeof(file->vermagic), "%s", value);
		else if (!strcmp(key, "signer"))
			text_format(file->signer, sizeof(file->signer), "%s", value);
	}
	kmod_module_info_free_list(list);
}

static int look_up(struct kmod_ctx *context, const char *name, struct site_module *file)
{
	struct kmod_list *list = NULL;
	struct kmod_module *module;
	const char *path;
	int err = kmod_module_new_from_lookup(context, name, &list);

	if (err < 0 || !list)
		return err < 0 ? err : -ENOENT;
	module = kmod_module_get_module(list);
	path = kmod_module_get_path(module);
	if (path) {
		text_format(file->path, sizeof(file->path), "%s", path);
		take_info(module, file);
	}
	kmod_module_unref(module);
	kmod_module_unref_list(list);
	return path ? 0 : -ENOENT;
}

static int module_file(void *data, const char *name, struct site_module *file)
{
	struct kmod_ctx *context = kmod_new(NULL, NULL);
	int err;

	(void)data;
	*file = (struct site_module){ 0 };
	if (!context)
		return -ENOMEM;
	err = look_up(context, name, file);
	kmod_unref(context);
	return err;
}

/* "<6>[   12.345678] text": the text. */
static const char *without_prefix(const char *line)
{
	const char *end = *line == '<' ? strchr(line, '>') : NULL;

	line = end ? end + 1 : line;
	end = *line == '[' ? strchr(line, ']') : NULL;
	return end ? end + 1 + (end[1] == ' ') : line;
}

static int kernel_log(void *data, log_reader *each, void *to)
{
	int size = klogctl(LOG_SIZE, NULL, 0), got;
	char *text, *line, *rest;

	(void)data;
	if (size < 0)
		return -errno;
	text = xrealloc(NULL, (size_t)size + 1, 1);
	got = klogctl(LOG_READ_ALL, text, size);
	if (got < 0) {
		got = -errno;
		free(text);
		return got;
	}
	text[got] = '\0';
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			each(to, without_prefix(line));
	free(text);
	return 0;
}

static int node_of(void *data, const char *path, struct site_node *node)
{
	char whole[PATH_MAX];
	struct stat status;

	(void)data;
	text_format(whole, sizeof(whole), "/%s", path);
	if (stat(whole, &status))
		return -errno;
	node->mode = status.st_mode & 07777;
	node->gid = status.st_gid;
	node->usable = !access(whole, R_OK | W_OK);
	return 0;
}

static const struct site_calls calls = {
	.hypervisor = hypervisor,
	.probe_dmabuf = probe_dmabuf,
	.module_file = module_file,
	.kernel_log = kernel_log,
	.node = node_of,
};

static bool may_all(const char *status)
{
	unsigned long long effective;
	const char *line = strstr(status, "CapEff:");

	return line && sscanf(line, "CapEff: %llx", &effective) == 1 &&
	       effective >> CAP_SYS_ADMIN & 1;
}

void site_here(struct site_place *place)
{
	static const char root[] = "";
	char status[8192];

	*place = (struct site_place){ .root = root, .environment = environ, .calls = &calls };
	place->privileged = !vpeer_sysfs_read(status, sizeof(status), "/proc/self/status") &&
			    may_all(status);
}
