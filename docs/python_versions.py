"""Asks the package index what the extras resolve to on every Python: ``python docs/python_versions.py``.

It writes the table in install.md; with ``--check`` it only says whether each Python that is claimed in
setup.py can have every extra. It needs the resolver uv (``pip install uv``), which evaluates the conditions
of each dependency for the asked Python; only wheels count, as on a machine without a compiler.
"""

import argparse
import contextlib
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "install.md"
MARK, END = "<!-- versions: written by docs/python_versions.py -->\n", "\n## Into a ROS 2 workspace"
PYTHONS = tuple(f"3.{minor}" for minor in range(10, 15))
WHEELS = (  # empy is a dependency of ROS: there is no wheel, and nothing to compile
    *("--only-binary", ":all:", "--no-binary", "empy"),
    *("--python-platform", "x86_64-manylinux_2_28"),
)
SHOWN = ("ros-jazzy-rclpy", "pin", "mujoco", "numpy")
FROM = {"view": "3.11"}  # extras that are not claimed for older ones: Rerun has no wheels there


def requirements() -> dict[str, list[str]]:
    """Read what setup.py asks for: by extra, and without one under the empty name."""
    given: dict[str, Any] = {}
    with patch("setuptools.setup", given.update), contextlib.chdir(ROOT):
        runpy.run_path("setup.py")
    return {"": given["install_requires"], **given["extras_require"]}


def resolved(wanted: list[str], python: str) -> tuple[dict[str, str], str]:
    """Return versions by package on one Python, or why there are none."""
    command = ["uv", "pip", "compile", "-", "--quiet", "--no-progress", "--no-header", "--no-annotate"]
    command += [*WHEELS, "--python-version", python]
    ended = subprocess.run(command, input="\n".join(wanted), capture_output=True, text=True, check=False)
    if ended.returncode:
        return {}, " ".join(ended.stderr.split())
    lines = [line.split("==") for line in ended.stdout.splitlines() if "==" in line]
    return {name.strip(): version.strip() for name, version in lines}, ""


def main() -> int:
    """Resolve every extra on every Python; the exit code is 1 if one that is claimed cannot be had."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="leave install.md as it is")
    args = parser.parse_args()
    asked = requirements()
    extras = [name for name in asked if name]
    rows, lacking = [], []
    for python in PYTHONS:
        cells, versions = [], {}
        for extra in extras:
            found, why = resolved([*asked[""], *asked[extra]], python)
            versions.update(found)
            cells.append("no" if why else "yes")
            if why and python >= FROM.get(extra, PYTHONS[0]):
                lacking.append(f"Python {python}, extra {extra}: {why}")
        rows.append([python, *cells, *(versions.get(name, "") for name in SHOWN)])
        print(" ".join(rows[-1]), flush=True)
    print("\n".join(lacking), file=sys.stderr)
    if not args.check:
        head = ["Python", *(f"`{name}`" for name in extras), *SHOWN]
        table = "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARK)
        PAGE.write_text(f"{before}{MARK}\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
