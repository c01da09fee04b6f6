// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "loop.h"
#include "vgpu.h"
#include "vgpu_engine.h"
#include "vgpu_memory.h"
#include "vgpu_regs.h"

#define REGISTERS_SIZE	4096
#define CLASS_3D	0x030200
#define LARGEST		(1ULL << 40)

struct vgpu {
	struct function *function;
	struct vgpu_memory memory;
	struct vgpu_job asked;	/* what the registers say */
	struct vgpu_job job;
	uint32_t go, status;
};

/* What the command line asks for. */
struct wish {
	uint64_t aperture, memory;
	int clique;		/* -1: none */
	bool ats;
};

#define OPTIONS	"aperture=SIZE, memory=SIZE, clique=0-15, no-ats"

static int bad_option(const struct function *function, const char *what, const char *value)
{
	fprintf(stderr, "sim: %s: %s%s%s (options: " OPTIONS ")\n", function->name, what,
		value ? " " : "", value ? value : "");
	return -EINVAL;
}

/* "64M"; 0 for what is no size. */
static uint64_t size_of(const char *text)
{
	static const char units[] = "KMGT";
	unsigned int shift = 0;
	unsigned long long number;
	const char *unit;
	char *end;

	if (!text || *text < '1' || *text > '9')
		return 0;
	number = strtoull(text, &end, 10);
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1])
			return 0;
		shift = 10 * (unit - units + 1);
	}
	return number <= LARGEST >> shift ? number << shift : 0;
}

static int clique_of(const char *text)
{
	char *end;
	long number;

	if (!text || !*text)
		return -1;
	number = strtol(text, &end, 10);
	return *end || number < 0 || number > 15 ? -1 : number;
}

static int wish_option(const struct function *function, struct wish *wish, char **words)
{
	enum { APERTURE, MEMORY, CLIQUE, NO_ATS };
	static char *const names[] = { "aperture", "memory", "clique", "no-ats", NULL };
	char *value, *word = *words;

	switch (getsubopt(words, names, &value)) {
	case APERTURE:
		wish->aperture = size_of(value);
		return wish->aperture ? 0 : bad_option(function, "no size:", value);
	case MEMORY:
		wish->memory = size_of(value);
		return wish->memory ? 0 : bad_option(function, "no size:", value);
	case CLIQUE:
		wish->clique = clique_of(value);
		return wish->clique >= 0 ? 0 : bad_option(function, "no clique:", value);
	case NO_ATS:
		wish->ats = false;
		return value ? bad_option(function, "no-ats takes no value:", value) : 0;
	default:
		return bad_option(function, "no such option:", word);
	}
}

static int wish_check(const struct function *function, struct wish *wish)
{
	if (!wish->memory)
		wish->memory = 2 * wish->aperture;
	if (wish->aperture < VGPU_PAGE_SIZE || wish->aperture & (wish->aperture - 1))
		return bad_option(function, "the aperture must be a power of 2 from 64K on", NULL);
	if (wish->memory % VGPU_PAGE_SIZE || wish->memory < wish->aperture)
		return bad_option(function, "memory is pages of 64K, at least the aperture", NULL);
	return 0;
}

static int wish_read(const struct function *function, struct wish *wish, const char *options)
{
	char *copy, *words;
	int ret = 0;

	*wish = (struct wish){ .aperture = 64ULL << 20, .clique = -1, .ats = true };
	copy = strdup(options ? options : "");
	if (!copy)
		return -ENOMEM;
	words = copy;
	while (!ret && *words)
		ret = wish_option(function, wish, &words);
	free(copy);
	return ret ? ret : wish_check(function, wish);
}

/* As NVIDIA's GPUs tell which of them reach each other directly. */
static void add_clique(struct config *config, int clique)
{
	const uint8_t data[] = { 'P', '2', 'P', clique << 3, 0 };

	config_vendor(config, data, sizeof(data));
}

static void describe(struct function *function, const struct vgpu *vgpu, const struct wish *wish)
{
	struct config *config = &function->config;

	function->bars[0] = (struct bar){ .size = REGISTERS_SIZE, .fd = -1 };
	function->bars[2] = (struct bar){
		.size = wish->aperture,
		.is_64bit = true,
		.prefetchable = true,
		.fd = vgpu->memory.aperture_fd,
	};
	function->vectors = 1;
	config_begin(config, VGPU_VENDOR, VGPU_DEVICE, CLASS_3D);
	config_bar(config, 0, REGISTERS_SIZE, false, false);
	config_bar(config, 2, wish->aperture, true, true);
	config_express(config);
	config_msix(config, function->vectors, 4);
	if (wish->clique >= 0)
		add_clique(config, wish->clique);
	if (wish->ats)
		config_ats(config);
}

static int vgpu_create(struct function *function, const char *options)
{
	struct wish wish;
	struct vgpu *vgpu;
	int ret;

	ret = wish_read(function, &wish, options);
	if (ret)
		return ret;
	vgpu = calloc(1, sizeof(*vgpu));
	if (!vgpu)
		return -ENOMEM;
	vgpu->function = function;
	ret = vgpu_memory_create(&vgpu->memory, wish.memory, wish.aperture);
	if (ret) {
		fprintf(stderr, "sim: %s: no memory of %llu bytes: %s\n", function->name,
			(unsigned long long)wish.memory, strerror(-ret));
		free(vgpu);
		return ret;
	}
	function->private = vgpu;
	describe(function, vgpu, &wish);
	return 0;
}

static void vgpu_destroy(struct function *function)
{
	struct vgpu *vgpu = function->private;

	loop_forget(vgpu);
	vgpu_memory_destroy(&vgpu->memory);
	free(vgpu);
	function->private = NULL;
}

static void vgpu_reset(struct function *function)
{
	struct vgpu *vgpu = function->private;
	int ret;

	loop_forget(vgpu);
	vgpu->asked = (struct vgpu_job){ 0 };
	vgpu->job = (struct vgpu_job){ 0 };
	vgpu->go = 0;
	vgpu->status = VGPU_IDLE;
	ret = vgpu_memory_reset(&vgpu->memory);
	if (ret)
		fprintf(stderr, "sim: %s: memory keeps its bytes over a reset: %s\n",
			function->name, strerror(-ret));
}

static void vgpu_go_on(void *arg)
{
	struct vgpu *vgpu = arg;

	if (vgpu->status == VGPU_RUNNING)
		vgpu->status = vgpu_job_step(&vgpu->job, &vgpu->memory);
	if (vgpu->status == VGPU_RUNNING && loop_defer(vgpu_go_on, vgpu))
		vgpu->status = VGPU_NO_MEMORY;
	if (vgpu->status != VGPU_RUNNING && vgpu->go & VGPU_GO_INTERRUPT)
		function_interrupt(vgpu->function, 0);
}

/* Work on pages is done before the register's write is answered. */
static void go(struct vgpu *vgpu, uint32_t value)
{
	if (vgpu->status == VGPU_RUNNING || !(value & VGPU_GO_START))
		return;
	vgpu->go = value;
	vgpu->job = vgpu->asked;
	vgpu->status = vgpu_job_start(&vgpu->job, &vgpu->memory);
	if (loop_defer(vgpu_go_on, vgpu))
		vgpu->status = VGPU_NO_MEMORY;
}

static uint32_t mapped(const struct vgpu *vgpu)
{
	uint32_t page = vgpu->asked.aperture_page;

	return page < vgpu->memory.aperture_pages ? vgpu->memory.mapped[page] : VGPU_NO_PAGE;
}

static uint64_t read_4(const struct vgpu *vgpu, uint64_t offset)
{
	switch (offset) {
	case VGPU_REG_MAGIC:
		return VGPU_MAGIC;
	case VGPU_REG_VERSION:
		return VGPU_VERSION;
	case VGPU_REG_PAGE_SIZE:
		return VGPU_PAGE_SIZE;
	case VGPU_REG_FREE_PAGES:
		return vgpu->memory.free_pages;
	case VGPU_REG_PAGE:
		return vgpu->asked.page;
	case VGPU_REG_APERTURE_PAGE:
		return vgpu->asked.aperture_page;
	case VGPU_REG_COUNT:
		return vgpu->asked.count;
	case VGPU_REG_OPERATION:
		return vgpu->asked.operation;
	case VGPU_REG_GO:
		return vgpu->go;
	case VGPU_REG_STATUS:
		return vgpu->status;
	case VGPU_REG_MAPPED:
		return mapped(vgpu);
	default:
		return UINT64_MAX;
	}
}

static uint64_t read_8(const struct vgpu *vgpu, uint64_t offset)
{
	switch (offset) {
	case VGPU_REG_MEMORY_SIZE:
		return vgpu->memory.pages * VGPU_PAGE_SIZE;
	case VGPU_REG_APERTURE_SIZE:
		return vgpu->memory.aperture_pages * VGPU_PAGE_SIZE;
	case VGPU_REG_SOURCE:
		return vgpu->asked.source;
	case VGPU_REG_DESTINATION:
		return vgpu->asked.destination;
	case VGPU_REG_LENGTH:
		return vgpu->asked.length;
	case VGPU_REG_PATTERN:
		return vgpu->asked.pattern;
	case VGPU_REG_RESULT:
		return vgpu->job.result;
	case VGPU_REG_INVALIDATIONS:
		return vgpu->memory.invalidations;
	default:
		return UINT64_MAX;
	}
}

static uint64_t vgpu_read(struct function *function, unsigned int bar, uint64_t offset,
			  unsigned int size)
{
	if (bar == 0 && size == 4)
		return read_4(function->private, offset);
	if (bar == 0 && size == 8)
		return read_8(function->private, offset);
	return UINT64_MAX;
}

static void write_4(struct vgpu *vgpu, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case VGPU_REG_PAGE:
		vgpu->asked.page = value;
		break;
	case VGPU_REG_APERTURE_PAGE:
		vgpu->asked.aperture_page = value;
		break;
	case VGPU_REG_COUNT:
		vgpu->asked.count = value;
		break;
	case VGPU_REG_OPERATION:
		vgpu->asked.operation = value;
		break;
	case VGPU_REG_GO:
		go(vgpu, value);
		break;
	}
}

static void write_8(struct vgpu *vgpu, uint64_t offset, uint64_t value)
{
	switch (offset) {
	case VGPU_REG_SOURCE:
		vgpu->asked.source = value;
		break;
	case VGPU_REG_DESTINATION:
		vgpu->asked.destination = value;
		break;
	case VGPU_REG_LENGTH:
		vgpu->asked.length = value;
		break;
	case VGPU_REG_PATTERN:
		vgpu->asked.pattern = value;
		break;
	}
}

static void vgpu_write(struct function *function, unsigned int bar, uint64_t offset,
		       unsigned int size, uint64_t value)
{
	if (bar == 0 && size == 4)
		write_4(function->private, offset, value);
	if (bar == 0 && size == 8)
		write_8(function->private, offset, value);
}

static void vgpu_state(struct function *function, int out)
{
	const struct vgpu *vgpu = function->private;
	const struct vgpu_memory *memory = &vgpu->memory;
	uint32_t shown = 0;

	for (uint32_t at = 0; at < memory->aperture_pages; at++)
		shown += memory->mapped[at] != VGPU_NO_PAGE;
	dprintf(out, "pages %u free %u\naperture pages %u mapped %u\n", memory->pages,
		memory->free_pages, memory->aperture_pages, shown);
	dprintf(out, "invalidations %llu\nstatus %u\n",
		(unsigned long long)memory->invalidations, vgpu->status);
}

const struct device vgpu_device = {
	.kind = "vgpu",
	.create = vgpu_create,
	.read = vgpu_read,
	.write = vgpu_write,
	.reset = vgpu_reset,
	.state = vgpu_state,
	.destroy = vgpu_destroy,
};
