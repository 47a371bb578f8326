"""The usual size of a quantity that is small on sound data, from which the limit of its check follows.

On a robot that stands or walks with firm feet the least limit holds. In a trot feet slip and strike at every
step, and the same quantity is several times larger without any fault. What exceeds the limit counts with the
size of the limit only, so that a fault raises its own limit slowly, and never beyond the largest one.
"""

import math

from inertial_estimation.compilation import MutableColumn, inlined

MEMORY = 3.0  # time constant of the mean square [s]; several steps of a gait
LIMIT, SQUARE, SIZE = range(3)  # numbers of the state: the present limit, the mean square of sound data
Bounds = tuple[float, float, float]  # least limit, times the root mean square, largest limit


@inlined
def forget_size(bounds: Bounds, state: MutableColumn, first: int) -> None:
    """Begin with the least limit.

    Args:
        bounds: Of the limit.
        state: Numbers.
        first: Index of those of this quantity.
    """
    state[first + LIMIT], state[first + SQUARE] = bounds[0], 0.0


@inlined
def learn_size(h: float, size: float, bounds: Bounds, state: MutableColumn, first: int) -> None:
    """Process the size of one step of sound data: a multiple of the root mean square is the new limit.

    Args:
        h: Duration of the step [s].
        size: Not negative.
        bounds: Of the limit.
        state: Numbers.
        first: Index of those of this quantity.
    """
    size = min(size, state[first + LIMIT])
    state[first + SQUARE] += h / (h + MEMORY) * (size * size - state[first + SQUARE])
    usual = bounds[1] * math.sqrt(state[first + SQUARE])
    state[first + LIMIT] = min(max(bounds[0], usual), bounds[2])
