# SPDX-License-Identifier: GPL-2.0-only
# vpeer: kernel module, library, tool. `make help` names the targets.

KDIR ?= /lib/modules/$(shell uname -r)/build
KVER ?= $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p' \
		$(KDIR)/include/generated/utsrelease.h)
INSTALL ?= install

module:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

user:
	$(MAKE) -C lib
	$(MAKE) -C tools

guest-tests: user
	$(MAKE) -C tests/guest

install: install-module install-user

install-module:
	$(INSTALL) -d $(DESTDIR)/lib/modules/$(KVER)/updates
	$(INSTALL) -m 644 *.ko $(DESTDIR)/lib/modules/$(KVER)/updates
	$(if $(DESTDIR),,depmod $(KVER))

install-user:
	$(MAKE) -C lib install
	$(MAKE) -C tools install

lab:
	tests/lab/main-job

unit:
	$(MAKE) -C tests/unit check

check:
	tests/run-check

check-long:
	tests/run-check --long

clean:
	for part in lib tools tests/guest tests/unit; do \
		[ ! -f $$part/Makefile ] || $(MAKE) -C $$part clean || exit 1; \
	done
	[ ! -d $(KDIR) ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean

help:
	@echo 'make [module]   module for the running kernel, or for KDIR=DIR'
	@echo 'make user       library and tool'
	@echo 'make install    module, library and tool (DESTDIR, PREFIX); also install-module, install-user'
	@echo 'make lab        main job: a guest in which the path is proven, from a fresh machine on'
	@echo 'make check      every check that fits a commit; make check-long: all of them'
	@echo 'make unit       unit tests of library and tool'
	@echo 'make clean      remove what was built; the lab in .lab stays'

.PHONY: module user guest-tests install install-module install-user lab unit check check-long \
	clean help
