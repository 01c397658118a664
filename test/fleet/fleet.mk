# A fleet of simulated servers: included by the top Makefile after PGXS.
#
#   make fleet         build test/fleet/fleet
#   make clean-fleet   part of "make clean"

FLEET_PROGRAM := test/fleet/fleet
FLEET_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra

.PHONY: fleet clean-fleet

fleet: $(FLEET_PROGRAM)

$(FLEET_PROGRAM): %: $(srcdir)/%.c
	@mkdir -p $(@D)
	$(CC) $(FLEET_CFLAGS) -I$(includedir) -o $@ $< -L$(libdir) -lpq

clean: clean-fleet

clean-fleet:
	rm -f $(FLEET_PROGRAM)
