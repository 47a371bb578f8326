"""Kinematic states made by hand, of contacts and an IMU fixed to the base, and what the feet say of them."""

import numpy as np

from inertial_estimation.compilation import numbers, zeros
from inertial_estimation.estimators.tilt.foot_rotation import FootRotation, check_rate
from inertial_estimation.models.contact_motions import KinematicState, RelativeContact
from inertial_estimation.spatial.vectors import IDENTITY, ZERO

STANDING = RelativeContact(IDENTITY, (0.0, 0.0, -0.8), ZERO, ZERO, IDENTITY, ZERO)


def kinematic_state(contacts):
    """State of contacts given one by one."""
    motions = [[*np.ravel(c.R_IC), *c.r_I, *c.v_I, *c.w_I] for c in contacts]
    frames = [[*np.ravel(c.R_CF), *c.p_CF] for c in contacts]
    imu = np.concatenate((np.eye(3).ravel(), np.zeros(9)))
    return KinematicState(*(numbers(np.array(values, dtype=float)) for values in (motions, imu, frames)))


class ComparedFeet(FootRotation):
    """The comparison of a gyroscope with the feet, which remembers the last state as an estimator does."""

    def __init__(self, soles):
        super().__init__()
        self._soles, self._moved = numbers(np.array(soles, dtype=float)), zeros(len(soles), 18)
        self._before = kinematic_state([STANDING] * len(soles)).motions

    def check(self, h, w, state, weights):
        """Angular velocity to use in a step, and the angle that a gyroscope found wrong has missed."""
        now = self._before if state is None else state.motions
        motions, self._before = (now, self._before), now
        known = state is not None
        rate = check_rate(h, w, known, motions, weights, self._soles, self._moved, self.row)
        return tuple(map(float, rate)), self.missed
