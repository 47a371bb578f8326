"""Base orientation, position and twist from aligned readings, one step at a time.

The tilt is that of the observer. The yaw is that of a reference, or the integral of the rate. The position is
dead reckoning over contacts: one that comes into use gets an anchor, its position in the world at that time,
and the base is at p_WB = sum_i s_i (anchor_i - R_WB p_BC,i). Without contact the velocity is integrated.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, warm_up
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import FORCE, RATE, ContactSource
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import (
    Array,
    BaseEstimate,
    BaseState,
    ContactLoad,
    seconds,
    sigma_across,
    unchecked,
)
from inertial_estimation.spatial.rotations import (
    Vector,
    add,
    block_of,
    combine,
    cross,
    cross_matrix,
    dot,
    product,
    rotation,
    rows_of,
    store,
    sum_of,
    times,
    transposed,
    unit_quaternion,
    vector,
    vector_of,
    with_vertical,
)
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.error_state import TiltState, tilt_covariance
from inertial_estimation.tilt.feet_sensing import FeetSensing, Joints, foot_radius
from inertial_estimation.tilt.filter import TiltFilter
from inertial_estimation.tilt.imu_readings import ImuReadings
from inertial_estimation.tilt.observer import LONGEST_INTERVAL, Look, TiltObserver
from inertial_estimation.tilt.two_stage import TwoStageObserver


class BaseMotion(NamedTuple):
    """Pose and twist of the base, changed in place.

    Attributes:
        R_WB: Orientation, shape (3, 3).
        quaternion: Orientation as x y z w, shape (4,).
        p_WB: Position [m], shape (3,).
        v_WB_B: Velocity in the base frame [m/s], shape (3,).
        w_WB_B: Angular velocity in the base frame [rad/s], shape (3,).
        up_B: Vertical in the base frame, shape (3,).
    """

    R_WB: MutableTable
    quaternion: MutableColumn
    p_WB: MutableColumn
    v_WB_B: MutableColumn
    w_WB_B: MutableColumn
    up_B: MutableColumn


class BaseUncertainty(NamedTuple):
    """Covariances of the errors of the base, in its frame.

    Attributes:
        rotation: Of the rotation vector of the orientation error [rad^2], shape (3, 3).
        velocity: Of the velocity [m^2/s^2], shape (3, 3).
        bias: Variances of the gyroscope's bias, across and along the vertical [rad^2/s^2].
        speed: Standard deviation of the velocity along one axis [m/s].
    """

    rotation: Array
    velocity: Array
    bias: tuple[float, float]
    speed: float


@compiled
def base_uncertainty(P: Table, vertical: Column, factor: float, T_BI: Table) -> BaseUncertainty:
    """Return the uncertainty of the base that follows from that of its IMU.

    Args:
        P: Covariance of the errors of the filter, shape (12, 12).
        vertical: In the frame of the IMU, shape (3,).
        factor: Variance of the noise over the stated one.
        T_BI: Pose of the IMU in the base, shape (4, 4).
    """
    R, z, of_bias = rows_of(T_BI), vector_of(vertical, 0), block_of(P, 6, 6)
    lever = product(cross_matrix((T_BI[0, 3], T_BI[1, 3], T_BI[2, 3])), R)
    turned, levered = product(R, block_of(P, 0, 0)), product(lever, of_bias)
    velocity = sum_of(product(turned, transposed(R)), 1.0, product(levered, transposed(lever)))
    rotation = product(product(R, tilt_covariance(P, factor)), transposed(R))
    along, speed = dot(z, times(of_bias, z)), (velocity[0][0] + velocity[1][1] + velocity[2][2]) / 3.0
    across = 0.5 * (of_bias[0][0] + of_bias[1][1] + of_bias[2][2] - along)
    return BaseUncertainty(
        np.array(rotation), np.array(velocity), (across, along), math.sqrt(max(speed, 0.0))
    )


@compiled
def move(
    h: float,
    mean: Column,
    now: Column,
    imu: tuple[Column, Column, Column],
    T_before: Table,
    T_BI: Table,
    R_yaw: Table,
    motion: BaseMotion,
) -> None:
    """Compute the motion of the base at the end of a step from that of the IMU.

    Args:
        h: Duration of the step [s].
        mean: Mean specific force and angular rate over the step [m/s^2, rad/s], shape (6,).
        now: The same at the end, shape (6,).
        imu: Velocity [m/s] and vertical of the IMU at the end, bias of its gyroscope [rad/s], each of shape
            (3,).
        T_before: Pose of the IMU in the base at the start of the step, shape (4, 4).
        T_BI: The same at the end.
        R_yaw: Orientation at the end whose yaw is used, shape (3, 3); shape (0, 3) to integrate the rate.
        motion: Pose and twist of the base at the start; changed to those at the end.
    """
    velocity, vertical, bias = imu
    R_WB, quaternion, p_WB, v_WB_B, w_WB_B, up_B = motion
    R, b, before = rows_of(T_BI), vector_of(bias, 0), vector_of(v_WB_B, 0)
    T = product(R, transposed(rows_of(T_before)))  # its turn over the step is small
    w_BI = (
        0.5 / h * (T[2][1] - T[1][2]),
        0.5 / h * (T[0][2] - T[2][0]),
        0.5 / h * (T[1][0] - T[0][1]),
    )
    p, p_before = (T_BI[0, 3], T_BI[1, 3], T_BI[2, 3]), (T_before[0, 3], T_before[1, 3], T_before[2, 3])
    up = times(R, vector_of(vertical, 0))
    w = combine(times(R, combine(vector_of(now, 3), -1.0, b)), -1.0, w_BI)
    v = combine(times(R, vector_of(velocity, 0)), -1.0 / h, combine(p, -1.0, p_before))
    v = add(v, cross(p, w))
    if len(R_yaw) > 0:
        first, third = vector_of(R_yaw[0], 0), vector_of(R_yaw[2], 0)
    else:
        w_mean = combine(times(R, combine(vector_of(mean, 3), -1.0, b)), -1.0, w_BI)
        back = rotation((-h * w_mean[0], -h * w_mean[1], -h * w_mean[2]))
        first, third = times(back, vector_of(R_WB[0], 0)), times(back, vector_of(R_WB[2], 0))
    after = with_vertical(first, third, up)
    for i in range(3):
        store(R_WB[i], 0, after[i])
    quaternion[0], quaternion[1], quaternion[2], quaternion[3] = unit_quaternion(after)
    store(p_WB, 0, combine(vector_of(p_WB, 0), 0.5 * h, times(after, add(v, before))))
    store(v_WB_B, 0, v)
    store(w_WB_B, 0, w)
    store(up_B, 0, up)


class BaseTrack:
    """Orientation and position of the base in the world.

    Attributes:
        motion: Pose and twist at the end of the last step.
        uncertainty: Covariances at the last look (`tilt.observer.Look`).
        position_sigma: Standard deviation of the position along one axis [m]; it grows without contact.
    """

    def __init__(self) -> None:
        """Start above the origin of the world."""
        self.reset()

    def reset(self) -> None:
        """Return to the origin, with zero yaw."""
        self._numbers = np.zeros(16)
        self._numbers[3] = 1.0
        self.motion = BaseMotion(np.eye(3), *_parts(self._numbers))
        self.position_sigma, self._height_known = 0.0, False
        self.uncertainty = BaseUncertainty(np.zeros((3, 3)), np.zeros((3, 3)), (0.0, 0.0), 0.0)
        # World positions of the contacts in use and their standard deviations, by index of the contact.
        self._anchors: dict[int, tuple[Vector, float]] = {}
        self.remount()

    def remount(self) -> None:
        """Assume that the IMU does not move in the base during the next step."""
        self._mounted: Array | None = None

    def let_go(self, since: float) -> None:
        """Discard the positions of contacts after a gap of readings [s], during which it may have walked."""
        self._anchors.clear()
        self.position_sigma += WALKING * since

    def advance(
        self,
        h: float,
        imu: TiltState,
        mean: Array,
        now: Array,
        T_BI: Array,
        R_reference: Array | None,
    ) -> None:
        """Advance by one step of h seconds; see `move`.

        Args:
            h: Duration of the step [s].
            imu: Velocity and vertical of the IMU at its end.
            mean: Mean specific force and angular rate over it [m/s^2, rad/s], shape (6,).
            now: The same at the end, shape (6,).
            T_BI: Pose of the IMU in the base at the end, shape (4, 4).
            R_reference: Orientation whose yaw is used; None: the angular rate is integrated.
        """
        before = T_BI if self._mounted is None else self._mounted
        R_yaw = INTEGRATED if R_reference is None else R_reference
        move(h, mean, now, (imu.velocity, imu.vertical, imu.bias), before, T_BI, R_yaw, self.motion)
        self._mounted = T_BI
        self.position_sigma += h * self.uncertainty.speed

    @property
    def finite(self) -> bool:
        """Whether motion and covariance are finite; a part that is not makes all others so within steps."""
        return bool(self._numbers.dot(self._numbers) + self.uncertainty.speed < math.inf)

    def read(self) -> tuple[Array, ...]:
        """Return copies of quaternion, p_WB, v_WB_B, w_WB_B and up_B, read-only."""
        numbers = self._numbers.copy()
        numbers.setflags(write=False)
        return _parts(numbers)

    def stand(self, points_B: Array, shares: Array) -> None:
        """Correct the position by the contacts in use.

        Args:
            points_B: Contact points in the base frame [m], shape (n, 3).
            shares: Share of each in the weight, of sum one or zero, shape (n,).
        """
        motion, levers = self.motion, (points_B @ self.motion.R_WB.T).tolist()
        carrying = {k: share for k, share in enumerate(shares.tolist()) if share > 0.0}
        if carrying and not self._height_known:
            height = -sum(share * levers[k][2] for k, share in carrying.items())
            motion.p_WB[2], self._height_known = height, True
        p, sigma, left = (0.0, 0.0, 0.0), 0.0, 1.0
        for k, share in carrying.items():
            if k in self._anchors:
                anchor, own = self._anchors[k]
                p = combine(p, share, combine(anchor, -1.0, levers[k]))
                sigma, left = sigma + share * own, left - share
        motion.p_WB[:] = p = combine(p, left, vector(motion.p_WB))
        self.position_sigma = sigma = sigma + left * self.position_sigma
        self._anchors = {k: self._anchors.get(k) or (add(p, levers[k]), sigma) for k in carrying}


def _parts(numbers: Array) -> tuple[Array, ...]:
    """Return views of quaternion, p_WB, v_WB_B, w_WB_B and up_B."""
    return numbers[:4], numbers[4:7], numbers[7:10], numbers[10:13], numbers[13:]


INTEGRATED = np.zeros((0, 3))  # `R_yaw` of `move` without a reference
POSITION_SIGMA = 0.01  # standard deviation of a position over standing contacts [m]
WALKING = 1.0  # assumed speed of a robot during a gap of the readings [m/s]
_base_state, _base_estimate = unchecked(BaseState), unchecked(BaseEstimate)


class ObserverStep(NamedTuple):
    """Inputs of the observer at one step, and its state before the step.

    Attributes:
        stamp_ns: Stamp of the step [ns].
        h: Duration of the step [s]; zero where the observer starts, at first and after a gap.
        reading: Mean specific force and angular rate over the step [m/s^2, rad/s], shape (6,).
        look: Measurements at the end of the step; None between two looks.
        vertical: Estimate before the step, in the IMU frame, shape (3,).
        bias: Estimate of the gyroscope's bias before the step [rad/s], shape (3,).
        R_BI: Orientation of the IMU in the base, shape (3, 3).
    """

    stamp_ns: int
    h: float
    reading: Array
    look: Look | None
    vertical: Array
    bias: Array
    R_BI: Array


def tilt_observer(config: TiltPipelineConfig, radius: float) -> TiltObserver:
    """Return the observer selected by the parameters, for round feet of a radius [m]."""
    warm_up()
    if config.observer == "filter":
        return TiltFilter(config.filter, radius)
    return TwoStageObserver(config.two_stage, radius)


class BaseEstimator:
    """IMU readings, contacts, tilt observer and base track, advanced together.

    Attributes:
        config: The parameters in force.
        observer: Estimator of velocity and vertical of the IMU.
        feet: Kinematics and forces of the contacts.
        readings: Readings of the IMU and their statistics.
        track: Orientation and position of the base.
        radius: Radius of round feet [m].
        steps: Number of steps; incomplete_steps: number of steps with a missing input.
        on_step: Called with the inputs of the observer at every step; None: not called.
    """

    def __init__(
        self, config: TiltPipelineConfig, setup: RobotSetup, urdf: str, sources: Mapping[str, ContactSource]
    ) -> None:
        """Build the parts.

        Args:
            config: All parameters.
            setup: The robot, its contacts and its IMU.
            urdf: Text of its URDF, for the radius of round feet.
            sources: Source of each contact's force.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a force does not follow from joint torques.
        """
        self.config, self.feet = config, FeetSensing(setup, sources, config.robot.inputs.timeout)
        self.track, self.readings = BaseTrack(), ImuReadings(are_means=not setup.contacts)
        radius = config.contact.radius
        self.radius = radius = foot_radius(setup, urdf) if radius < 0.0 else radius
        self.observer = tilt_observer(config, radius)
        self.on_step: Callable[[ObserverStep], None] | None = None
        self.steps = self.incomplete_steps = 0
        self.reset()

    def reset(self) -> None:
        """Discard all state."""
        self.observer.reset()
        self.track.reset()
        self._read_ns: int | None = None  # time of the last step
        self._begin()

    def restart(self) -> None:
        """Restart the initial alignment after a gap; bias, yaw and position are kept."""
        self.observer.restart()
        self._begin()

    def _begin(self) -> None:
        self.feet.reset()
        self.readings.reset()
        self.track.remount()
        self._since_look = 0.0

    def set_config(self, config: TiltPipelineConfig) -> None:
        """Replace the parameters; only those that may change at run time differ."""
        self.config = config
        own = config.filter if isinstance(self.observer, TiltFilter) else config.two_stage
        self.observer.config = own  # type: ignore[attr-defined]

    def step(
        self,
        sample: AlignedSample,
        h: float,
        joints: Joints | None,
        R_reference: Array | None,
        inputs: RobotInputs,
    ) -> BaseEstimate | None:
        """Advance by one step.

        Args:
            sample: IMU reading and contact sensors, aligned.
            h: Time since the last step [s]; zero at the first.
            joints: Positions, velocities and, where needed, torques, in the model's order; None if missing.
            R_reference: Orientation of the base whose yaw is used; None without one.
            inputs: The inputs, for the axes of wrenches.

        Returns:
            The estimate; None during the initial alignment.
        """
        self.steps += 1
        self.incomplete_steps += bool(sample.missing)
        since = 0.0 if self._read_ns is None else seconds(sample.time_ns - self._read_ns)
        self._read_ns = sample.time_ns
        if since > LONGEST_INTERVAL:
            self.track.let_go(since)
        if h > LONGEST_INTERVAL:  # too long to integrate over
            last = sample.driver if self.readings.now is None else self.readings.now
            if self.observer.bridge(h, 0.5 * (last + sample.driver)[RATE]):
                self._take_uncertainty()
            else:
                self.observer.restart()
            self._begin()
            h = 0.0
        observer, mean = self.observer, self.readings.add(h, sample.driver)
        observer.level(mean[FORCE])
        self._since_look += h
        look = None
        if h > 0.0:
            looks = observer.looks(self._since_look)
            feet = self.feet.take(sample, h, joints, inputs, observer.state.vertical, looks=looks)
            if looks:
                look, self._since_look = Look(feet, self.readings.look(observer.state.bias)), 0.0
        if self.on_step is not None:
            _v, vertical, bias, _offset, _P = observer.state
            taken = sample.stamp_ns, h, mean, look, vertical.copy(), bias.copy(), self.feet.view.R_BI
            self.on_step(ObserverStep(*taken))
        if h <= 0.0:
            return None
        observer.step(h, mean, look)
        return None if observer.aligning else self._estimate(sample, h, mean, look, R_reference)

    def _estimate(
        self, sample: AlignedSample, h: float, mean: Array, look: Look | None, R_reference: Array | None
    ) -> BaseEstimate:
        observer, track, view, use = self.observer, self.track, self.feet.view, self.feet.shares.use
        bias = observer.state.bias.copy()
        now = sample.driver if self.readings.now is None else self.readings.now
        if look is not None:
            self._take_uncertainty()
        track.advance(h, observer.state, mean, now, view.T_BI, R_reference)
        if look is not None and (look.feet is not None or not self.feet.seen):
            track.stand(view.points_B, self.feet.shares.shares)
        uncertainty, (*pose, up_B) = track.uncertainty, track.read()
        return _base_estimate(
            _base_state(sample.stamp_ns, *pose),
            up_B,
            bias,
            use.names,
            observer.residual,
            bool(use.names),
            not use.names,
            uncertainty.rotation,
            uncertainty.bias,
            self.readings.seen.at_rest,
            use.forces,
            use.shares,
            uncertainty.velocity,
            track.position_sigma**2 + POSITION_SIGMA**2,
        )

    def _take_uncertainty(self) -> None:
        _v, vertical, _bias, _offset, P = self.observer.state
        factor, T_BI = self.observer.variance_factor, self.feet.view.T_BI
        self.track.uncertainty = base_uncertainty(P, vertical, factor, T_BI)

    def calibrate_gyro(self) -> None:
        """Make the gyroscope's bias uncertain, so that it is estimated anew at the next rest."""
        self.observer.inflate_bias()

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last look; empty before the first one and while joint states are lost."""
        feet, shares = self.feet, self.feet.shares
        if not feet.seen or self.observer.aligning:
            return ()
        forces = np.nan_to_num(shares.forces)[:, None] * self.track.motion.up_B
        rows = zip(shares.names, feet.view.points_B, forces, shares.shares, strict=True)
        return tuple(ContactLoad(name, tuple(p), tuple(f), float(s)) for name, p, f, s in rows)

    @property
    def imu_alone(self) -> bool:
        """Whether the parameters give the robot no contacts."""
        return not self.feet.shares.names

    @property
    def clipped(self) -> bool:
        """Whether the gyroscope is at the end of its range."""
        return bool(self.readings.seen.clipped.any())

    @property
    def tilt_sigma(self) -> float:
        """Standard deviation of the direction of the vertical [rad]."""
        return sigma_across(self.track.uncertainty.rotation, self.track.motion.up_B)

    @property
    def gyro_bias(self) -> tuple[Array, float]:
        """Bias of the gyroscope, shape (3,), and its rms standard deviation over the axes [rad/s]."""
        state = self.observer.state
        return state.bias.copy(), math.sqrt(float(np.trace(state.covariance[6:9, 6:9])) / 3.0)
