"""Topic remappings from the command line, as ROS writes them: from:=to."""

from collections.abc import Iterable

from inertial_estimation.errors import ConfigurationError


def parse_remappings(texts: Iterable[str]) -> dict[str, str]:
    """Read remappings; both names are taken in the root namespace.

    Args:
        texts: Remappings ``from:=to``.

    Returns:
        New absolute topic name by old one.

    Raises:
        ConfigurationError: If a text is no remapping.
    """
    remappings: dict[str, str] = {}
    for text in texts:
        old, sign, new = text.partition(":=")
        if not (sign and old.strip("/") and new.strip("/")):
            raise ConfigurationError(f"'{text}' is no remapping, expected from:=to")
        remappings["/" + old.lstrip("/")] = "/" + new.lstrip("/")
    return remappings
