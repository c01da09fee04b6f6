// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of /sys/class/vpeer/vpeerN: one value each, sizes in bytes. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "vpeer.h"

#define VPEER_ATTR(_name, _format, _value)				\
static ssize_t _name##_show(struct device *dev,			\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct vpeer_aperture *ap = vpeer_from_dev(dev);		\
									\
	return sysfs_emit(buf, _format "\n", _value);			\
}									\
static DEVICE_ATTR_RO(_name)

#define VPEER_STAT_ATTR(_name)						\
VPEER_ATTR(_name, "%lld", (long long)atomic64_read(&ap->stats._name))

static const char *vpeer_status(const struct vpeer_aperture *ap)
{
	if (READ_ONCE(ap->gone))
		return "gone";
	if (READ_ONCE(ap->asleep))
		return "asleep";
	return ap->access.trapped ? "trapped" : "ok";
}

VPEER_ATTR(bar, "%u", ap->bar);
VPEER_ATTR(size, "%llu", ap->size);
VPEER_ATTR(memory_type, "%s", ap->memtype.uncached ? "uncached" : "write-combining");
VPEER_ATTR(bytes_free, "%llu",
	   (u64)READ_ONCE(ap->nr_free) * VPEER_GRANULE);
VPEER_ATTR(bytes_pinned, "%llu", vpeer_aperture_pinned(ap));
VPEER_ATTR(windows, "%u", READ_ONCE(ap->nr_windows));
VPEER_ATTR(kind, "%s", ap->foreign ? "foreign" : "owned");
VPEER_ATTR(bar_offset, "%llu", ap->bar_offset);
VPEER_ATTR(status, "%s", vpeer_status(ap));
VPEER_ATTR(read_ns, "%llu", ap->access.memory_ns);
VPEER_ATTR(config_read_ns, "%llu", ap->access.config_ns);
VPEER_STAT_ATTR(mappings);
VPEER_STAT_ATTR(faults_4k);
VPEER_STAT_ATTR(faults_2m);
VPEER_STAT_ATTR(bytes_scrubbed);
VPEER_STAT_ATTR(revocations);
VPEER_STAT_ATTR(dmabufs);
VPEER_STAT_ATTR(dmabuf_maps);
VPEER_STAT_ATTR(dmabuf_bytes_mapped);

static ssize_t granule_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%lu\n", VPEER_GRANULE);
}
static DEVICE_ATTR_RO(granule);

static struct attribute *vpeer_aperture_attrs[] = {
	&dev_attr_bar.attr,
	&dev_attr_bar_offset.attr,
	&dev_attr_size.attr,
	&dev_attr_granule.attr,
	&dev_attr_kind.attr,
	&dev_attr_memory_type.attr,
	&dev_attr_bytes_free.attr,
	&dev_attr_bytes_pinned.attr,
	&dev_attr_windows.attr,
	&dev_attr_status.attr,
	&dev_attr_read_ns.attr,
	&dev_attr_config_read_ns.attr,
	&dev_attr_mappings.attr,
	&dev_attr_faults_4k.attr,
	&dev_attr_faults_2m.attr,
	&dev_attr_bytes_scrubbed.attr,
	&dev_attr_revocations.attr,
	&dev_attr_dmabufs.attr,
	&dev_attr_dmabuf_maps.attr,
	&dev_attr_dmabuf_bytes_mapped.attr,
	NULL,
};

static const struct attribute_group vpeer_aperture_group = {
	.attrs = vpeer_aperture_attrs,
};

const struct attribute_group *vpeer_aperture_groups[] = {
	&vpeer_aperture_group,
	NULL,
};
