// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "site_file.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "util.h"

static int number_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} errors[] = {
		{ "EBADF", EBADF },	       { "EOPNOTSUPP", EOPNOTSUPP },
		{ "EPROTONOSUPPORT", EPROTONOSUPPORT }, { "EACCES", EACCES },
		{ "EPERM", EPERM },	       { "ENODEV", ENODEV },
		{ "EINVAL", EINVAL },	       { "ENOMEM", ENOMEM },
		{ "ENOSYS", ENOSYS },	       { "EMFILE", EMFILE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	fail_msg("'%s' is no errno that is known here", name);
	return 0;
}

static int made_hypervisor(void *data, char vendor[13])
{
	const struct made_site *made = data;

	if (!strcmp(made->cpu, "none"))
		return -ENODATA;
	if (!strcmp(made->cpu, "unknown"))
		return -EOPNOTSUPP;
	text_format(vendor, 13, "%s", made->cpu);
	return 0;
}

static int made_probe(void *data, const char *device, int *answer)
{
	const struct made_site *made = data;

	for (size_t i = 0; i < made->probe_count; i++) {
		if (strcmp(made->probes[i].device, device))
			continue;
		*answer = made->probes[i].answer;
		return made->probes[i].err;
	}
	return -ENODEV;
}

static int made_module(void *data, const char *name, struct site_module *file)
{
	const struct made_site *made = data;

	*file = (struct site_module){ 0 };
	for (size_t i = 0; i < made->module_count; i++) {
		if (strcmp(made->modules[i].name, name))
			continue;
		*file = made->modules[i].file;
		return 0;
	}
	return -ENOENT;
}

static int made_log(void *data, log_reader *each, void *to)
{
	const struct made_site *made = data;

	for (size_t i = 0; !made->log_err && i < made->log_count; i++)
		each(to, made->log[i]);
	return made->log_err;
}

static int made_node(void *data, const char *path, struct site_node *node)
{
	const struct made_site *made = data;
	char full[PATH_MAX];

	for (size_t i = 0; i < made->node_count; i++) {
		if (strcmp(made->nodes[i].path, path))
			continue;
		*node = made->nodes[i].node;
		return node->mode ? 0 : -ENOENT;
	}
	/* Those of RDMA devices come with them. */
	text_format(full, sizeof(full), "%s/%s", made->root, path);
	if (access(full, F_OK))
		return -ENOENT;
	*node = (struct site_node){ .mode = 0666, .usable = true };
	return 0;
}

static const struct site_calls made_calls = {
	.hypervisor = made_hypervisor,
	.probe_dmabuf = made_probe,
	.module_file = made_module,
	.kernel_log = made_log,
	.node = made_node,
};

/* The first word of *@rest, which then begins with the next. */
static char *take(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t length = strcspn(word, " \t");

	*rest = word + length;
	if (**rest)
		*(*rest)++ = '\0';
	*rest += strspn(*rest, " \t");
	return word;
}

static void take_file(const struct made_site *made, char *rest)
{
	const char *path = take(&rest);
	char text[16384];
	size_t used = 0;

	for (const char *at = rest; *at && used < sizeof(text) - 2; at++) {
		bool escaped = at[0] == '\\' && (at[1] == 'n' || at[1] == 't');

		text[used++] = !escaped ? *at : at[1] == 'n' ? '\n' : '\t';
		at += escaped;
	}
	text[used++] = '\n';
	text[used] = '\0';
	fixture_file(made->root, path, text);
}

static void take_link(const struct made_site *made, char *rest)
{
	const char *path = take(&rest);
	char target[PATH_MAX];

	text_format(target, sizeof(target), "%s/%s", made->root, rest);
	fixture_link(made->root, path, target);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static void take_removal(const struct made_site *made, const char *path)
{
	char full[PATH_MAX];

	text_format(full, sizeof(full), "%s/%s", made->root, path);
	if (nftw(full, remove_one, 16, FTW_DEPTH | FTW_PHYS))
		fail_msg("there is no %s to remove", path);
}

static void take_probe(struct made_site *made, char *rest)
{
	struct made_probe *probe = &made->probes[made->probe_count];
	const char *device = take(&rest);

	for (size_t i = 0; i < made->probe_count; i++)
		if (!strcmp(made->probes[i].device, device))
			probe = &made->probes[i];
	if (probe == &made->probes[made->probe_count])
		assert_true(++made->probe_count < ARRAY_SIZE(made->probes));
	*probe = (struct made_probe){ 0 };
	text_format(probe->device, sizeof(probe->device), "%s", device);
	if (*rest == '!')
		probe->err = -number_of(rest + 1);
	else
		probe->answer = number_of(rest);
}

static struct made_module *module_named(struct made_site *made, const char *name)
{
	struct made_module *module;

	for (size_t i = 0; i < made->module_count; i++)
		if (!strcmp(made->modules[i].name, name))
			return &made->modules[i];
	assert_true(made->module_count < ARRAY_SIZE(made->modules));
	module = &made->modules[made->module_count++];
	text_format(module->name, sizeof(module->name), "%s", name);
	return module;
}

static void take_module(struct made_site *made, char *rest)
{
	struct made_module *module = module_named(made, take(&rest));
	const char *key = take(&rest);

	if (!strcmp(key, "path"))
		text_format(module->file.path, sizeof(module->file.path), "%s", rest);
	else if (!strcmp(key, "version"))
		text_format(module->file.version, sizeof(module->file.version), "%s", rest);
	else if (!strcmp(key, "vermagic"))
		text_format(module->file.vermagic, sizeof(module->file.vermagic), "%s", rest);
	else if (!strcmp(key, "signer"))
		text_format(module->file.signer, sizeof(module->file.signer), "%s", rest);
	else
		fail_msg("a module's file has no '%s'", key);
}

/* Mode 0: it is not there. */
static void take_node(struct made_site *made, char *rest)
{
	const char *path = take(&rest);
	struct made_node *node = &made->nodes[made->node_count];
	char unusable[16] = "";

	for (size_t i = 0; i < made->node_count; i++)
		if (!strcmp(made->nodes[i].path, path))
			node = &made->nodes[i];
	if (node == &made->nodes[made->node_count])
		assert_true(++made->node_count < ARRAY_SIZE(made->nodes));
	text_format(node->path, sizeof(node->path), "%s", path);
	if (sscanf(rest, "%o %u %15s", &node->node.mode, &node->node.gid, unusable) < 2)
		fail_msg("'%s' is no MODE GID", rest);
	node->node.usable = !unusable[0];
}

static void take_variable(struct made_site *made, const char *rest)
{
	size_t length = strcspn(rest, "="), i;

	for (i = 0; i < made->variable_count; i++)
		if (!strncmp(made->environment[i], rest, length) &&
		    made->environment[i][length] == '=')
			break;
	if (i < made->variable_count) {
		free(made->environment[i]);
		made->environment[i] = made->environment[--made->variable_count];
		made->environment[made->variable_count] = NULL;
	}
	if (!rest[length])
		return;
	assert_true(made->variable_count < ARRAY_SIZE(made->environment) - 1);
	made->environment[made->variable_count++] = xstrdup(rest);
}

static char *part(char **rest)
{
	char *text = strsep(rest, "|");

	if (!text)
		return xstrdup("");
	text += strspn(text, " \t");
	for (size_t length = strlen(text); length && text[length - 1] == ' '; length--)
		text[length - 1] = '\0';
	return xstrdup(text);
}

static void take_expectation(struct made_site *made, char *rest)
{
	struct expectation *expected = &made->expected[made->expected_count];
	size_t length;

	assert_true(made->expected_count++ < ARRAY_SIZE(made->expected));
	text_format(expected->state, sizeof(expected->state), "%s", take(&rest));
	text_format(expected->name, sizeof(expected->name), "%s", take(&rest));
	text_format(expected->object, sizeof(expected->object), "%s", take(&rest));
	length = strlen(expected->object);
	if (!length || expected->object[length - 1] != ':')
		fail_msg("expect: no ':' after '%s'", expected->object);
	expected->object[length - 1] = '\0';
	expected->meaning = part(&rest);
	expected->remedy = part(&rest);
	expected->job = part(&rest);
}

static void read_file(struct made_site *made, const char *name, bool expectations);

static void take_line(struct made_site *made, char *line, bool expectations)
{
	char *rest = line, *word = take(&rest);

	if (!strcmp(word, "like")) {
		read_file(made, rest, false);
	} else if (!strcmp(word, "file")) {
		take_file(made, rest);
	} else if (!strcmp(word, "link")) {
		take_link(made, rest);
	} else if (!strcmp(word, "remove")) {
		take_removal(made, rest);
	} else if (!strcmp(word, "pci")) {
		tree_take(&made->tree, rest);
	} else if (!strcmp(word, "nopci")) {
		tree_drop(&made->tree, rest);
	} else if (!strcmp(word, "ib")) {
		rdma_take(&made->rdma, rest);
	} else if (!strcmp(word, "env")) {
		take_variable(made, rest);
	} else if (!strcmp(word, "cpu")) {
		text_format(made->cpu, sizeof(made->cpu), "%s", rest);
	} else if (!strcmp(word, "probe")) {
		take_probe(made, rest);
	} else if (!strcmp(word, "module")) {
		take_module(made, rest);
	} else if (!strcmp(word, "node")) {
		take_node(made, rest);
	} else if (!strcmp(word, "log")) {
		assert_true(made->log_count < ARRAY_SIZE(made->log));
		made->log[made->log_count++] = xstrdup(rest);
	} else if (!strcmp(word, "nolog")) {
		made->log_err = -number_of(rest);
	} else if (!strcmp(word, "unprivileged")) {
		made->unprivileged = true;
	} else if (!strcmp(word, "expect")) {
		if (expectations)
			take_expectation(made, rest);
	} else {
		fail_msg("there is no '%s' in a site file", word);
	}
}

static void read_file(struct made_site *made, const char *name, bool expectations)
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *file;

	text_format(path, sizeof(path), "%s/%s", made->directory, name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			take_line(made, line, expectations);
	}
	free(line);
	fclose(file);
}

struct made_site *made_site_new(const char *directory, const char *name, const char *root)
{
	struct made_site *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	made->directory = directory;
	made->root = root;
	strcpy(made->cpu, "none");
	read_file(made, name, true);
	tree_make(&made->tree, root);
	rdma_make(&made->rdma, &made->tree, root);
	nvidia_make(&made->tree, root);
	made->place = (struct site_place){
		.root = root,
		.environment = made->environment,
		.privileged = !made->unprivileged,
		.calls = &made_calls,
		.data = made,
	};
	return made;
}

void made_site_free(struct made_site *made)
{
	for (size_t i = 0; i < made->variable_count; i++)
		free(made->environment[i]);
	for (size_t i = 0; i < made->log_count; i++)
		free(made->log[i]);
	for (size_t i = 0; i < made->expected_count; i++) {
		free(made->expected[i].meaning);
		free(made->expected[i].remedy);
		free(made->expected[i].job);
	}
	free(made);
}
