"""The link checker on a server of its own: what is there, gone, refused, or has no host."""

from __future__ import annotations

import http.server
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def links() -> ModuleType:
    spec = importlib.util.spec_from_file_location("links", ROOT / ".ci" / "links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(405)  # many servers refuse it
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response({"/there": 200, "/moved": 302, "/gone": 404, "/shy": 403}[self.path])
        self.send_header("Location", "/there")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()


def test_answers(links: ModuleType, server: str) -> None:
    asked = {path: links.ask(server + path) for path in ("/there", "/moved", "/gone", "/shy")}
    assert asked == {"/there": "ok", "/moved": "ok", "/gone": "gone: 404", "/shy": "unverified: 403"}
    assert links.ask("http://no-such-host.invalid/x") == "unreachable"


def test_exit_codes(
    links: ModuleType, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(links, "NOT_PAGES", links.re.compile("never"))
    page = tmp_path / "a.md"
    page.write_text(f"[x]({server}/there), {server}/there#part.\n")
    assert links.main([str(page)]) == 0
    page.write_text(f"{server}/there {server}/gone http://no-such-host.invalid/x")
    assert links.main([str(page)]) == 1
    out = capsys.readouterr().out
    assert "gone: 404" in out
    assert "3 addresses, 2 gone" in out
    page.write_text("http://no-such-host.invalid/x")
    assert links.main([str(page)]) == 2


def test_addresses_are_found_whole(links: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text('A = (\n    "https://github.com/a/"\n    "b.html"\n)\nB = "https://pip.corp.example/x"\n')
    assert list(links.addresses([source])) == ["https://github.com/a/b.html"]
    assert len(links.addresses(sorted((ROOT / "npudoctor" / "data").glob("*.tsv")))) > 100
