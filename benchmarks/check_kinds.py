"""All kinds of error that are injected to judge `check`."""

from benchmarks.check_errors import Prepare, kinds_of_streams
from benchmarks.check_geometry_errors import kinds_of_geometry
from benchmarks.check_sensor_errors import kinds_of_sensors


def kinds() -> dict[str, Prepare]:
    """Return all kinds of error by name."""
    return {**kinds_of_streams(), **kinds_of_sensors(), **kinds_of_geometry()}
