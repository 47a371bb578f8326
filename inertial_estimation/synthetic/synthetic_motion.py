"""Motions of synthetic recordings: of a base, and of all joints of an arm."""

import numpy as np

from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import SineMotion, random_sines
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import quaternion_from_rotation


def joint_limits_motion(
    robot: RobotModel,
    rng: np.random.Generator,
    *,
    fraction: float = 0.6,
    speed_fraction: float = 0.5,
    rest_s: float = 1.0,
    fade_s: float = 1.0,
) -> SineMotion:
    """Draw an exciting motion of all joints about the middle of their limits.

    Args:
        robot: Model of a fixed-base arm (or of any robot whose joints all move freely).
        rng: Source of frequencies and phases.
        fraction: Share of each position range that is used.
        speed_fraction: Share of each speed limit that is used.
        rest_s: Rest before the motion [s].
        fade_s: Time to fade in [s].

    Returns:
        The motion, within the limits by construction.
    """
    limits = joint_limits(robot)
    centre = 0.5 * (limits.lower + limits.upper)
    reach = 0.5 * fraction * (limits.upper - limits.lower)
    motion = random_sines(centre, reach, rng, rest_s=rest_s, fade_s=fade_s)
    omega = 2.0 * np.pi * motion.frequencies
    # The fade-in adds at most (15/8)/fade of the reach to the speed.
    fastest = (motion.amplitudes * (omega + 1.875 / fade_s)).sum(1)
    scale = np.minimum(1.0, speed_fraction * limits.velocity / np.maximum(fastest, 1e-12))
    amplitudes = motion.amplitudes * scale[:, None]
    return SineMotion(centre, amplitudes, motion.frequencies, motion.phases, rest_s, fade_s)


def base_motion(motion: SineMotion, t: float) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Turn six coordinates (position, then roll, pitch, yaw) into pose and twist of the base.

    R_WB = Rz(yaw) Ry(pitch) Rx(roll); w_B = E(roll, pitch) (roll', pitch', yaw').

    Args:
        motion: Motion of the six coordinates [m, rad].
        t: Time [s].

    Returns:
        Pose (position in the world, quaternion x y z w), and twist (linear and angular velocity in the
        base frame, shape (6,), and the derivative of its components).
    """
    x, x1, x2 = motion.at(t)
    roll, pitch, yaw = x[3:]
    R = _rpy(roll, pitch, yaw)
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    r1, p1 = x1[3], x1[4]
    E = np.array([[1.0, 0.0, -sp], [0.0, cr, sr * cp], [0.0, -sr, cr * cp]])
    E1 = np.array(
        [
            [0.0, 0.0, -cp * p1],
            [0.0, -sr * r1, cr * cp * r1 - sr * sp * p1],
            [0.0, -cr * r1, -sr * cp * r1 - cr * sp * p1],
        ]
    )
    w, w1 = E @ x1[3:], E @ x2[3:] + E1 @ x1[3:]
    v_B = R.T @ x1[:3]
    v1_B = R.T @ x2[:3] - np.cross(w, v_B)  # of the components, as Pinocchio's acceleration wants them
    return (x[:3], quaternion_from_rotation(R)), (np.concatenate([v_B, w]), np.concatenate([v1_B, w1]))


def _rpy(roll: float, pitch: float, yaw: float) -> Array:
    cr, sr, cp, sp, cy, sy = (f(angle) for angle in (roll, pitch, yaw) for f in (np.cos, np.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
