// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What stands in a cell of the matrix, and in its legend. */
#include <string.h>

#include "../util.h"
#include "topo.h"

const char *topo_code(unsigned int distance)
{
	static const char *const codes[] = {
		[VPEER_DISTANCE_UNKNOWN] = "?",
		[VPEER_DISTANCE_SAME_FUNCTION] = "self",
		[VPEER_DISTANCE_SAME_DEVICE] = "dev",
		[VPEER_DISTANCE_SAME_SWITCH] = "sw",
		[VPEER_DISTANCE_SAME_ROOT_PORT] = "port",
		[VPEER_DISTANCE_SAME_BRIDGE] = "host",
		[VPEER_DISTANCE_SAME_NODE] = "node",
		[VPEER_DISTANCE_FAR] = "far",
	};

	return distance < ARRAY_SIZE(codes) ? codes[distance] : "?";
}

char topo_mark(enum measure verdict)
{
	static const char marks[] = {
		[MEASURE_PASS] = '+',	 [MEASURE_UNPROVEN] = '~', [MEASURE_BOUNCED] = '%',
		[MEASURE_FAIL] = '!',	 [MEASURE_TIMEOUT] = '#',
	};

	return marks[verdict];
}

/* "a" to "z", "aa" and so on. */
char *topo_letters(size_t number, char text[TOPO_LETTERS_LEN])
{
	char *at = text + TOPO_LETTERS_LEN - 1;

	*at = '\0';
	do {
		*--at = (char)('a' + number % 26);
		number /= 26;
	} while (number-- && at > text);
	return at;
}

char *topo_cell(const struct topo_pair *pair, char text[TOPO_CELL_LEN])
{
	char letters[TOPO_LETTERS_LEN], mark[2] = "";

	if (pair->measured)
		mark[0] = topo_mark(pair->verdict);
	text_format(text, TOPO_CELL_LEN, "%s%s%s%s", topo_code(pair->distance),
		    pair->bridge[0] ? ":" : "",
		    pair->bridge[0] ? topo_letters(pair->bridge_number, letters) : "", mark);
	return text;
}

bool topo_uses_distance(const struct topo *topo, unsigned int distance)
{
	for (size_t i = 0; i < topo->memory_count * topo->initiator_count; i++)
		if (topo->pairs[i].distance == distance)
			return true;
	return false;
}

bool topo_uses_verdict(const struct topo *topo, enum measure verdict)
{
	for (size_t i = 0; i < topo->memory_count * topo->initiator_count; i++)
		if (topo->pairs[i].measured && topo->pairs[i].verdict == verdict)
			return true;
	return false;
}
