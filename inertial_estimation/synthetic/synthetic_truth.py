"""Synthetic truth: motions of a robot of known inertia, and the readings of ideal sensors on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import JointTrajectory, SineMotion, random_sines
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.truth_file import InertiaStep
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.simulation.disturbances import Attachment, Push
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw
from inertial_estimation.synthetic.ideal_robots import (
    ClosedStance,
    IdealReadings,
    IdealSensors,
    MotionState,
)

POSITION_SHARE, SPEED_SHARE = 0.6, 0.5  # of each joint's range and of its speed limit, used by an arm
AT_REST = 1e-6  # largest speed of a joint at rest [rad/s]


@dataclass(frozen=True)
class Timing:
    """Timing of a synthetic motion."""

    duration_s: float = 12.0  # duration [s]
    rate_hz: float = 250.0  # samples per second
    rest_s: float = 1.0  # rest at the start [s]
    fade_s: float = 1.0  # time in which the motion fades in [s]
    start_ns: int = 1_700_000_000_000_000_000  # stamp of the first sample [ns]

    def __post_init__(self) -> None:
        if self.duration_s * self.rate_hz < 2.0:
            raise ConfigurationError(f"{self.duration_s} s at {self.rate_hz} Hz is less than two samples")


@dataclass(frozen=True)
class StanceMotion:
    """Posture and ranges of the motion of a standing robot."""

    # joint positions at rest by name [rad]; the others are zero
    posture: Mapping[str, float] = field(default_factory=dict)
    # largest distance from the posture by joint name [rad]; joints that are not named do not move
    reach: Mapping[str, float] = field(default_factory=dict)
    # largest motion of the base: x, y, z [m], roll, pitch, yaw [rad]
    base_reach: tuple[float, ...] = (0.01, 0.03, 0.015, 0.03, 0.03, 0.05)


@dataclass(frozen=True, eq=False)
class Truth:
    """A motion with its ideal readings; n samples."""

    robot: RobotModel  # the model without payload
    imu: ImuMount | None  # the IMU; None for none
    contacts: Mapping[str, str]  # frame of each contact by the contact's name
    times_s: Array  # time since the start [s], shape (n,)
    stamps_ns: NDArray[np.int64]  # stamps [ns], shape (n,)
    states: tuple[MotionState, ...]  # configurations, velocities and accelerations
    readings: tuple[IdealReadings, ...] = ()  # ideal readings
    payload: Attachment | None = None  # body that is attached from a time on; None for none
    points: tuple[str, ...] = ()  # frames of those contacts that transmit no torque

    def disturbed(self, disturbances: Sequence[Attachment | Push]) -> "Truth":
        """Return the same motion with further loads and pushes, which change the forces but not the motion.

        Args:
            disturbances: Loads and pushes; their times count from the first sample [s].

        Raises:
            ConfigurationError: If a push is in axes of its link.
        """
        loads = [d for d in (self.payload, *disturbances) if isinstance(d, Attachment)]
        pushes = [d for d in disturbances if isinstance(d, Push)]
        if any(push.frame != "world" for push in pushes):
            raise ConfigurationError("a push in axes of its link is not supported here, expected 'world'")

        @cache
        def sensors(*present: bool) -> IdealSensors:
            bodies = [load.body for load, here in zip(loads, present, strict=True) if here]
            feet = list(self.contacts.values())
            return IdealSensors(
                self.robot, imu=self.imu, contact_frames=feet, point_contacts=self.points, payloads=bodies
            )

        return replace(
            self,
            readings=tuple(
                sensors(*(load.mass(t) is not None for load in loads)).read(
                    state, [push for push in pushes if push.start <= t < push.start + push.duration]
                )
                for t, state in zip(self.times_s.tolist(), self.states, strict=True)
            ),
        )

    def inertias(self) -> list[InertiaStep]:
        """Return the inertia of the body of every moving link at the start, and from its loading on.

        A body is a link with all that is fixed to it, so a load changes all links of its body.
        """
        robot, payload, steps = self.robot, self.payload, []
        for link in robot.link_names:
            body = robot.link_body(link)
            if body.joint_id == 0:
                continue  # fixed to the world
            empty = InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse())
            steps.append(InertiaStep(0.0, empty.of_link(link)))
            if payload is not None and robot.link_body(payload.link).joint_id == body.joint_id:
                moved = payload.inertia.expressed_in(robot.fixed_transform(link, payload.link))
                loaded = InertialParameters.from_vector(empty.vector + moved.vector)
                steps.append(InertiaStep(payload.start, loaded.of_link(link)))
        return steps


def arm_truth(
    robot: RobotModel, timing: Timing, rng: np.random.Generator, payload: Attachment | None = None
) -> Truth:
    """Move a fixed-base arm through an exciting motion about the middle of its limits, within them."""
    limits = joint_limits(robot)
    centre = 0.5 * (limits.lower + limits.upper)
    reach = 0.5 * POSITION_SHARE * (limits.upper - limits.lower)
    motion = random_sines(centre, reach, rng, rest_s=timing.rest_s, fade_s=timing.fade_s)
    # The fade-in adds at most (15/8)/fade of the reach to the speed.
    fastest = (motion.amplitudes * (2.0 * np.pi * motion.frequencies + 1.875 / timing.fade_s)).sum(1)
    scale = np.minimum(1.0, SPEED_SHARE * limits.velocity / np.maximum(fastest, 1e-12))
    motion = replace(motion, amplitudes=motion.amplitudes * scale[:, None])

    def state(t: float) -> MotionState:
        q, v, a = motion.at(t)
        return MotionState(robot.configuration(q), v, a)

    return _moved(robot, timing, state, payload=payload)


def followed_truth(
    robot: RobotModel, trajectory: JointTrajectory, timing: Timing, payload: Attachment | None = None
) -> Truth:
    """Let a fixed-base arm follow a trajectory exactly, with a rest before and after.

    Between its points the motion is a cubic with the given positions and velocities; joints that it does not
    name rest in the middle of their ranges. Its duration overrides that of `timing`.

    Raises:
        ConfigurationError: If the base floats, or the trajectory does not rest at its ends.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    if robot.floating_base:
        raise ConfigurationError("a trajectory is followed by a fixed base alone (floating_base: false)")
    if np.abs(trajectory.v[[0, -1]]).max() > AT_REST:
        raise ConfigurationError("the trajectory is expected to rest at its beginning and its end")
    limits = joint_limits(robot)
    joints = [robot.joint_index(name) for name in trajectory.joint_names]
    middle, still = 0.5 * (limits.lower + limits.upper), np.zeros(robot.n_joints)
    first_s, last_s = float(trajectory.times_s[0]), float(trajectory.times_s[-1])
    spline = CubicHermiteSpline(trajectory.times_s, trajectory.q, trajectory.v)

    def state(t: float) -> MotionState:
        at = first_s + t - timing.rest_s
        q, v, a = middle.copy(), still.copy(), still.copy()
        q[joints] = spline(min(max(at, first_s), last_s))
        if first_s <= at <= last_s:
            v[joints], a[joints] = spline(at, 1), spline(at, 2)
        return MotionState(robot.configuration(q), v, a)

    whole = replace(timing, duration_s=2.0 * timing.rest_s + trajectory.duration_s)
    return _moved(robot, whole, state, payload=payload)


def stance_truth(
    robot: RobotModel,
    timing: Timing,
    rng: np.random.Generator,
    *,
    contacts: Mapping[str, str],
    imu: ImuMount | None = None,
    motion: StanceMotion,
    payload: Attachment | None = None,
) -> Truth:
    """Move base and arms of a standing robot, its feet exactly fixed to the ground.

    Args:
        robot: Model with a floating base.
        timing: Duration, sample rate, rest and fade-in.
        rng: Random generator of the motion.
        contacts: Frame of each contact by the contact's name.
        imu: The IMU; None for none.
        motion: Posture and ranges of the motion.
        payload: Body that is attached at its start time; None for none.

    Returns:
        The truth.

    Raises:
        ~inertial_estimation.errors.ModelError: If a name does not exist or the feet cannot reach.
    """
    stance = ClosedStance(robot, list(contacts.values()), motion.posture)
    reach = np.zeros(robot.n_joints)
    for name, distance in motion.reach.items():
        reach[robot.joint_index(name)] = distance
    fading = partial(random_sines, rng=rng, rest_s=timing.rest_s, fade_s=timing.fade_s)
    base, joints = fading(np.zeros(6), np.array(motion.base_reach)), fading(stance.posture, reach)

    def state(t: float) -> MotionState:
        return stance.close(*_base_motion(base, t), joints.at(t))

    points = tuple(stance.point_frames)
    return _moved(robot, timing, state, imu=imu, contacts=contacts, points=points, payload=payload)


def _base_motion(motion: SineMotion, t: float) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Turn six coordinates (position, then roll, pitch, yaw) at a time [s] into pose and twist of the base.

    R_WB = Rz(yaw) Ry(pitch) Rx(roll); w_B = E(roll, pitch) (roll', pitch', yaw'). Returns the pose (position
    in the world, quaternion x y z w), and the twist (linear and angular velocity in the base frame, shape
    (6,), and the derivative of its components, as in Pinocchio's acceleration).
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
    v1_B = R.T @ x2[:3] - np.cross(w, v_B)
    return (x[:3], quaternion_from_rotation(R)), (np.concatenate([v_B, w]), np.concatenate([v1_B, w1]))


def _moved(
    robot: RobotModel,
    timing: Timing,
    state: Callable[[float], MotionState],
    *,
    imu: ImuMount | None = None,
    contacts: Mapping[str, str] | None = None,
    points: tuple[str, ...] = (),
    payload: Attachment | None = None,
) -> Truth:
    times = np.arange(round(timing.duration_s * timing.rate_hz)) / timing.rate_hz
    stamps = timing.start_ns + np.round(times * NANOSECONDS).astype(np.int64)
    states = tuple(state(t) for t in times.tolist())
    return Truth(robot, imu, contacts or {}, times, stamps, states, (), payload, points).disturbed([])
