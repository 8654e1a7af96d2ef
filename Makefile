.PHONY: setup setup-dev demo test test-core lint fuzz bench prove calibrate docs wheel sdist image release-check clean

setup:
	@scripts/setup

setup-dev:
	@scripts/apt
	@scripts/setup --dev

demo: setup
	@scripts/demo

test: setup-dev
	@scripts/test

test-core: setup-dev
	@scripts/test --without-add-ons

lint: setup-dev
	@scripts/lint

fuzz: setup-dev
	@scripts/fuzz

bench: setup-dev
	@scripts/bench

prove: setup-dev
	@scripts/prove

calibrate: setup-dev
	@scripts/calibrate

docs: setup-dev
	@$(if $(RUN),scripts/freeze --take "$(RUN)" "$$(basename "$(RUN)" | cut -d- -f2-)" && scripts/freeze)
	@.venv/bin/python scripts/schemas.py
	@.venv/bin/python scripts/checks.py
	@.venv/bin/python scripts/metrics.py
	@.venv/bin/python scripts/run_folder.py
	@.venv/bin/python scripts/shown.py

image:
	@scripts/image

wheel:
	@scripts/wheel

sdist:
	@scripts/wheel --source

release-check: setup-dev
	@.venv/bin/python scripts/release_check.py

clean:
	rm -rf .venv target dist .mypy_cache .ruff_cache .pytest_cache
