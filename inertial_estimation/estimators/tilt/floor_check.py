"""The vertical against the soles and their forces: an IMU that is turned on its mount.

Gravity in a robot at rest shows twice: the ground's forces balance the weight, so that their sum is vertical,
and the accelerometer feels it. The normal of a flat sole decides where the two differ. With a push, or an
error of a force sensor, on level ground the estimated vertical is normal to the soles and the forces are not;
on a slope, or a platform that rocks, forces and estimated vertical are inclined together; where an IMU is
turned, the forces are normal to the soles and the estimated vertical is not. A sum of forces that leans far
off the vertical is neither weight nor push: a joint position, a force or the vertical is wrong.
"""

import math

import numpy as np

from inertial_estimation.compilation import Column, Table, compiled, inlined, numbers, warm_up
from inertial_estimation.estimators.tilt.contact_velocity import in_contact_frame
from inertial_estimation.models.contact_motions import KinematicState
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
    times,
)

__all__ = ["FloorCheck"]

MEMORY = 0.15  # time constant of the means [s]
SHORTEST = 0.15  # time with soles on the ground before they tell anything [s]
INCLINED = math.radians(1.5)  # mean angle between the vertical and the soles' normal that is an error,
SHARE = 0.3  # where the mean angle between forces and normal is less than this share of it
LEANING = math.sin(math.radians(20.0))  # mean turn of the forces against the vertical that is an error
FLAT = math.cos(math.radians(30.0))  # an axis of a contact frame nearer to the vertical is its normal


class FloorCheck:
    """Mean angles of the vertical and of the ground's force from the normal of the sole that is nearest.

    Attributes:
        inclined: Whether the forces are normal to the soles and the vertical is not.
        leaning: Whether the forces lean further against the vertical than a push makes them.
        angle: Mean angle between vertical and normal [rad].
    """

    def __init__(self, soles: tuple[bool, ...]) -> None:
        """Begin without a reading.

        Args:
            soles: Whether each contact is a sole that cannot turn while loaded.
        """
        self._soles = numbers(np.array(soles, dtype=float))
        self._any = any(soles)
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Begin without a reading."""
        self._means: tuple[Vector, Vector] = (ZERO, ZERO)
        self._seen = 0.0  # time with soles on the ground [s]
        self.angle = 0.0
        self.inclined = self.leaning = False

    def update(
        self, h: float, x2: Vector, state: KinematicState, wrenches: Array | None, weights: Array
    ) -> None:
        """Process one step, after the observer's.

        Args:
            h: Its duration [s].
            x2: The vertical in the IMU frame.
            state: Kinematics at its end.
            wrenches: A row for each contact, in its wrench frame [N, Nm]; None before the first ones.
            weights: Weights of the contacts.
        """
        if not self._any or wrenches is None:
            return
        self._seen, vertical, force = _means(
            h, x2, state.motions, state.wrench_frames, wrenches, weights, self._soles, self._seen, self._means
        )
        self._means = vertical, force
        self.angle = norm(vertical)
        known = self._seen > SHORTEST
        self.inclined = known and self.angle > INCLINED and norm(force) < SHARE * self.angle
        self.leaning = known and norm(combine(force, -1.0, vertical)) > LEANING


@compiled
def _means(
    h: float,
    x2: Vector,
    motions: Table,
    wrench_frames: Table,
    wrenches: Table,
    weights: Column,
    soles: Column,
    seen: float,
    means: tuple[Vector, Vector],
) -> tuple[float, Vector, Vector]:
    """Return time with soles on the ground and the mean turns of vertical and force from the normal.

    The turn of a direction a from the normal n is n x a, its length the sine of the angle.
    """
    normal, nearest, force = ZERO, FLAT, ZERO
    for i in range(len(weights)):
        R_IC = matrix_of(motions[i], 0)
        force_C, _torque_C = in_contact_frame(wrench_frames[i], wrenches[i])
        force = add(force, times(R_IC, force_C))
        if soles[i] > 0.0 and weights[i] > 0.0:
            normal, nearest = _nearest(R_IC, x2, normal, nearest)
    size = norm(force)
    if nearest <= FLAT or size <= 0.0:
        return 0.0, ZERO, ZERO
    seen += h
    share = h / (h + min(seen, MEMORY))
    vertical = combine(means[0], share, combine(cross(normal, x2), -1.0, means[0]))
    scale = share / size
    pushed = combine(means[1], -share, means[1])
    return seen, vertical, combine(pushed, scale, cross(normal, force))


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
