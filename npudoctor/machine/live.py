"""The host that touches the machine: bounded in time, bounded in size, and it never writes."""

from __future__ import annotations

import errno
import os
import platform
import selectors
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO

from npudoctor.core.children import close_pipes, end_session
from npudoctor.core.interrupt import interrupt_waits
from npudoctor.machine.host import TIMEOUT, Command, Observation
from npudoctor.machine.variables import wanted

READ_CAP = 1 << 20
OUTPUT_CAP = 256 << 10
LIST_CAP = 4096
_OPEN_TIMEOUT_S = 5.0

# Opening a node can block in the driver, so a child does it and may be given up on.
_OPEN_SCRIPT = """
import errno, os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        print("ok")
    except OSError as error:
        print(errno.errorcode.get(error.errno, str(error.errno)))
    sys.stdout.flush()
"""


class LiveHost:
    """Answers from the running machine."""

    def read(self, path: str) -> Observation:
        try:
            # Non-blocking: a named pipe in the place of a file must not stop the doctor.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as stream:
                data = stream.read(READ_CAP) or b""
        except OSError as error:
            return Observation("read", path, error=_name(error))
        return Observation("read", path, data.decode("utf-8", "replace"))

    def list(self, path: str) -> Observation:
        try:
            names = sorted(os.listdir(path))[:LIST_CAP]
        except OSError as error:
            return Observation("list", path, error=_name(error))
        return Observation("list", path, names)

    def stat(self, path: str) -> Observation:
        try:
            info = os.stat(path)
        except OSError as error:
            return Observation("stat", path, error=_name(error))
        return Observation(
            "stat",
            path,
            {
                "kind": _kind(info.st_mode),
                "mode": f"{stat.S_IMODE(info.st_mode):04o}",
                "uid": info.st_uid,
                "gid": info.st_gid,
                "owner": _user_name(info.st_uid),
                "group": _group_name(info.st_gid),
                "real": os.path.realpath(path),
            },
        )

    def open_rw(self, paths: Sequence[str]) -> Mapping[str, Observation]:
        if not paths:
            return {}
        command = Command("open", (sys.executable, "-I", "-S", "-c", _OPEN_SCRIPT, *paths), _OPEN_TIMEOUT_S)
        words = (_run(command).data or {}).get("stdout", "").split()
        # The first node without a word is the one that hung; those after it were not tried.
        words += [TIMEOUT] * (len(paths) - len(words))
        return {
            path: Observation("open", path, "ok") if word == "ok" else Observation("open", path, error=word)
            for path, word in zip(paths, words)
        }

    def run(self, command: Command) -> Observation:
        return _run(command)

    def environ(self) -> Observation:
        return Observation("env", "env", {k: v for k, v in sorted(os.environ.items()) if wanted(k)})

    def identity(self) -> Observation:
        groups = sorted(set(os.getgroups()) | {os.getegid()})
        return Observation(
            "identity",
            "identity",
            {
                "machine": platform.machine(),
                "release": platform.release(),
                "uid": os.geteuid(),
                "gid": os.getegid(),
                "groups": groups,
                "group_names": [_group_name(g) for g in groups],
                "cap_eff": _capabilities(),
                "libc": " ".join(p for p in platform.libc_ver() if p),
            },
        )


def _run(command: Command) -> Observation:
    """Run in a process group of its own; on timeout kill the group and keep what was printed."""
    started = time.monotonic()
    environ = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        **dict(command.environ),
    }
    child: subprocess.Popen[bytes] | None = None
    try:
        with interrupt_waits():
            child = subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environ,
                cwd="/",
                start_new_session=True,
            )
        streams, late = _drain(child, started + command.timeout_s)
    except (OSError, ValueError) as error:
        if child is not None:
            raise
        name = _name(error) if isinstance(error, OSError) else "EINVAL"
        return Observation("run", command.label, error=name)
    finally:
        if child is not None:
            end_session(child, grace_s=1.0)
            close_pipes(child)
    data = {
        "exit": child.returncode,
        "stdout": streams[0],
        "stderr": streams[1],
        "seconds": round(time.monotonic() - started, 3),
    }
    return Observation("run", command.label, data, TIMEOUT if late else "")


def _drain(child: subprocess.Popen[bytes], deadline: float) -> tuple[tuple[str, str], bool]:
    """Read both pipes until they close or time is up; tell whether it was."""
    chunks: dict[int, bytearray] = {}
    pipes: list[IO[bytes]] = [p for p in (child.stdout, child.stderr) if p is not None]
    late = False
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            chunks[pipe.fileno()] = bytearray()
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                late = True
                break
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                chunks[key.fd] += data
                del chunks[key.fd][:-OUTPUT_CAP]  # the end of an output tells more than its start
    if not late:
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
    out, err = (bytes(chunks[p.fileno()]).decode("utf-8", "replace") for p in pipes)
    return (out, err), late


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error.errno))


def _kind(mode: int) -> str:
    for test, name in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"), (stat.S_ISCHR, "char")):
        if test(mode):
            return name
    return "other"


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _capabilities() -> str:
    """The effective capability mask as the kernel prints it, or empty."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith("CapEff:"):
                    return line.split()[1]
    except OSError:
        pass
    return ""
