// SPDX-License-Identifier: GPL-2.0-only
/* Runs the tests of vrnic without QEMU. */
#include "test_vrnic.h"

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "registers", test_registers },
		{ "commands", test_commands },
		{ "MR commands", test_mr_commands },
		{ "send", test_send },
		{ "inline", test_inline },
		{ "write and read", test_write_and_read },
		{ "many", test_many },
		{ "atomics", test_atomics },
		{ "atomic again", test_atomic_again },
		{ "fence", test_fence },
		{ "remote refusals", test_remote_refusals },
		{ "remote rights", test_remote_rights },
		{ "domains", test_domains },
		{ "local refusals", test_local_refusals },
		{ "receive refusals", test_receive_refusals },
		{ "flush", test_flush },
		{ "reset and again", test_reset_and_again },
		{ "RNR", test_rnr },
		{ "retries", test_retries },
		{ "nobody", test_nobody },
		{ "datagrams", test_datagrams },
		{ "page request, remote", test_page_request_remote },
		{ "page request, local", test_page_request_local },
		{ "page request, receive", test_page_request_receive },
		{ "unmapped midway", test_unmap_midway },
		{ "overrun", test_overrun },
		{ "events", test_events },
		{ "cqe-error", test_cqe_error },
		{ "destroyed with work", test_destroy_with_work },
		{ "reset in DMA", test_reset_in_dma },
		{ "bad doorbells", test_bad_doorbells },
		{ "hang", test_hang },
		{ "loopback", test_loopback },
		{ "count of page requests", test_page_request_count },
		{ "count of events", test_event_count },
		{ "count of completions", test_completion_count },
		{ "own queues", test_own_queues },
		{ "segments", test_segments },
		{ "slow turns", test_slow_turns },
		{ "no memory", test_no_memory },
		{ "fuzz", test_fuzz },
		{ "link", test_link },
		{ "link, garbage", test_link_garbage },
	};
	unsigned int i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		unsigned int before = rig_failures;

		vrnic_set_first_lid(1);
		tests[i].run();
		printf("%s: %s\n", tests[i].name, rig_failures == before ? "passed" : "FAILED");
	}
	printf("%u checks, %u failed\n", rig_checks, rig_failures);
	return rig_failures ? 1 : 0;
}
