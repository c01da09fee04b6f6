// SPDX-License-Identifier: GPL-2.0-only
/* Runs the tests of the server. */
#include "test_dma.h"

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "reach", test_reach },
		{ "rights", test_rights },
		{ "regions", test_regions },
		{ "cache", test_cache },
		{ "stale", test_stale },
		{ "stale memory", test_stale_memory },
		{ "stale, own queues", test_stale_own },
		{ "counters", test_counters },
		{ "drop", test_drop },
		{ "mirror", test_mirror },
		{ "reads", test_reads },
		{ "late", test_late },
		{ "failures", test_failures },
		{ "bounce", test_bounce },
		{ "bounce memory", test_bounce_memory },
		{ "bounce, part of it", test_bounce_part },
		{ "slow", test_slow },
		{ "gone", test_gone },
		{ "atomics", test_atomics },
		{ "atomic outcomes", test_atomic_outcomes },
		{ "kept over a reset", test_kept_over_reset },
		{ "mirror over an unmap", test_mirror_over_unmap },
		{ "late over an unmap", test_late_over_unmap },
		{ "late elsewhere", test_late_elsewhere },
		{ "wrong faults", test_wrong_faults },
		{ "fault values", test_fault_values },
		{ "vgpu's faults", test_vgpu_faults },
		{ "pokes", test_poke },
		{ "interrupts", test_interrupts },
		{ "waiting", test_waiting },
		{ "gone_qemu", test_gone_qemu },
		{ "flr", test_flr },
		{ "taken_away", test_taken_away },
		{ "no_descriptors", test_no_descriptors },
		{ "no_memory", test_no_memory },
	};

	open_memory();
	test_start();
	connect_all(0);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		printf("%s\n", tests[i].name);
		fflush(stdout);
		tests[i].run();
	}
	test_disconnect(0);
	test_stop();
	return 0;
}
