"""The live host: bounded in time and size, never raising, never leaving children behind."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from npudoctor.machine.host import TIMEOUT, Command
from npudoctor.machine.live import OUTPUT_CAP, READ_CAP, LiveHost
from tests.support.processes import gone

HOST = LiveHost()


def python(label: str, code: str, timeout: float = 20) -> Command:
    return Command(label, (sys.executable, "-I", "-c", code), timeout)


def test_run_tells_exit_output_and_signal() -> None:
    done = HOST.run(python("x", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"))
    assert done.ok
    assert (done.data["exit"], done.data["stdout"], done.data["stderr"]) == (7, "out\n", "err\n")
    killed = HOST.run(python("x", "import os; os.kill(os.getpid(), 11)"))
    assert killed.data["exit"] == -11


def test_timeout_kills_the_whole_group_and_keeps_the_output(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    started = time.monotonic()
    seen = HOST.run(python("slow", code, timeout=3.0))
    assert seen.error == TIMEOUT
    assert time.monotonic() - started < 8
    assert "started" in seen.data["stdout"]
    assert gone(int(pid_file.read_text()))


def test_a_grandchild_that_holds_the_pipe_does_not_hold_us() -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    started = time.monotonic()
    seen = HOST.run(python("leaves a child", code, timeout=2.0))
    assert seen.error == TIMEOUT
    assert time.monotonic() - started < 8


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    seen = HOST.run(python("stubborn", code, timeout=1.0))
    assert seen.error == TIMEOUT


def test_output_is_capped_at_its_end() -> None:
    seen = HOST.run(python("loud", "print('x' * 5_000_000); print('the end')"))
    assert len(seen.data["stdout"]) <= OUTPUT_CAP
    assert seen.data["stdout"].endswith("the end\n")


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (("/nowhere/at/all",), "ENOENT"),
        (("/",), "EACCES"),
        (("bad\0name",), "EINVAL"),
    ],
)
def test_programs_that_cannot_start(argv: tuple[str, ...], error: str) -> None:
    assert HOST.run(Command("x", argv)).error == error


def test_a_program_without_a_format(tmp_path: Path) -> None:
    path = tmp_path / "npu-smi"
    path.write_bytes(b"\0\0\0not an executable")
    path.chmod(0o755)
    assert HOST.run(Command("x", (str(path),))).error == "ENOEXEC"


def test_files(tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_bytes(b"a" * (READ_CAP + 100))
    assert len(HOST.read(str(big)).data) == READ_CAP
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\0x")
    assert isinstance(HOST.read(str(binary)).data, str)
    assert HOST.read(str(tmp_path)).error == "EISDIR"
    assert HOST.read(str(tmp_path / "no")).error == "ENOENT"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert HOST.read(str(fifo)).data == "", "a pipe nobody writes to must not block"


def test_stat_and_list(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").chmod(0o640)
    assert HOST.list(str(tmp_path)).data == ["a", "b"]
    seen = HOST.stat(str(tmp_path / "a"))
    assert seen.data["real"] == os.path.realpath(tmp_path / "b")
    assert (seen.data["kind"], seen.data["mode"]) == ("file", "0640")
    assert HOST.list(str(tmp_path / "b")).error == "ENOTDIR"


def test_open_tells_each_node_apart(tmp_path: Path) -> None:
    missing = str(tmp_path / "davinci0")
    answers = HOST.open_rw(["/dev/null", missing])
    assert answers["/dev/null"].data == "ok"
    assert answers[missing].error == "ENOENT"
    assert HOST.open_rw([]) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root passes file modes")
def test_open_refused(tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_text("")
    node.chmod(stat.S_IRUSR)
    assert HOST.open_rw([str(node)])[str(node)].error == "EACCES"


def test_environment_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", "/x")
    monkeypatch.setenv("MY_BANK_PASSWORD", "secret")
    seen = HOST.environ().data
    assert seen["ASCEND_HOME_PATH"] == "/x"
    assert "MY_BANK_PASSWORD" not in seen
