"""Lookup of parameter files by the name of a robot."""

import sysconfig
from collections.abc import Sequence
from pathlib import Path

from inertial_estimation.configuration.config_file import ConfigFile, load_config_file
from inertial_estimation.errors import ConfigurationError, did_you_mean

PACKAGE = "inertial_estimation"


def config_folders() -> list[Path]:
    """Folders that hold the robots' parameter files: in the sources, and where they are installed."""
    package = Path(__file__).resolve().parents[1]
    prefixes = [Path(sysconfig.get_path("data")), *package.parents]
    folders = [package.parent / "config", *(prefix / "share" / PACKAGE / "config" for prefix in prefixes)]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def find_config(name: str) -> Path:
    """Return the parameter file of a path or of a robot's name.

    Args:
        name: Path of a YAML file, or the bare name of one that comes with the package (``icub``).

    Returns:
        The file.

    Raises:
        ConfigurationError: If there is none; lists the names that exist.
    """
    path = Path(name)
    if path.is_file():
        return path
    known: dict[str, Path] = {}
    for folder in reversed(config_folders()):
        known.update({file.stem: file for file in folder.glob("*.yaml")})
    if name in known:
        return known[name]
    raise ConfigurationError(
        f"no parameter file '{name}': neither a file nor the name of a robot"
        f"{did_you_mean(name, sorted(known), 'there are the robots')}"
    )


def load_configs(names: Sequence[str]) -> ConfigFile:
    """Read a robot's parameter file and those that override it (offsets, friction), in this order.

    Args:
        names: Paths or robots' names, at least one; relative paths in them are relative to the first.

    Returns:
        All values; those of a later file override those of an earlier one.

    Raises:
        ConfigurationError: If a file does not exist or is no parameter file.
    """
    first, *later = (load_config_file(find_config(name)) for name in names)
    for file in later:
        first = first.overlaid(file)
    return first
