# A disk that is slow: included by the top Makefile after PGXS.
#
#   make disk          build the library that t/211_storage.pl preloads
#   make clean-disk    part of "make clean"

DISK_LIBRARY := test/disk/slowsync.so
DISK_CFLAGS := -std=c11 -O2 -g -fPIC -Wall -Wextra

.PHONY: disk clean-disk

disk: $(DISK_LIBRARY)

$(DISK_LIBRARY): %.so: $(srcdir)/%.c
	@mkdir -p $(@D)
	$(CC) $(DISK_CFLAGS) -shared -o $@ $< -ldl

clean: clean-disk

clean-disk:
	rm -f $(DISK_LIBRARY)
