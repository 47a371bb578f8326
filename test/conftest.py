"""How the tests run: in several processes, one thread each, and none left out in silence."""

import atexit
import gc
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

MOST_WORKERS = 8  # the longest test bounds what more of them gain
WAITING_WORKERS = 1  # more than processors: a third of the suite waits for nodes to start or discover others
WITHOUT_XDIST = "pytest-xdist is not installed: the tests ran one after the other; pip install pytest-xdist"
LEFT_OUT = "statistics and published experiments were left out; 'pytest -m \"\"' runs all"

sys.path.append(str(Path(__file__).resolve().parents[1]))  # last, for the benchmarks alone
# Processes that tests start import the same files: numba compiles those of another folder anew.
_package = Path(importlib.util.find_spec("inertial_estimation").origin).parents[1]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_package), os.environ.get("PYTHONPATH")]))
os.environ["PYTHONSAFEPATH"] = "1"
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when a test module imports numpy
    os.environ.setdefault(_variable, "1")
SIMULATION = ("mujoco", "proxsuite", "example_robot_data")
NEEDED = {  # packages without which the tests of a room, or those of a file, are skipped
    "calibration": ("example_robot_data",),
    "closed_loop": SIMULATION,
    "commands": ("rosbags", "rich", *SIMULATION),
    "control": SIMULATION,
    "experiments": ("vqf", *SIMULATION),
    "files": ("rosbags",),
    "parallel": ("joblib",),
    "payload": ("example_robot_data",),
    "plots": ("plotly", "jinja2"),
    "real_recordings": ("rosbags", "example_robot_data"),
    "recordings": ("rosbags",),
    "replay": ("rosbags", "example_robot_data"),
    "ros": ("rclpy", "rosbags", "rich", *SIMULATION),
    "test_messages.py": ("rclpy",),  # in place of its room's: run by the job of ROS distributions in ci.yml
    "setup_assistant": ("example_robot_data",),
    "simulation": SIMULATION,
    "synthetic": ("rosbags", "example_robot_data"),
}
OPTIONAL = {package for packages in NEEDED.values() for package in packages}
OPTIONAL |= {"pinocchio", "rerun", "visualization_msgs", "lifecycle_msgs"}
settings.register_profile("whatever else the machine does", deadline=None)
settings.load_profile("whatever else the machine does")


class Module(pytest.Module):
    """Tests that are skipped, with the reason, where a package that they need is not installed."""

    def collect(self) -> Any:
        """Collect the tests, or say what is missing."""
        for package in NEEDED.get(self.path.name, NEEDED.get(self.path.parent.name, ())):
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"{self.name} needs {package}")
        try:
            return super().collect()
        except self.CollectError as error:
            missing = getattr(error.__cause__, "name", None) or ""
            if isinstance(error.__cause__, ModuleNotFoundError) and missing.partition(".")[0] in OPTIONAL:
                pytest.skip(f"{self.name} needs {missing}")
            raise


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> Module:
    """Collect a module by the class above."""
    return Module.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Distribute the whole suite over the processors, unless the command line says something else.

    A process takes the next tests of its half of the list, and from the end of another's when it is through:
    tests of one module stay together, and what they share is mostly made once. What numba compiles is
    compiled before, as otherwise by every process.
    """
    if hasattr(config, "workerinput"):  # one of those processes: it must not distribute its part again
        return
    option = config.option
    asked = getattr(option, "numprocesses", 0) is not None or option.usepdb or option.collectonly
    if _whole_suite(config) and not asked:
        option.numprocesses = min(len(os.sched_getaffinity(0)) + WAITING_WORKERS, MOST_WORKERS)
        option.dist = "worksteal"
        if sys.dont_write_bytecode:
            _keep_bytecode()
        _compile_once()


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Import and collect without looking for garbage, of which there is none: a fifth of the time."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile or load what the tests have imported, and let it be said before one seems to hang."""
    if not session.config.option.collectonly:
        from inertial_estimation.compilation import warm_up

        with session.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            warm_up()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what a newcomer would miss."""
    if _whole_suite(config) and importlib.util.find_spec("xdist") is None:
        terminalreporter.write_line(WITHOUT_XDIST)
    if config.option.markexpr.startswith("not "):
        terminalreporter.write_line(LEFT_OUT)


def _keep_bytecode() -> None:
    """Let the processes of this run share bytecode, in a folder that goes with it, where none may be kept.

    Hundreds of them import the same sources: otherwise each compiles them, and tests are rewritten by each.
    """
    folder = tempfile.TemporaryDirectory(prefix="inertial_estimation_bytecode_")
    atexit.register(folder.cleanup)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder.name
    os.environ["PYTHONPYCACHEPREFIX"] = folder.name


def _compile_once() -> None:
    import inertial_estimation.configuration.pipelines  # noqa: F401 (it defines them)
    from inertial_estimation.compilation import warm_up

    warm_up()


def _whole_suite(config: pytest.Config) -> bool:
    return not config.option.file_or_dir
