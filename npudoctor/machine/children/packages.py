"""List the installed copies of the named distributions from their metadata, importing none of them.

Arguments: normalised distribution names. Scanning folder names keeps this fast: only the
metadata of the named ones is read.
"""

# mypy: ignore-errors

import json
import os
import platform
import re
import sys
import sysconfig

_DIST = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(-py[\d.]+.*)?\.(dist-info|egg-info)$")
_MODULES = {"torch": "torch", "torch-npu": "torch_npu", "triton": "triton"}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def text(path):
    try:
        with open(path, "rb") as stream:
            return stream.read(262144).decode("utf-8", "replace")
    except OSError:
        return ""


def headers(metadata, key):
    head = metadata.split("\n\n", 1)[0]
    return [line[len(key) + 2 :].strip() for line in head.splitlines() if line.startswith(key + ": ")]


def one(entry, folder, name, version):
    path = os.path.join(entry, folder)
    metadata = text(os.path.join(path, "METADATA")) or text(os.path.join(path, "PKG-INFO"))
    found = {"version": (headers(metadata, "Version") or [version])[0], "location": entry}
    if name in ("torch", "torch-npu", "torchvision", "torchaudio", "vllm", "vllm-ascend", "triton-ascend"):
        found["requires"] = [r for r in headers(metadata, "Requires-Dist") if "extra ==" not in r]
    found["tags"] = [
        line[5:] for line in text(os.path.join(path, "WHEEL")).splitlines() if line[:5] == "Tag: "
    ]
    lines = [line.strip() for line in text(os.path.join(path, "entry_points.txt")).splitlines()]
    if "[torch.backends]" in lines:
        found["entry_points"] = [
            line for line in lines[lines.index("[torch.backends]") + 1 :] if "=" in line
        ][:1]
    return found


def inside(entry, name, found):
    """What the package folder itself says: the build of torch, the extension modules of torch_npu."""
    folder = os.path.join(entry, _MODULES[name])
    build = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", text(os.path.join(folder, "version.py")))
    found["build"] = build.group(1) if build else ""
    try:
        found["extensions"] = sorted(f for f in os.listdir(folder) if re.match(r"_C\..*so$", f))
    except OSError:
        found["extensions"] = []


def scan(wanted):
    packages = {}
    for entry in unique(p for p in sys.path if p and os.path.isdir(p)):
        try:
            names = sorted(os.listdir(entry))
        except OSError:
            continue
        here = {}
        for folder in names:
            match = _DIST.match(folder)
            if match and normal(match.group("name")) in wanted:
                name = normal(match.group("name"))
                here.setdefault(name, []).append(one(entry, folder, name, match.group("version")))
        for name, module in _MODULES.items():
            if name not in here and os.path.isfile(os.path.join(entry, module, "__init__.py")):
                here[name] = [{"version": "", "location": entry}]  # a source tree, or a copied folder
            for found in here.get(name, ()):
                inside(entry, name, found)
        for name, copies in here.items():
            packages.setdefault(name, []).extend(copies)
    return packages


def unique(paths):
    seen = set()
    for path in paths:
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield path


def kind():
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        return "conda"
    return "venv" if sys.prefix != sys.base_prefix else "system"


def main():
    facts = {
        "executable": sys.executable,
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "arch": platform.machine(),
        "kind": kind(),
        "soabi": sysconfig.get_config_var("SOABI") or "",
        "packages": scan(set(sys.argv[1:])),
    }
    print("NPUDOCTOR " + json.dumps(facts))


if __name__ == "__main__":
    main()
