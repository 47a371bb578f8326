"""Experiments load the build of ProxSuite that repeats itself; a process that has one keeps it."""

import subprocess
import sys

import pytest

from inertial_estimation.control.repeatable_solver import VECTORISED, prefer_repeatable_solver


def test_experiments_load_the_build_without_wide_vectors() -> None:
    code = (
        "import sys, inertial_estimation.experiments, proxsuite\n"
        "assert 'proxsuite.proxsuite_pywrap' in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_loaded_solver_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VECTORISED:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "proxsuite", sys)
    prefer_repeatable_solver()
    assert not set(VECTORISED) & set(sys.modules)
