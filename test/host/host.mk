# A host name that tests choose: included by the top Makefile after PGXS.
#
#   make host          build the library that t/404_distributors.pl preloads
#   make clean-host    part of "make clean"

HOST_LIBRARY := test/host/hostname.so
HOST_CFLAGS := -std=c11 -O2 -g -fPIC -Wall -Wextra

.PHONY: host clean-host

host: $(HOST_LIBRARY)

$(HOST_LIBRARY): %.so: $(srcdir)/%.c
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) -shared -o $@ $<

clean: clean-host

clean-host:
	rm -f $(HOST_LIBRARY)
