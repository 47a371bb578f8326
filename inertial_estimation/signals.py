"""The values that flow between layers: frozen, copied in, read-only, SI units, stamps in integer ns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertial_estimation.errors import MeasurementError
from inertial_estimation.located_cause import LocatedCause

Array = NDArray[np.float64]
ValueT = TypeVar("ValueT")
NANOSECONDS = 1_000_000_000  # in one second


@overload
def seconds(duration_ns: float) -> float: ...
@overload
def seconds(duration_ns: NDArray[np.int64]) -> Array: ...
def seconds(duration_ns: Any) -> Any:
    """Convert a duration, or an array of durations, from nanoseconds to seconds."""
    return duration_ns * 1e-9


def sigma_across(P: Array, x: Array) -> float:
    """Return the standard deviation of a direction x [rad], (tr P - x'P x)^(1/2), P of small rotations."""
    return math.sqrt(max(float(P.trace() - x @ P @ x), 0.0))


def frozen_array(name: str, values: ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    """Return values as a read-only array of floats: a copy, unless they are one already.

    Args:
        name: Name of the quantity, for the error message.
        values: Anything numpy can convert. A read-only array of floats, aligned in memory, is not copied.
        shape: Expected shape; None accepts any.

    Raises:
        MeasurementError: If the shape differs from the expected one.
    """
    if type(values) is np.ndarray and values.dtype.char == "d" and values.flags.num & 0x501 == 0x101:
        array: Array = values  # contiguous and aligned, as compiled functions need it, and not writeable
    else:
        array = np.array(values, dtype=float)
        array.setflags(write=False)
    if shape is not None and array.shape != shape:
        raise MeasurementError(f"{name} has shape {array.shape}, expected {shape}")
    return array


def unchecked(kind: type[ValueT]) -> Callable[..., ValueT]:
    """Return a constructor that takes its arguments as they are, without copies and checks.

    It is for values at the rates of sensors, of arrays that are read-only, aligned floats of the right
    shapes: numbers of a message, or of an estimator.

    Args:
        kind: A frozen dataclass with slots, whose bases have none.

    Returns:
        Function of the fields in the order of their declaration.
    """
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    mutable = make_dataclass(
        kind.__name__, names, slots=True, eq=False
    )  # assigning to a frozen one takes longer

    def construct(*values: Any) -> ValueT:
        value: Any = mutable(*values)
        value.__class__ = kind
        return value  # type: ignore[no-any-return]

    return construct


@dataclass(frozen=True, slots=True, eq=False)
class ImuSample:
    """One reading of an inertial measurement unit.

    The accelerometer senses specific force f_I = R_WI^T (a_WI - g_W): one g upwards at rest.

    Attributes:
        stamp_ns: Time of measurement [ns].
        specific_force_I: Specific force in the IMU frame [m/s^2], shape (3,).
        angular_rate_I: Angular velocity of the IMU in the IMU frame [rad/s], shape (3,).
    """

    stamp_ns: int
    specific_force_I: Array
    angular_rate_I: Array

    def __post_init__(self) -> None:
        for name in ("specific_force_I", "angular_rate_I"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), (3,)))


@dataclass(frozen=True, slots=True, eq=False)
class JointReading:
    """Joint state as a robot sends it: by name, in any order, fields possibly empty.

    Attributes:
        stamp_ns: Time of measurement [ns].
        names: Joint names.
        position: Positions [rad or m], shape (n,).
        velocity: Velocities [rad/s or m/s], shape (n,), or None where not sent.
        effort: Torques or forces [Nm or N], shape (n,), or None where not sent.
    """

    stamp_ns: int
    names: tuple[str, ...]
    position: Array
    velocity: Array | None = None
    effort: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        for name in ("position", "velocity", "effort"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, frozen_array(f"joint {name}", values, (len(self.names),)))


@dataclass(frozen=True, slots=True, eq=False)
class JointSample:
    """Joint state in the model's joint order.

    Attributes:
        stamp_ns: Time of measurement [ns].
        q: Positions [rad or m], shape (n_joints,).
        v: Velocities [rad/s or m/s], shape (n_joints,).
        tau: Measured torques or forces [Nm or N], shape (n_joints,), or None where not measured.
    """

    stamp_ns: int
    q: Array
    v: Array
    tau: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", frozen_array("joint position", self.q))
        object.__setattr__(self, "v", frozen_array("joint velocity", self.v, self.q.shape))
        if self.tau is not None:
            object.__setattr__(self, "tau", frozen_array("joint effort", self.tau, self.q.shape))


@dataclass(frozen=True, slots=True, eq=False)
class WrenchSample:
    """Wrench the environment applies to the robot at a contact; a normal force that pushes is positive.

    Attributes:
        stamp_ns: Time of measurement [ns].
        wrench_F: Force then torque about the origin of the contact's wrench frame (parameter
            `wrench_frames`; by default the contact frame itself), in its axes [N, Nm], shape (6,).
    """

    stamp_ns: int
    wrench_F: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "wrench_F", frozen_array("wrench_F", self.wrench_F, (6,)))


@dataclass(frozen=True, slots=True, eq=False)
class OrientationSample:
    """Orientation from elsewhere (planner, odometry, motion capture), used for yaw or as reference.

    Attributes:
        stamp_ns: Time of measurement [ns].
        quaternion_xyzw: Orientation of the base in the world, shape (4,), x y z w.
    """

    stamp_ns: int
    quaternion_xyzw: Array

    def __post_init__(self) -> None:
        quaternion_xyzw = frozen_array("quaternion_xyzw", self.quaternion_xyzw, (4,))
        object.__setattr__(self, "quaternion_xyzw", quaternion_xyzw)


@dataclass(frozen=True, slots=True, eq=False)
class PoseSample(OrientationSample):
    """An orientation with the position of the same message.

    Attributes:
        p_WB: Position of the base in the world [m], shape (3,).
    """

    p_WB: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        OrientationSample.__post_init__(self)
        object.__setattr__(self, "p_WB", frozen_array("p_WB", self.p_WB, (3,)))


@dataclass(frozen=True, slots=True)
class ContactSample:
    """One number of a contact sensor.

    Attributes:
        stamp_ns: Time of measurement [ns]; 0: not set.
        value: Vertical force of the ground [N], an integer without a unit that grows with it, or the
            probability of the contact (0 or 1 of a switch), as `contact.source` says.
    """

    stamp_ns: int
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class BaseState:
    """Pose and twist of the base, as an odometry message carries them.

    Attributes:
        stamp_ns: Time of validity [ns].
        quaternion_xyzw: Orientation of the base in the world, shape (4,), x y z w.
        p_WB: Position of the base in the world [m], shape (3,).
        v_WB_B: Velocity of the base origin, in the base frame [m/s], shape (3,).
        w_WB_B: Angular velocity of the base, in the base frame [rad/s], shape (3,).
    """

    stamp_ns: int
    quaternion_xyzw: Array
    p_WB: Array
    v_WB_B: Array
    w_WB_B: Array

    def __post_init__(self) -> None:
        for name, length in (("quaternion_xyzw", 4), ("p_WB", 3), ("v_WB_B", 3), ("w_WB_B", 3)):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), (length,)))


@dataclass(frozen=True, slots=True)
class ContactLoad:
    """Contact point, ground reaction force and weight of one contact, in the base frame.

    Attributes:
        name: Name of the contact.
        point_B: The point of the contact that is taken to be at rest, base frame [m].
        force_B: Force of the ground on the robot, base frame [N].
        weight: Share of the contact in the weight; 0: not in use.
    """

    name: str
    point_B: tuple[float, float, float]
    force_B: tuple[float, float, float]
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class BaseEstimate:
    """The estimate of the tilt observer after one step.

    Attributes:
        state: Base state; stamp of the last measurement used.
        tilt_B: The vertical in the base frame, R_WB^T e_z, unit norm, shape (3,).
        gyro_bias_I: Gyroscope bias in the IMU frame [rad/s], shape (3,).
        contacts: Names of the contacts that carry the robot.
        innovation_I: Innovation of the last contact measurement: measured minus expected velocity of the IMU,
            weighted mean of the contacts, in the IMU frame [m/s], shape (3,).
        velocity_aided: Whether contacts correct the velocity.
        gravity_aided: Whether the accelerometer alone corrects the tilt: without contact.
        tilt_covariance_B: Estimated covariance of small rotations of the base [rad^2], shape (3, 3).
        gyro_bias_variances: Of the gyroscope bias, horizontal axis and vertical [rad^2/s^2]; NaN: unknown.
        at_rest: Whether the robot has been quiet for long enough to count as at rest.
        contact_forces: Vertical force at each contact [N]; NaN or empty: unknown.
        contact_shares: Share of each contact in the weight; empty: unknown.
        velocity_covariance_B: Covariance of the velocity of the base [m^2/s^2], shape (3, 3); None: unknown.
        position_variance: Variance of the position of the base on each axis [m^2].
    """

    state: BaseState
    tilt_B: Array
    gyro_bias_I: Array
    contacts: tuple[str, ...]
    innovation_I: Array
    velocity_aided: bool
    gravity_aided: bool
    tilt_covariance_B: Array
    gyro_bias_variances: tuple[float, float] = (math.nan, math.nan)
    at_rest: bool = False
    contact_forces: tuple[float, ...] = ()
    contact_shares: tuple[float, ...] = ()
    velocity_covariance_B: Array | None = None
    position_variance: float = math.inf

    @property
    def tilt_sigma(self) -> float:
        """Standard deviation of the angle between estimated and true vertical [rad], (tr P - x'P x)^(1/2).

        P is the covariance of rotations and x the vertical, so that the yaw does not count.
        """
        return sigma_across(self.tilt_covariance_B, self.tilt_B)

    @property
    def yaw_sigma(self) -> float:
        """Standard deviation of the yaw [rad], (x'P x)^(1/2)."""
        return math.sqrt(max(float(self.tilt_B @ self.tilt_covariance_B @ self.tilt_B), 0.0))

    @property
    def stamp_ns(self) -> int:
        """Stamp of the last measurement used [ns]."""
        return self.state.stamp_ns


@dataclass(frozen=True, slots=True, eq=False)
class LinkInertia:
    """Inertia of the body of a link, about its centre of mass, in the axes of the link frame.

    Attributes:
        link: Name of the link; the body is the link with all that is fixed to it.
        mass: Mass [kg].
        com_L: Centre of mass in the link frame [m], shape (3,).
        inertia_Lcm: Rotational inertia about the centre of mass, link axes [kg m^2], shape (3, 3).
    """

    link: str
    mass: float
    com_L: Array
    inertia_Lcm: Array


@dataclass(frozen=True, slots=True, eq=False)
class LinkEstimate:
    """Estimate of one body at one tick.

    Attributes:
        published: What a controller should use: moves from nominal to the estimate at a capped rate.
        estimate: The filter's own mean.
        payload: Estimate minus nominal (a difference: its mass may be negative).
        covariance: Covariance of [mass, com, inertia about com (xx, xy, xz, yy, yz, zz)], shape (10, 10).
    """

    published: LinkInertia
    estimate: LinkInertia
    payload: LinkInertia
    covariance: Array


class StampedInertia(NamedTuple):
    """The inertia of a link at one time.

    Attributes:
        stamp_ns: Time of the measurement it follows from [ns].
        inertia: The inertia.
    """

    stamp_ns: int
    inertia: LinkInertia


class Identifiability(Enum):
    """Identifiability of one parameter from data.

    IDENTIFIABLE: by itself. COMBINATION: only in combination with others. NOT: not at all; the parameter
    stays nominal, or changes with others by the prior of a method.
    """

    IDENTIFIABLE = "identifiable"
    COMBINATION = "in combination"
    NOT = "not identifiable"


class Decision(Enum):
    """Outcome of a measurement of the inertial filter. Displays show its value, telemetry its index.

    Attributes:
        ACCEPTED: The filter learns; the measurement corrects the state unless later ones show an event.
        REJECTED: The gate of a comparison filter took the measurement for an outlier.
        REOPENED: A comparison filter enlarged its covariance for a lasting change, and was corrected.
        DISABLED: Learning is switched off; only the innovation is reported.
        WAITING_FOR_REST: A calibration of the residual waits until the robot is at rest.
        CALIBRATING: A calibration averages the residual.
        CALIBRATED: The average has become the bias of the measured rows.
        FROZEN: The supervisor stops learning: the data disagree with the model, and no cause is certain.
        PUSHED: The supervisor stops learning: a push, a load or a fault of one input explains the data.
    """

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    REOPENED = "reopened"
    DISABLED = "disabled"
    WAITING_FOR_REST = "waiting for rest"
    CALIBRATING = "calibrating"
    CALIBRATED = "calibrated"
    FROZEN = "frozen"
    PUSHED = "pushed"
    __hash__ = object.__hash__  # faster than the hash of the name: every step counts a decision


@dataclass(frozen=True, slots=True, eq=False)
class InertialEstimate:
    """The estimates after one update of the inertial filter, with the figures that qualify them.

    Attributes:
        stamp_ns: Stamp of the measurement [ns]; all links share it.
        links: One estimate per estimated link, in the configured order.
        row_names: Names of the measurement rows.
        innovation: Measured minus predicted, per row [Nm, N].
        nis: Normalised innovation squared, y' S^-1 y; `nis_bound` is its 99.9 % quantile.
        accepted: Whether the measurement corrects the state; see `Decision`.
        decision: What became of the measurement.
        information_eigenvalues: Of the information relative to the prior, ascending; informed above 3.
        informed_directions: Number of directions informed by the data.
        friction: Friction states by joint and term, empty where not estimated.
        noise: Ratio of the estimated to the stated standard deviation of the noise, by the noise parameter.
        located: Cause of large innovations, once it is certain, or a load that may be a push; else None.
        sensor_errors: Slowly varying error of a sensor and its standard deviation, by ``kind/where``.
        measured: Whether a measurement of this time was used. Between two measurements only the hand-over
            advances: all fields but stamp and links are those of the last measurement.
    """

    stamp_ns: int
    links: Sequence[LinkEstimate]
    row_names: tuple[str, ...]
    innovation: Array
    nis: float
    nis_bound: float
    accepted: bool
    decision: Decision
    information_eigenvalues: Array
    informed_directions: int
    friction: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    located: LocatedCause | None = None
    sensor_errors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    measured: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class TorqueCommand:
    """Joint torques commanded by a controller.

    Attributes:
        stamp_ns: Stamp of the joint state it answers [ns].
        names: Joint names.
        tau: Torques or forces [Nm or N], shape (n,).
    """

    stamp_ns: int
    names: tuple[str, ...]
    tau: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "tau", frozen_array("joint torque", self.tau, (len(self.names),)))


@dataclass(frozen=True, slots=True)
class BaseReference:
    """Reference pose of the base and its rates.

    Attributes:
        height: Height of the base origin above the soles [m].
        roll: Rotation about the x axis [rad].
        pitch: Rotation about the y axis, positive leans forward [rad].
        height_rate: Rate of the height [m/s]; zero for a fixed target.
        roll_rate: Rate of the roll [rad/s].
        pitch_rate: Rate of the pitch [rad/s].
    """

    height: float
    roll: float = 0.0
    pitch: float = 0.0
    height_rate: float = 0.0
    roll_rate: float = 0.0
    pitch_rate: float = 0.0

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in self.__slots__]
        if not np.isfinite(values).all():
            raise MeasurementError(f"base reference {values} is not finite")


class HealthLevel(IntEnum):
    """Severity, with the values of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True, slots=True)
class Health:
    """State of one part of a pipeline, for diagnostics.

    Attributes:
        name: Name of the part ("imu/data", "estimator").
        level: Severity.
        message: One sentence for the engineer.
        values: Counters and figures by name, rendered as text.
        requested: Whether the state was requested by the operator, so that it is shown but is no fault.
    """

    name: str
    level: HealthLevel
    message: str
    values: Mapping[str, str] = field(default_factory=dict)
    requested: bool = False
