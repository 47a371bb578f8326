"""The vertical against the soles and their forces: an IMU that is turned on its mount.

Gravity in a robot at rest shows twice: the ground's forces balance the weight, so that their sum is vertical,
and the accelerometer feels it. The normal of a flat sole decides where the two differ. With a push, or an
error of a force sensor, on level ground the estimated vertical is normal to the soles and the forces are not;
on a slope, or a platform that rocks, forces and estimated vertical are inclined together; where an IMU is
turned, the forces are normal to the soles and the estimated vertical is not. A sum of forces that leans far
off the vertical is neither weight nor push: a joint position, a force or the vertical is wrong.
"""

import math

from inertial_estimation.compilation import Column, MutableColumn, Table, cells, inlined, zeros
from inertial_estimation.estimators.tilt.contact_weighing import in_contact_frame
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Matrix,
    Vector,
    add,
    combine,
    cross,
    dot,
    matrix_of,
    norm,
    store,
    times,
    vector_of,
)

MEMORY = 0.15  # time constant of the means [s]
SHORTEST = 0.15  # time with soles on the ground before they tell anything [s]
INCLINED = math.radians(1.5)  # mean angle between the vertical and the soles' normal that is an error,
SHARE = 0.3  # where the mean angle between forces and normal is less than this share of it
LEANING = math.sin(math.radians(20.0))  # mean turn of the forces against the vertical that is an error
FLAT = math.cos(math.radians(30.0))  # an axis of a contact frame nearer to the vertical is its normal

# Numbers of the state: mean turns of the vertical and of the force from the normal of the sole, time with
# soles on the ground [s], whether the forces are normal to the soles and the vertical is not, and whether the
# forces lean further against the vertical than a push makes them.
VERTICAL, FORCE, SEEN, INCLINED_NOW, LEANING_NOW, SIZE = 0, 3, *range(6, 10)


class FloorCheck:
    """Mean angles of the vertical and of the ground's force from the normal of the sole that is nearest.

    Attributes:
        row: Numbers of the state, for `compare_with_soles`.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin without a reading.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self.reset()

    def reset(self) -> None:
        """Begin without a reading."""
        for k in range(SIZE):
            self._cells[k] = 0.0

    @property
    def inclined(self) -> bool:
        """Whether the forces are normal to the soles and the vertical is not."""
        return bool(self._cells[INCLINED_NOW])

    @property
    def leaning(self) -> bool:
        """Whether the forces lean further against the vertical than a push makes them."""
        return bool(self._cells[LEANING_NOW])

    @property
    def angle(self) -> float:
        """Mean angle between vertical and normal [rad]."""
        return norm(vector_of(self._cells, VERTICAL))


@inlined
def compare_with_soles(
    h: float,
    x2: Vector,
    motions: Table,
    wrench_frames: Table,
    wrenches: Table,
    weights: Column,
    soles: Column,
    state: MutableColumn,
) -> None:
    """Process one step, after the observer's; without a sole there is nothing to compare with.

    Args:
        h: Its duration [s].
        x2: The vertical in the IMU frame.
        motions: Rows of `KinematicState.motions` at its end.
        wrench_frames: Those of the kinematic state.
        wrenches: A row for each contact, in its wrench frame [N, Nm].
        weights: Weights of the contacts.
        soles: 1 for a contact that cannot turn while loaded, 0 for the others.
        state: Numbers of `FloorCheck`; updated.
    """
    normal, force = _normal_and_force(x2, motions, wrench_frames, wrenches, weights, soles)
    _average(h, x2, normal, force, state)
    vertical, pushed = vector_of(state, VERTICAL), vector_of(state, FORCE)
    known, angle = state[SEEN] > SHORTEST, norm(vertical)
    inclined = known and angle > INCLINED and norm(pushed) < SHARE * angle
    leaning = known and norm(combine(pushed, -1.0, vertical)) > LEANING
    state[INCLINED_NOW], state[LEANING_NOW] = 1.0 if inclined else 0.0, 1.0 if leaning else 0.0


@inlined
def _normal_and_force(
    x2: Vector, motions: Table, wrench_frames: Table, wrenches: Table, weights: Column, soles: Column
) -> tuple[Vector, Vector]:
    """Return the normal of the sole that is nearest to the vertical, zero if none is near, and the force."""
    normal, nearest, force = ZERO, FLAT, ZERO
    for i in range(len(motions)):
        R_IC = matrix_of(motions[i], 0)
        force_C, _torque_C = in_contact_frame(wrench_frames[i], wrenches[i])
        force = add(force, times(R_IC, force_C))
        if soles[i] > 0.0 and weights[i] > 0.0:
            normal, nearest = _nearest(R_IC, x2, normal, nearest)
    return normal, force


@inlined
def _average(h: float, x2: Vector, normal: Vector, force: Vector, state: MutableColumn) -> None:
    """Update time with soles on the ground and the mean turns of vertical and force from the normal.

    The turn of a direction a from the normal n is n x a, its length the sine of the angle.
    """
    size = norm(force)
    if normal == ZERO or size <= 0.0:
        state[SEEN] = 0.0
        store(state, VERTICAL, ZERO)
        store(state, FORCE, ZERO)
        return
    state[SEEN] += h
    share = h / (h + min(state[SEEN], MEMORY))
    vertical, pushed = vector_of(state, VERTICAL), vector_of(state, FORCE)
    store(state, VERTICAL, combine(vertical, share, combine(cross(normal, x2), -1.0, vertical)))
    pushed = combine(pushed, -share, pushed)
    store(state, FORCE, combine(pushed, share / size, cross(normal, force)))


@inlined
def _nearest(R_IC: Matrix, x2: Vector, normal: Vector, nearest: float) -> tuple[Vector, float]:
    """Return the axis of a contact frame, or its opposite, if it is nearer to the vertical than another."""
    for k in range(3):
        axis = (R_IC[0][k], R_IC[1][k], R_IC[2][k])
        cosine = dot(axis, x2)
        if abs(cosine) > nearest:
            nearest = abs(cosine)
            sign = 1.0 if cosine > 0.0 else -1.0
            normal = (sign * axis[0], sign * axis[1], sign * axis[2])
    return normal, nearest
