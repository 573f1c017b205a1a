"""Ways to write a device, one by one: migrated in portable style, each runs on a CPU.

`portable_forms.txt` holds them, divided by `---`; assertions in it say what must hold on a CPU.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npudoctor.migrate.engine import migrate_source
from npudoctor.migrate.settings import Settings

pytest.importorskip("torch")

PORTABLE = Settings(style="portable", ignore=("NPU2",))
TEXT = (Path(__file__).parent / "portable_forms.txt").read_text(encoding="utf-8")
FORMS = [f"import torch\n{form}\n" for form in TEXT.rstrip("\n").split("\n---\n")]
# Runs each program of a JSON list and prints the number and the error of each that fails.
RUNNER = """
import json, sys, warnings
import torch
warnings.simplefilter("ignore")
torch.set_num_threads(1)
for number, text in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))):
    try:
        exec(compile(text, "form", "exec"), {"__name__": "form"})
    except BaseException as error:
        print(number, type(error).__name__, str(error)[:100], sep="|")
    torch.set_default_device("cpu")
"""


def failures(texts: list[str], folder: Path) -> dict[int, str]:
    """Number of each program that fails on the CPU -> its error."""
    (folder / "forms.json").write_text(json.dumps(texts), encoding="utf-8")
    (folder / "runner.py").write_text(RUNNER, encoding="utf-8")
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "runner.py", "forms.json"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pairs = (line.partition("|")[::2] for line in done.stdout.splitlines())
    return {int(number): error for number, error in pairs}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.split("\n")[1][:60])
def test_second_run_changes_nothing(form: str) -> None:
    first = migrate_source(form, "a.py", PORTABLE)
    assert not first.failed
    ast.parse(first.text)
    assert migrate_source(first.text, "a.py", PORTABLE).text == first.text


def test_every_form_runs_on_a_cpu(tmp_path: Path) -> None:
    texts = [migrate_source(form, "a.py", PORTABLE).text for form in FORMS]
    failed = failures(texts, tmp_path)
    assert not failed, {error: texts[number] for number, error in failed.items()}


def test_most_of_them_did_not_before(tmp_path: Path) -> None:
    assert len(failures(FORMS, tmp_path)) > len(FORMS) / 3
