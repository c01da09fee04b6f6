# SPDX-License-Identifier: GPL-2.0-only
# vpeer: kernel module, library, tool. `make help` names the targets.

KDIR ?= /lib/modules/$(shell uname -r)/build
KVER ?= $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p' \
		$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
INSTALL ?= install
STRIP ?= strip
PKG_CONFIG ?= pkg-config

# A target that needs the kernel's headers says so when they are not there.
define need_headers
	@[ -n "$(KVER)" ] || { echo "vpeer: no kernel headers in $(KDIR):" \
		"install linux-headers-$$(uname -r), or name another kernel by" \
		"KDIR=/lib/modules/VERSION/build" >&2; exit 1; }
endef

# usage: $(call need,TEST,WHAT,PACKAGES)
define need
	@$(1) >/dev/null 2>&1 || { echo "vpeer: no $(strip $(2)): install $(strip $(3))" >&2; exit 1; }
endef

need_verbs = $(call need,$(CC) $(CPPFLAGS) -E -x c -include infiniband/verbs.h /dev/null,\
	header infiniband/verbs.h,gcc libibverbs-dev)
need_libraries = $(call need,$(PKG_CONFIG) --exists libkmod json-c libibverbs libnl-route-3.0,\
	headers of libraries,gcc pkg-config libibverbs-dev libkmod-dev libjson-c-dev libnl-route-3-dev)

# Says in one line why a kernel cannot be served, and all that make said if that is not the reason.
define need_features
	@said=$$($(MAKE) -C $(KDIR) M=$(CURDIR) VPEER_PROBE=1 modules 2>&1) || { \
		echo "$$said" | grep '^vpeer: ' >&2 || echo "$$said" >&2; exit 1; }
endef

module:
	$(need_headers)
	$(need_features)
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

user:
	$(need_libraries)
	$(need_verbs)
	$(MAKE) -C lib
	$(MAKE) -C tools

guest-tests: user
	$(MAKE) -C tests/guest

install: install-module install-user

install-module:
	$(need_headers)
	$(INSTALL) -d $(DESTDIR)/lib/modules/$(KVER)/updates
	$(INSTALL) -m 644 *.ko $(DESTDIR)/lib/modules/$(KVER)/updates
	$(STRIP) --strip-debug $(DESTDIR)/lib/modules/$(KVER)/updates/vpeer.ko
	$(if $(DESTDIR),,depmod $(KVER))

install-user:
	$(MAKE) -C lib install
	$(MAKE) -C tools install

uninstall: uninstall-module uninstall-user

uninstall-module:
	$(need_headers)
	$(RM) $(DESTDIR)/lib/modules/$(KVER)/updates/vpeer.ko
	$(if $(DESTDIR),,depmod $(KVER))

uninstall-user:
	$(MAKE) -C lib uninstall
	$(MAKE) -C tools uninstall

lab:
	tests/lab/main-job

ifeq ($(BENCH),cache)
bench:
	tests/bench/cache
else
bench:
	tests/bench/run $(if $(BENCH_SECONDS),--seconds $(BENCH_SECONDS)) $(if $(KERNEL),--kernel $(KERNEL))
	tests/bench/registration $(if $(KERNEL),--kernel $(KERNEL))
ifneq ($(KERNEL),6.1)
	tests/bench/passthrough $(if $(KERNEL),--kernel $(KERNEL))
else
	@echo 'bench: not measured: guests that get devices by VFIO have kernel 6.12 or 7.3'
endif
endif

unit:
	$(MAKE) -C tests/unit check

check-gpu:
	$(need_verbs)
	$(MAKE) -C lib build/libvpeer.a
	$(MAKE) --no-print-directory -C tests/gpu check

check:
	tests/run-check

check-long:
	tests/run-check --long

check-passthrough:
	tests/run-check --only 'passthrough*'

# What programs that use the library are built against: to be recorded when it grows.
abi:
	tests/static/abi.sh --record

clean:
	for part in lib tools tests/guest tests/unit tests/neighbour tests/fail_alloc; do \
		[ ! -f $$part/Makefile ] || $(MAKE) -C $$part clean || exit 1; \
	done
	find kmod vpeer.* .vpeer.* modules.order Module.symvers .module* .Module* \
		\( -name '*.o' -o -name '*.cmd' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name features.h -o -name modules.order \
		-o -name Module.symvers \) -delete 2>/dev/null || true

help:
	@echo 'make [module]   module for the running kernel, or for KDIR=DIR'
	@echo 'make user       library and tool'
	@echo 'make install    module, library and tool (DESTDIR, PREFIX); also install-module, install-user'
	@echo 'make uninstall  remove what install put there (same DESTDIR, PREFIX, KDIR); also uninstall-...'
	@echo 'make lab        main job: a guest in which the path is proven, from a fresh machine on'
	@echo 'make bench      count and time in a guest what a window costs (KERNEL=6.1|6.12|7.3)'
	@echo 'make bench BENCH=cache  what a hit of the cache of registrations costs, without a guest'
	@echo 'make check      every check that fits a commit; make check-long: all of them'
	@echo 'make check-passthrough  what make check does in guests that get devices by VFIO'
	@echo 'make check-gpu  the library on a GPU of this machine, without NIC or module; where there is none it says'
	@echo '                so, and exits 0. Needs gcc and libibverbs-dev'
	@echo 'make unit       unit tests of library and tool'
	@echo 'make abi        record the ABI of the library in lib/abi, which make check compares it with'
	@echo 'make clean      remove what was built; the lab in .lab stays'

.PHONY: module user guest-tests install install-module install-user uninstall uninstall-module \
	uninstall-user lab bench unit check check-gpu check-long check-passthrough \
	abi clean help
