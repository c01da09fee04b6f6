// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "kmsg.h"

int kmsg_mark(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* A record reads "priority,sequence,time,flags;text\n" and key lines. */
static char *kmsg_text(char *record)
{
	char *text = strchr(record, ';');

	if (!text)
		return record;
	text++;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

unsigned int kmsg_count(int mark, const char *pattern, char *first, size_t size)
{
	unsigned int count = 0;
	char record[8192];
	regex_t regex;

	if (size)
		first[0] = '\0';
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		return 0;
	for (;;) {
		ssize_t len = read(mark, record, sizeof(record) - 1);

		if (len < 0 && errno == EPIPE)
			continue;	/* overwritten before it was read */
		if (len <= 0)
			break;
		record[len] = '\0';
		if (regexec(&regex, kmsg_text(record), 0, NULL, 0))
			continue;
		if (!count++ && size)
			snprintf(first, size, "%s", kmsg_text(record));
	}
	regfree(&regex);
	return count;
}

unsigned int kmsg_within(int mark, const char *pattern, unsigned int milliseconds)
{
	int64_t end = test_now_ms() + milliseconds;
	unsigned int lines;

	while (!(lines = kmsg_count(mark, pattern, NULL, 0)) && test_now_ms() < end)
		test_sleep_ms(20);
	return lines;
}
