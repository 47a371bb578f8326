"""Synthetic truth: what a robot of known inertia did and what ideal sensors on it would read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.closed_stance import ClosedStance
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.inverse_dynamics import IdealReadings, IdealSensors, MotionState
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sine_motion import SineMotion, random_sines
from inertial_estimation.signals import NANOSECONDS, Array, LinkInertia
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


AT_REST = 1e-6  # [rad/s]


@dataclass(frozen=True)
class Timing:
    """When things happen.

    Attributes:
        duration_s: Length [s].
        rate_hz: Samples per second.
        rest_s: Rest at the start [s].
        fade_s: Time in which the motion fades in [s].
        start_ns: Stamp of the first sample [ns].
    """

    duration_s: float = 12.0
    rate_hz: float = 250.0
    rest_s: float = 1.0
    fade_s: float = 1.0
    start_ns: int = 1_700_000_000_000_000_000

    def __post_init__(self) -> None:
        if self.duration_s * self.rate_hz < 2.0:
            raise ConfigurationError(f"{self.duration_s} s at {self.rate_hz} Hz is less than two samples")


@dataclass(frozen=True)
class Payload:
    """A weight attached rigidly to a link at a given time.

    Attributes:
        inertia: Mass, centre of mass and inertia about it, in the link frame.
        time_s: When it is attached [s].
    """

    inertia: LinkInertia
    time_s: float


@dataclass(frozen=True)
class StanceMotion:
    """How a standing robot moves.

    Attributes:
        posture: Joint positions at rest by name [rad]; the others are zero.
        reach: Largest distance from it by joint name [rad]; joints not named stay still.
        base_reach: Of the base: x, y, z [m], roll, pitch, yaw [rad].
    """

    posture: Mapping[str, float] = field(default_factory=dict)
    reach: Mapping[str, float] = field(default_factory=dict)
    base_reach: tuple[float, ...] = (0.01, 0.03, 0.015, 0.03, 0.03, 0.05)


@dataclass(frozen=True, eq=False)
class Truth:
    """A motion with its ideal readings; n samples.

    Attributes:
        robot: The model without payload.
        base_frame: Link whose pose is the ground truth.
        imu: The IMU; None for none.
        contacts: Names of the contacts.
        times_s: Time since the start [s], shape (n,).
        stamps_ns: Stamps [ns], shape (n,).
        states: Configurations, velocities and accelerations.
        readings: Ideal readings.
        payload: What is attached, None for nothing.
        points: Frames of those contacts that transmit no torque.
    """

    robot: RobotModel
    base_frame: str
    imu: ImuMount | None
    contacts: tuple[str, ...]
    times_s: Array
    stamps_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    states: tuple[MotionState, ...]
    readings: tuple[IdealReadings, ...]
    payload: Payload | None = None
    points: tuple[str, ...] = ()


def arm_truth(
    robot: RobotModel,
    timing: Timing,
    rng: np.random.Generator,
    *,
    payload: Payload | None = None,
) -> Truth:
    """Move a fixed-base arm through an exciting motion within its limits.

    Args:
        robot: Model with a fixed base.
        timing: When things happen.
        rng: Source of the motion.
        payload: Attached at its time.

    Returns:
        The truth.

    Raises:
        ConfigurationError: If the base floats.
    """
    if robot.floating_base:
        raise ConfigurationError("an arm motion needs a fixed base (floating_base: false)")
    motion = joint_limits_motion(robot, rng, rest_s=timing.rest_s, fade_s=timing.fade_s)

    def state(t: float) -> MotionState:
        q, v, a = motion.at(t)
        return MotionState(robot.configuration(q), v, a)

    return _truth(robot, timing, state, imu=None, contacts={}, payload=payload)


def followed_truth(
    robot: RobotModel,
    trajectory: JointTrajectory,
    timing: Timing,
    *,
    payload: Payload | None = None,
) -> Truth:
    """Let a fixed-base arm follow a trajectory exactly, with a rest before and after.

    Between its points cubics with the given positions and velocities; joints it does not name rest in
    the middle of their ranges.

    Args:
        robot: Model with a fixed base.
        trajectory: What it follows; at rest at both ends.
        timing: Rate, rest and start; the trajectory decides how long.
        payload: Attached at its time.

    Returns:
        The truth.

    Raises:
        ConfigurationError: If the base floats, or the trajectory does not rest at its ends.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    if robot.floating_base:
        raise ConfigurationError("a trajectory is followed by a fixed base alone (floating_base: false)")
    if max(float(np.abs(trajectory.v[end]).max()) for end in (0, -1)) > AT_REST:
        raise ConfigurationError("the trajectory is expected to rest at its beginning and its end")
    limits = joint_limits(robot)
    joints = [robot.joint_index(name) for name in trajectory.joint_names]
    middle, still = 0.5 * (limits.lower + limits.upper), np.zeros(robot.n_joints)
    first_s, last_s = float(trajectory.times_s[0]), float(trajectory.times_s[-1])
    spline = CubicHermiteSpline(trajectory.times_s, trajectory.q, trajectory.v)
    pieces = (spline, spline.derivative(1), spline.derivative(2))

    def state(t: float) -> MotionState:
        at = first_s + t - timing.rest_s
        values = [middle.copy(), still.copy(), still.copy()]
        for value, piece in zip(values, pieces, strict=True):
            value[joints] = piece(min(max(at, first_s), last_s))
        if not first_s <= at <= last_s:
            values[1:] = [still, still]
        return MotionState(robot.configuration(values[0]), values[1], values[2])

    whole = replace(timing, duration_s=2.0 * timing.rest_s + trajectory.duration_s)
    return _truth(robot, whole, state, imu=None, contacts={}, payload=payload)


def stance_truth(
    robot: RobotModel,
    timing: Timing,
    rng: np.random.Generator,
    *,
    contacts: Mapping[str, str],
    imu: ImuMount | None = None,
    motion: StanceMotion | None = None,
    payload: Payload | None = None,
) -> Truth:
    """Move base and arms of a standing robot, its feet exactly fixed to the ground.

    Args:
        robot: Model with a floating base.
        timing: When things happen.
        rng: Source of the motion.
        contacts: Frame of each contact by the contact's name.
        imu: The IMU; None for none.
        motion: How it moves.
        payload: Attached at its time.

    Returns:
        The truth.

    Raises:
        ~inertial_estimation.errors.ModelError: If a name does not exist or the feet cannot reach.
    """
    motion = StanceMotion() if motion is None else motion
    stance = ClosedStance(robot, list(contacts.values()), motion.posture)
    reach = np.zeros(robot.n_joints)
    for name, distance in motion.reach.items():
        reach[robot.joint_index(name)] = distance
    base = random_sines(
        np.zeros(6), np.array(motion.base_reach), rng, rest_s=timing.rest_s, fade_s=timing.fade_s
    )
    joints = random_sines(stance.posture, reach, rng, rest_s=timing.rest_s, fade_s=timing.fade_s)

    def state(t: float) -> MotionState:
        pose, twist = base_motion(base, t)
        return stance.close(pose, twist, joints.at(t))

    return _truth(
        robot,
        timing,
        state,
        imu=imu,
        contacts=contacts,
        points=stance.point_frames,
        payload=payload,
    )


def _truth(
    robot: RobotModel,
    timing: Timing,
    state: Callable[[float], MotionState],
    *,
    imu: ImuMount | None,
    contacts: Mapping[str, str],
    points: Sequence[str] = (),
    payload: Payload | None,
) -> Truth:
    frames = list(contacts.values())

    def sensors(load: Sequence[LinkInertia]) -> IdealSensors:
        return IdealSensors(robot, imu=imu, contact_frames=frames, point_contacts=points, payloads=load)

    bare = sensors(())
    loaded = bare if payload is None else sensors((payload.inertia,))
    times = np.arange(round(timing.duration_s * timing.rate_hz)) / timing.rate_hz
    states = tuple(state(t) for t in times.tolist())
    readings = tuple(
        (loaded if payload is not None and t >= payload.time_s else bare).read(moment)
        for t, moment in zip(times.tolist(), states, strict=True)
    )
    return Truth(
        robot=robot,
        base_frame=robot.base_link,
        imu=imu,
        contacts=tuple(contacts),
        times_s=times,
        stamps_ns=timing.start_ns + np.round(times * NANOSECONDS).astype(np.int64),
        states=states,
        readings=readings,
        payload=payload,
        points=tuple(points),
    )
