"""Modules outside of the package: launch files, and scripts of the documentation."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def script(path: str) -> ModuleType:
    """Import a file of the checkout afresh, by its path from the root."""
    name = Path(path).name.removesuffix(".py").replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
