"""Tasks of the whole-body controller: wanted accelerations, each as weighted rows of least squares.

A task asks a motion, with velocity J v and acceleration J a + J'v, for

    J a + J'v = c_ref + k e + d (v_ref - J v)

with references c_ref of the acceleration and v_ref of the velocity, an error e, a stiffness k [1/s^2] and a
damping d [1/s]. The controller minimises the sum of w |A a - b|^2 over all tasks.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.models.whole_body_dynamics import DynamicsState, FrameMotion, MotionRows
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import log_so3, rotation_from_roll_pitch_yaw

FOOT_STIFFNESS = 300.0  # of a foot in the air, which has to land in time; at rest it is only damped [1/s^2]
# Weights relative to that of the posture: contacts, feet and base have priority.
BASE_WEIGHT, FOOT_WEIGHT, REST_WEIGHT = 20.0, 100.0, 1000.0


class Task(NamedTuple):
    """Rows w |A a - b|^2 on the acceleration a of base and joints."""

    A: Array  # shape (m, nv)
    b: Array  # wanted acceleration less the drift J'v, shape (m,)
    weight: Array | float  # weight of each row, shape (m,), or of all rows


class Reference(NamedTuple):
    """Reference of some coordinates, and their error."""

    error: Array | float
    rate: Array | float = 0.0  # v_ref
    acceleration: Array | float = 0.0  # c_ref


class FootReference(NamedTuple):
    """Wanted pose and motion of a foot, world axes, position relative to the base origin."""

    R_WF: Array  # orientation, shape (3, 3)
    p_BF_W: Array  # position [m], shape (3,)
    velocity: Array  # linear, in the world [m/s], shape (3,)
    acceleration: Array  # linear, in the world [m/s^2], shape (3,)


def following(
    motion: FrameMotion, rows: slice, reference: Reference, stiffness: float, weight: float
) -> Task:
    """Return the task that some rows of a motion follow a reference, critically damped."""
    J, rate = motion.jacobian[rows], motion.velocity[rows]
    pull = stiffness * reference.error + 2.0 * math.sqrt(stiffness) * (reference.rate - rate)
    return Task(J, reference.acceleration + pull - motion.drift[rows], weight)


def com_task(state: DynamicsState, acceleration: Array) -> Task:
    """Return the task of the horizontal acceleration of the centre of mass [m/s^2], shape (2,)."""
    return Task(state.com_motion.jacobian[:2], acceleration - state.com_motion.drift[:2], BASE_WEIGHT)


def height_task(state: DynamicsState, reference: Reference, stiffness: float) -> Task:
    """Return the task of the height of the base above the support, which is at rest."""
    return following(state.base, slice(2, 3), reference, stiffness, BASE_WEIGHT)


def orientation_task(
    state: DynamicsState, angles: Sequence[float], rate: Array, acceleration: Array, stiffness: float
) -> Task:
    """Return the task that turns the base to R_ref = Rz(yaw) Ry(pitch) Rx(roll).

    Args:
        state: Dynamics now.
        angles: Wanted roll, pitch and yaw [rad].
        rate: Rates of roll and pitch [rad/s], shape (2,).
        acceleration: Their derivatives [rad/s^2], shape (2,).
        stiffness: Stiffness k of the task [1/s^2].
    """
    R, yaw = rotation_from_roll_pitch_yaw(*angles), angles[2]
    axes = np.array([R[:, 0], (-math.sin(yaw), math.cos(yaw), 0.0)])  # of roll and pitch
    reference = Reference(log_so3(R @ state.base.R_WF.T), rate @ axes, acceleration @ axes)
    return following(state.base, slice(3, 6), reference, stiffness, BASE_WEIGHT)


def rest_task(motion: MotionRows) -> Task:
    """Return the task that brings a contact to rest: J a + J'v = -d J v.

    As the task has a large weight and is no equality, the program has a solution in every state: a falling
    robot gets the torques whose accelerations come nearest to the wanted ones.
    """
    wanted = -2.0 * math.sqrt(FOOT_STIFFNESS) * motion.velocity - motion.drift
    return Task(motion.jacobian, wanted, REST_WEIGHT)


def foot_task(foot: FrameMotion, wanted: FootReference, *, turn: bool) -> Task:
    """Return the task that moves a foot through the air.

    Args:
        foot: The foot now.
        wanted: Wanted pose and motion of the foot.
        turn: Whether the orientation of the foot is controlled, too; that of a point foot is not.
    """
    error = wanted.p_BF_W - foot.p_BF_W
    if not turn:
        reference = Reference(error, wanted.velocity, wanted.acceleration)
        return following(foot, slice(0, 3), reference, FOOT_STIFFNESS, FOOT_WEIGHT)
    still = np.zeros(3)
    reference = Reference(
        np.concatenate((error, log_so3(wanted.R_WF @ foot.R_WF.T))),
        np.concatenate((wanted.velocity, still)),
        np.concatenate((wanted.acceleration, still)),
    )
    return following(foot, slice(None), reference, FOOT_STIFFNESS, FOOT_WEIGHT)
