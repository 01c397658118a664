# The model of the grant, checked by spin: included by the top Makefile after
# PGXS, so that PGXS's "all" stays the default target.
#
#   make model         all configurations and mutants; fails if one fails
#   make clean-model   part of "make clean"

MODEL_BUILD := spec/build

.PHONY: model clean-model

model:
	@$(srcdir)/spec/run-model.sh $(MODEL_BUILD)

clean: clean-model

clean-model:
	rm -rf $(MODEL_BUILD)
