"""Kinematic states made by hand, of contacts and an IMU fixed to the base."""

import numpy as np

from inertial_estimation.compilation import numbers
from inertial_estimation.models.contact_motions import KinematicState, RelativeContact
from inertial_estimation.spatial.vectors import IDENTITY, ZERO

STANDING = RelativeContact(IDENTITY, (0.0, 0.0, -0.8), ZERO, ZERO, IDENTITY, ZERO)


def kinematic_state(contacts):
    """State of contacts given one by one."""
    motions = [[*np.ravel(c.R_IC), *c.r_I, *c.v_I, *c.w_I] for c in contacts]
    frames = [[*np.ravel(c.R_CF), *c.p_CF] for c in contacts]
    imu = np.concatenate((np.eye(3).ravel(), np.zeros(9)))
    return KinematicState(*(numbers(np.array(values, dtype=float)) for values in (motions, imu, frames)))
