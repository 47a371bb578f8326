"""Compile every function that numba compiles, or load it: once, in place of in every worker."""

import importlib
import pkgutil

import inertial_estimation
from inertial_estimation.compilation import warm_up


def main() -> None:
    """Import whatever can be imported here, and compile what it defines."""
    for module in pkgutil.walk_packages(inertial_estimation.__path__, f"{inertial_estimation.__name__}."):
        try:
            importlib.import_module(module.name)
        except ImportError:  # of an extra that is not installed
            continue
    warm_up()


if __name__ == "__main__":
    main()
