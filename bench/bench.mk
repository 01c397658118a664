# The empty function that benchmarks compare with: included by the top Makefile
# after PGXS.
#
#   make bench         build the library that bench/setup.sql loads
#   make clean-bench   part of "make clean"

BENCH_LIBRARY := bench/empty.so

.PHONY: bench clean-bench

bench: $(BENCH_LIBRARY)

$(BENCH_LIBRARY): %.so: $(srcdir)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CFLAGS_SL) $(CPPFLAGS) -I$(includedir_server) -shared -o $@ $<

clean: clean-bench

clean-bench:
	rm -f $(BENCH_LIBRARY)
