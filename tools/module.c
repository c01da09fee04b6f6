// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <libkmod.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../lib/sysfs.h"
#include "util.h"

static void add_missing(struct module_facts *facts, const char *symbol)
{
	size_t used = strlen(facts->missing);

	if (strstr(facts->missing, symbol))
		return;
	text_format(facts->missing + used, sizeof(facts->missing) - used, "%s%s",
		    used ? ", " : "", symbol);
}

static void read_kernel_log(struct module_facts *facts)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char line[8192], symbol[128];
	ssize_t got;

	if (fd < 0)
		return;
	for (;;) {
		got = read(fd, line, sizeof(line) - 1);
		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* a record was overwritten meanwhile */
		if (got <= 0)
			break;
		line[got] = '\0';
		if (module_parse_unknown_symbol(line, symbol, sizeof(symbol)))
			add_missing(facts, symbol);
	}
	close(fd);
}

static void read_vermagic(struct kmod_module *module, struct module_facts *facts)
{
	struct kmod_list *list = NULL, *item;

	if (kmod_module_get_info(module, &list) < 0)
		return;
	kmod_list_foreach(item, list)
		if (!strcmp(kmod_module_info_get_key(item), "vermagic"))
			text_format(facts->vermagic, sizeof(facts->vermagic), "%s",
				    kmod_module_info_get_value(item));
	kmod_module_info_free_list(list);
}

static void read_machine(struct module_facts *facts)
{
	struct utsname name;
	char text[128];

	facts->root = geteuid() == 0;
	if (!uname(&name))
		text_format(facts->release, sizeof(facts->release), "%s", name.release);
	if (!vpeer_sysfs_read(text, sizeof(text), "/sys/kernel/security/lockdown"))
		module_parse_lockdown(text, facts->lockdown, sizeof(facts->lockdown));
	if (!vpeer_sysfs_read(text, sizeof(text), "/sys/module/module/parameters/sig_enforce"))
		facts->sig_enforce = text[0] == 'Y';
}

static int load(struct kmod_ctx *context, struct module_facts *facts)
{
	struct kmod_list *list = NULL;
	struct kmod_module *module;
	int err = kmod_module_new_from_lookup(context, "vpeer", &list);

	if (err < 0 || !list)
		return err < 0 ? err : -ENOENT;
	module = kmod_module_get_module(list);
	facts->found = kmod_module_get_path(module) != NULL;
	err = facts->found ? kmod_module_probe_insert_module(module, 0, NULL, NULL, NULL, NULL) :
			     -ENOENT;
	if (err && facts->found)
		read_vermagic(module, facts);
	kmod_module_unref(module);
	kmod_module_unref_list(list);
	return err;
}

int module_ensure_loaded(struct vpeer_error *error)
{
	struct module_facts facts = { 0 };
	struct kmod_ctx *context;
	int err;

	vpeer_error_clear(error);
	if (vpeer_sysfs_exists("/sys/module/vpeer"))
		return 0;
	context = kmod_new(NULL, NULL);
	if (!context)
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, "module vpeer", "",
				  "cannot start libkmod");
	err = load(context, &facts);
	kmod_unref(context);
	if (!err)
		return 0;
	facts.err = -err;
	read_machine(&facts);
	if (facts.found)
		read_kernel_log(&facts);
	return module_diagnose(&facts, error);
}
