// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The JSON document of "vpeer host". */
#include "host_seen.h"

#include <json-c/json.h>

static struct json_object *member(struct json_object *object, const char *path)
{
	struct json_object *found = NULL;

	if (json_pointer_get(object, path, &found))
		fail_msg("the document has no %s", path);
	return found;
}

static const char *text_of(struct json_object *object, const char *path)
{
	return json_object_get_string(member(object, path));
}

static void document(void **state)
{
	struct json_object *object;
	struct seen seen;

	seen_look(&seen, &host_tree_good, *state);
	object = host_document(&seen.host, seen.paths, seen.path_count, &seen.all);
	assert_int_equal(json_object_get_int(member(object, "/schema_version")), 1);
	assert_string_equal(text_of(object, "/host/iommu/driver"), "intel-iommu");
	assert_string_equal(text_of(object, "/host/iommu/address_width"), "48");
	assert_string_equal(text_of(object, "/host/cpu/physical_bits"), "46");
	assert_string_equal(text_of(object, "/host/hugepages/0/size"), "1073741824");
	assert_null(member(object, "/host/hugepages/0/node"));
	assert_string_equal(text_of(object, "/host/hugepages/2/node"), "1");
	assert_string_equal(text_of(object, "/devices/0/pci"), TREE_GPU);
	assert_string_equal(text_of(object, "/devices/0/role"), "memory");
	assert_string_equal(text_of(object, "/devices/0/class"), "0x030200");
	assert_string_equal(text_of(object, "/devices/0/resource/1/size"), "68719476736");
	assert_string_equal(text_of(object, "/devices/0/resource/1/64-bit"), "true");
	assert_string_equal(text_of(object, "/devices/0/iommu_group/devices/0"), TREE_GPU);
	assert_string_equal(text_of(object, "/devices/0/DevCtl/MaxReadReq"), "4096");
	assert_null(member(object, "/devices/0/ATSCtl"));
	assert_string_equal(text_of(object, "/devices/1/ATSCtl/Enable"), "true");
	assert_string_equal(text_of(object, "/devices/1/sriov/physfn"), TREE_PF);
	assert_string_equal(text_of(object, "/devices/1/sriov/settings/trust"), "true");
	assert_string_equal(text_of(object, "/bridges/2/pci"), TREE_GPU_PORT);
	assert_string_equal(text_of(object, "/bridges/2/ACSCtl/DirectTrans"), "true");
	assert_string_equal(text_of(object, "/bridges/2/ACSCtl/TransBlk"), "false");
	assert_string_equal(text_of(object, "/bridges/2/ACSCap/TransBlk"), "true");
	assert_string_equal(text_of(object, "/paths/0/route"), "direct");
	assert_string_equal(text_of(object, "/summary/fail"), "0");
	json_object_put(object);
	seen_forget(&seen);
}

/* JSON is UTF-8, whatever bytes the kernel was booted with. */
static void document_of_bytes(void **state)
{
	struct host_tree tree = host_tree_good;
	struct json_object *object;
	struct seen seen;

	tree.cmdline = "a=\xc3\xa4 b=\xff\xfe c=\xc0\xaf d=\xed\xa0\x80";
	seen_look(&seen, &tree, *state);
	object = host_document(&seen.host, seen.paths, seen.path_count, &seen.all);
	assert_string_equal(text_of(object, "/host/cmdline"), "a=\xc3\xa4 b=?? c=?? d=???");
	json_object_put(object);
	seen_forget(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(document), WITH_TREE(document_of_bytes),
	};

	return cmocka_run_group_tests_name("host_document", tests, NULL, NULL) != 0;
}
