// SPDX-License-Identifier: GPL-2.0-only
/* Commands: one at a time, written to memory and started by a register. */
#include <linux/io.h>
#include <linux/jiffies.h>

#include "vrnic.h"

#define VRNIC_COMMAND_TIME	(5 * HZ)
#define VRNIC_BOUNCE_SIZE	SZ_64K

int vrnic_commands_init(struct vrnic *dev)
{
	struct device *device = &dev->pdev->dev;

	mutex_init(&dev->command_lock);
	init_completion(&dev->command_done);
	dev->command = dma_alloc_coherent(device, VRNIC_COMMAND_SIZE, &dev->command_dma,
					  GFP_KERNEL);
	dev->bounce = dma_alloc_coherent(device, VRNIC_BOUNCE_SIZE, &dev->bounce_dma, GFP_KERNEL);
	if (!dev->command || !dev->bounce) {
		vrnic_commands_exit(dev);
		return -ENOMEM;
	}
	writeq(dev->command_dma, dev->registers + VRNIC_REG_COMMAND_ADDRESS);
	writeq(dev->bounce_dma, dev->registers + VRNIC_REG_BOUNCE_ADDRESS);
	writel(VRNIC_BOUNCE_SIZE, dev->registers + VRNIC_REG_BOUNCE_SIZE);
	return 0;
}

/* The device reaches no memory any more. */
void vrnic_commands_exit(struct vrnic *dev)
{
	struct device *device = &dev->pdev->dev;

	if (dev->bounce)
		dma_free_coherent(device, VRNIC_BOUNCE_SIZE, dev->bounce, dev->bounce_dma);
	if (dev->command)
		dma_free_coherent(device, VRNIC_COMMAND_SIZE, dev->command, dev->command_dma);
	mutex_destroy(&dev->command_lock);
}

/*
 * From here on commands fail at once, and memory may be taken from the device:
 * should it only be late, it is no bus master any more.
 */
void vrnic_gone(struct vrnic *dev, const char *why)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
		.event = IB_EVENT_DEVICE_FATAL,
	};

	if (test_and_set_bit(VRNIC_GONE, &dev->flags))
		return;
	dev_err(&dev->pdev->dev,
		"%s; it is not used any more until it is reset (sysfs: reset) or bound again\n",
		why);
	writel(1, dev->registers + VRNIC_REG_RESET);
	pci_clear_master(dev->pdev);
	if (test_bit(VRNIC_REGISTERED, &dev->flags))
		ib_dispatch_event(&event);
}

/*
 * The place of the next command; until vrnic_command_end() no one else has it.
 * Reservation locks of DMA-bufs may be held, as their exporters call for
 * UNMAP_MR so: no one waits for memory or for such a lock in between, and each
 * command ends within VRNIC_COMMAND_TIME or is the last one.
 */
void *vrnic_command_begin(struct vrnic *dev)
{
	mutex_lock(&dev->command_lock);
	return dev->command;
}

void vrnic_command_end(struct vrnic *dev)
{
	mutex_unlock(&dev->command_lock);
}

/* Its event makes the wait short, but is not needed. */
static u32 vrnic_command_wait(struct vrnic *dev)
{
	unsigned long end = jiffies + VRNIC_COMMAND_TIME;
	unsigned long pause = 1;

	for (;;) {
		bool late = time_after(jiffies, end);
		u32 state = readl(dev->registers + VRNIC_REG_COMMAND_STATE);

		if (state != VRNIC_COMMAND_RUNS || late)
			return state;
		wait_for_completion_timeout(&dev->command_done, pause);
		pause = min_t(unsigned long, pause * 2, HZ / 20);
	}
}

static int vrnic_command_status(struct vrnic *dev)
{
	const struct vrnic_command_head *head = dev->command;

	switch (READ_ONCE(head->status)) {
	case VRNIC_OK:
		return 0;
	case VRNIC_BAD_OPCODE:
		return -EOPNOTSUPP;
	case VRNIC_BAD_NUMBER:
		return -ENOENT;
	default:
		return -EINVAL;
	}
}

/* Runs what was written to the place of commands; its answer lies there then. */
int vrnic_command_run(struct vrnic *dev, size_t length)
{
	u32 state;

	if (test_bit(VRNIC_GONE, &dev->flags))
		return -EIO;
	reinit_completion(&dev->command_done);
	writel(length, dev->registers + VRNIC_REG_COMMAND);
	state = vrnic_command_wait(dev);
	switch (state) {
	case VRNIC_COMMAND_DONE:
		return vrnic_command_status(dev);
	case VRNIC_COMMAND_RUNS:
		vrnic_gone(dev, "the device did not end a command in time");
		return -ETIMEDOUT;
	case VRNIC_COMMAND_LOST:
		vrnic_gone(dev, "the device could not reach a command by DMA");
		break;
	case U32_MAX:
		vrnic_gone(dev, "the device is gone");
		break;
	default:
		vrnic_gone(dev, "the device forgot a command");
	}
	return -EIO;
}

/* COMMAND of LENGTH bytes gets the first ANSWER bytes of what the device made of it. */
int vrnic_command(struct vrnic *dev, void *command, size_t length, size_t answer)
{
	void *place = vrnic_command_begin(dev);
	int ret;

	memcpy(place, command, length);
	ret = vrnic_command_run(dev, length);
	if (!ret)
		memcpy(command, place, answer);
	vrnic_command_end(dev);
	return ret;
}

int vrnic_command_number(struct vrnic *dev, enum vrnic_opcode opcode, u32 number)
{
	struct vrnic_cmd_number cmd = {
		.head.opcode = opcode,
		.number = number,
	};

	return vrnic_command(dev, &cmd, sizeof(cmd), 0);
}

/* Takes something from the device, which has it no more afterwards, come what may. */
void vrnic_command_obeyed(struct vrnic *dev, enum vrnic_opcode opcode, u32 number)
{
	if (vrnic_command_number(dev, opcode, number))
		vrnic_gone(dev, "the device refused to give something back");
}
