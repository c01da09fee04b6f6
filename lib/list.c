// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"

#define FIELD(name) { #name, offsetof(struct vpeer_entry, name), sizeof_field(name) }
#define sizeof_field(name) sizeof(((struct vpeer_entry *)0)->name)

struct field {
	const char *name;
	size_t offset;
	size_t size;
};

static const struct field numbers[] = {
	FIELD(size),	     FIELD(granule), FIELD(bytes_free),
	FIELD(bytes_pinned), FIELD(windows), FIELD(mappings), FIELD(bar_offset),
};

static const struct field texts[] = { FIELD(kind), FIELD(memory_type), FIELD(status) };

static int read_fields(const char *sysfs, const char *name, struct vpeer_entry *entry)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		err = vpeer_sysfs_u64((uint64_t *)((char *)entry + numbers[i].offset),
				      "%s/class/vpeer/%s/%s", sysfs, name, numbers[i].name);
	for (size_t i = 0; !err && i < sizeof(texts) / sizeof(texts[0]); i++)
		err = vpeer_sysfs_read((char *)entry + texts[i].offset, texts[i].size,
				       "%s/class/vpeer/%s/%s", sysfs, name, texts[i].name);
	return err;
}

static int read_entry(const char *sysfs, const char *name, struct vpeer_entry *entry)
{
	char link[VPEER_PCI_LEN];
	uint64_t bar;
	int err;

	memset(entry, 0, sizeof(*entry));
	err = vpeer_sysfs_link(link, sizeof(link), "%s/class/vpeer/%s/device", sysfs, name);
	if (!err)
		err = vpeer_pci_parse(link, &entry->pci);
	if (!err)
		err = vpeer_sysfs_u64(&bar, "%s/class/vpeer/%s/bar", sysfs, name);
	if (err)
		return err;
	entry->bar = (uint32_t)bar;
	return read_fields(sysfs, name, entry);
}

static int node_index(const char *name, uint32_t *index)
{
	uint64_t number;

	if (strncmp(name, "vpeer", 5) || vpeer_parse_u64(name + 5, &number) || number > UINT32_MAX)
		return -EINVAL;
	*index = (uint32_t)number;
	return 0;
}

static int by_index(const void *left, const void *right)
{
	const struct vpeer_entry *a = left, *b = right;

	return (a->index > b->index) - (a->index < b->index);
}

static int append(struct vpeer_entry **entries, size_t *count, const struct vpeer_entry *entry)
{
	struct vpeer_entry *grown = realloc(*entries, (*count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[(*count)++] = *entry;
	*entries = grown;
	return 0;
}

static int read_class(DIR *directory, const char *sysfs, struct vpeer_entry **entries,
		      size_t *count, struct vpeer_error *error)
{
	struct vpeer_entry entry;
	struct dirent *item;
	uint32_t index;
	int err;

	while ((item = readdir(directory))) {
		if (node_index(item->d_name, &index))
			continue;
		err = read_entry(sysfs, item->d_name, &entry);
		if (err == -ENOENT || err == -ENODEV)
			continue; /* detached meanwhile */
		entry.index = index;
		snprintf(entry.node, sizeof(entry.node), "/dev/vpeer%u", index);
		if (!err)
			err = append(entries, count, &entry);
		if (err)
			return vpeer_fail(error, -err, VPEER_REASON_NONE, item->d_name,
					  "use the library and module of one release",
					  "cannot read its attributes in %s/class/vpeer: %s", sysfs,
					  strerror(-err));
	}
	return 0;
}

int vpeer_list_at(const char *sysfs, struct vpeer_entry **entries, size_t *count,
		  struct vpeer_error *error)
{
	char path[4096];
	DIR *directory;
	int err;

	*entries = NULL;
	*count = 0;
	vpeer_error_clear(error);
	snprintf(path, sizeof(path), "%s/class/vpeer", sysfs);
	directory = opendir(path);
	if (!directory && errno == ENOENT)
		return 0;
	if (!directory)
		return vpeer_fail(error, errno, VPEER_REASON_NONE, path, "", "cannot read: %s",
				  strerror(errno));
	err = read_class(directory, sysfs, entries, count, error);
	closedir(directory);
	if (err) {
		vpeer_list_free(*entries);
		*entries = NULL;
		*count = 0;
		return err;
	}
	if (*count)
		qsort(*entries, *count, sizeof(**entries), by_index);
	return 0;
}

int vpeer_list(struct vpeer_entry **entries, size_t *count, struct vpeer_error *error)
{
	return vpeer_list_at("/sys", entries, count, error);
}

void vpeer_list_free(struct vpeer_entry *entries)
{
	free(entries);
}
