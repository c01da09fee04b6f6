// SPDX-License-Identifier: GPL-2.0-only
/* Bytes of windows per user, held to max_bytes_per_user. */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "vpeer.h"

struct vpeer_user {
	struct list_head node;
	kuid_t uid;
	u64 bytes;
};

static LIST_HEAD(users);
static DEFINE_MUTEX(users_lock);

static struct vpeer_user *vpeer_user_find(kuid_t uid)
{
	struct vpeer_user *user;

	list_for_each_entry(user, &users, node)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct vpeer_user *vpeer_user_add(kuid_t uid)
{
	struct vpeer_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	if (user) {
		user->uid = uid;
		list_add(&user->node, &users);
	}
	return user;
}

static int vpeer_user_charge_locked(kuid_t uid, u64 bytes)
{
	u64 limit = READ_ONCE(vpeer_max_bytes_per_user);
	struct vpeer_user *user = vpeer_user_find(uid);
	u64 used = user ? user->bytes : 0;

	if (limit && (used >= limit || bytes > limit - used))
		return -EDQUOT;

	if (!user)
		user = vpeer_user_add(uid);
	if (!user)
		return -ENOMEM;
	user->bytes += bytes;
	return 0;
}

/**
 * vpeer_user_charge - account a window to a user
 * @uid: owner of the open file
 * @bytes: size of the window
 *
 * Return: 0, -EDQUOT past the limit, -ENOMEM.
 */
int vpeer_user_charge(kuid_t uid, u64 bytes)
{
	int ret;

	mutex_lock(&users_lock);
	ret = vpeer_user_charge_locked(uid, bytes);
	mutex_unlock(&users_lock);
	return ret;
}

void vpeer_user_uncharge(kuid_t uid, u64 bytes)
{
	struct vpeer_user *user;

	mutex_lock(&users_lock);
	user = vpeer_user_find(uid);
	if (user) {
		user->bytes -= bytes;
		if (!user->bytes) {
			list_del(&user->node);
			kfree(user);
		}
	}
	mutex_unlock(&users_lock);
}
