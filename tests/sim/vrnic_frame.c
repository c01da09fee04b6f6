// SPDX-License-Identifier: GPL-2.0-only
#include "vrnic_frame.h"

#include <stdlib.h>
#include <string.h>

#include "../hca/vrnic_abi.h"

struct frame *frame_new(size_t length)
{
	struct frame *frame = malloc(sizeof(*frame) + length);

	if (!frame)
		return NULL;
	memset(&frame->head, 0, sizeof(frame->head));
	frame->head.length = length;
	return frame;
}

static uint32_t longest(uint8_t op)
{
	switch (op) {
	case FRAME_SEND:
	case FRAME_WRITE:
	case FRAME_READ_DATA:
		return FRAME_SEGMENT;
	case FRAME_DATAGRAM:
		return VRNIC_MTU;
	default:
		return 0;
	}
}

bool frame_is_sound(const struct frame_head *head)
{
	if (head->op < FRAME_HELLO || head->op >= FRAME_OPS || head->length > longest(head->op))
		return false;
	if (head->psn & ~PSN_MASK || head->code >= NAK_CODES)
		return false;
	return head->op != FRAME_READ || head->operand[0] <= VRNIC_MAX_MESSAGE;
}
