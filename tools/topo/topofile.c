// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "topofile.h"

#include <errno.h>
#include <fcntl.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../document.h"
#include "../util.h"

#define SCHEMA_VERSION	1

static const char remedy_write[] = "take what 'vpeer topo --nccl-xml' writes on this machine";

/* libxml2 tells of errors by this; the first one counts. */
struct trouble {
	int line;
	char text[256];
	bool declares;	/* a DOCTYPE */
};

static void take_trouble(struct trouble *trouble, const xmlError *error)
{
	if (trouble->text[0])
		return;
	trouble->line = error->line;
	text_format(trouble->text, sizeof(trouble->text), "%s",
		    error->message ? error->message : "not told what");
	trouble->text[strcspn(trouble->text, "\n")] = '\0';
}

/* NCCL knows no DOCTYPE, and what one declares could be as large as it likes. */
static void stop_at_doctype(void *context, const xmlChar *name, const xmlChar *public_id,
			    const xmlChar *system_id)
{
	xmlParserCtxt *parser = context;
	struct trouble *trouble = parser->_private;

	(void)name;
	(void)public_id;
	(void)system_id;
	trouble->declares = true;
	xmlStopParser(parser);
}

static xmlDoc *parse(const char *text, size_t length, struct trouble *trouble)
{
	xmlParserCtxt *parser = xmlNewParserCtxt();
	const xmlError *error;
	xmlDoc *document;

	if (!parser) {
		fputs("vpeer: out of memory\n", stderr);
		exit(EXIT_FAIL);
	}
	parser->_private = trouble;
	parser->sax->internalSubset = stop_at_doctype;
	document = xmlCtxtReadMemory(parser, text, (int)length, NULL, NULL,
				     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
				     XML_PARSE_BIG_LINES);
	error = xmlCtxtGetLastError(parser);
	if (!document && error)
		take_trouble(trouble, error);
	xmlFreeParserCtxt(parser);
	if (!trouble->declares)
		return document;
	xmlFreeDoc(document);
	return NULL;
}

static void add_at(struct topofile *file, int line, const char *name, const char *saw)
{
	finding_add(file->all, name, "file");
	finding_saw(file->all, saw, "%s:%d", file->path, line);
}

static int line_of(const char *text, size_t length, const char *what)
{
	const char *found = memmem(text, length, what, strlen(what));
	int line = 1;

	for (const char *at = text; found && at < found; at++)
		line += *at == '\n';
	return line;
}

static void tell_trouble(struct topofile *file, const struct trouble *trouble, int doctype)
{
	if (trouble->declares) {
		add_at(file, doctype, "xml", "<!DOCTYPE");
		finding_says(file->all, STATE_FAIL,
			     "it has a DOCTYPE, which no topology file has: NCCL does not read it, "
			     "and entities are not expanded here");
	} else {
		add_at(file, trouble->line, "xml", trouble->text);
		finding_says(file->all, STATE_FAIL, "it is no XML, or ends too early");
	}
	finding_remedy(file->all, job_user, "%s", remedy_write);
}

static bool is_system(struct topofile *file, const xmlNode *root)
{
	char version[TOPOFILE_VALUE_LEN];
	long number;

	topofile_add(file, root, "root", "version");
	if (!topofile_is(root, "system"))
		finding_says(file->all, STATE_FAIL,
			     "its outermost element is <%s>, and not <system>: this is no topology "
			     "file%s", root->name,
			     topofile_is(root, "graphs") ? ", but one for NCCL_GRAPH_FILE" : "");
	else if (!topofile_value(root, "version", version))
		finding_says(file->all, STATE_FAIL, "<system> has no version: NCCL refuses it");
	else if (!topofile_number(version, &number) || number != 1)
		finding_says(file->all, STATE_FAIL,
			     "version %s: NCCL knows version 1, and refuses others", version);
	else
		finding_says(file->all, STATE_OK, "a topology file of version 1");
	if (file->all->items[file->all->count - 1].state == STATE_OK)
		return true;
	finding_remedy(file->all, job_user, "%s", remedy_write);
	return topofile_is(root, "system");
}

static void check_root(struct topofile *file, const xmlNode *root)
{
	if (!is_system(file, root) || !topofile_form(file, root))
		return;
	topofile_functions(file, root);
	topofile_cpus(file, root);
	topofile_devices(file, root);
	topofile_missing(file, root);
}

void topofile_check(const struct topo *topo, const char *path, const char *text, size_t length,
		    struct findings *all)
{
	struct topofile file = { .path = path, .topo = topo, .all = all };
	struct trouble trouble = { 0 };

	if (length > TOPOFILE_MOST_BYTES) {
		add_at(&file, 1, "xml", "more than 1 MiB");
		finding_says(all, STATE_FAIL, "it is too large for a topology file");
		finding_remedy(all, job_user, "%s", remedy_write);
		return;
	}
	nccl_cpu_read(&file.cpu, topo->site);
	file.document = parse(text, length, &trouble);
	if (!file.document) {
		tell_trouble(&file, &trouble, line_of(text, length, "<!DOCTYPE"));
		return;
	}
	topofile_reader(&file, text, length);
	check_root(&file, xmlDocGetRootElement(file.document));
	xmlFreeDoc(file.document);
}

static int read_all(int fd, char *text, size_t *length)
{
	*length = 0;
	while (*length <= TOPOFILE_MOST_BYTES) {
		ssize_t got = read(fd, text + *length, TOPOFILE_MOST_BYTES + 1 - *length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		*length += (size_t)got;
	}
	return 0;
}

int topofile_read(const struct topo *topo, const char *path, struct findings *all)
{
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length;
	char *text;

	if (fd < 0)
		return -errno;
	text = xrealloc(NULL, TOPOFILE_MOST_BYTES + 2, 1);
	err = read_all(fd, text, &length);
	close(fd);
	if (!err) {
		text[length] = '\0';
		topofile_check(topo, path, text, length, all);
	}
	free(text);
	return err;
}

/* As compilers do: file and line first. */
static void print_one(const struct finding *finding, FILE *file)
{
	fprintf(file, "%s: %s: %s: %s: %s\n", finding->evidence[0].file,
		state_name(finding->state), finding->object, finding->name, finding->meaning);
	for (size_t i = 0; i < finding->count; i++) {
		const struct evidence *seen = &finding->evidence[i];

		fprintf(file, "  seen: %s%s%s\n", seen->value[0] ? seen->value : "nothing",
			i ? " in " : "", i ? seen->file : "");
	}
	if (finding->remedy[0])
		fprintf(file, "  remedy (%s): %s\n", finding->job, finding->remedy);
}

void topofile_print(const struct findings *all, FILE *file)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].state != STATE_OK)
			print_one(&all->items[i], file);
	fprintf(file, "%zu ok, %zu warn, %zu fail, %zu unknown\n", findings_of(all, STATE_OK),
		findings_of(all, STATE_WARN), findings_of(all, STATE_FAIL),
		findings_of(all, STATE_UNKNOWN));
}

struct json_object *topofile_document(const char *path, const struct findings *all)
{
	struct json_object *document = json_object_new_object();

	json_object_object_add(document, "schema_version", json_object_new_int(SCHEMA_VERSION));
	json_put_text(document, "version", TOOL_VERSION);
	json_put_text(document, "file", path);
	json_object_object_add(document, "checks", findings_document(all));
	json_object_object_add(document, "summary", findings_summary(all));
	return document;
}
