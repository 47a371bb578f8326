"""Looks up the dependencies of package.xml in rosdep's public list: ``python docs/rosdep_keys.py ROSDISTRO``.

ROSDISTRO is a checkout of github.com/ros/rosdistro. A dependency is resolved by a key of rosdep, or by a
package that is released in every current distribution. The exit code is 1 if one is neither.
"""

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTIONS = ("humble", "jazzy", "kilted", "rolling")


def dependencies() -> list[str]:
    """Return the dependencies of every kind, each once."""
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    return sorted({element.text or "" for element in root if element.tag.endswith("depend")})


def released(rosdistro: Path, distribution: str) -> set[str]:
    """Return the packages that a distribution has, those of its repositories included."""
    content = yaml.safe_load((rosdistro / distribution / "distribution.yaml").read_text(encoding="utf-8"))
    packages = set()
    for name, repository in content["repositories"].items():
        if "release" in repository:
            packages |= set(repository["release"].get("packages", [name]))
    return packages


def main() -> int:
    """Print where each dependency comes from."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rosdistro", type=Path)
    rosdistro = parser.parse_args().rosdistro
    keys: set[str] = set()
    for name in ("base", "python"):
        keys |= set(yaml.safe_load((rosdistro / "rosdep" / f"{name}.yaml").read_text(encoding="utf-8")))
    packages = {distribution: released(rosdistro, distribution) for distribution in DISTRIBUTIONS}
    missing = 0
    for name in dependencies():
        lacking = [distribution for distribution in DISTRIBUTIONS if name not in packages[distribution]]
        missing += name not in keys and bool(lacking)
        where = "key" if name in keys else f"not in {', '.join(lacking)}" if lacking else "released"
        print(f"{name:<24}{where}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
