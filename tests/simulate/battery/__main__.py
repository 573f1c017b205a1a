"""Run every check on two simulated devices; print a JSON object: name -> error text, or null."""

from __future__ import annotations

import importlib
import json
import pkgutil
import traceback
import warnings
from pathlib import Path

import torch

import npudoctor.simulate as simulate


def main() -> None:
    """Run all modules of this folder."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results: dict[str, str | None] = {}
    with simulate.device(device_count=2):
        for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
            if module.name.startswith("__"):
                continue
            loaded = importlib.import_module(f"tests.simulate.battery.{module.name}")
            for name, function in sorted(vars(loaded).items()):
                if name.startswith("check_"):
                    torch.manual_seed(0)
                    try:
                        function()
                        results[f"{module.name}.{name}"] = None
                    except Exception:
                        results[f"{module.name}.{name}"] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
