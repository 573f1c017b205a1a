"""Version names of the Ascend world, mapped onto `packaging` so that it does all ordering.

Vendors write the same release in many ways: CANN `8.0.RC3.beta1`, `8.3.RC1`,
`9.1.0-beta.1`, `8.0.0.alpha001`; drivers `24.1.rc2.2`, `23.0.RC3.B060`; Python packages
`2.7.1.post2+git4c901a4`. A vendor name becomes one PEP 440 version, its key; comparing
two names compares their keys.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

__all__ = [
    "BadVersion", "VendorVersion", "base_release", "fits", "is_950_line", "normal_python", "package",
    "public", "same_release", "same_series", "vendor",
]

_VENDOR = re.compile(
    r"""v?(?P<numbers>\d+(?:\.\d+)+)
        (?:[._-]?rc[._-]?(?P<rc>\d+)(?P<patch>(?:\.\d+){0,2}))?
        (?:[._-]?(?P<stage>alpha|beta|t)[._-]?(?P<serial>\d+)?)?
        (?:[._-]?(?:b(?P<build>\d{3,})|spc\w+))?""",
    re.IGNORECASE | re.VERBOSE,
)
# Order inside one release: internal test build, alpha, beta, the release itself.
_STAGES = {"t": 0, "alpha": 1, "beta": 2}
_LONGEST = 100  # characters; a longer text is no version name
_FINAL_RC = 9999  # an alpha or beta of x.y.0 comes after every RC of x.y and before x.y.0


class BadVersion(ValueError):
    """A text that is no version name; `text` is the text, cut to a length that can be shown."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"not a {kind} version: {text[:80]!r}")
        self.text = text[:80]


@functools.total_ordering
@dataclass(frozen=True, eq=False)
class VendorVersion:
    """A CANN or driver (HDK) version; make one with `vendor()`.

    Order within one line, as the vendor publishes it: `8.0.RC3.alpha001 < 8.0.RC3.beta1 <
    8.0.RC3 < 8.0.0.beta1 < 8.0.0`. A number after the RC (`24.1.rc2.2`) is a patch of that
    RC; a `Bnnn` suffix is a build of the same release.

    Attributes:
        text: the name in the vendor's spelling, e.g. `8.3.RC1`, `24.1.RC2.2`, `9.1.0-beta.1`.
        key: the PEP 440 version that stands for it in comparisons.
        rc: number of the release candidate, None for a release.
        stage: `t`, `alpha`, `beta`, or "" when final.
    """

    text: str
    key: Version = field(repr=False)
    rc: int | None = None
    stage: str = ""

    @property
    def line(self) -> tuple[int, int]:
        """Major and minor number; releases of one line are meant to work alike."""
        return self.key.major, self.key.minor

    @property
    def prerelease(self) -> bool:
        """Whether it is an alpha, beta or test build (an RC of this vendor is a release)."""
        return bool(self.stage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VendorVersion) and self.key == other.key

    def __lt__(self, other: VendorVersion) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text


@functools.lru_cache(maxsize=4096)
def vendor(text: str) -> VendorVersion:
    """Parse a CANN or driver version name.

    Raises:
        ValueError: not such a name.
    """
    match = _VENDOR.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise BadVersion("CANN or driver", text)
    numbers = ".".join(str(int(n)) for n in match["numbers"].split("."))
    rc = None if match["rc"] is None else int(match["rc"])
    stage = (match["stage"] or "").lower()
    patch = [int(n) for n in (match["patch"] or "").split(".") if n]
    serial, build = int(match["serial"] or 0), int(match["build"] or 0)
    key = numbers
    if rc is not None or stage:
        key += f"rc{_FINAL_RC if rc is None else rc}"
    if any(patch):
        key += f".post{patch[0]}"
    if stage:
        key += f".dev{_STAGES[stage] * 100_000 + serial}"
    rest = patch[1] if len(patch) > 1 else 0
    if rest or build:
        key += f"+{rest}.{build}"
    return VendorVersion(_spell(numbers, rc, patch, stage, serial, build), Version(key), rc, stage)


def _spell(
    numbers: str, rc: int | None, patch: list[int], stage: str, serial: int, build: int
) -> str:
    parts = [numbers] if rc is None else [numbers, f"RC{rc}", *map(str, patch)]
    text = ".".join(parts)
    if stage == "t":
        text += f".T{serial}"
    elif stage == "alpha":
        text += f".alpha{serial:03d}"
    elif stage == "beta":
        # From CANN 8.5 on, betas are written 9.1.0-beta.1; before that 8.0.RC3.beta1.
        new = tuple(int(n) for n in numbers.split(".")[:2]) >= (8, 5)
        text += f"-beta.{serial}" if new else f".beta{serial}"
    return text + (f".B{build:03d}" if build else "")


@functools.lru_cache(maxsize=4096)
def package(text: str) -> Version:
    """Parse a Python package version (`2.7.1.post2+git4c901a4`, `2.10.0rc1`).

    Raises:
        ValueError: not a PEP 440 version.
    """
    try:
        if len(text) <= _LONGEST:
            return Version(text.strip())
    except InvalidVersion:
        pass
    raise BadVersion("package", text)


def public(version: str | Version) -> Version:
    """The version without its local part: `2.7.1+cpu` -> `2.7.1`."""
    parsed = package(version) if isinstance(version, str) else version
    return Version(parsed.public)


def base_release(version: str | Version) -> Version:
    """Only the release numbers: `2.7.1.post2+git1` -> `2.7.1`, what torch_npu pins torch to."""
    parsed = package(version) if isinstance(version, str) else version
    return Version(parsed.base_version)


def normal_python(text: str) -> str:
    """Minor Python version: `3.11.9`, `cp311`, `py3.11`, `3.11` -> `3.11`.

    Raises:
        ValueError: not a Python version.
    """
    match = re.fullmatch(r"(?:cp|py|python)?\s*(\d)(?:\.(\d+)(?:\.\w+)*|(\d{1,2}))", text.strip().lower())
    if match is None or len(text) > _LONGEST:
        raise BadVersion("Python", text)
    return f"{match[1]}.{int(match[2] or match[3])}"


def same_release(a: str | VendorVersion, b: str | VendorVersion) -> bool:
    """Whether two names mean one release: builds, RC patches and community betas are the same.

    Before CANN 8.5 the community edition of `8.1.RC1` was called `8.1.RC1.beta1`.
    """
    return _release_key(_vendor(a)) == _release_key(_vendor(b))


def same_series(a: str | VendorVersion, b: str | VendorVersion) -> bool:
    """Whether two CANN versions are patches of one release and are meant to pair alike.

    Up to 8.0 every RC was a release of its own (8.0.RC1, RC2, RC3, 8.0.0 differ);
    from 8.1 on a line has one release, and RC2 or a third number is a patch of it.
    """
    first, second = _vendor(a), _vendor(b)
    return first.line == second.line and (first.line > (8, 0) or first.rc == second.rc)


@functools.lru_cache(maxsize=65536)
def fits(pattern: str, version: str | VendorVersion) -> bool:
    """Whether `version` is what a table cell names: `25.2.X` a line, `26.0.RC1` one release."""
    found = _vendor(version)
    stem = pattern.strip()
    if stem.lower().endswith(".x"):
        wanted = tuple(int(n) for n in stem[:-2].split("."))
        return found.key.release[: len(wanted)] == wanted
    return same_release(stem, found)


def is_950_line(driver: str | VendorVersion) -> bool:
    """Whether a driver belongs to the Ascend 950 lines (25.1, 25.6, 25.7), numbered on their own."""
    return _vendor(driver).line in {(25, 1), (25, 6), (25, 7)}


def _vendor(version: str | VendorVersion) -> VendorVersion:
    return vendor(version) if isinstance(version, str) else version


@functools.lru_cache(maxsize=4096)
def _release_key(version: VendorVersion) -> tuple[Version, str]:
    key = version.key
    community = version.stage == "beta" and version.line < (8, 5)
    if community or not version.stage:
        # Drop the beta mark, an RC's patch number, a fourth number and the build.
        numbers = ".".join(map(str, key.release[:3]))
        return Version(numbers if version.rc is None else f"{numbers}rc{version.rc}"), ""
    return Version(key.public), version.stage
