# A wall clock that tests can set: included by the top Makefile after PGXS.
#
#   make clock         build the library that t/CosidClock.pm preloads
#   make clean-clock   part of "make clean"

CLOCK_LIBRARY := test/clock/clockshift.so
CLOCK_CFLAGS := -std=c11 -O2 -g -fPIC -Wall -Wextra

.PHONY: clock clean-clock

clock: $(CLOCK_LIBRARY)

$(CLOCK_LIBRARY): %.so: $(srcdir)/%.c
	@mkdir -p $(@D)
	$(CC) $(CLOCK_CFLAGS) -shared -o $@ $< -ldl

clean: clean-clock

clean-clock:
	rm -f $(CLOCK_LIBRARY)
