# The pure core's tests, which need no server: included by the top Makefile
# after PGXS, so that PGXS's "all" stays the default target.
#
#   make unit          build run-vectors and the test programs
#   make check-unit    run all of them; fails if one fails
#   make clean-unit    part of "make clean"
#
# They have flags of their own: PostgreSQL's are for code within the server.
# TSAN=no leaves out the program that needs ThreadSanitizer.
#
# test/fuzz/replay runs the kept corpus through the fuzz target; to fuzz is
# scripts/test-long.sh's business.

UNIT_DIR := test/unit
# UNIT_SANITIZE is for scripts/test-long.sh.
UNIT_CFLAGS := -std=c11 -O1 -g -Wall -Wextra -Werror -DCOSID_STANDALONE \
	-I$(srcdir)/src $(UNIT_SANITIZE)
# gcc warns that ThreadSanitizer does not model fences: it need not, since what
# the fences order are atomics.  (The first option makes clang accept the second.)
UNIT_TSAN_CFLAGS := -fsanitize=thread -Wno-unknown-warning-option -Wno-tsan
CMOCKA_LIBS ?= -lcmocka
# The first finding ends the program.
FUZZ_CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN ?= yes

UNIT_PURE := $(wildcard $(srcdir)/src/id/*.c)
UNIT_DEPS := $(UNIT_PURE) $(wildcard $(srcdir)/src/*/*.h)

UNIT_TESTS := $(patsubst $(srcdir)/%.c,%,$(wildcard $(srcdir)/$(UNIT_DIR)/test_*.c))
UNIT_RUNNER := $(UNIT_DIR)/run-vectors
UNIT_TSAN_TESTS := $(UNIT_DIR)/test_cursor_tsan
FUZZ_REPLAY := test/fuzz/replay

UNIT_PROGRAMS := $(UNIT_RUNNER) $(UNIT_TESTS) $(FUZZ_REPLAY)
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

$(FUZZ_REPLAY): $(srcdir)/test/fuzz/fuzz_text.c $(UNIT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(FUZZ_CFLAGS) -DFUZZ_REPLAY -o $@ $< $(UNIT_PURE)

# Sanitizers may not start where addresses are randomised with many bits;
# setarch turns that off, where it is there and may.
check-unit: unit
	@failed=; calm=; \
	if setarch `uname -m` -R true 2>/dev/null; then \
		calm="setarch `uname -m` -R"; \
	fi; \
	for program in $(filter-out $(UNIT_RUNNER) $(FUZZ_REPLAY),$(UNIT_PROGRAMS)); do \
		echo "# $$program"; \
		run=; \
		case $$program in *_tsan) run=$$calm ;; esac; \
		$$run ./$$program || failed="$$failed $$program"; \
	done; \
	echo "# $(FUZZ_REPLAY)"; \
	$$calm ./$(FUZZ_REPLAY) $(srcdir)/test/fuzz/corpus/* || failed="$$failed $(FUZZ_REPLAY)"; \
	echo "# $(UNIT_RUNNER)"; \
	./$(UNIT_RUNNER) $(srcdir)/test/vectors || failed="$$failed $(UNIT_RUNNER)"; \
	if test -n "$$failed"; then echo "# failed:$$failed"; exit 1; fi; \
	echo "# all unit tests passed"

clean: clean-unit

clean-unit:
	rm -f $(UNIT_RUNNER) $(UNIT_TESTS) $(UNIT_TSAN_TESTS) $(FUZZ_REPLAY)
