// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Configuration space: the capability by which a VMM names cliques of GPUs, and the header. */
#include "fixture.h"

#include <linux/pci_regs.h>
#include <string.h>

#include "config_space.h"
#include "util.h"

#define AT_CLIQUE	0xc8
#define AT_OTHER	0xb0

static struct config config_of(const struct config_space *space)
{
	struct config config = { .length = CONFIG_BYTES };

	config_space_make(space, config.bytes);
	return config;
}

static struct config_space with_clique(unsigned int id)
{
	return (struct config_space){
		.acs = NO_ACS,
		.clique = id,
		.command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER,
	};
}

static void test_clique_read(void **state)
{
	struct clique clique;

	(void)state;
	for (unsigned int id = 0; id < 16; id++) {
		struct config_space space = with_clique(id);
		struct config config = config_of(&space);

		config_clique(&config, &clique);
		assert_int_equal(clique.presence, PRESENT);
		assert_int_equal(clique.version, 0);
		assert_int_equal(clique.id, id);
	}
}

static void test_clique_version(void **state)
{
	struct config_space space = with_clique(9);
	struct config config = config_of(&space);
	struct clique clique;

	(void)state;
	config.bytes[AT_CLIQUE + 6] |= 5;
	config_clique(&config, &clique);
	assert_int_equal(clique.version, 5);
	assert_int_equal(clique.id, 9);
}

static void test_clique_absent(void **state)
{
	struct config_space space = with_clique(NO_CLIQUE);
	struct config config = config_of(&space);
	struct clique clique;

	(void)state;
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, ABSENT);
}

/* Of another signature it is another vendor's. */
static void test_clique_other_signature(void **state)
{
	struct config_space space = with_clique(3);
	struct config config = config_of(&space);
	struct clique clique;

	(void)state;
	config.bytes[AT_CLIQUE + 5] = 'Q';
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, ABSENT);
}

/* It need not be the first of its kind. */
static void test_clique_second(void **state)
{
	struct config_space space = with_clique(7);
	struct config config = config_of(&space);
	struct clique clique;
	uint8_t first = config.bytes[PCI_CAPABILITY_LIST];

	(void)state;
	config.bytes[AT_OTHER] = PCI_CAP_ID_VNDR;
	config.bytes[AT_OTHER + PCI_CAP_LIST_NEXT] = first;
	config.bytes[PCI_CAPABILITY_LIST] = AT_OTHER;
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, PRESENT);
	assert_int_equal(clique.id, 7);
}

/* One that would end beyond the space for it is none, whatever is there. */
static void test_clique_at_end(void **state)
{
	struct config_space space = with_clique(NO_CLIQUE);
	struct config config = config_of(&space);
	struct clique clique;

	(void)state;
	config.bytes[PCI_CAPABILITY_LIST] = 0xfc;
	config.bytes[0xfc] = PCI_CAP_ID_VNDR;
	config.bytes[0xff] = 'P';
	config.bytes[0x100] = '2';
	config.bytes[0x101] = 'P';
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, ABSENT);
}

static void test_clique_circle(void **state)
{
	struct config_space space = with_clique(NO_CLIQUE);
	struct config config = config_of(&space);
	struct clique clique;

	(void)state;
	config.bytes[AT_OTHER] = PCI_CAP_ID_VNDR;
	config.bytes[AT_OTHER + PCI_CAP_LIST_NEXT] = AT_OTHER;
	config.bytes[PCI_CAPABILITY_LIST] = AT_OTHER;
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, ABSENT);
}

static void test_clique_not_read(void **state)
{
	struct config_space space = with_clique(1);
	struct config config = config_of(&space);
	struct clique clique;

	(void)state;
	config.length = CONFIG_HEADER;
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, NOT_READ);
	config.length = CONFIG_BYTES;
	memset(config.bytes, 0xff, sizeof(config.bytes));
	config_clique(&config, &clique);
	assert_int_equal(clique.presence, NOT_READ);
}

static void test_command(void **state)
{
	struct config_space space = with_clique(NO_CLIQUE);
	struct config config = config_of(&space);

	(void)state;
	assert_int_equal(config_command(&config), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	config.length = CONFIG_HEADER;
	assert_int_equal(config_command(&config), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	config.length = 0;
	assert_int_equal(config_command(&config), 0);
}

static void test_silent(void **state)
{
	struct config_space space = with_clique(NO_CLIQUE);
	struct config config = config_of(&space);

	(void)state;
	assert_false(config_is_silent(&config));
	/* A VF's vendor and device read so. */
	memset(config.bytes, 0xff, 4);
	assert_false(config_is_silent(&config));
	memset(config.bytes, 0xff, CONFIG_HEADER);
	assert_true(config_is_silent(&config));
	config.length = 0;
	assert_false(config_is_silent(&config));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clique_read),
		cmocka_unit_test(test_clique_version),
		cmocka_unit_test(test_clique_absent),
		cmocka_unit_test(test_clique_other_signature),
		cmocka_unit_test(test_clique_second),
		cmocka_unit_test(test_clique_at_end),
		cmocka_unit_test(test_clique_circle),
		cmocka_unit_test(test_clique_not_read),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_silent),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
