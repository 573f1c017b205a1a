"""[tool.npudoctor]: where it is looked for, what it accepts, how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from npudoctor.config import Config, find, load, matches
from npudoctor.core.errors import UserError


def write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def test_every_setting_is_read(tmp_path: Path) -> None:
    write(tmp_path, """
[tool.npudoctor]
lang = "zh"
style = "portable"
torch-npu = "2.7.1.post2"
include = ["vendored/*.py"]
exclude = ["tests/"]
select = ["npu1"]
ignore = ["NPU105"]
[tool.npudoctor.per-file-ignores]
"scripts/*" = ["NPU172"]
""")
    config = load(tmp_path)
    assert (config.lang, config.style, config.torch_npu) == ("zh", "portable", "2.7.1.post2")
    assert config.include == ("vendored/*.py",)
    assert config.exclude == ("tests/",)
    assert config.source == tmp_path / "pyproject.toml"
    assert config.enabled("NPU101", "a.py")
    assert not config.enabled("NPU201", "a.py")
    assert not config.enabled("NPU105", "a.py")
    assert config.enabled("NPU172", "run.sh")
    assert not config.enabled("NPU172", "scripts/run.sh")


def test_unknown_setting_names_the_near_one(tmp_path: Path) -> None:
    write(tmp_path, "[tool.npudoctor]\nstlye = 'npu'\n")
    with pytest.raises(UserError, match="did you mean 'style'"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("style = 'cuda'", "portable"), ("torch-npu = 'newest'", "2.7.1"), ("ignore = 'NPU1'", "NPU101"),
     ("exclude = [1]", r"\.\.\."), ("per-file-ignores = []", "tests")],
)
def test_a_wrong_value_says_what_is_wanted(tmp_path: Path, line: str, wanted: str) -> None:
    write(tmp_path, f"[tool.npudoctor]\n{line}\n")
    with pytest.raises(UserError, match=wanted):
        load(tmp_path)


@pytest.mark.parametrize("text", ["[tool.npudoctor\n", "[tool]\nnpudoctor = 3\n", "a = " + "[" * 5000])
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    with pytest.raises(UserError):
        load(tmp_path)


def test_not_utf8_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.npudoctor]\nlang = '\xff'\n")
    with pytest.raises(UserError):
        load(tmp_path)


def test_nearest_wins_and_nothing_above_the_repository_counts(tmp_path: Path) -> None:
    write(tmp_path, "[tool.npudoctor]\nstyle = 'portable'\n")
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "sub").mkdir()
    assert find(repo / "sub") is None
    assert load(repo / "sub") == Config()
    write(repo, "[tool.npudoctor]\nlang = 'zh'\n")
    assert find(repo / "sub") == repo / "pyproject.toml"
    write(repo / "sub", "")
    assert find(repo / "sub" / "x.py") == repo / "sub" / "pyproject.toml"


def test_without_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    write(tmp_path, "[tool.npudoctor]\nlang = 'zh'\n")
    (tmp_path / "deep").mkdir()
    assert find(tmp_path / "deep") is None
    assert find(tmp_path) is not None


def test_flags_win_over_the_file() -> None:
    config = Config(style="portable", select=("NPU1",)).override(style="npu", select=(), torch_npu=None)
    assert config.style == "npu"
    assert config.select == ("NPU1",)


def test_patterns_are_those_of_gitignore() -> None:
    assert matches(("*.py", "!keep.py"), "a/b.py")
    assert not matches(("*.py", "!keep.py"), "a/keep.py")
    assert matches(("/a/",), "a/b/c.py")
    assert not matches((), "a.py")


def test_a_link_that_leads_in_a_circle_has_no_settings(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert find(tmp_path / "loop") is None


def test_a_file_beyond_a_megabyte_is_one_sentence(tmp_path: Path) -> None:
    text = "[tool.npudoctor]\nlang = 'zh'\n#"
    write(tmp_path, text.ljust(1 << 20, "x"))
    assert load(tmp_path).lang == "zh"
    write(tmp_path, text.ljust((1 << 20) + 1, "x"))
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path)
