# Two commands matter: `make lab` (learn) and `make test` (prove). The rest is for people who change the course.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help lab test lint check format lock exercises messages slides site live benchmarks clean

help:
	@echo "make lab        make the environment and open the course in JupyterLab"
	@echo "make test       make the environment and run the tests (CI=true adds browser, nbgrader and hostile suites)"
	@echo "make check      ruff, import rules, notebooks stripped, exercises up to date"
	@echo "make exercises  regenerate exercises/ from solutions/ with nbgrader"
	@echo "make messages   bring the catalogues of other languages up to date (docs/translate.md)"
	@echo "make slides     slides of all lessons, to be read without a network, in build/slides"
	@echo "make site       all lessons and pages as a site in build/site, to be read without a kernel or a network"
	@echo "make live       the same lessons with Python in the browser, in build/live (docs/live.md)"
	@echo "make benchmarks time, memory and error beside mlsysim, nbgrader and interact: benchmarks/README.md and two pictures (about five minutes)"
	@echo "make format     format code and notebooks"
	@echo "make lock       refresh the lock files (needs uv)"
	@echo "make clean      remove the environment and what tests leave"

# The learner's environment: a virtual environment with the locked versions, and the course itself. CI installs what the tests
# need in the same step: their list holds the learner's (tests/contract compares them).
LOCK := $(if $(filter true,$(CI)),requirements-dev.lock.txt,requirements.lock.txt)
$(VENV)/.lab: requirements.lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; ok = v >= (3, 11); print("" if ok else "This course needs Python 3.11 or newer; %s is %d.%d. Try: make PYTHON=python3.12 lab" % (sys.executable, v[0], v[1])); sys.exit(0 if ok else 1)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment here; on Debian or Ubuntu: apt install python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The same with what the tests need.
$(VENV)/.dev: requirements-dev.lock.txt $(VENV)/.lab
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock.txt
	@touch $@

lab: $(VENV)/.lab
	@$(BIN)/interconnect lab

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses=auto $(PYTEST_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m course_lib.grading.release --check

check: lint
	$(BIN)/python -m pytest --numprocesses=auto tests/docs tests/contract

exercises: $(VENV)/.dev
	$(BIN)/python -m course_lib.grading.release
	$(BIN)/python -m course_lib.grading.workshop

messages: $(VENV)/.dev
	$(BIN)/python -m course_lib.locales.messages

slides: $(VENV)/.dev
	$(BIN)/interconnect slides $(LESSONS)

site: $(VENV)/.dev
	$(BIN)/python site/build.py $(LESSONS)

live: $(VENV)/.dev
	$(BIN)/python site/live.py

benchmarks: $(VENV)/.dev
	$(BIN)/python benchmarks/tables.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

UV_COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
             --no-emit-index-url --no-emit-find-links pyproject.toml build-requirements.in
lock:
	$(UV_COMPILE) --output-file requirements.lock.txt
	$(UV_COMPILE) --extra dev --constraints requirements.lock.txt --output-file requirements-dev.lock.txt

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .import_linter_cache grading .hypothesis
