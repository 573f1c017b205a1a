#!/usr/bin/env bash
# Build sdist and wheel, check their metadata, and install the wheel alone in a fresh environment:
# the core must work without torch and must not bring it in.
# Usage: package.sh PYTHON (with build and twine)
set -euo pipefail
python=$1
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m build --outdir "$work/dist" "$here" >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
"$python" -m twine check --strict "$work"/dist/*
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/dist/*.whl
"$work/venv/bin/python" -m pip list --format freeze | grep -iE '^(torch|numpy|onnx)' && { echo "the core pulls too much"; exit 1; }
cd "$work"
export NPUDOCTOR_NO_STATE=1
"$work/venv/bin/npudoctor" --version
"$work/venv/bin/npudoctor" check --json --exit-zero >"$work/check.json"
"$work/venv/bin/npudoctor" pair --torch 2.7.1 --json --exit-zero >/dev/null
cp -r "$here/fixtures/cuda_ppo" "$work/tree"
"$work/venv/bin/npudoctor" migrate --diff "$work/tree" --exit-zero >"$work/diff"
grep -q '^+import torch_npu' "$work/diff"
"$work/venv/bin/python" -c "import json; assert json.load(open('$work/check.json'))['schema'] == 'npudoctor.report/1'"
echo "package: sdist and wheel build, install without torch, and run"
