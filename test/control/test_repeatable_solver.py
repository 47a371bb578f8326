"""Experiments load the build of ProxSuite that repeats itself; a process that has one keeps it."""

import subprocess
import sys


def test_experiments_load_the_build_without_wide_vectors() -> None:
    code = (
        "import sys, inertial_estimation.experiments, proxsuite\n"
        "assert 'proxsuite.proxsuite_pywrap' in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
