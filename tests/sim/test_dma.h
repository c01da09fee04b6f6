/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of the server by its protocol. */
#ifndef SIM_TEST_DMA_H
#define SIM_TEST_DMA_H

#include "test_server.h"

#define PAGE		4096u
#define MEMORY		0x10000000ull
#define MEMORY_SIZE	(1u << 20)
#define BAR		0x40000000ull
#define BAR_SIZE	(256u << 10)
#define CONFIG		7
#define ATS_CONTROL	0x106

/* Memory of the guest and of a peer; functions have them, and far memory, by connect_all(). */
extern int memory_fd, bar_fd;
extern uint8_t *memory, *bar;

void open_memory(void);
void connect_all(unsigned int function);

void fill_bytes(uint8_t *bytes, size_t length, uint8_t seed);
bool bytes_are(const uint8_t *bytes, size_t length, uint8_t seed);

/* By function 0, from and to its job's data: 0 or -errno. */
int write_at(uint64_t iova, size_t length, uint8_t seed);
int read_at(uint64_t iova, size_t length);

void switch_fault(const char *words);
void clear_log(void);
uint64_t state_of(const char *name);	/* of function 0 */

/* A good write and read of every kind of peer. */
void check_good(uint8_t seed);
/* ... of memory, towards which there is no misbehaviour. */
void check_memory(uint8_t seed);

/* test_dma_access.c */
void test_reach(void);
void test_rights(void);
void test_regions(void);
void test_cache(void);
void test_taken_away(void);

/* test_dma_faults.c */
void test_drop(void);
void test_mirror(void);
void test_reads(void);
void test_late(void);
void test_failures(void);
void test_slow(void);

/* test_dma_stale.c */
void test_stale(void);
void test_stale_memory(void);
void test_stale_own(void);

/* test_dma_atomics.c */
void test_atomics(void);
void test_atomic_outcomes(void);

/* test_dma_bounce.c */
void test_bounce(void);
void test_bounce_memory(void);
void test_bounce_part(void);

/* test_dma_kept.c */
void test_kept_over_reset(void);
void test_mirror_over_unmap(void);
void test_late_over_unmap(void);
void test_late_elsewhere(void);

/* test_dma_counters.c */
void test_counters(void);

/* test_dma_control.c */
void test_wrong_faults(void);
void test_fault_values(void);
void test_vgpu_faults(void);
void test_poke(void);

/* test_dma_function.c */
void test_gone(void);
void test_interrupts(void);
void test_waiting(void);
void test_gone_qemu(void);
void test_flr(void);

/* test_dma_limits.c */
void test_no_descriptors(void);
void test_no_memory(void);

#endif
