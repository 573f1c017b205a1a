"""Take out of a bundle what a stranger must not learn, without changing what it diagnoses.

Taken out: host names, user names, home folders, IP and MAC addresses, serial numbers and
die ids, passwords and tokens. The same secret gets the same placeholder throughout, so
that two equal paths stay equal. Version numbers look like IP addresses (7.1.0.11, 21.0.3.1);
they are kept by leaving alone the files and lines that state versions. Schedulers name
other hosts and accounts in variables (MASTER_ADDR, SLURM_NODELIST, SLURM_JOB_USER): these
go by the name of the variable, and the account names then go wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# A single slash before it makes it a folder named after a version.
_IPV4 = re.compile(
    r"(?<![\w.\-])(?<![^/]/)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.\-])"
)
_PRIVATE_IPV4 = re.compile(
    r"(?<![\w.\-])(?:192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254)(?:\.\d{1,3}){2}(?![\w.\-])"
)
_IPV6 = re.compile(
    r"(?<![\w:.])(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
    r"|(?=[0-9a-fA-F:]*::)[0-9a-fA-F]{1,4}:[0-9a-fA-F:]+)(?![\w:.])"
)
_MAC = re.compile(r"(?<![\w:-])[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2}){5}|(?:-[0-9a-fA-F]{2}){5})(?![\w:-])")
_SERIAL = re.compile(
    r"(\b(?:Serial (?:Number|No\.?)|SN|[VND]?Die ID|UUID|Asset Tag)\s*[:=]\s*)(\S.*\S|\S)", re.I
)
_TOKENS = re.compile(
    r"hf_\w{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|A[KS]IA[A-Z0-9]{16}"
    r"|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|npm_\w{30,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{16,}"
    r"|(?<!\w)sk-[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"
    r"|(?<=[Bb]earer )\S+|(?<=uthorization: Basic )\S+"
)
_URL_LOGIN = re.compile(r"(?<=://)[^/\s\"'<>]*@")
# password=..., --api-key ..., "token": "..." in command lines, query strings and messages
_ASSIGNED = re.compile(
    r"((?:passw(?:or)?d|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)[\"']?\s*[=:]\s*[\"']?)"
    r"([^\s\"'&;,<>]+)",
    re.I,
)
_URL_HOST = re.compile(r"(?<=://)(<redacted>@)?([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)")
# Hosts that everybody knows tell nothing about the site.
_PUBLIC_HOST = re.compile(
    r"localhost|(?:[\w-]+\.)*(?:pytorch\.org|python\.org|pypi\.org|pythonhosted\.org|github\.com|gitcode\.com"
    r"|gitee\.com|hiascend\.com|huawei\.com|huggingface\.co|modelscope\.cn|readthedocs\.io|quay\.io)"
)
# Variables that name a host, an account, or a place in the network.
_HOST_VARIABLE = re.compile(
    r"(?:^|_)(?:HOST|HOSTS|HOSTNAME|HOSTNAMES|HOSTFILE|ADDR|ADDRESS|ADDRESSES|NODELIST|NODENAME|NODENAMES"
    r"|NODE_ID|HOST_IP|CLUSTER_NAME|DOMAIN|ENDPOINT|URI|TOPOLOGY_ADDR|SUBMIT_HOST|HEAD_NODE|MASTER|SERVER)$"
)
_USER_VARIABLE = re.compile(r"(?:^|_)(?:USER|USERNAME|USER_NAME|LOGNAME|ACCOUNT|EMAIL|MAIL_USER)$")
_HOST_WORD = re.compile(
    r"(?<![\w.<-])(?!\d+(?![\w.\-\[]))[A-Za-z0-9][\w.-]*(?:\[[\d,-]+\][\w.-]*)*(?!\w*://)"
)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|AUTH(?!OLOAD)", re.I)
_HOME = re.compile(r"(/(?:home|homes|users|Users)/)([^/:\s\"']+)")
_VERSION_LINE = re.compile(r"version|npu-smi|innerversion", re.I)
_KEPT_WORDS = frozenset({"root", "HwHiAiUser", "nobody", "nogroup", "USER", "localhost", "ma-user", "daemon"})
# Accounts and hosts of these names tell nothing, and taking the words out would damage paths.
_COMMON_WORDS = re.compile(
    r"admin|ascend|atb|bin|cann|compiler|conda|container|core|data|davinci|default|dev|device|docker|"
    r"driver|etc|error|file|firmware|home|host|include|info|lib|lib64|linux|local|localdomain|main|"
    r"master|model|node|npu|ops|opp|opt|package|packages|python[\d.]*|run|runtime|server|service|"
    r"share|site|system|test|tmp|tools|toolkit|torch|torch_npu|ubuntu|user|users|usr|var|version|work|"
    r"worker"
)
# A host named after the stack (910b3, cann-8): only the whole word goes, or the diagnosis would suffer.
_STACK_WORD = re.compile(
    r"\d{3}[a-z]?|ascend|atlas|cann|npu|davinci|python|py3|cp3|x86|aarch|arm|torch", re.I
)
HOST = "HOST"  # what a host's name becomes
# A domain behind it: two labels and more, or one that only a private network uses.
_DOMAIN = (
    r"(?:\.[A-Za-z][A-Za-z0-9-]*){2,}"
    r"|\.(?:local|localdomain|lan|internal|intra|intranet|corp|home|cluster|svc|private)(?![\w-])"
)
# File owners and the account of this process are named in these fields of observations.
_NAME_FIELDS = frozenset({"owner", "group"})


class Redactor:
    """Replaces secrets by placeholders.

    Args:
        names: host and user names to take out wherever they stand as whole words.
        homes: home folders to take out; each becomes `/home/USER`.
    """

    def __init__(self, names: Mapping[str, str] | None = None, homes: tuple[str, ...] = ()) -> None:
        self._names: dict[str, tuple[re.Pattern[str], str]] = {}  # where it stands, what it becomes
        for name, placeholder in (names or {}).items():
            self._learn(name, placeholder)
        self._homes = tuple(h for h in homes if h not in ("/", "/root", ""))
        self._addresses: dict[str, str] = {}

    def learn(self, variables: Mapping[str, str]) -> None:
        """Take out, wherever they stand, the accounts that these environment variables name."""
        for name, content in variables.items():
            if _USER_VARIABLE.search(name):
                self._learn(content, "USER")

    def _learn(self, name: str, placeholder: str) -> None:
        common = name.isdecimal() or name in _KEPT_WORDS or _COMMON_WORDS.fullmatch(name)
        if len(name) > 2 and not common:
            self._names[name] = _pattern(name, placeholder), placeholder

    def data(self, node: Any, key: str = "", versions: bool = False) -> Any:
        """Plain data with every string in it redacted; keys of paths too."""
        if isinstance(node, dict):
            return {
                self._key(k): self.data(v, str(k), versions or "version" in str(k).lower())
                for k, v in node.items()
            }
        if isinstance(node, list):
            if key == "group_names":
                return [name if name in _KEPT_WORDS or name.isdecimal() else "GROUP" for name in node]
            return [self.data(item, key, versions) for item in node]
        if not isinstance(node, str):
            return node
        if _SECRET_NAME.search(key) and not key.startswith(("/", "npu-smi", "import", "compute")):
            return "<redacted>" if node else node
        if key in _NAME_FIELDS and node not in _KEPT_WORDS and not node.isdecimal():
            return "USER" if key == "owner" else "GROUP"
        if node and not key.startswith("/") and _USER_VARIABLE.search(key):
            return "USER" if node not in _KEPT_WORDS and not node.isdecimal() else node
        text = self.text(node, versions)
        if not key.startswith("/") and _HOST_VARIABLE.search(key):
            text = _HOST_WORD.sub(lambda m: self._host(m.group()), text)
        return text

    def _key(self, key: Any) -> Any:
        return self._named(self._paths(key)) if isinstance(key, str) and key.startswith("/") else key

    def text(self, text: str, versions: bool = False) -> str:
        """One string; `versions` keeps numbers that look like addresses."""
        text = _URL_LOGIN.sub("<redacted>@", _TOKENS.sub("<redacted>", self._paths(text)))
        text = _ASSIGNED.sub(r"\1<redacted>", _SERIAL.sub(r"\1<redacted>", text))
        text = _MAC.sub(lambda m: self._address(m.group(), "mac"), text)
        text = _PRIVATE_IPV4.sub(lambda m: self._address(m.group(), "ip"), text)
        if not versions and not _VERSION_LINE.search(text):
            text = _IPV4.sub(lambda m: self._address(m.group(), "ip"), text)
        text = _IPV6.sub(lambda m: self._address(m.group(), "ip"), text)
        text = _URL_HOST.sub(lambda m: (m.group(1) or "") + self._host(m.group(2)), text)
        return self._named(text)

    def _named(self, text: str) -> str:
        for pattern, placeholder in self._names.values():
            text = pattern.sub(placeholder, text)
        return text

    def _host(self, host: str) -> str:
        numeric = host.replace(".", "").isdecimal()
        hidden = any(host == placeholder for _, placeholder in self._names.values())
        return host if numeric or hidden or _PUBLIC_HOST.fullmatch(host) else self._address(host, "host")

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


def _pattern(name: str, placeholder: str) -> re.Pattern[str]:
    """Where a name stands for what it names, and not for a part of another word.

    A host's name with a digit or a hyphen in it is hardly anything else: it also goes out of
    `trainer17_4242_ascend_pt`, `TRAINER17-eth0` and, with its domain, `trainer17.cluster.local`.
    """
    if placeholder != HOST or _STACK_WORD.match(name):
        return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-]|\.\d)")
    if re.search(r"[\d-]", name):
        return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?:{_DOMAIN})?(?![A-Za-z0-9])", re.I)
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?:{_DOMAIN})?(?![\w-])", re.I)


def of_this_machine() -> Redactor:
    """A redactor that knows this machine's names."""
    import getpass
    import os
    import socket

    names = {}
    host = socket.gethostname()
    for name in (host, host.split(".")[0], os.environ.get("HOSTNAME", "")):
        names[name] = HOST
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = ""
    for name in (user, os.environ.get("SUDO_USER", ""), os.environ.get("LOGNAME", "")):
        names[name] = "USER"
    homes = tuple({os.path.expanduser("~"), os.environ.get("HOME", "")} - {"~", ""})
    redactor = Redactor(names, homes)
    redactor.learn(os.environ)
    return redactor


def host_label() -> str:
    """A name for this host that does not tell its name: ten hex digits of a hash."""
    import hashlib
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:10]
