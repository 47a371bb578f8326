"""What a user imports from the package itself: complete, lazy, and known to type checkers."""

import subprocess
import sys
from pathlib import Path

import pytest

import inertial_estimation

HEAVY = ("numpy", "pinocchio", "matplotlib", "mujoco", "proxsuite", "rclpy", "rosbags")
MODULES = inertial_estimation._modules()


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, inertial_estimation\n"
        f"loaded = set({HEAVY!r}) & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_tilt_observer_starts_without_the_libraries_of_the_other_nodes():
    """They would double the time that a robot is without its tilt after a restart.

    Without numba, which imports SciPy itself.
    """
    pytest.importorskip("rclpy")
    code = (
        "import os, sys\n"
        "os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "import inertial_estimation.ros.tilt_observer_node\n"
        "loaded = {'scipy', 'mujoco', 'proxsuite', 'matplotlib'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_name_that_type_checkers_know_is_loaded():
    stub = Path(inertial_estimation.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert stub.count(" as ") == len(MODULES) > 50
    assert set(inertial_estimation.__all__) == {*MODULES, "__version__"}


def test_every_name_is_the_one_of_its_module():
    for package in ("pinocchio", "mujoco", "proxsuite"):
        pytest.importorskip(package)
    for name, module in MODULES.items():
        assert getattr(inertial_estimation, name) is getattr(sys.modules[module], name)
