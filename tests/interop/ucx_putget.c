// SPDX-License-Identifier: GPL-2.0-only
/*
 * UCX, one-sided: a put and a get between windows of two processes. With $INTEROP_UNMAPPED the target takes
 * its memory back first; both must fail then. usage: ucx_putget PCI FILE (UCX_NET_DEVICES and UCX_TLS say
 * where and how)
 *
 * Where UCX is to survive failures, it copies and emulates: only then is it told to.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ucp/api/ucp.h>

#include "memory.h"

struct end {
	struct memory memory;
	struct peer peer;
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_mem_h mapped;
	ucp_ep_h ep;
};

/* What the target tells of its memory. */
struct told {
	uint64_t address;
	size_t key_size;
	char key[1024];
};

static void check(ucs_status_t status, const char *what)
{
	if (status != UCS_OK)
		die("%s: %s", what, ucs_status_string(status));
}

static void open_ucx(struct end *end)
{
	ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_RMA,
	};
	ucp_worker_params_t worker_params = { 0 };
	ucp_mem_map_params_t map_params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = end->memory.address,
		.length = SIZE,
	};

	check(ucp_init(&params, NULL, &end->context), "ucp_init");
	check(ucp_worker_create(end->context, &worker_params, &end->worker), "ucp_worker_create");
	check(ucp_mem_map(end->context, &map_params, &end->mapped), "ucp_mem_map");
}

static void close_ucx(struct end *end)
{
	if (end->mapped)
		check(ucp_mem_unmap(end->context, end->mapped), "ucp_mem_unmap");
	ucp_worker_destroy(end->worker);
	ucp_cleanup(end->context);
}

static void tell(struct end *end)
{
	struct told told = { .address = (uintptr_t)end->memory.address };
	ucp_address_t *address;
	size_t size;
	void *key;

	check(ucp_rkey_pack(end->context, end->mapped, &key, &told.key_size), "ucp_rkey_pack");
	if (told.key_size > sizeof(told.key))
		die("a key of %zu bytes", told.key_size);
	memcpy(told.key, key, told.key_size);
	ucp_rkey_buffer_release(key);
	check(ucp_worker_get_address(end->worker, &address, &size), "ucp_worker_get_address");
	peer_send(&end->peer, &told, sizeof(told));
	peer_send(&end->peer, &size, sizeof(size));
	peer_send(&end->peer, address, size);
	ucp_worker_release_address(end->worker, address);
}

static void failed(void *argument, ucp_ep_h ep, ucs_status_t status)
{
	(void)argument;
	(void)ep;
	printf("failed %s\n", ucs_status_string(status));
}

static void connect_to(struct end *end)
{
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.err_mode = getenv("INTEROP_UNMAPPED") ? UCP_ERR_HANDLING_MODE_PEER :
							 UCP_ERR_HANDLING_MODE_NONE,
		.err_handler = { .cb = failed },
	};
	size_t size;
	void *address;

	peer_receive(&end->peer, &size, sizeof(size));
	address = malloc(size);
	if (!address)
		die("no memory");
	peer_receive(&end->peer, address, size);
	params.address = address;
	check(ucp_ep_create(end->worker, &params, &end->ep), "ucp_ep_create");
	free(address);
}

static ucs_status_t finish(struct end *end, ucs_status_ptr_t request)
{
	ucs_status_t status;

	if (!UCS_PTR_IS_PTR(request))
		return UCS_PTR_STATUS(request);
	while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		ucp_worker_progress(end->worker);
	ucp_request_free(request);
	return status;
}

static ucs_status_t flush(struct end *end)
{
	const ucp_request_param_t none = { 0 };

	return finish(end, ucp_ep_flush_nbx(end->ep, &none));
}

static void initiator(struct end *end)
{
	ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_MEMH,
		.memh = end->mapped,
	};
	ucs_status_t put, get;
	struct told told;
	ucp_rkey_h key;
	char ready;

	peer_receive(&end->peer, &told, sizeof(told));
	connect_to(end);
	peer_receive(&end->peer, &ready, 1);
	check(ucp_ep_rkey_unpack(end->ep, told.key, &key), "ucp_ep_rkey_unpack");
	put = finish(end, ucp_put_nbx(end->ep, end->memory.address, HALF, told.address + HALF, key,
				      &param));
	if (put == UCS_OK)
		put = flush(end);
	get = finish(end, ucp_get_nbx(end->ep, end->memory.address + HALF, HALF, told.address, key,
				      &param));
	printf("put %s\nget %s\n", ucs_status_string(put), ucs_status_string(get));
	ucp_rkey_destroy(key);
	param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
	param.flags = put == UCS_OK ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
	finish(end, ucp_ep_close_nbx(end->ep, &param));
	if ((put == UCS_OK && get == UCS_OK) == !!getenv("INTEROP_UNMAPPED"))
		die("that was not to be");
}

/* Answers what its side of a connection must, until the other process has finished. */
static void target(struct end *end)
{
	struct pollfd wait = { .fd = end->peer.socket, .events = POLLIN };

	tell(end);
	if (getenv("INTEROP_UNMAPPED")) {
		check(ucp_mem_unmap(end->context, end->mapped), "ucp_mem_unmap");
		end->mapped = NULL;
	}
	peer_send(&end->peer, "", 1);
	while (poll(&wait, 1, 0) == 0)
		ucp_worker_progress(end->worker);
}

int main(int argc, char **argv)
{
	struct end end = { 0 };

	if (argc != 3)
		die("usage: ucx_putget PCI FILE");
	peer_start(&end.peer);
	memory_take(&end.memory, argv[1], end.peer.is_target);
	memory_fill(&end.memory, argv[2], end.peer.is_target ? HALF : 0);
	open_ucx(&end);
	if (end.peer.is_target) {
		target(&end);
	} else {
		initiator(&end);
		peer_send(&end.peer, "", 1);
	}
	close_ucx(&end);
	return peer_end(&end.peer);
}
