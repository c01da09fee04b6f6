// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>

#include "command.h"
#include "harness.h"

const char *output_of(int expected, const char *format, ...)
{
	static char text[8192];
	char command[512];
	va_list args;
	FILE *pipe;
	size_t len;

	va_start(args, format);
	CHECK(vsnprintf(command, sizeof(command), format, args) < (int)sizeof(command));
	va_end(args);
	pipe = popen(command, "re");
	CHECK(pipe);
	len = fread(text, 1, sizeof(text) - 1, pipe);
	text[len] = '\0';
	printf("$ %s\n%s", command, text);
	CHECK_EQ(pclose(pipe), expected << 8);
	return text;
}
