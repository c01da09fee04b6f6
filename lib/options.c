// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "options.h"

#include <errno.h>

#include "register.h"

#define CONTEXT_FLAGS	(VPEER_CONTEXT_NO_THREAD | VPEER_CONTEXT_NO_CACHE)
#define REG_FLAGS	(VPEER_REG_WHOLE | VPEER_REG_KEEP | VPEER_REG_NO_CACHE | VPEER_REG_STAGING)

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* One thing that holds for a member. */
struct rule {
	const char *member;
	uint64_t value;
	bool good;
	const char *remedy;
};

static const char for_flags[] = "set only flags that the header has; library and header must be of "
				"one release";
static const char for_ordering[] = "give one of enum vpeer_ordering";
static const char for_routes[] = "give a mask of VPEER_ROUTE_BIT(), which enum vpeer_route itself "
				 "is not";
static const char for_reserved[] = "set the whole structure to 0 before its members";

static bool all_zero(const uint64_t *words, size_t count)
{
	while (count)
		if (words[--count])
			return false;
	return true;
}

static int check(const struct rule *rules, size_t count, const char *what, const char *who,
		 struct vpeer_error *error)
{
	for (size_t i = 0; i < count; i++)
		if (!rules[i].good)
			return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, who,
					  rules[i].remedy,
					  "%s: the member %s of the options is out of range: "
					  "%llu (%#llx)", what, rules[i].member,
					  (unsigned long long)rules[i].value,
					  (unsigned long long)rules[i].value);
	return 0;
}

int vpeer_reg_options_check(const struct vpeer_reg_options *o, const char *who,
			    struct vpeer_error *error)
{
	const struct rule rules[] = {
		{ "flags", o->flags, !(o->flags & ~REG_FLAGS), for_flags },
		{ "access", o->access, !(o->access & IBV_ACCESS_RELAXED_ORDERING),
		  "leave IBV_ACCESS_RELAXED_ORDERING out, and set the member relaxed_ordering" },
		{ "access", o->access, !(o->access & IBV_ACCESS_ZERO_BASED),
		  "leave IBV_ACCESS_ZERO_BASED out: vpeer_mr_range() has the address for work "
		  "requests" },
		{ "access", o->access, !(o->access & ~VPEER_ACCESS_KNOWN),
		  "set only IBV_ACCESS_* of libibverbs" },
		{ "access", o->access, !vpeer_access_lacks_local(o->access),
		  "add IBV_ACCESS_LOCAL_WRITE: remote write and remote atomics need it" },
		{ "relaxed_ordering", o->relaxed_ordering,
		  o->relaxed_ordering <= VPEER_ORDERING_STRICT, for_ordering },
		{ "routes", o->routes, !(o->routes & ~VPEER_ROUTES_KNOWN), for_routes },
		{ "reserved", !all_zero(o->reserved, COUNT(o->reserved)),
		  all_zero(o->reserved, COUNT(o->reserved)), for_reserved },
	};

	return check(rules, COUNT(rules), "cannot register", who, error);
}

int vpeer_context_options_check(const struct vpeer_context_options *o, const char *who,
				struct vpeer_error *error)
{
	const struct rule rules[] = {
		{ "flags", o->flags, !(o->flags & ~CONTEXT_FLAGS), for_flags },
		{ "relaxed_ordering", o->relaxed_ordering,
		  o->relaxed_ordering <= VPEER_ORDERING_STRICT, for_ordering },
		{ "routes", o->routes, !(o->routes & ~VPEER_ROUTES_KNOWN), for_routes },
		{ "cuda_check", o->cuda_check, o->cuda_check <= VPEER_CUDA_CHECK_FREES,
		  "give one of enum vpeer_cuda_check" },
		{ "max_entries", o->max_entries, o->max_entries <= VPEER_CACHE_MAX_ENTRIES,
		  "give at most 16777216, or 0 for the default" },
		{ "aperture_percent", o->aperture_percent, o->aperture_percent <= 100,
		  "give 1 to 100, or 0 for the default" },
		{ "log_level", o->log_level, o->log_level <= VPEER_LOG_DEBUG,
		  "give one of enum vpeer_log_level, or 0 for none" },
		{ "reserved", !all_zero(o->reserved, COUNT(o->reserved)),
		  all_zero(o->reserved, COUNT(o->reserved)), for_reserved },
	};

	return check(rules, COUNT(rules), "cannot make a context", who, error);
}
