// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What XML allows and NCCL's own reader stumbles over: it takes bytes one by one, knows no
 * declaration, and expects one blank before each attribute.
 */
#include <string.h>

#include "../util.h"
#include "topofile.h"

enum stumble {
	STUMBLE_MARK,
	STUMBLE_DECLARATION,
	STUMBLE_MARKUP,
	STUMBLE_COMMENT,
	STUMBLE_TEXT,
	STUMBLE_BLANK,
	STUMBLE_EQUALS,
	STUMBLE_ESCAPE,
	STUMBLE_LONG,
	STUMBLE_MANY,
};

static const struct {
	enum state state;
	const char *meaning;
	const char *remedy;
} stumbles[] = {
	[STUMBLE_MARK] = { STATE_FAIL, "it begins with a byte order mark: NCCL expects '<'",
			   "save it as UTF-8 without a mark" },
	[STUMBLE_DECLARATION] = { STATE_FAIL, "it has an XML declaration or a processing "
				  "instruction: NCCL's reader fails at it",
				  "take the line out: <system> comes first" },
	[STUMBLE_MARKUP] = { STATE_FAIL, "it has markup that NCCL's reader does not know",
			     "take it out: there are elements, attributes and comments only" },
	[STUMBLE_COMMENT] = { STATE_FAIL, "the comment has '=' in its first word: NCCL's reader "
			      "takes it for an attribute", "begin it with '<!-- '" },
	[STUMBLE_TEXT] = { STATE_FAIL, "there is a tab, or text, between elements: NCCL's reader "
			   "fails at it", "indent with blanks, and leave text out" },
	[STUMBLE_BLANK] = { STATE_FAIL, "a tag has a line break or a tab in it: NCCL's reader "
			    "fails at it", "write each tag in one line, with one blank before "
			    "each attribute" },
	[STUMBLE_EQUALS] = { STATE_FAIL, "there is a blank beside a '=': NCCL's reader fails at "
			     "it", "write name=\"value\"" },
	[STUMBLE_ESCAPE] = { STATE_WARN, "a value has an escape, which NCCL does not undo",
			     "write the character itself, or leave it out" },
	[STUMBLE_LONG] = { STATE_FAIL, "a name or value has more than 253 characters: NCCL's "
			   "reader fails at it", "shorten it; of an affinity words of zeroes in "
			   "front may go" },
	[STUMBLE_MANY] = { STATE_FAIL, "an element has more than 16 attributes: NCCL leaves the "
			   "others out", "leave out those that NCCL fills in itself" },
};

struct reader {
	struct topofile *file;
	const char *text, *at, *end;
	bool told[ARRAY_SIZE(stumbles)];
};

static int line_of(const struct reader *reader, const char *at)
{
	int line = 1;

	for (const char *i = reader->text; i < at; i++)
		line += *i == '\n';
	return line;
}

/* Each kind once. */
static void stumble(struct reader *reader, enum stumble kind, const char *at)
{
	struct findings *all = reader->file->all;
	size_t length = 0;
	char saw[64];

	if (reader->told[kind])
		return;
	reader->told[kind] = true;
	while (at + length < reader->end && length < sizeof(saw) - 1 && at[length] != '\n')
		length++;
	text_format(saw, sizeof(saw), "%.*s", (int)length, at);
	finding_add(all, "reader", "file");
	finding_saw(all, saw, "%s:%d", reader->file->path, line_of(reader, at));
	finding_says(all, stumbles[kind].state, "%s", stumbles[kind].meaning);
	finding_remedy(all, job_user, "%s", stumbles[kind].remedy);
}

static void skip_to(struct reader *reader, const char *mark)
{
	size_t length = strlen(mark);
	const char *found = memmem(reader->at, (size_t)(reader->end - reader->at), mark, length);

	reader->at = found ? found + length : reader->end;
}

static void read_comment(struct reader *reader)
{
	const char *start = reader->at;

	for (const char *i = start + 4; i < reader->end && !strchr(" >/\n\r", *i); i++)
		if (*i == '=')
			stumble(reader, STUMBLE_COMMENT, start);
	reader->at += 4;
	skip_to(reader, "-->");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void read_value(struct reader *reader)
{
	const char *start, *close;
	char quote = *reader->at;

	start = reader->at + 1;
	close = memchr(start, quote, (size_t)(reader->end - start));
	if (!close)
		close = reader->end;
	if (close - start > NCCL_MOST_VALUE)
		stumble(reader, STUMBLE_LONG, start);
	if (memchr(start, '&', (size_t)(close - start)))
		stumble(reader, STUMBLE_ESCAPE, start);
	reader->at = close < reader->end ? close + 1 : close;
}

/* A name with what follows it up to the next one; false at the end of the tag. */
static bool read_attribute(struct reader *reader)
{
	const char *start = reader->at;

	while (reader->at < reader->end && !strchr("=>/ \t\n\r", *reader->at))
		reader->at++;
	if (reader->at - start > NCCL_MOST_VALUE)
		stumble(reader, STUMBLE_LONG, start);
	if (reader->at == reader->end || *reader->at == '>' || *reader->at == '/')
		return false;
	if (is_blank(*reader->at))
		stumble(reader, STUMBLE_EQUALS, start);
	while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\'') {
		if (*reader->at == '>')
			return false;
		if (is_blank(*reader->at))
			stumble(reader, STUMBLE_EQUALS, start);
		reader->at++;
	}
	if (reader->at < reader->end)
		read_value(reader);
	return true;
}

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && is_blank(*reader->at)) {
		if (*reader->at != ' ')
			stumble(reader, STUMBLE_BLANK, reader->at);
		reader->at++;
	}
}

static void read_tag(struct reader *reader)
{
	const char *start = reader->at;
	size_t attributes = 0;

	reader->at += 1 + (start + 1 < reader->end && start[1] == '/');
	while (reader->at < reader->end && !strchr("> /\t\n\r", *reader->at))
		reader->at++;
	if (start + 1 < reader->end && start[1] == '/' && reader->at < reader->end &&
	    *reader->at != '>')
		stumble(reader, STUMBLE_BLANK, start);
	skip_blanks(reader);
	while (reader->at < reader->end && *reader->at != '>' && *reader->at != '/') {
		if (!read_attribute(reader))
			break;
		if (++attributes > NCCL_MOST_ATTRIBUTES)
			stumble(reader, STUMBLE_MANY, start);
		skip_blanks(reader);
	}
	skip_to(reader, ">");
}

static bool begins(const struct reader *reader, const char *mark)
{
	size_t length = strlen(mark);

	return (size_t)(reader->end - reader->at) >= length &&
	       !memcmp(reader->at, mark, length);
}

static void read_one(struct reader *reader)
{
	if (begins(reader, "<!--")) {
		read_comment(reader);
	} else if (begins(reader, "<?")) {
		stumble(reader, STUMBLE_DECLARATION, reader->at);
		skip_to(reader, "?>");
	} else if (begins(reader, "<![CDATA[")) {
		stumble(reader, STUMBLE_MARKUP, reader->at);
		skip_to(reader, "]]>");
	} else if (*reader->at == '<') {
		read_tag(reader);
	} else {
		if (*reader->at != ' ' && *reader->at != '\n' && *reader->at != '\r')
			stumble(reader, STUMBLE_TEXT, reader->at);
		reader->at++;
	}
}

void topofile_reader(struct topofile *file, const char *text, size_t length)
{
	struct reader reader = {
		.file = file,
		.text = text,
		.at = text,
		.end = text + length,
	};

	if (begins(&reader, "\xef\xbb\xbf")) {
		stumble(&reader, STUMBLE_MARK, text);
		reader.at += 3;
	}
	while (reader.at < reader.end)
		read_one(&reader);
}
