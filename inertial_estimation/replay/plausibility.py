"""Which results of a replay cannot be true, whatever the checks of the data say."""

from collections.abc import Mapping
from typing import Any

MASS_FACTOR = 2.0  # a load of the robot's own weight is not carried; half of the mass is not taken off
TORQUE_ERROR = 1.0  # relative; a prediction of zero torque has this error


def implausible_metrics(metrics: Mapping[str, Any], nominal_mass: float) -> dict[str, str]:
    """Return why metrics are implausible, by their names.

    Args:
        metrics: Metrics of a replay.
        nominal_mass: Sum of the masses of the description [kg].
    """
    found = {}
    mass = metrics.get("total_mass_kg")
    if mass is not None and not nominal_mass / MASS_FACTOR < mass < nominal_mass * MASS_FACTOR:
        found["total_mass_kg"] = f"{mass:.4g} kg, the description has {nominal_mass:.4g} kg"
    error = metrics.get("torque_error_relative")
    if error is not None and not error < TORQUE_ERROR:
        found["torque_error_relative"] = f"{100 * error:.4g} %, no prediction at all has 100 %"
    return found
