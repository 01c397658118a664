# The pure core's tests, which need no server: included by the top Makefile
# after PGXS, so that PGXS's "all" stays the default target.
#
#   make unit          build run-vectors and the test programs
#   make check-unit    run all of them; fails if one fails
#   make clean-unit    part of "make clean"
#
# They have flags of their own: PostgreSQL's are for code within the server.
# TSAN=no leaves out the program that needs ThreadSanitizer.

PURE_SOURCES := snowflake.c

UNIT_DIR := test/unit
UNIT_CFLAGS := -std=c11 -O1 -g -Wall -Wextra -Werror -DCOSID_STANDALONE \
	-I$(srcdir)/src
# gcc warns that ThreadSanitizer does not model fences: it need not, since what
# the fences order are atomics.  (The first option makes clang accept the second.)
UNIT_TSAN_CFLAGS := -fsanitize=thread -Wno-unknown-warning-option -Wno-tsan
CMOCKA_LIBS ?= -lcmocka
TSAN ?= yes

UNIT_PURE := $(addprefix $(srcdir)/src/,$(PURE_SOURCES))
UNIT_DEPS := $(UNIT_PURE) $(wildcard $(srcdir)/src/*.h)

UNIT_TESTS := $(patsubst $(srcdir)/%.c,%,$(wildcard $(srcdir)/$(UNIT_DIR)/test_*.c))
UNIT_RUNNER := $(UNIT_DIR)/run-vectors
UNIT_TSAN_TESTS := $(UNIT_DIR)/test_cursor_tsan

UNIT_PROGRAMS := $(UNIT_RUNNER) $(UNIT_TESTS)
ifeq ($(TSAN),yes)
UNIT_PROGRAMS += $(UNIT_TSAN_TESTS)
endif

.PHONY: unit check-unit clean-unit

unit: $(UNIT_PROGRAMS)

$(UNIT_RUNNER): %: $(srcdir)/%.c $(UNIT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -o $@ $< $(UNIT_PURE)

$(UNIT_TESTS): %: $(srcdir)/%.c $(UNIT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -pthread -o $@ $< $(UNIT_PURE) $(CMOCKA_LIBS)

$(UNIT_TSAN_TESTS): %_tsan: $(srcdir)/%.c $(UNIT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(UNIT_TSAN_CFLAGS) -pthread -o $@ $< $(UNIT_PURE) $(CMOCKA_LIBS)

# ThreadSanitizer may not start where addresses are randomised with many bits;
# setarch turns that off, where it is there and may.
check-unit: unit
	@failed=; \
	for program in $(filter-out $(UNIT_RUNNER),$(UNIT_PROGRAMS)); do \
		echo "# $$program"; \
		run=; \
		case $$program in *_tsan) \
			if setarch `uname -m` -R true 2>/dev/null; then \
				run="setarch `uname -m` -R"; \
			fi ;; \
		esac; \
		$$run ./$$program || failed="$$failed $$program"; \
	done; \
	echo "# $(UNIT_RUNNER)"; \
	./$(UNIT_RUNNER) $(srcdir)/test/vectors || failed="$$failed $(UNIT_RUNNER)"; \
	if test -n "$$failed"; then echo "# failed:$$failed"; exit 1; fi; \
	echo "# all unit tests passed"

clean: clean-unit

clean-unit:
	rm -f $(UNIT_RUNNER) $(UNIT_TESTS) $(UNIT_TSAN_TESTS)
