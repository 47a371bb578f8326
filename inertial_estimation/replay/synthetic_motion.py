"""Smooth exciting motions in closed form: sums of sinusoids that fade in from rest."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import quaternion_from_rotation

__all__ = ["SineMotion", "base_motion", "joint_limits_motion", "random_sines"]


@dataclass(frozen=True, eq=False)
class SineMotion:
    """x(t) = centre + s(t) sum_k amplitude_k sin(2 pi f_k t + phase_k), with s(t) from 0 to 1.

    The fade-in s is the quintic with zero velocity and acceleration at both ends, so the motion starts
    from exact rest at the centre.

    Attributes:
        centre: Position at rest, shape (n,).
        amplitudes: Shape (n, k).
        frequencies: [Hz], shape (n, k).
        phases: [rad], shape (n, k).
        rest_s: How long it rests at first [s].
        fade_s: How long it takes to fade in [s].
    """

    centre: Array
    amplitudes: Array
    frequencies: Array
    phases: Array
    rest_s: float
    fade_s: float

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at a time [s], each of shape (n,)."""
        s, s1, s2 = _fade((t - self.rest_s) / self.fade_s)
        s1, s2 = s1 / self.fade_s, s2 / self.fade_s**2
        omega = 2.0 * np.pi * self.frequencies
        angle = omega * t + self.phases
        sine, cosine = self.amplitudes * np.sin(angle), self.amplitudes * np.cos(angle)
        y, y1, y2 = sine.sum(1), (omega * cosine).sum(1), -(omega**2 * sine).sum(1)
        return self.centre + s * y, s1 * y + s * y1, s2 * y + 2.0 * s1 * y1 + s * y2


def random_sines(
    centre: Array,
    reach: Array,
    rng: np.random.Generator,
    *,
    band_hz: tuple[float, float] = (0.15, 0.9),
    terms: int = 3,
    rest_s: float = 1.0,
    fade_s: float = 1.0,
) -> SineMotion:
    """Draw a motion that stays within a reach of its centre.

    Args:
        centre: Position at rest, shape (n,).
        reach: Largest distance from the centre; zero keeps a coordinate still, shape (n,).
        rng: Source of frequencies and phases.
        band_hz: Lowest and highest frequency [Hz].
        terms: Sinusoids per coordinate.
        rest_s: Rest before the motion [s].
        fade_s: Time to fade in [s].

    Returns:
        The motion.

    Raises:
        ConfigurationError: If the fade-in is not positive or the rest is negative.
    """
    if fade_s <= 0.0 or rest_s < 0.0:
        raise ConfigurationError(f"rest {rest_s} s and fade-in {fade_s} s, expected >= 0 and > 0")
    n = len(centre)
    frequencies = rng.uniform(*band_hz, size=(n, terms))
    weights = rng.uniform(0.5, 1.0, size=(n, terms)) / frequencies  # about equal speeds
    amplitudes = np.asarray(reach)[:, None] * weights / weights.sum(1, keepdims=True)
    phases = rng.uniform(0.0, 2.0 * np.pi, size=(n, terms))
    return SineMotion(np.asarray(centre, dtype=np.float64), amplitudes, frequencies, phases, rest_s, fade_s)


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
    lower, upper, speed = (_limits(robot, which) for which in ("lower", "upper", "speed"))
    centre = 0.5 * (lower + upper)
    motion = random_sines(centre, 0.5 * fraction * (upper - lower), rng, rest_s=rest_s, fade_s=fade_s)
    omega = 2.0 * np.pi * motion.frequencies
    # The fade-in adds at most (15/8)/fade of the reach to the speed.
    fastest = (motion.amplitudes * (omega + 1.875 / fade_s)).sum(1)
    scale = np.minimum(1.0, speed_fraction * speed / np.maximum(fastest, 1e-12))
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


def _limits(robot: RobotModel, which: str) -> Array:
    model, n_base = robot.model, robot.n_base
    if which == "speed":
        speed = np.array(model.velocityLimit[n_base:], dtype=np.float64)
        return np.where((speed > 0.0) & (speed < 1e3), speed, 2.0)
    limits = []
    for name in robot.joint_names:
        joint = model.getJointId(name)
        low, high = (
            model.lowerPositionLimit[model.idx_qs[joint]],
            model.upperPositionLimit[model.idx_qs[joint]],
        )
        bounded = model.nqs[joint] == 1 and low < high and high - low < 50.0
        limits.append((low if which == "lower" else high) if bounded else (-1.5 if which == "lower" else 1.5))
    return np.array(limits, dtype=np.float64)


def _fade(u: float) -> tuple[float, float, float]:
    if u <= 0.0:
        return 0.0, 0.0, 0.0
    if u >= 1.0:
        return 1.0, 0.0, 0.0
    return (
        u**3 * (10.0 - 15.0 * u + 6.0 * u * u),
        30.0 * u * u * (1.0 - u) ** 2,
        60.0 * u * (1.0 - u) * (1.0 - 2.0 * u),
    )


def _rpy(roll: float, pitch: float, yaw: float) -> Array:
    cr, sr, cp, sp, cy, sy = (f(angle) for angle in (roll, pitch, yaw) for f in (np.cos, np.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
