"""Which way is down and what the links weigh, estimated while the robot runs.

What a user of the library needs is imported from here: ``from inertial_estimation import build_pipelines``. A
name is loaded when it is first used, so that ``import inertial_estimation`` loads neither Pinocchio nor a
simulator. The names are those of ``__init__.pyi``. Inside the package, modules import one another by their
full names.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


@cache
def _modules() -> dict[str, str]:
    """Return the module of every public name."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    found = re.findall(r"^from (\S+) import \(?\s*(\w+) as", stub, re.MULTILINE)
    return {name: module for module, name in found}


def __getattr__(name: str) -> Any:
    """Import the module of a name when it is first used (PEP 562)."""
    if name == "__all__":
        return [*_modules(), "__version__"]
    if name.startswith("_") or name not in _modules():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(_modules()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})
