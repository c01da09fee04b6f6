// SPDX-License-Identifier: GPL-2.0-only
/* Event queues. Queue 0 is served by a thread: what it brings may be passed on at length. */
#include <linux/interrupt.h>

#include "vrnic.h"

/*
 * The device cannot be told how far events were taken. A CQ has one completion
 * event for each time its user arms it.
 */
#define VRNIC_EQ_ENTRIES	8192
#define VRNIC_EQ_SIZE		(VRNIC_EQ_ENTRIES * sizeof(struct vrnic_event))

static void vrnic_event(struct vrnic *dev, const struct vrnic_event *event)
{
	switch (event->type) {
	case VRNIC_EVENT_COMPLETION:
		vrnic_cq_completion(dev, event->number);
		break;
	case VRNIC_EVENT_CQ_ERROR:
		vrnic_cq_error(dev, event->number);
		break;
	case VRNIC_EVENT_QP_FATAL:
		vrnic_qp_event(dev, event->number, IB_EVENT_QP_FATAL);
		break;
	case VRNIC_EVENT_QP_ACCESS:
		vrnic_qp_event(dev, event->number, IB_EVENT_QP_ACCESS_ERR);
		break;
	case VRNIC_EVENT_PAGE_REQUEST:
		vrnic_mr_page_request(dev, event->number);
		break;
	case VRNIC_EVENT_PORT:
		vrnic_port_event(dev, event->number);
		break;
	case VRNIC_EVENT_COMMAND:
		complete(&dev->command_done);
		break;
	default:
		dev_warn_ratelimited(&dev->pdev->dev, "unknown event %u ignored\n", event->type);
	}
}

static const struct vrnic_event *vrnic_eq_event(const struct vrnic_eq *eq)
{
	const struct vrnic_event *event = &eq->ring[eq->next % VRNIC_EQ_ENTRIES];
	u8 phase = !(eq->next / VRNIC_EQ_ENTRIES % 2);

	if (READ_ONCE(event->phase) != phase)
		return NULL;
	dma_rmb();
	return event;
}

static irqreturn_t vrnic_interrupt(int irq, void *arg)
{
	const struct vrnic_event *event;
	struct vrnic_eq *eq = arg;
	unsigned int taken;

	for (taken = 0; taken < VRNIC_EQ_ENTRIES; taken++) {
		event = vrnic_eq_event(eq);
		if (!event)
			break;
		vrnic_event(eq->dev, event);
		eq->next++;
	}
	/* Even if an earlier interrupt's round took its event. */
	return IRQ_HANDLED;
}

/* No event of the queue is being passed on when it returns. */
void vrnic_events_settle(struct vrnic *dev, u32 eq)
{
	synchronize_irq(pci_irq_vector(dev->pdev, eq));
}

static int vrnic_eq_init(struct vrnic *dev, unsigned int number)
{
	struct vrnic_eq *eq = &dev->eqs[number];
	int ret;

	eq->dev = dev;
	eq->ring = dma_alloc_coherent(&dev->pdev->dev, VRNIC_EQ_SIZE, &eq->dma, GFP_KERNEL);
	if (!eq->ring)
		return -ENOMEM;
	ret = pci_request_irq(dev->pdev, number, number ? vrnic_interrupt : NULL,
			      number ? NULL : vrnic_interrupt, eq, "%s-%s-%u", VRNIC_NAME,
			      pci_name(dev->pdev), number);
	if (ret)
		dma_free_coherent(&dev->pdev->dev, VRNIC_EQ_SIZE, eq->ring, eq->dma);
	return ret;
}

/* The device reaches no memory any more. */
static void vrnic_eqs_exit(struct vrnic *dev, unsigned int count)
{
	while (count--) {
		struct vrnic_eq *eq = &dev->eqs[count];

		pci_free_irq(dev->pdev, count, eq);
		dma_free_coherent(&dev->pdev->dev, VRNIC_EQ_SIZE, eq->ring, eq->dma);
	}
	pci_free_irq_vectors(dev->pdev);
	kfree(dev->eqs);
}

int vrnic_events_init(struct vrnic *dev)
{
	unsigned int i;
	int ret;

	ret = pci_alloc_irq_vectors(dev->pdev, 2, dev->vectors, PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;
	dev->vectors = ret;
	dev->eqs = kcalloc(dev->vectors, sizeof(*dev->eqs), GFP_KERNEL);
	ret = dev->eqs ? 0 : -ENOMEM;
	for (i = 0; !ret && i < dev->vectors; i++)
		ret = vrnic_eq_init(dev, i);
	if (ret)
		vrnic_eqs_exit(dev, i ? i - 1 : 0);
	return ret;
}

int vrnic_events_start(struct vrnic *dev)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < dev->vectors; i++) {
		struct vrnic_cmd_eq cmd = {
			.head.opcode = VRNIC_CMD_CREATE_EQ,
			.eq = i,
			.entries = VRNIC_EQ_ENTRIES,
			.address = dev->eqs[i].dma,
		};

		ret = vrnic_command(dev, &cmd, sizeof(cmd), 0);
	}
	return ret;
}

void vrnic_events_exit(struct vrnic *dev)
{
	vrnic_eqs_exit(dev, dev->vectors);
}
