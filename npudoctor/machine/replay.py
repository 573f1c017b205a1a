"""The host that answers from recorded observations, and only from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npudoctor.machine.host import NOT_RECORDED, Command, Observation

_FILE = {"kind": "file", "mode": "0644", "uid": 0, "gid": 0, "owner": "root", "group": "root"}
_DIR = {**_FILE, "kind": "dir", "mode": "0755"}


class ReplayHost:
    """A computer as a bundle remembers it.

    Args:
        observations: by (kind, target).
        closed: the bundle lists all there was: a path that it does not mention did not
            exist, a command that it does not mention could not be found. Bundles written
            by hand from public facts are closed; recorded ones are not, so that a newer
            npudoctor asking a new question hears "not recorded" and not "absent".
    """

    def __init__(self, observations: Mapping[tuple[str, str], Observation], *, closed: bool = False) -> None:
        self._known = dict(observations)
        self._closed = closed
        self._children: dict[str, set[str]] | None = None
        self._links = {
            path: seen.data["real"]
            for (kind, path), seen in self._known.items()
            if closed and kind == "stat" and seen.ok and seen.data.get("real", path) != path
        }

    def _resolve(self, path: str) -> str:
        """`path` with a recorded symbolic link at its start followed (closed bundles only)."""
        if self._closed and len(path) > 1:
            path = path.rstrip("/")  # as the file system reads it; a recording keeps what was asked
        for link, target in self._links.items():
            if path.startswith(link + "/"):
                return str(target) + path[len(link) :]
        return path

    def _answer(self, kind: str, target: str) -> Observation:
        known = self._known.get((kind, target))
        if known is not None:
            return known
        return Observation(kind, target, error="ENOENT" if self._closed else NOT_RECORDED)

    def _tree(self) -> Mapping[str, set[str]]:
        """Folder -> names, of every path mentioned; only a closed bundle implies its folders."""
        if self._children is None:
            self._children = {}
            for (kind, path), seen in self._known.items():
                if kind in ("read", "stat", "open", "list") and seen.error not in ("ENOENT", "ENOTDIR"):
                    self._add(path, self._children)
        return self._children

    @staticmethod
    def _add(path: str, children: dict[str, set[str]]) -> None:
        while path not in ("/", ""):
            path, _, name = path.rstrip("/").rpartition("/")
            path = path or "/"
            names = children.setdefault(path, set())
            if name in names:
                return  # and so are its ancestors
            names.add(name)

    def read(self, path: str) -> Observation:
        return self._as(path, self._answer("read", self._resolve(path)))

    def list(self, path: str) -> Observation:
        real = self._links.get(path, self._resolve(path.rstrip("/") or "/"))
        if self._closed and ("list", real) not in self._known and real in self._tree():
            return Observation("list", path, sorted(self._tree()[real]))
        return self._as(path, self._answer("list", real))

    def stat(self, path: str) -> Observation:
        real = self._resolve(path)
        if self._closed and ("stat", real) not in self._known:
            if real in self._tree() or ("list", real) in self._known:
                return Observation("stat", path, {**_DIR, "real": real})
            known = self._known.get(("read", real))
            if known is not None and known.error not in ("ENOENT", "ENOTDIR"):
                return Observation("stat", path, {**_FILE, "real": real})
        return self._as(path, self._answer("stat", real))

    @staticmethod
    def _as(path: str, seen: Observation) -> Observation:
        """The answer under the name that was asked for."""
        return seen if seen.target == path else Observation(seen.kind, path, seen.data, seen.error)

    def open_rw(self, paths: Sequence[str]) -> Mapping[str, Observation]:
        return {path: self._open(path) for path in paths}

    def _open(self, path: str) -> Observation:
        if self._closed and ("open", path) not in self._known and ("stat", path) in self._known:
            return Observation("open", path, "ok")
        return self._answer("open", path)

    def run(self, command: Command) -> Observation:
        return self._answer("run", command.label)

    def environ(self) -> Observation:
        return self._answer("env", "env")

    def identity(self) -> Observation:
        return self._answer("identity", "identity")
