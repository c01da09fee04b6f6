/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A PCI function's configuration space, as sysfs gives it. */
#ifndef PCI_CONFIG_H
#define PCI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_HEADER	64	/* what all may read */
#define CONFIG_PLAIN	256	/* without PCI Express */
#define CONFIG_BYTES	4096

enum presence {
	NOT_READ,
	ABSENT,
	PRESENT,
};

struct config {
	uint8_t bytes[CONFIG_BYTES];
	size_t length;	/* of what was read */
};

/* Type of a PCI Express function or port. */
enum express_type {
	EXPRESS_ROOT_PORT = 4,
	EXPRESS_UPSTREAM = 5,
	EXPRESS_DOWNSTREAM = 6,
};

struct express {
	enum presence presence;
	unsigned int type;
	unsigned int payload_cap;	/* DevCap MaxPayload */
	unsigned int payload;		/* DevCtl MaxPayload, bytes */
	unsigned int read_request;	/* DevCtl MaxReadReq, bytes */
	bool relaxed_ordering;		/* DevCtl RlxdOrd */
	bool ext_tag;			/* DevCtl ExtTag */
};

struct ats {
	enum presence presence;
	unsigned int queue_depth;	/* ATSCap, 0 means 32 */
	bool enable;			/* ATSCtl */
	unsigned int stu;		/* ATSCtl, log2 of 4 KiB units */
};

struct acs {
	enum presence presence;
	uint16_t cap;
	uint16_t ctl;
};

/* NVIDIA's capability by which a VMM tells which GPUs may reach each other. */
struct clique {
	enum presence presence;
	unsigned int version;
	unsigned int id;
};

/* The bits of ACSCap and ACSCtl, by lspci's names. */
struct acs_bit {
	const char *name;
	uint16_t mask;
};

#define ACS_BITS 7
extern const struct acs_bit acs_bits[ACS_BITS];

/* 0 or a negative errno. */
int config_read(struct config *config, const char *sysfs, const char *pci);

void config_express(const struct config *config, struct express *express);
void config_ats(const struct config *config, struct ats *ats);
void config_acs(const struct config *config, struct acs *acs);
void config_clique(const struct config *config, struct clique *clique);

/* The command register, which all may read. */
uint16_t config_command(const struct config *config);

/* It reads as ones: it sleeps deeply or is gone. */
bool config_is_silent(const struct config *config);

/* Why capabilities are not known, for people. */
const char *config_missing(const struct config *config);

#endif /* PCI_CONFIG_H */
