"""Parameter files found by a robot's bare name."""

import sysconfig
from pathlib import Path

from inertial_estimation.errors import ConfigurationError, listing

__all__ = ["config_folders", "find_config"]

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
        f"no parameter file '{name}': neither a file nor one of the robots {listing(sorted(known))}"
    )
