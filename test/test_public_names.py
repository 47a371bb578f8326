"""What a user imports from the package itself: complete, lazy, and known to type checkers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import inertial_estimation

SOURCE = Path(inertial_estimation.__file__).read_text(encoding="utf-8")
HEAVY = ("numpy", "pinocchio", "matplotlib", "mujoco", "proxsuite", "rclpy", "rosbags")


def names_for_type_checkers():
    """Names by module, from the block that only type checkers read."""
    (block,) = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.If)]
    return {
        node.module.removeprefix("inertial_estimation."): tuple(alias.name for alias in node.names)
        for node in block.body
    }


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


def test_the_three_lists_of_names_agree():
    assert names_for_type_checkers() == inertial_estimation._NAMES_BY_MODULE
    assert set(inertial_estimation.__all__) == {*inertial_estimation._MODULES, "__version__"}


@pytest.mark.parametrize("module", names_for_type_checkers())
def test_every_name_is_the_one_of_its_module(module):
    for package in ("pinocchio", *(("mujoco",) if module.startswith("simulation") else ())):
        pytest.importorskip(package)
    if module.startswith("control"):
        pytest.importorskip("proxsuite")
    for name in names_for_type_checkers()[module]:
        home = sys.modules.get(f"inertial_estimation.{module}")
        value = getattr(inertial_estimation, name)
        home = home or sys.modules[f"inertial_estimation.{module}"]
        assert value is getattr(home, name)


def test_no_name_hides_a_subpackage():
    folder = Path(inertial_estimation.__file__).parent
    inside = {path.stem for path in folder.iterdir()}
    assert not inside & set(inertial_estimation.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'replays'"):
        inertial_estimation.replays  # noqa: B018
    assert set(inertial_estimation.__all__) <= set(dir(inertial_estimation))
