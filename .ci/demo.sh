#!/usr/bin/env bash
# The journey on one page: check this machine, migrate a copy of a CUDA project, prove the setup.
# Usage: demo.sh NPUDOCTOR FOLDER
set -euo pipefail
npudoctor=$(realpath -s "$1")
folder=$2
here=$(cd "$(dirname "$0")/.." && pwd)

step() { printf '\n=== %s\n' "$*"; }
# Exit code 1 means "there are findings", which is a result here and not a failure.
tolerate() { "$@" || [ $? -eq 1 ]; }

step "1/3  npudoctor check: is this machine ready for an NPU?"
tolerate "$npudoctor" check

step "2/3  npudoctor migrate: a copy of fixtures/cuda_ppo"
rm -rf "$folder" && mkdir -p "$folder"
cp -r "$here/fixtures/cuda_ppo" "$folder/cuda_ppo"
tolerate "$npudoctor" migrate --diff "$folder/cuda_ppo"
tolerate "$npudoctor" migrate "$folder/cuda_ppo"

step "3/3  npudoctor smoke-test: a reference PPO, end to end"
tolerate "$npudoctor" smoke-test

step "done: the migrated project is in $folder/cuda_ppo (undo: npudoctor migrate --undo $folder/cuda_ppo)"
