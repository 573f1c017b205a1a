# The two commands of README.md. Each makes the virtual environment it needs.
#
#   make demo    check this machine, migrate a copy of fixtures/cuda_ppo, run the smoke test
#   make test    every test (what .ci/run calls)
#
# PYTHON picks the interpreter (3.10 to 3.13); PIP_ARGS goes to pip as it is. On x86_64 the
# package index serves a CUDA build of torch of several GB; to take the small CPU build instead:
#   make demo PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3.10 python3,$(if $(shell $(p) -c 'print(1)' 2>/dev/null),$(p))))
PIP_ARGS ?=
DEMO := .demo
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(PIP_ARGS)

.PHONY: demo test lint docs links package pictures broken-npu clean

demo: .venv-demo/ready
	@bash .ci/demo.sh .venv-demo/bin/npudoctor $(DEMO)

test: .venv-test/ready broken-npu
	NPUDOCTOR_BROKEN_PYTHON="$(CURDIR)/.venv-broken/bin/python" .venv-test/bin/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

lint: .venv-test/ready
	.venv-test/bin/ruff check .
	.venv-test/bin/mypy

docs: .venv-test/ready
	.venv-test/bin/python -m npudoctor.dev docs docs/findings
	.venv-test/bin/python -m mkdocs build --quiet --strict -f .ci/mkdocs.yml

# External addresses; needs a way out, and is no part of .ci/run.
links:
	$(PYTHON) .ci/links.py

pictures: .venv-test/ready
	bash .ci/pictures.sh .venv-test/bin/python

package: .venv-test/ready
	bash .ci/package.sh .venv-test/bin/python

# State (c) of the tests: torch with the real torch_npu wheel and no CANN. Where no wheel
# exists for this Python the tests that need it say so and are skipped.
broken-npu: .venv-broken/ready

.venv-demo/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python $(PIP_INSTALL) --upgrade pip
	.venv-demo/bin/python $(PIP_INSTALL) torch
	.venv-demo/bin/python $(PIP_INSTALL) --editable '.[ppo]' pyyaml
	touch $@

.venv-test/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/python $(PIP_INSTALL) --upgrade pip
	.venv-test/bin/python $(PIP_INSTALL) torch
	.venv-test/bin/python $(PIP_INSTALL) --editable '.[test,dev]'
	touch $@

.venv-broken/ready: constraints.txt
	$(PYTHON) -m venv .venv-broken
	.venv-broken/bin/python $(PIP_INSTALL) --upgrade pip
	.venv-broken/bin/python $(PIP_INSTALL) torch
	.venv-broken/bin/python $(PIP_INSTALL) --no-deps torch-npu==2.13.0 || echo "no torch-npu wheel for this Python"
	touch $@

clean:
	rm -rf .venv-demo .venv-test .venv-broken $(DEMO) build dist site docs/findings *.egg-info
