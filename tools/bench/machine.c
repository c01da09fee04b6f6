// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "machine.h"

#include <cpuid.h>
#include <string.h>
#include <sys/utsname.h>

#include "../util.h"

#define HYPERVISOR_BIT	(1U << 31)
#define HYPERVISOR_LEAF	0x40000000U

void machine_judge(struct machine *machine, const char *signature)
{
	machine->virtualised = signature[0] != '\0';
	machine->emulated = !strcmp(signature, "TCGTCGTCGTCG");
	text_format(machine->hypervisor, sizeof(machine->hypervisor), "%s",
		    signature[0] ? signature : "none");
}

void machine_read(struct machine *machine)
{
	unsigned int a, b = 0, c = 0, d = 0, words[3];
	char signature[sizeof(words) + 1] = "";
	struct utsname name;

	*machine = (struct machine){ 0 };
	if (!uname(&name))
		text_format(machine->release, sizeof(machine->release), "%s", name.release);
	__cpuid(1, a, b, c, d);
	if (c & HYPERVISOR_BIT) {
		__cpuid(HYPERVISOR_LEAF, a, words[0], words[1], words[2]);
		memcpy(signature, words, sizeof(words));
		if (!signature[0])
			text_format(signature, sizeof(signature), "unnamed");
	}
	machine_judge(machine, signature);
}
