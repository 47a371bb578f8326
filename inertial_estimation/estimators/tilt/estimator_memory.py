"""Memory of one estimator of the base state, which its parts share with compiled functions."""

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    zeros,
)
from inertial_estimation.signals import Array

__all__ = [
    "AGREEMENT",
    "BASE",
    "BIAS",
    "CHECKS",
    "CONTACTS",
    "CONTRADICTED",
    "DEFECT",
    "ENABLED",
    "FEET",
    "FLOOR",
    "FORCE",
    "GUARD",
    "HOLD",
    "MEAN_FORCE",
    "MEAN_RATE",
    "NOISE",
    "OBSERVER",
    "OUTLIERS",
    "OWN",
    "RATE",
    "READINGS",
    "REST",
    "SCALE",
    "STEP",
    "USED_FORCE",
    "VARIANCES",
    "VELOCITY",
    "WIDTH",
    "ContactTables",
    "estimator_memory",
]

# Rows of the memory. The step: readings and what has become of them. The checks as a whole. Then the parts of
# an estimator, laid out as their modules say: mean readings, scale of the accelerometer, noise, rotation of
# the feet, contact velocity, velocity guard, the observer's numbers that all have and its own, agreement,
# hold, floor, outliers, window of rest, gyroscope bias, track of the base and variances of its orientation.
STEP, CHECKS, READINGS, SCALE, NOISE, FEET, CONTACTS, GUARD, OBSERVER, OWN, AGREEMENT, HOLD = range(12)
FLOOR, OUTLIERS, REST, BIAS, BASE, VARIANCES, ROWS = range(12, 19)
WIDTH = 60  # numbers of a row

# Numbers of the step: specific force, by the scale of the accelerometer, and its mean over the step [m/s^2],
# rate at the end of the step, bias included, and mean over it, the bias removed [rad/s]; the force with which
# the observer makes the step [m/s^2] and the contact velocity [m/s]; what is not sound about the estimate
# (`estimate_numbers.DEFECTS`).
FORCE, MEAN_FORCE, RATE, MEAN_RATE, USED_FORCE, VELOCITY, DEFECT = 0, 3, 6, 9, 12, 15, 18
# Numbers of the checks: whether readings are checked at all, and time for which forces have contradicted the
# tilt [s].
ENABLED, CONTRADICTED = range(2)

# Of every contact: triggers, centre of pressure, weight, and a weight of zero; whether it is a sole, and
# memory for its motion by differences of positions; anchor and memory for its position in the base. Then the
# low-passed velocities of the joints.
ContactTables = tuple[
    MutableTable,
    MutableTable,
    MutableColumn,
    Column,
    Column,
    MutableTable,
    MutableTable,
    MutableTable,
    MutableColumn,
]


def estimator_memory() -> Array:
    """Return memory for the parts of one estimator, a row of zeros for each."""
    return zeros(ROWS, WIDTH)
