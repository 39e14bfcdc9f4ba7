# Everything a person or CI runs. Needs Python 3.10+, g++ and make; the rest comes from PyPI into .venv.
# make test TESTS='tests/unit tests/build' runs these alone; PYTEST='-k shapes' is given to pytest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DEMO := $(VENV)/.demo
RUN := $(BIN)/python
JOBS ?= 2
TESTS ?=
PYTEST ?=
SUITE ?=
ONLY ?=

.PHONY: demo test test-all lint docs setup wheel wheels fresh clean

demo: $(DEMO)
	@rm -rf build/demo
	@$(BIN)/pluginkit demo --keep build/demo

# The same examples each time (hypothesis' profile ci), so that a red run means a change; test-all draws others. It
# empties the checks of `pluginkit check` in turn, too: each must be missed by a test; and it measures how much of the code
# that reads serialized plugins the fuzzer reaches.
test: setup lint
	@$(RUN) -m pytest -n $(JOBS) --dist loadgroup -m "not slow" --hypothesis-profile=ci $(PYTEST) $(TESTS)

test-all: setup lint
	@$(RUN) -m pytest -n $(JOBS) --dist loadgroup $(PYTEST) $(TESTS)
	@$(if $(TESTS),true,$(RUN) tools/emptied_checks.py -- -n $(JOBS) --dist loadgroup)
	@$(if $(TESTS),true,$(RUN) tools/reader_coverage.py)

lint: setup
	@$(RUN) tools/lint.py

# The site, in build/docs: what the extra `docs` has is installed when it is first asked for. A warning is an error; links
# between pages and to headings are checked.
docs: setup
	@$(RUN) -c "import myst_parser, pydata_sphinx_theme" 2> /dev/null || \
	    $(RUN) -m pip --disable-pip-version-check install --quiet $$($(RUN) -c \
	    "from pluginkit import installation; print(*installation.requirements(('docs',)))")
	@$(RUN) -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs
	@echo "build/docs/index.html"

setup: $(STAMP)

# One script does all set-up, so that what it needs is checked first and each failure has its remedy. What the demo uses
# is a part of what tests do.
SOURCES := pyproject.toml CMakeLists.txt pluginkit/layouts.py pluginkit/_native.pyi tools/setup_venv.py \
    $(wildcard native/* pluginkit/cuda_cpu/runtime/* pluginkit/include/*.h pluginkit/include/pluginkit/*.h) \
    $(wildcard pluginkit/include/pluginkit/cpu/*)
$(STAMP): $(SOURCES)
	@$(PYTHON) tools/setup_venv.py $(VENV)
$(DEMO): $(SOURCES)
	@$(PYTHON) tools/setup_venv.py $(VENV) --demo

# The wheel is built from the sdist, so that one run proves both complete. What set-up has compiled is taken, and CMake
# refuses it where a source in the sdist differs, or isn't there.
wheel: setup
	@rm -rf dist
	@$(RUN) -m build --quiet --outdir dist . --config-setting=cmake.define.PLUGINKIT_PREBUILT="$$($(RUN) -c \
	    "import sysconfig; print(sysconfig.get_path('platlib'))")"
	@$(RUN) tools/check_wheel.py dist/*.whl

# What CI runs, in a Debian root that has nothing of this machine; needs root and debootstrap. SUITE=trixie: another
# release, ONLY=bare or ONLY=equipped: one of the two passes.
fresh:
	@$(PYTHON) tools/fresh.py $(if $(SUITE),--suite $(SUITE)) $(if $(ONLY),--only $(ONLY))

# Wheels for other machines (manylinux): one for each Python whose headers a Debian release has. Needs apt, not root.
wheels: setup
	@$(RUN) tools/wheels.py

clean:
	rm -rf $(VENV) build dist .venv-nvidia
