# cosid: snowflake IDs minted by PostgreSQL
#
#   make && make install     build, and install into PG_CONFIG's PostgreSQL
#   make installcheck        run sql/*.sql on a server that has loaded the library
#   make dist                make PGXN's file of what is committed, in DISTDIR
#   make unit                build the unit tests and test/unit/run-vectors
#   make check-unit          and run them
#   make clock               build the wall clock that some of t/*.pl set
#   make disk                build the slow disk that t/211_storage.pl uses
#   make fleet               build the simulated fleet of servers
#   make host                build the host name that t/404_distributors.pl sets
#   make bench               build what bench/run.sh compares with
#   make model               check the model of the grant with spin
#   scripts/test.sh          every test there is, on a private server

MODULE_big = cosid
OBJS = \
	src/catalog.o \
	src/cosid.o \
	src/settings.o \
	src/define/cache.o \
	src/define/column.o \
	src/define/create.o \
	src/define/ddl.o \
	src/define/default.o \
	src/define/definition.o \
	src/define/fill.o \
	src/define/key.o \
	src/define/key_catalog.o \
	src/define/key_statement.o \
	src/define/row.o \
	src/define/shared_cache.o \
	src/id/converter.o \
	src/id/friendly.o \
	src/id/radix.o \
	src/id/snowflake.o \
	src/lease/connection.o \
	src/lease/failover.o \
	src/lease/holding.o \
	src/lease/identity.o \
	src/lease/machine.o \
	src/lease/registry.o \
	src/lease/registry_local.o \
	src/lease/registry_remote.o \
	src/lease/tend.o \
	src/lease/worker.o \
	src/mint/clock.o \
	src/mint/generator.o \
	src/mint/launch.o \
	src/mint/lease.o \
	src/mint/segment.o \
	src/mint/slot.o \
	src/sql/attach.o \
	src/sql/functions.o \
	src/sql/reading.o \
	src/sql/registry.o \
	src/sql/server.o \
	src/sql/support.o
PGFILEDESC = "cosid - distributed snowflake IDs"

# The library knows its version, which the control file has.
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/cosid.control)

PG_CPPFLAGS = -I$(srcdir)/src -I$(libpq_srcdir) -DCOSID_VERSION='"$(EXTVERSION)"'
SHLIB_LINK_INTERNAL = $(libpq)

EXTENSION = cosid
DATA = cosid--1.0.sql

# not_preloaded is about a server that hasn't loaded it.
REGRESS = $(filter-out not_preloaded,$(basename $(notdir $(wildcard $(srcdir)/sql/*.sql))))

# Calls within the library need not look for another one's function of the name.
ifeq ($(shell uname -s),Linux)
SHLIB_LINK += -Wl,-Bsymbolic-functions
endif

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Objects depend on every header: there are few, and a stale one costs IDs.
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h)

# PGXN's versions have three numbers.
DISTDIR = .
DISTNAME = cosid-$(EXTVERSION).0
.PHONY: dist
dist:
	git -C $(srcdir) archive --format=zip --prefix=$(DISTNAME)/ HEAD >'$(DISTDIR)/$(DISTNAME).zip'

include $(srcdir)/test/unit/unit.mk
include $(srcdir)/test/clock/clock.mk
include $(srcdir)/test/disk/disk.mk
include $(srcdir)/test/fleet/fleet.mk
include $(srcdir)/test/host/host.mk
include $(srcdir)/bench/bench.mk
include $(srcdir)/spec/spec.mk
