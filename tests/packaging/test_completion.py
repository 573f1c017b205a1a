"""Shell completion as README turns it on, in each shell that is installed here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.packaging.conftest import Installed

# Press Tab behind "npudoctor WORDS" and print what is offered, one per line.
ASK = {
    "bash": """
        eval "$(_NPUDOCTOR_COMPLETE=bash_source npudoctor)"
        COMP_WORDS=(npudoctor {words}) COMP_CWORD={last}
        _npudoctor_completion npudoctor
        printf '%s\\n' "${{COMPREPLY[@]}}" | sed 's/^plain,//'
    """,
    "zsh": """
        autoload -Uz compinit && compinit -u -D
        eval "$(_NPUDOCTOR_COMPLETE=zsh_source npudoctor)"
        (( $+functions[_npudoctor_completion] )) || exit 9
        [[ ${{_comps[npudoctor]}} == _npudoctor_completion ]] || exit 8
        _describe() {{ print -rl -- ${{(P)3}} }}
        compadd() {{ local name=${{@[-1]}}; print -rl -- ${{(P)name}} }}
        words=(npudoctor {words}) CURRENT={current}
        _npudoctor_completion
    """,
    "fish": """
        _NPUDOCTOR_COMPLETE=fish_source npudoctor | source
        complete -C 'npudoctor {words}'
    """,
}


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(
    ("words", "offered", "not_offered"),
    [
        ("mi", {"migrate"}, "check"),
        ("c", {"check", "container"}, "migrate"),
        ("check --for", {"--format"}, "--replay"),
        ("check --format j", {"json"}, "text"),
        ("export --exporter d", {"dynamo"}, "legacy"),
    ],
)
def test_tab(
    shell: str, words: str, offered: set[str], not_offered: str, installed: Installed, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    count = len(words.split())
    script = ASK[shell].format(words=words, last=count, current=count + 1)
    done = installed.shell(script, shell, cwd=tmp_path, HOME=str(tmp_path), TERM="dumb")
    lines = [line.split("\t")[0].split(":")[0].strip() for line in done.stdout.splitlines()]
    assert offered <= set(lines), (done.stdout, done.stderr)
    assert not_offered not in lines


def test_readme_names_the_way() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert '_NPUDOCTOR_COMPLETE=bash_source npudoctor' in text
    for shell in ("zsh_source", "fish_source"):
        assert shell in text


def test_completion_is_quick_and_light(installed: Installed, tmp_path: Path) -> None:
    """A key press imports no engine: the shell waits for it."""
    asked = {"COMP_WORDS": "npudoctor mi", "COMP_CWORD": "1", "_NPUDOCTOR_COMPLETE": "bash_complete"}
    done = installed.shell("python -X importtime $(command -v npudoctor)", cwd=tmp_path, **asked)
    assert "migrate" in done.stdout, done.stderr[-500:]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"libcst", "torch", "numpy", "rich.console"}
    assert os.linesep in done.stdout
