"""Are the external addresses of the manual, the tables and the code still there?

    python .ci/links.py [FILE...]      (default: README.md, docs/, npudoctor/, reference_ppo/, fixtures/)

Asks each address once, several hosts at a time and each host one by one. Exit code 0: every address
answered; 1: some are gone (404, 410, or a host that does not exist while most do); 2: most hosts could not
be found, so this machine has no way out and nothing is known. An answer such as 403 or 429 shows that
there is something: it is listed as not verified.
"""

from __future__ import annotations

import re
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENDINGS = {".md", ".py", ".tsv", ".toml", ".yml", ".yaml", ".j2", ".Dockerfile"}
URL = re.compile(r"https?://[^\s\"'<>`|)\\\]}\u3000-\uffef]+")
# Addresses that are made up, or that answer only to tools.
NOT_PAGES = re.compile(r"example\.|localhost|127\.0\.0\.1|\.corp|mirror|/whl/|w3\.org|\{|\$|pip\.|//x|//<")
GONE = {404, 410}
TIMEOUT_S = 15.0


def addresses(files: list[Path]) -> dict[str, str]:
    """Each address and the first file that names it; text in continued strings is joined."""
    found: dict[str, str] = {}
    for path in files:
        text = re.sub(r"\"\s*\n\s*\"", "", path.read_text(encoding="utf-8", errors="replace"))
        for address in URL.findall(text):
            clean = address.split("#")[0].rstrip(".,;:*")
            if not NOT_PAGES.search(clean):
                found.setdefault(clean, str(path))
    return found


def ask(address: str) -> str:
    """`ok`, `gone: ...`, `unverified: ...` or `unreachable`."""
    for method in ("HEAD", "GET"):
        request = urllib.request.Request(address, method=method, headers={"User-Agent": "Mozilla/5.0"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                return "ok"
        except urllib.error.HTTPError as error:
            if method == "HEAD":
                continue  # many servers refuse HEAD
            return f"gone: {error.code}" if error.code in GONE else f"unverified: {error.code}"
        except urllib.error.URLError as error:
            no_host = isinstance(error.reason, socket.gaierror)
            return "unreachable" if no_host else f"unverified: {error.reason}"
        except (OSError, ValueError) as error:
            return f"unverified: {error}"
    return "unverified"


def check(wanted: dict[str, str]) -> dict[str, str]:
    """Ask all: hosts side by side, the addresses of one host one after the other."""
    by_host: dict[str, list[str]] = defaultdict(list)
    for address in wanted:
        by_host[urllib.parse.urlsplit(address).netloc].append(address)

    def one_host(group: list[str]) -> dict[str, str]:
        answers: dict[str, str] = {}
        for address in group:
            answers[address] = ask(address)
            if answers[address] == "unreachable":  # the others of this host would say the same
                return dict.fromkeys(group, "unreachable")
        return answers

    with ThreadPoolExecutor(16) as pool:
        return {a: s for answers in pool.map(one_host, by_host.values()) for a, s in answers.items()}


def main(argv: list[str]) -> int:
    """Print what is gone or not verified; see the module's description for the exit code."""
    roots = [ROOT / name for name in ("README.md", "docs", "npudoctor", "reference_ppo", "fixtures")]
    named = [Path(name) for name in argv] or roots
    files = [f for p in named for f in (sorted(p.rglob("*")) if p.is_dir() else [p]) if f.suffix in ENDINGS]
    wanted = addresses(files)
    answers = check(wanted)
    if 2 * list(answers.values()).count("unreachable") > len(answers):
        print(f"links: {len(wanted)} addresses not checked: this machine has no way out", file=sys.stderr)
        return 2
    bad = 0
    for address, answer in sorted(answers.items()):
        if answer != "ok":
            print(f"{answer:20} {address}  ({wanted[address]})")
            bad += answer.startswith("gone") or answer == "unreachable"
    print(f"links: {len(wanted)} addresses, {bad} gone")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
