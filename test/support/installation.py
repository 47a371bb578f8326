"""Installs the package as colcon does: setup.py install with the settings of setup.cfg."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def install_package(folder: Path) -> Path:
    """Build and install below a folder; returns the prefix."""
    build = ["build", "--build-base", str(folder / "build")]
    install = ["install", "--prefix", str(folder / "prefix"), "--single-version-externally-managed"]
    record = ["--record", str(folder / "record.txt")]
    egg = ["egg_info", "--egg-base", str(folder)]
    command = [sys.executable, "-W", "ignore", "setup.py", "--quiet", *egg, *build, *install, *record]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "prefix"
