"""The measured state for the measurement equation: all inputs, averaged over one window around a step."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import listing
from inertial_estimation.inertial.cause_table import InputNames
from inertial_estimation.inertial.config import INFORMATION, InertialPipelineConfig
from inertial_estimation.inputs.alignment import AlignedSample, Steps
from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE, ContactSource, SensorAxes
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.models.dynamics_measurement import MeasuredState
from inertial_estimation.models.friction import CoulombDirection, NominalFriction, smooth_sign
from inertial_estimation.models.imu import STANDARD_GRAVITY, ImuMount, ImuToBase
from inertial_estimation.models.local_polynomials import FEWEST_SAMPLES, window_weights
from inertial_estimation.models.measurement_rows import ContactMode
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, seconds, unchecked

JITTER_NS = NANOSECONDS // 10000  # jitter of steps, by which a measurement may be early
SHORTEST = 0.5  # least span of the rows of a window, in half windows: a clock that stops has equal stamps
BASE_INPUTS = {IMU, BASE_STATE}  # inputs without which there is no equation of a floating base
_NO_MOTION = None, None, None
_measured_state = unchecked(MeasuredState)


class WindowMean(NamedTuple):
    """Weighted mean and slope of the rows of a window."""

    mean: Array  # shape (width,)
    slope: Array  # [1/s], shape (width,)
    weights: Array  # weights of the mean, shape (n,)
    centroid: float  # time of the mean, relative to the centre of the window [s]


@lru_cache(maxsize=16)
def _weights(relative: bytes) -> tuple[Array, float]:
    """Return the weights of mean and slope, shape (2, n), and the centroid [s], for times given as bytes."""
    weights = window_weights(seconds(np.frombuffer(relative, np.int64)))
    return np.array((weights.mean, weights.slope)), weights.centroid


def window_mean(centre_ns: int, times: Times, rows: Array, at: float | None = None) -> WindowMean | None:
    """Return mean and slope of the rows of a window; None if they are too few.

    Args:
        centre_ns: Centre of the window [ns].
        times: Times of the rows, increasing [ns], shape (n,).
        rows: Rows, shape (n, width).
        at: Time of the mean, relative to the centre [s]: the mean is moved along the slope, which is exact
            for linear signals. None: the centroid of the weights.
    """
    if len(times) < FEWEST_SAMPLES:
        return None
    weights, centroid = _weights((times - centre_ns).tobytes())
    mean, slope = weights @ rows
    if at is not None and at != centroid:
        mean, centroid = mean + (at - centroid) * slope, at
    return WindowMean(mean, slope, weights[0], centroid)


class FrictionSigns:
    """Signs of Coulomb friction at joint states, which with presliding are integrated over the rows."""

    def __init__(self, friction: NominalFriction, joints: Ring, v: slice, max_gap: float) -> None:
        """Start without a row of a ring of joint states, whose columns `v` are velocities.

        A gap longer than `max_gap` [s] restarts the integration.
        """
        self._smoothing_speed, self._joints, self._v = friction.smoothing_speed, joints, v
        self._max_gap_ns = round(max_gap * NANOSECONDS)
        self._direction = CoulombDirection(friction)
        self._integrated = Ring(v.stop - v.start) if friction.presliding > 0.0 else None
        self._next, self._clears = 0, joints.clears
        self._last_ns: int | None = None  # time of the last row

    @classmethod
    def of(
        cls, config: InertialPipelineConfig, joints: Ring, v: slice, max_gap: float
    ) -> "FrictionSigns | None":
        """Return the signs that a pipeline needs; None if no friction depends on them."""
        known = config.robot.nominal_friction
        terms = (config.friction.terms if config.friction.joints else ()) + known.terms
        if not any(term.startswith("coulomb") for term in terms):
            return None
        return cls(known, joints, v, max_gap)

    def follow(self) -> None:
        """Integrate over the joint states since the last call."""
        joints, signs = self._joints, self._integrated
        if signs is None:
            return
        if joints.clears != self._clears:
            self._clears, self._last_ns = joints.clears, None
            signs.clear()
        for index in range(max(self._next - joints.moved, joints.begin), joints.end):
            time_ns, v = joints.time[index], joints.rows[index, self._v]
            step_ns = 0 if self._last_ns is None else time_ns - self._last_ns
            if not 0 < step_ns <= self._max_gap_ns:
                self._direction.reset()
            signs.append(time_ns, time_ns, self._direction.after(v, seconds(step_ns)))
            self._last_ns = time_ns
        self._next = joints.total

    def mean(self, centre_ns: int, half_ns: int, weights: Array) -> Array:
        """Return the mean sign over a window of joint states with their weights, shape (n_joints,)."""
        begin, end = centre_ns - half_ns, centre_ns + half_ns
        if self._integrated is not None:
            return weights @ self._integrated.window(begin, end)[1]
        v = self._joints.window(begin, end)[1][:, self._v]
        return weights @ smooth_sign(v, self._smoothing_speed)


@dataclass(frozen=True, eq=False)
class NeededInputs:
    """The inputs of an inertial pipeline in addition to the joint states, which determine the steps.

    Attributes:
        imu: IMU that senses the acceleration of the base; None if it is not needed.
        base_state: Whether that acceleration comes from differences of the base state instead.
        contacts: Contacts whose wrenches are needed, with their indices among the robot's contacts.
    """

    imu: ImuMount | None
    base_state: bool
    contacts: Mapping[str, int]

    @classmethod
    def of(cls, config: InertialPipelineConfig, setup: RobotSetup) -> "NeededInputs":
        """Determine the inputs that are needed: without an IMU a floating base needs the base state."""
        floating = setup.robot.floating_base
        sensed = floating and setup.imu is not None
        measured = config.rows.contacts is ContactMode.MEASURED
        contacts = {name: i for i, name in enumerate(setup.contact_names if measured else ())}
        return cls(setup.imu if sensed else None, floating and not sensed, contacts)

    def names(self, robot: RobotModel) -> InputNames:
        """Return the names of the inputs, for messages."""
        acceleration = IMU if self.imu is not None else BASE_STATE if self.base_state else ""
        return InputNames(robot.joint_names, robot.n_base, self.contacts, acceleration)

    def inputs(self, config: InertialPipelineConfig, setup: RobotSetup) -> RobotInputs:
        """Return the inputs of the pipeline.

        Raises:
            ConfigurationError: If offsets or gains do not fit the robot.
        """
        return RobotInputs(
            replace(setup, imu=self.imu),
            config.robot,
            Steps(JOINTS, config.rate, 0.5 * config.window),
            JointNeeds(efforts=config.rows.torque_joints(setup.robot) or False, effort_gaps=True),
            sources=dict.fromkeys(self.contacts, ContactSource.WRENCH),
            base_state=self.base_state,
        )


class MissingReadings:
    """Missing torques and wrenches of a state.

    Attributes:
        last: Whether each is missing in the last state, torques first, shape (n_joints + n_contacts,).
    """

    def __init__(self, setup: RobotSetup, torque_joints: Sequence[int], *, base_rows: bool) -> None:
        """Start with none missing; `torque_joints` have rows, and the base has rows if `base_rows`."""
        joints = [f"the effort of {name}" for name in setup.robot.joint_names]
        wrenches = [f"{contact}/wrench" for contact in setup.contact_names]
        self._names = np.array(joints + wrenches)
        places = np.arange(len(self._names))
        self._asked = (places >= len(joints)) | np.isin(places, torque_joints)
        self._needed = places[:0] if base_rows else np.array(torque_joints, dtype=int)  # one of them at least
        self.last = np.zeros(len(places), dtype=bool)

    def find(self, tau: Array, wrenches: Array) -> NDArray[np.bool_] | None:
        """Return which are NaN; None if none is.

        Args:
            tau: Torques [Nm], shape (n_joints,).
            wrenches: Wrenches of all contacts [N, Nm], shape (n_contacts, 6).
        """
        self.last = self._asked & np.isnan(np.concatenate((tau, wrenches[:, 0])))
        return self.last if np.count_nonzero(self.last) else None

    @property
    def note(self) -> str:
        """Sentence about missing torques and wrenches; empty if there are none."""
        if not self.last.any():
            return ""
        if len(self._needed) and self.last[self._needed].all():
            return "no joint of torque_rows has an effort: nothing is learned"
        lost = listing(self._names[self.last].tolist(), limit=4)
        return f"without {lost}: the estimates go on from the remaining equations"


class Between(Enum):
    """Result of a step at which no measurement is due."""

    MEASUREMENTS = "between two measurements"


class StateWindows:
    """Averages every input over one window around a step.

    All inputs have the same weights and are moved to the centroid of the joint states, so that acceleration,
    torque, wrench and specific force have the same delay. There are two states in the length of a window,
    since means over windows with more overlap contain hardly more information; four while a load is
    followed, for less delay; with the papers' filters one at every step.

    Attributes:
        following: Whether a load is followed.
        axes: Rotates wrenches to the axes of their sensors.
        short: Number of windows with too few samples.
    """

    def __init__(
        self, config: InertialPipelineConfig, setup: RobotSetup, needed: NeededInputs, inputs: RobotInputs
    ) -> None:
        assert inputs.joints is not None
        self._inputs, self._needed = inputs, needed
        self._columns, self._n_contacts = inputs.joints.columns, len(setup.contacts)
        self._half_ns = round(0.5 * config.window * NANOSECONDS)
        self._to_base = None if needed.imu is None else ImuToBase(setup.robot, needed.imu)
        max_gap = config.robot.inputs.timeout
        self._signs = FrictionSigns.of(config, inputs.joints.stream.ring, self._columns.v, max_gap)
        self.axes, self.short = SensorAxes(setup, inputs.contacts), 0
        self._lacking = ""  # input with too few samples in the last window; empty if all have enough
        torques, with_base = config.rows.torque_joints(setup.robot), config.rows.base_rows
        self._missing = MissingReadings(setup, torques, base_rows=with_base and setup.robot.floating_base)
        self._at_every_step, self.following = config.filter != INFORMATION, False
        self._last_ns: int | None = None  # time of the last state

    @property
    def note(self) -> str:
        """Sentence about an input with too few samples in a window, or missing readings; empty if neither."""
        if self._lacking:
            window = f"a window of {seconds(2 * self._half_ns):g} s"
            return f"{self._lacking} has too few readings in {window}: raise `window`"
        return self._missing.note

    def state_at(self, sample: AlignedSample) -> MeasuredState | Between | None:
        """Average all inputs over the window around a step.

        Args:
            sample: The step.

        Returns:
            The state, or `Between` if none is due; None if an input is missing or its window is too short.
        """
        if self._signs is not None:
            self._signs.follow()
        if not BASE_INPUTS.isdisjoint(sample.missing) or self.axes.unknown:
            return None
        if self._last_ns is not None and not self._at_every_step:
            interval_ns = self._half_ns // (2 if self.following else 1) - JITTER_NS
            if 0 <= sample.time_ns - self._last_ns < interval_ns:
                return Between.MEASUREMENTS
        return self._state(sample)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # judged by the result of the step
    def _state(self, sample: AlignedSample) -> MeasuredState | None:
        joints = self._window(JOINTS, sample.time_ns)
        if joints is None:
            return None
        columns, mean, self._lacking = self._columns, joints.mean, ""
        q, v, a = mean[columns.q], mean[columns.v], joints.slope[columns.v]
        base = self._base_motion(sample.time_ns, joints.centroid, (q, v, a))
        if base is None:
            return None
        wrenches = self._wrenches(sample, joints.centroid, q)
        tau = np.zeros(columns.n) if columns.tau is None else mean[columns.tau]
        missing = self._missing.find(tau, wrenches)
        sign = (
            None if self._signs is None else self._signs.mean(sample.time_ns, self._half_ns, joints.weights)
        )
        self._last_ns = sample.time_ns
        if missing is not None:
            tau, wrenches = np.nan_to_num(tau), np.nan_to_num(wrenches)
        return _measured_state(q, v, a, tau, *base, wrenches, sign, None, missing)

    def _window(self, name: str, time_ns: int, at: float | None = None) -> WindowMean | None:
        half = self._half_ns
        times, rows = self._inputs.aligner.window(name, time_ns - half, time_ns + half)
        spans = len(times) > 0 and times[-1] - times[0] > SHORTEST * half
        reduced = window_mean(time_ns, times, rows, at) if spans else None
        if reduced is None:
            self.short, self._lacking = self.short + 1, name
        return reduced

    def _base_motion(
        self, time_ns: int, at: float, joints: tuple[Array, Array, Array]
    ) -> tuple[Array | None, Array | None, Array | None] | None:
        """Return proper acceleration, angular velocity and its derivative of the base, in its axes.

        The derivative of v in the rotating base axes lacks w x v, and gravity appears as upward acceleration.
        """
        if self._to_base is not None:
            imu = self._window(IMU, time_ns, at)
            if imu is None:
                return None
            return self._to_base.base_motion(joints, imu.mean[FORCE], imu.mean[RATE], imu.slope[RATE])
        if not self._needed.base_state:
            return _NO_MOTION
        base = self._window(BASE_STATE, time_ns, at)
        if base is None:
            return None
        v, w, up, _heading = base.mean.reshape(4, 3)
        v_dot, w_dot, _up_dot, _heading_dot = base.slope.reshape(4, 3)
        return v_dot + np.cross(w, v) + STANDARD_GRAVITY * up, w, w_dot

    def _wrenches(self, sample: AlignedSample, at: float, q: Array) -> Array:
        """Return the wrenches in their frames, shape (n_contacts, 6); zero: no sensor, NaN: missing."""
        wrenches = np.zeros((self._n_contacts, 6))
        for name, i in self._needed.contacts.items():
            stream = self._inputs.contacts[name].stream.spec.name
            lost = sample.rows[stream] is None
            wrench = None if lost else self._window(stream, sample.time_ns, at)
            wrenches[i] = math.nan if wrench is None else wrench.mean
        return self.axes.turned(wrenches, q)
