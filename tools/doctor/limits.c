// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Limits that registrations run into. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

#define CAP_IPC_LOCK	14
#define UNLIMITED	UINT64_MAX
#define NO_QUEUE_PAIR	(1ULL << 20)	/* less does not do for a queue pair's rings */
#define LITTLE		(1ULL << 30)
#define FEW_FILES	1024

/* A row of /proc/self/limits: its soft and hard limit. */
static int read_limit(const struct site *site, const char *row, uint64_t *soft, uint64_t *hard)
{
	char text[4096], left[32], right[32];
	const char *at;
	int err = site_text(site, text, sizeof(text), "proc/self/limits");

	if (err)
		return err;
	at = strstr(text, row);
	if (!at || sscanf(at + strlen(row), "%31s %31s", left, right) != 2)
		return -ENODATA;
	*soft = strcmp(left, "unlimited") ? strtoull(left, NULL, 10) : UNLIMITED;
	*hard = strcmp(right, "unlimited") ? strtoull(right, NULL, 10) : UNLIMITED;
	return 0;
}

static void remedy_memlock(struct findings *all, const struct site *site)
{
	const char *by;

	if (site_in_container(site, &by))
		finding_remedy(all, job_container, "docker run --ulimit memlock=-1; Kubernetes: "
			       "LimitMEMLOCK=infinity in containerd.service on the node "
			       "(IPC_LOCK in capabilities.add does nothing for a user other "
			       "than root)");
	else
		finding_remedy(all, job_guest, "'* - memlock unlimited' in "
			       "/etc/security/limits.d/rdma.conf and a new login; for a service "
			       "LimitMEMLOCK=infinity in its unit");
}

static void say_limit(struct findings *all, const struct site *site, uint64_t limit)
{
	char bytes[BYTES_LEN];

	if (limit == UNLIMITED) {
		finding_says(all, STATE_OK, "no limit of pinned memory");
	} else if (site_capable(site, CAP_IPC_LOCK)) {
		finding_saw(all, "CAP_IPC_LOCK", "CapEff in /proc/self/status");
		finding_says(all, STATE_OK, "a limit of %s, which does not hold for this process",
			     format_bytes(limit, bytes));
	} else if (limit >= LITTLE) {
		finding_says(all, STATE_OK, "memory may be pinned up to %s",
			     format_bytes(limit, bytes));
	} else {
		format_bytes(limit, bytes);
		finding_saw(all, "without CAP_IPC_LOCK", "CapEff in /proc/self/status");
		if (limit < NO_QUEUE_PAIR)
			finding_says(all, STATE_FAIL, "only %s may be pinned: too little even for "
				     "a queue pair, which fails with ENOMEM", bytes);
		else
			finding_says(all, STATE_WARN, "only %s may be pinned: registrations beyond "
				     "fail with ENOMEM (DMA-bufs are not counted), and libraries "
				     "go to TCP without a word", bytes);
		remedy_memlock(all, site);
	}
}

void check_memlock(struct findings *all, const struct site *site)
{
	char bytes[BYTES_LEN];
	uint64_t soft, hard;
	int err;

	if (!site_has_rdma(site))
		return;
	err = read_limit(site, "Max locked memory", &soft, &hard);
	finding_add(all, "memlock", "machine");
	if (err) {
		finding_saw(all, strerror(-err), "/proc/self/limits");
		finding_says(all, STATE_UNKNOWN, "the limit of pinned memory cannot be read: is "
			     "/proc mounted?");
		return;
	}
	finding_saw(all, soft == UNLIMITED ? "unlimited" : format_bytes(soft, bytes),
		    "Max locked memory in /proc/self/limits");
	say_limit(all, site, soft);
}

/* "NAME - memlock VALUE" for all or a group of users; the soft limit, in bytes. */
static bool take_memlock(const char *line, uint64_t *limit)
{
	char who[64], kind[16], item[32], value[32], *end;
	unsigned long long kilobytes;

	if (sscanf(line, "%63s %15s %31s %31s", who, kind, item, value) != 4 ||
	    who[0] == '#' || strcmp(item, "memlock") || !strcmp(kind, "hard") ||
	    (strcmp(who, "*") && who[0] != '@'))
		return false;
	if (!strcmp(value, "unlimited") || !strcmp(value, "infinity") || !strcmp(value, "-1")) {
		*limit = UNLIMITED;
		return true;
	}
	kilobytes = strtoull(value, &end, 10);
	*limit = kilobytes << 10;
	return !*end;
}

static bool scan_limits(const struct site *site, const char *path, uint64_t *limit)
{
	char text[16384], *rest = text, *line;
	bool found = false;

	if (site_text(site, text, sizeof(text), "%s", path))
		return false;
	while ((line = strsep(&rest, "\n")))
		found |= take_memlock(line, limit);
	return found;
}

static bool ends_in_conf(const char *name)
{
	size_t length = strlen(name);

	return length > 5 && !strcmp(name + length - 5, ".conf");
}

/* What pam_limits(8) gives: files of the directory come after limits.conf, in order. */
static bool login_limit(const struct site *site, uint64_t *limit, char *file, size_t size)
{
	char **names, path[512];
	bool found = scan_limits(site, "etc/security/limits.conf", limit);
	size_t count = site_names(site, &names, "etc/security/limits.d");

	text_format(file, size, "etc/security/limits.conf");
	for (size_t i = 0; i < count; i++) {
		text_format(path, sizeof(path), "etc/security/limits.d/%s", names[i]);
		if (!ends_in_conf(names[i]) || !scan_limits(site, path, limit))
			continue;
		text_format(file, size, "%s", path);
		found = true;
	}
	site_names_free(names, count);
	return found;
}

static bool service_limit(const struct site *site, char *value, size_t size, char *file,
			  size_t file_size)
{
	char **names, text[64];
	bool found = site_line(site, value, size, "DefaultLimitMEMLOCK", "etc/systemd/system.conf");
	size_t count = site_names(site, &names, "etc/systemd/system.conf.d");

	text_format(file, file_size, "etc/systemd/system.conf");
	for (size_t i = 0; i < count; i++) {
		char path[512];

		text_format(path, sizeof(path), "etc/systemd/system.conf.d/%s", names[i]);
		if (!ends_in_conf(names[i]) ||
		    !site_line(site, text, sizeof(text), "DefaultLimitMEMLOCK", path))
			continue;
		text_format(value, size, "%s", text);
		text_format(file, file_size, "%s", path);
		found = true;
	}
	site_names_free(names, count);
	return found;
}

/* Of others than root, which runs this: in a container there are none that log in. */
void check_users_memlock(struct findings *all, const struct site *site)
{
	char file[512], unit_file[512], value[64], bytes[BYTES_LEN];
	bool login, service;
	uint64_t limit = 0;
	const char *by;

	if (!site_has_rdma(site) || !site_capable(site, CAP_IPC_LOCK) ||
	    site_in_container(site, &by))
		return;
	login = login_limit(site, &limit, file, sizeof(file));
	service = service_limit(site, value, sizeof(value), unit_file, sizeof(unit_file));
	finding_add(all, "memlock-users", "machine");
	finding_saw(all, !login ? "no memlock" : limit == UNLIMITED ? "unlimited" :
		    format_bytes(limit, bytes), "/%s", file);
	finding_saw(all, service ? value : "no DefaultLimitMEMLOCK", "/%s", unit_file);
	if (login ? limit >= LITTLE : service && !strncmp(value, "infinity", 8)) {
		finding_says(all, STATE_OK, "users may pin memory");
		return;
	}
	finding_says(all, STATE_WARN, "users who are not root may pin %s only: their registrations "
		     "fail with ENOMEM, while root's do not", login ?
		     format_bytes(limit, bytes) : service ? value : "the default, 8 MiB or less,");
	finding_remedy(all, job_guest, "'* - memlock unlimited' in "
		       "/etc/security/limits.d/rdma.conf; for services LimitMEMLOCK=infinity");
}

void check_open_files(struct findings *all, const struct site *site)
{
	uint64_t soft, hard;
	char value[64];

	if (!site_has_rdma(site) || !site_has_peers(site) ||
	    read_limit(site, "Max open files", &soft, &hard))
		return;
	finding_add(all, "open-files", "machine");
	text_format(value, sizeof(value), "%llu, at most %llu", (unsigned long long)soft,
		    (unsigned long long)hard);
	finding_saw(all, value, "Max open files in /proc/self/limits");
	if (soft > FEW_FILES) {
		finding_says(all, STATE_OK, "enough descriptors");
		return;
	}
	finding_says(all, STATE_WARN, "%llu descriptors: libraries that keep one for each DMA-buf "
		     "or queue run out, and registrations fail with EMFILE",
		     (unsigned long long)soft);
	if (hard > FEW_FILES)
		finding_remedy(all, job_user, "ulimit -n %llu before the program starts",
			       (unsigned long long)(hard < 1048576 ? hard : 1048576));
	else
		finding_remedy(all, job_guest, "'* - nofile 1048576' in "
			       "/etc/security/limits.d/rdma.conf; for a service "
			       "LimitNOFILE=1048576; docker run --ulimit nofile=1048576");
}
