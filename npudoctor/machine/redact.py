"""Take out of a bundle what a stranger must not learn, without changing what it diagnoses.

Taken out: host names, user names, home folders, IP and MAC addresses, serial numbers and
die ids, passwords and tokens. The same secret gets the same placeholder throughout, so
that two equal paths stay equal. Version numbers look like IP addresses (7.1.0.11, 21.0.3.1);
they are kept by leaving alone the files and lines that state versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_IPV4 = re.compile(
    r"(?<![\w.\-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.\-])"
)
_IPV6 = re.compile(
    r"(?<![\w:.])(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
    r"|(?=[0-9a-fA-F:]*::)[0-9a-fA-F]{1,4}:[0-9a-fA-F:]+)(?![\w:.])"
)
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_SERIAL = re.compile(r"((?:Serial Number|[VND]?Die ID|UUID|Asset Tag)\s*:\s*)(\S.*\S|\S)", re.I)
_TOKENS = re.compile(
    r"hf_\w{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{16}|xox[abprs]-[\w-]{10,}"
    r"|(?<!\w)sk-[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?<=[Bb]earer )\S+"
)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|AUTH(?!OLOAD)", re.I)
_HOME = re.compile(r"(/home/|/Users/)([^/:\s\"']+)")
_VERSION_LINE = re.compile(r"version|npu-smi|innerversion", re.I)
_KEPT_WORDS = frozenset({"root", "HwHiAiUser", "nobody", "nogroup", "USER", "localhost", "ma-user", "daemon"})
# File owners and the account of this process are named in these fields of observations.
_NAME_FIELDS = frozenset({"owner", "group"})


class Redactor:
    """Replaces secrets by placeholders.

    Args:
        names: host and user names to take out wherever they stand as whole words.
        homes: home folders to take out; each becomes `/home/USER`.
    """

    def __init__(self, names: Mapping[str, str] | None = None, homes: tuple[str, ...] = ()) -> None:
        self._names = {n: p for n, p in (names or {}).items() if len(n) > 2 and n not in _KEPT_WORDS}
        self._homes = tuple(h for h in homes if h not in ("/", "/root", ""))
        self._addresses: dict[str, str] = {}

    def data(self, node: Any, key: str = "", versions: bool = False) -> Any:
        """Plain data with every string in it redacted; keys of paths too."""
        if isinstance(node, dict):
            return {
                self._key(k): self.data(v, str(k), versions or "version" in str(k).lower())
                for k, v in node.items()
            }
        if isinstance(node, list):
            if key == "group_names":
                return [name if name in _KEPT_WORDS or name.isdigit() else "GROUP" for name in node]
            return [self.data(item, key, versions) for item in node]
        if not isinstance(node, str):
            return node
        if _SECRET_NAME.search(key) and not key.startswith(("/", "npu-smi", "import", "compute")):
            return "<redacted>" if node else node
        if key in _NAME_FIELDS and node not in _KEPT_WORDS and not node.isdigit():
            return "USER" if key == "owner" else "GROUP"
        return self.text(node, versions)

    def _key(self, key: Any) -> Any:
        return self._paths(key) if isinstance(key, str) and key.startswith("/") else key

    def text(self, text: str, versions: bool = False) -> str:
        """One string; `versions` keeps numbers that look like addresses."""
        text = _TOKENS.sub("<redacted>", self._paths(text))
        text = _SERIAL.sub(r"\1<redacted>", text)
        text = _MAC.sub(lambda m: self._address(m.group(), "mac"), text)
        if not versions and not _VERSION_LINE.search(text):
            text = _IPV4.sub(lambda m: self._address(m.group(), "ip"), text)
        text = _IPV6.sub(lambda m: self._address(m.group(), "ip"), text)
        for name, placeholder in self._names.items():
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", placeholder, text)
        return text

    def _paths(self, text: str) -> str:
        for home in self._homes:
            text = re.sub(rf"{re.escape(home)}(?![\w-])", "/home/USER", text)
        return _HOME.sub(
            lambda m: m.group(1) + ("USER" if m.group(2) not in _KEPT_WORDS else m.group(2)), text
        )

    def _address(self, address: str, kind: str) -> str:
        if address in ("127.0.0.1", "0.0.0.0", "255.255.255.255"):
            return address
        return self._addresses.setdefault(address, f"<{kind}-{len(self._addresses) + 1}>")


def of_this_machine() -> Redactor:
    """A redactor that knows this machine's names."""
    import getpass
    import os
    import socket

    names = {}
    host = socket.gethostname()
    for name in (host, host.split(".")[0]):
        names[name] = "HOST"
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = ""
    names[user] = "USER"
    homes = tuple({os.path.expanduser("~"), os.environ.get("HOME", "")} - {"~", ""})
    return Redactor(names, homes)


def host_label() -> str:
    """A name for this host that does not tell its name: ten hex digits of a hash."""
    import hashlib
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:10]
