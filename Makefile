# Two commands do everything on a fresh machine that has Python >= 3.10 and make:
#   make demo   measure a real training script and print where its time goes
#   make test   run the whole test suite
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test lint docs benchmark clean

$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[torch]'
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(PIP) install --quiet --constraint constraints.txt --editable '.[torch,dev]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/timesink run examples/train_images.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/python -m timesink.diagnoses.docs > docs/rules.md
	$(BIN)/python -m timesink.experiments.docs > docs/interventions.md

benchmark: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .pytest_cache build dist
