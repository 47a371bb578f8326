"""Simulated motion of a robot moved by hand with both feet flat, by inverse kinematics."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ModelError
from inertial_estimation.models.closed_stance import ClosedStance
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation

SEQUENCES = 8
WAVES = 3  # sinusoids of each coordinate of the base
PERIODS_S = (8.0, 30.0)


@dataclass(frozen=True, eq=False)
class FlatFeetData:
    """Frames at a uniform step.

    Attributes:
        q: True joint positions in the model's order, shape (K, n_joints).
        R_WB: True orientations of the base, shape (K, 3, 3).
        stamps_s: Times [s], shape (K,).
    """

    q: Array
    R_WB: Array
    stamps_s: Array


def flat_feet_data(
    robot: RobotModel, frames: tuple[str, str], rng: Generator, *, duration_s: float, step_s: float
) -> FlatFeetData:
    """Move TALOS slowly over its feet: eight sequences, each with its own stance, height and torso motion.

    Args:
        robot: TALOS.
        frames: Frames of the two soles.
        rng: Source of stances and motions.
        duration_s: Length of all sequences together.
        step_s: Time between frames.

    Returns:
        The frames.
    """
    count = round(duration_s / step_s / SEQUENCES)
    q: list[Array] = []
    R: list[Array] = []
    k = 0
    while len(q) < count * SEQUENCES:
        stance = ClosedStance(robot, frames, _posture(robot, rng))
        reach = np.array([0.08, 0.1, 0.1, 0.2, 0.25, 0.3])  # position [m], rotation vector [rad]
        base, torso = _waves(rng, reach), _waves(rng, np.array([0.4, 0.3]))
        found = _sequence(stance, base, torso, np.arange(count, dtype=np.float64) * step_s)
        if found is None:  # out of reach somewhere: another one
            k += 1
            if k > 20 * SEQUENCES:
                raise ModelError("no stances were found in which the feet stay flat")
            continue
        q += found[0]
        R += found[1]
    return FlatFeetData(np.array(q), np.array(R), np.arange(len(q), dtype=np.float64) * step_s)


def _sequence(
    stance: ClosedStance, base: Callable[[float], Array], torso: Callable[[float], Array], times: Array
) -> tuple[list[Array], list[Array]] | None:
    """Frames of one stance; None where the feet cannot stay."""
    q: list[Array] = []
    R: list[Array] = []
    robot = stance.robot
    columns = [robot.joint_index(name) for name in ("torso_1_joint", "torso_2_joint")]
    zero = np.zeros(robot.n_joints)
    for t in times:
        pose = base(t)
        R_WB = exp_so3(pose[3:])
        joints = stance.posture.copy()
        joints[columns] = torso(t)
        twist = (np.zeros(6), np.zeros(6))
        try:
            motion = stance.close((pose[:3], quaternion_from_rotation(R_WB)), twist, (joints, zero, zero))
        except ModelError:
            return None
        row = robot.joint_positions(motion.q)
        if np.abs(row).max() > 2.6:
            return None
        q.append(row)
        R.append(R_WB)
    return q, R


def _posture(robot: RobotModel, rng: Generator) -> dict[str, float]:
    """Both soles flat at one height: one foot ahead of the other, apart, turned out.

    Pitches of a leg sum to zero and so do rolls. Hip and ankle of the legs lean by as much to the front as to
    the back, so both feet are as far below.
    """
    thigh, shin = (
        float(
            np.linalg.norm(
                robot.model.jointPlacements[robot.model.getJointId(f"leg_left_{i}_joint")].translation
            )
        )
        for i in (4, 5)
    )
    knee, roll, lean = rng.uniform(0.4, 1.2), rng.uniform(0.0, 0.15), rng.uniform(-0.2, 0.2)
    upright = float(np.arctan2(shin * np.sin(knee), thigh + shin * np.cos(knee)))
    posture: dict[str, float] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        yaw, hip = rng.uniform(-0.1, 0.3), sign * lean - upright
        angles = (sign * yaw, sign * roll, hip, knee, -hip - knee, -sign * roll)
        posture.update({f"leg_{side}_{i}_joint": angle for i, angle in enumerate(angles, start=1)})
    return posture


def _waves(rng: Generator, reach: Array) -> Callable[[float], Array]:
    amplitude = rng.uniform(0.2, 1.0, (WAVES, len(reach)))
    amplitude *= reach / amplitude.sum(axis=0)
    rate = 2.0 * np.pi / rng.uniform(*PERIODS_S, amplitude.shape)
    phase = rng.uniform(0.0, 2.0 * np.pi, amplitude.shape)
    return lambda t: np.asarray((amplitude * np.sin(rate * t + phase)).sum(axis=0))
