"""Memory of one estimator of the base state, which its parts share with compiled functions."""

from inertial_estimation.compilation import Table, inlined, zeros
from inertial_estimation.signals import Array

# Rows of the memory. The step: readings and what has become of them. The checks as a whole. Then the parts of
# an estimator, laid out as their modules say: mean readings, scale of the accelerometer, noise, rotation of
# the feet, contact velocity, the observer's numbers that all have and its own, agreement,
# window of rest, gyroscope bias, track of the base and variances of its orientation.
# Then a number for every contact: its weight, a weight of zero, whether it is a sole; the low-passed
# velocities of the joints. Last blocks of a row for each contact: triggers, centre of pressure, memory for
# its motion by differences of positions, anchor, and memory for its position in the base.
STEP, CHECKS, READINGS, SCALE, NOISE, FEET, CONTACTS, OBSERVER, OWN, AGREEMENT = range(10)
REST, BIAS, BASE, VARIANCES, WEIGHTS, UNWEIGHTED, SOLES, SMOOTHED, SINGLE_ROWS = range(10, 19)
TRIGGERS, CENTRES, MOVED, ANCHORS, POINTS, BLOCKS = range(6)
WIDTH = 60  # numbers of a row, unless there are more joints

# Numbers of the step: specific force, by the scale of the accelerometer, and its mean over the step [m/s^2],
# rate at the end of the step, bias included, and mean over it, the bias removed [rad/s]; the contact velocity
# [m/s]; what is not sound about the estimate (`estimate_numbers.DEFECTS`).
FORCE, MEAN_FORCE, RATE, MEAN_RATE, VELOCITY, DEFECT = 0, 3, 6, 9, 12, 15
# Numbers of the checks: whether readings are checked at all, and time for which contacts have contradicted
# the observer's velocity [s].
ENABLED, VELOCITY_WRONG_FOR = range(2)


def estimator_memory(n_contacts: int, n_velocities: int) -> Array:
    """Return memory for the parts of one estimator, all zero.

    Args:
        n_contacts: Number of contacts.
        n_velocities: Number of velocities of base and joints.
    """
    return zeros(SINGLE_ROWS + BLOCKS * n_contacts, max(WIDTH, n_contacts, n_velocities))


@inlined
def block_of(memory: Table, block: int) -> Table:
    """Return a row of the memory for each contact.

    Args:
        memory: Of the estimator.
        block: Which rows.
    """
    n = (len(memory) - SINGLE_ROWS) // BLOCKS
    return memory[SINGLE_ROWS + block * n : SINGLE_ROWS + (block + 1) * n]
