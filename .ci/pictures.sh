#!/usr/bin/env bash
# Make the terminal pictures of README.md and docs/ anew, from real runs.
# Usage: pictures.sh PYTHON [NAME...]   (PYTHON needs the extras ppo, export, profile, report)
set -euo pipefail
python=$(realpath -s "$1"); shift
here=$(cd "$(dirname "$0")/.." && pwd)
out=$here/docs/pictures
work=${TMPDIR:-/tmp}/pictures  # its name is seen in the pictures
mkdir "$work"
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$here OMP_NUM_THREADS=1
cp -r "$here/fixtures/cuda_ppo" "$work/cuda_ppo"

want() { [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }
names=("$@")
# draw NAME FOLDER COMMAND...: paths in the picture are relative to FOLDER.
draw() { local name=$1 folder=$2; shift 2; want "$name" || return 0; (cd "$folder" && "$python" -m npudoctor.dev picture "$out/$name.svg" "$@"); echo "$name"; }

draw check "$here" check --replay fixtures/machines/report-03-nnal-installed-not-sourced.json
draw explain "$here" explain fixtures/logs/autoload-hides-missing-cann.txt
draw pair "$here" pair --torch 2.7.1 --python 3.11 --chip 910B --arch aarch64 --limit 1
draw container "$here" container --replay fixtures/machines/910b-host-ok.json
draw migrate "$work" migrate --check cuda_ppo
draw smoke-test "$work" smoke-test --quick --device sim
if want simulate || want profile || want export || want report; then
    (cd "$work" && NPUDOCTOR_NO_STATE=1 "$python" -m npudoctor migrate -q cuda_ppo || [ $? -eq 1 ])
fi
draw simulate "$work/cuda_ppo" simulate train.py --total-steps 2048 --device npu
if want profile; then
    (cd "$work/cuda_ppo" && NPUDOCTOR_NO_STATE=1 "$python" -m npudoctor simulate -q --trace trace.json train.py --total-steps 2048 --device npu >/dev/null 2>&1)
fi
draw profile "$work/cuda_ppo" profile trace.json
if want export; then
    (cd "$work" && "$python" -m reference_ppo --total-steps 61440 --seed 1 --checkpoint policy.pt --quiet)
    draw export "$work" export policy.pt -o policy.onnx --soc Ascend910B3 --bench
fi
if want report; then
    export XDG_STATE_HOME=$work/state
    cd "$here" && "$python" -m npudoctor check -q || [ $? -eq 1 ]
    cd "$work" && "$python" -m npudoctor migrate -q --check cuda_ppo || [ $? -eq 1 ]
    cd "$work/cuda_ppo" && "$python" -m npudoctor simulate --json train.py --total-steps 512 --device npu >/dev/null 2>&1 || [ $? -eq 1 ]
    draw report "$work" + report
fi
