// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "topo_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

#define REPORT "report.json"

void topo_begin(struct topo_fixture *fixture, const char *directory, const char *name)
{
	assert_int_equal(fixture_begin(&fixture->root), 0);
	fixture->made = made_site_new(directory, name, fixture->root);
	site_read(&fixture->site, &fixture->made->place);
	topo_read(&fixture->topo, &fixture->site);
}

void topo_end(struct topo_fixture *fixture)
{
	topo_free(&fixture->topo);
	site_free(&fixture->site);
	made_site_free(fixture->made);
	assert_int_equal(fixture_end(&fixture->root), 0);
}

void topo_again(struct topo_fixture *fixture)
{
	topo_free(&fixture->topo);
	site_free(&fixture->site);
	site_read(&fixture->site, &fixture->made->place);
	topo_read(&fixture->topo, &fixture->site);
}

static void put_pair(FILE *file, const struct topo *topo, size_t row, size_t column,
		     const char *verdict)
{
	const struct topo_memory *memory = &topo->memory[row];
	const struct topo_initiator *device = &topo->initiators[column];

	fprintf(file, "{ \"aperture\": { \"pci\": \"%s\", \"bar\": %u, \"bar_offset\": %llu },\n"
		"\"initiator\": { \"name\": \"%s\", \"kind\": \"%s\", \"pci\": \"%s\" },\n"
		"\"verdict\": \"%.*s\", \"grade\": \"%s\", \"cause\": \"%s\" }",
		memory->function->pci, memory->bar, (unsigned long long)memory->bar_offset,
		device->name, device->rdma ? "rdma" : "block", device->function->pci,
		(int)strcspn(verdict, " "), verdict, strchr(verdict, ' ') ? "window" : "owner",
		strncmp(verdict, "PASS", 4) ? "bytes differ" : "");
}

int topo_measure(struct topo_fixture *fixture, topo_judge *verdict)
{
	const struct topo *topo = &fixture->topo;
	const char *separator = "";
	static char path[512];
	FILE *file;

	text_format(path, sizeof(path), "%s/" REPORT, (const char *)fixture->root);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("{ \"schema_version\": 1, \"pairs\": [\n", file);
	for (size_t i = 0; i < topo->memory_count; i++) {
		for (size_t j = 0; j < topo->initiator_count; j++) {
			const char *here = topo->initiators[j].function ? verdict(i, j) : NULL;

			if (!here)
				continue;
			fputs(separator, file);
			put_pair(file, topo, i, j, here);
			separator = ",\n";
		}
	}
	fputs("] }\n", file);
	assert_int_equal(fclose(file), 0);
	return topo_measured(&fixture->topo, path, NULL);
}

char *topo_file(const struct topo_fixture *fixture)
{
	struct nccl_plan plan;
	char *text = NULL;
	size_t size;
	FILE *file;

	if (!nccl_plan_make(&plan, &fixture->topo)) {
		file = open_memstream(&text, &size);
		assert_non_null(file);
		nccl_write(&plan, file);
		assert_int_equal(fclose(file), 0);
	}
	nccl_plan_free(&plan);
	return text;
}

char *topo_output(const struct topo *topo, void (*write)(const struct topo *topo, FILE *file))
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	write(topo, file);
	assert_int_equal(fclose(file), 0);
	return text;
}
