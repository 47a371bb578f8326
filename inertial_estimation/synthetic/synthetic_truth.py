"""Synthetic truth: what a robot of known inertia did and what ideal sensors on it would read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.inverse_dynamics import (
    ClosedStance,
    IdealReadings,
    IdealSensors,
    MotionState,
    PointForce,
)
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import JointTrajectory, SineMotion, random_sines
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.truth_file import InertiaStep
from inertial_estimation.signals import NANOSECONDS, Array, LinkInertia
from inertial_estimation.simulation.disturbances import Attachment, Push
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw

POSITION_SHARE, SPEED_SHARE = 0.6, 0.5  # of each joint's range and of its speed limit, used by an arm
AT_REST = 1e-6  # [rad/s]


def joint_limits_motion(
    robot: RobotModel, rng: np.random.Generator, *, rest_s: float, fade_s: float
) -> SineMotion:
    """Draw an exciting motion of all joints about the middle of their limits, within them by construction.

    Args:
        robot: Model of a fixed-base arm (or of any robot whose joints all move freely).
        rng: Source of frequencies and phases.
        rest_s: Rest before the motion [s].
        fade_s: Time to fade in [s].
    """
    limits = joint_limits(robot)
    centre = 0.5 * (limits.lower + limits.upper)
    reach = 0.5 * POSITION_SHARE * (limits.upper - limits.lower)
    motion = random_sines(centre, reach, rng, rest_s=rest_s, fade_s=fade_s)
    omega = 2.0 * np.pi * motion.frequencies
    # The fade-in adds at most (15/8)/fade of the reach to the speed.
    fastest = (motion.amplitudes * (omega + 1.875 / fade_s)).sum(1)
    scale = np.minimum(1.0, SPEED_SHARE * limits.velocity / np.maximum(fastest, 1e-12))
    return replace(motion, amplitudes=motion.amplitudes * scale[:, None])


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
    R = rotation_from_roll_pitch_yaw(roll, pitch, yaw)
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
        imu: The IMU; None for none.
        contacts: Frame of each contact by the contact's name.
        times_s: Time since the start [s], shape (n,).
        stamps_ns: Stamps [ns], shape (n,).
        states: Configurations, velocities and accelerations.
        readings: Ideal readings.
        payload: What is attached from a time on, None for nothing.
        points: Frames of those contacts that transmit no torque.
    """

    robot: RobotModel
    imu: ImuMount | None
    contacts: Mapping[str, str]
    times_s: Array
    stamps_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    states: tuple[MotionState, ...]
    readings: tuple[IdealReadings, ...]
    payload: Attachment | None = None
    points: tuple[str, ...] = ()

    @property
    def base_frame(self) -> str:
        """Link whose pose is the ground truth."""
        return self.robot.base_link

    def disturbed(self, disturbances: Sequence[Attachment | Push]) -> "Truth":
        """Return it with loads and pushes, whose effect joints and contacts carry without giving way.

        Args:
            disturbances: Loads and pushes; their times count from the first sample [s].

        Raises:
            ConfigurationError: If it has a payload already, or a push is in axes of its link.
        """
        if self.payload is not None:
            raise ConfigurationError("a truth with a payload cannot be disturbed, expected one without")
        loads = [d for d in disturbances if isinstance(d, Attachment)]
        pushes = [d for d in disturbances if isinstance(d, Push)]
        if any(push.frame != "world" for push in pushes):
            raise ConfigurationError("a push in axes of its link is not supported here, expected 'world'")
        return replace(self, readings=self._read(loads, pushes))

    def _read(self, loads: Sequence[Attachment], pushes: Sequence[Push] = ()) -> tuple[IdealReadings, ...]:
        sensors: dict[tuple[bool, ...], IdealSensors] = {}
        readings = []
        for t, state in zip(self.times_s.tolist(), self.states, strict=True):
            present = tuple(load.present(t) for load in loads)
            if present not in sensors:
                sensors[present] = IdealSensors(
                    self.robot,
                    imu=self.imu,
                    contact_frames=list(self.contacts.values()),
                    point_contacts=self.points,
                    payloads=[load.body for load, here in zip(loads, present, strict=True) if here],
                )
            forces = [
                PointForce(push.link, np.asarray(push.force), np.asarray(push.point_L))
                for push in pushes
                if push.start <= t < push.start + push.duration
            ]
            readings.append(sensors[present].read(state, forces))
        return tuple(readings)

    def inertias(self) -> list[InertiaStep]:
        """Return the inertia of the body of every moving link, from the start and from when it is loaded.

        A body is a link with all that is fixed to it, so a load changes all links of its body.
        """
        robot, steps = self.robot, []
        for link in robot.link_names:
            body = robot.link_body(link)
            if body.joint_id == 0:
                continue  # fixed to the world
            empty = InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse())
            steps.append(InertiaStep(0.0, _link_inertia(link, empty)))
            payload = self.payload
            if payload is not None and robot.link_body(payload.link).joint_id == body.joint_id:
                load = payload.body
                added = InertialParameters(load.mass, load.com_L, load.inertia_Lcm)
                moved = added.expressed_in(robot.fixed_transform(link, load.link))
                loaded = InertialParameters.from_vector(empty.vector + moved.vector)
                steps.append(InertiaStep(payload.start, _link_inertia(link, loaded)))
        return steps


def _link_inertia(link: str, value: InertialParameters) -> LinkInertia:
    return LinkInertia(link, value.mass, value.com_F, value.inertia_Fcm)


def arm_truth(
    robot: RobotModel,
    timing: Timing,
    rng: np.random.Generator,
    *,
    payload: Attachment | None = None,
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
    payload: Attachment | None = None,
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
    payload: Attachment | None = None,
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
    payload: Attachment | None,
) -> Truth:
    times = np.arange(round(timing.duration_s * timing.rate_hz)) / timing.rate_hz
    stamps = timing.start_ns + np.round(times * NANOSECONDS).astype(np.int64)
    states = tuple(state(t) for t in times.tolist())
    truth = Truth(robot, imu, contacts, times, stamps, states, (), payload, tuple(points))
    return replace(truth, readings=truth._read([] if payload is None else [payload]))
