"""Converts a stream of signal blocks to rows of the measurement equation, in constant memory.

Signals are smoothed and differentiated, the equation is evaluated several times within each window, and the
rows are smoothed by the same filter, so that regressor columns (friction signs, inertias) and torques are
filtered alike. Both steps use whole windows only: there are no rows near the ends of a stretch, and rows do
not depend on the division of a stretch into blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.identification.identification_config import IdentificationConfig, SmoothingConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.row_block import RowBlock
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.models.coulomb import CoulombDirection, CoulombLaw, smooth_sign
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredState
from inertial_estimation.models.friction import friction_model
from inertial_estimation.models.imu import ImuMount, ImuToBase
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import ContactMode, Indices
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.zero_phase import ZeroPhaseSmoother, triangle_weights
from inertial_estimation.signals import NANOSECONDS, Array

FEWEST_EVALUATIONS = 24  # smallest number of evaluations of the equation within one window
RATE_TOLERANCE = 0.1  # relative deviation of the row rate from the requested one, to save evaluations
CHUNK_EVALUATIONS = 128  # evaluations per call of the model


@dataclass(frozen=True, eq=False)
class RowModel:
    """Parameters and models that convert signals to rows.

    Attributes:
        smoothing: Windows and rates.
        measurement: The measurement equation.
        imu: Transforms IMU readings to the base; None for a fixed base.
        n_joints: Number of joints.
        contacts: Number of contacts whose wrenches are measured.
        need_effort: Whether the rows need joint torques.
        to_unknowns: Maps the regressor about the joint frames to that of the unknowns, shape (p, n).
        nominal: Nominal parameters about the joint frames, shape (p,).
        coulomb: Sign model of Coulomb friction.
        torque_joints: For each row the joint whose torque it is, -1 for none, shape (m,).
        effort_window: Length of the triangular window that the recorded efforts have passed [s].
    """

    smoothing: SmoothingConfig
    measurement: DynamicsMeasurement
    imu: ImuToBase | None
    n_joints: int
    contacts: int
    need_effort: bool
    to_unknowns: Array
    nominal: Array
    coulomb: CoulombLaw
    torque_joints: Indices
    effort_window: float = 0.0


@dataclass(frozen=True)
class RowTiming:
    """Grids for one sample time: an evaluation every `stride` samples, a row every `thin` evaluations.

    Efforts that were smoothed before they were recorded are not smoothed like that again, but what the model
    predicts is: only then do both show a reversal of friction alike.

    Attributes:
        signals: Smoother of the signals.
        stride: Samples between two evaluations.
        rows: Smoother of the evaluations.
        thin: Evaluations between two rows.
        effort_half: Evaluations on either side that the smoothing of the recorded efforts extends to.
    """

    signals: ZeroPhaseSmoother
    stride: int
    rows: ZeroPhaseSmoother
    thin: int
    effort_half: int = 0

    @classmethod
    def of_step(cls, smoothing: SmoothingConfig, step_s: float, effort_window: float = 0.0) -> "RowTiming":
        """Choose the grids.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the window holds too few samples.
        """
        signals = ZeroPhaseSmoother.of_window(smoothing.window, step_s, smoothing.order)
        kept = max(1.0, 1.0 / (smoothing.row_rate * step_s))  # samples between two rows
        strides = range(max(1, (2 * signals.half) // FEWEST_EVALUATIONS), 0, -1)
        fits = (s for s in strides if abs(max(1, round(kept / s)) * s - kept) <= RATE_TOLERANCE * kept)
        stride = next(fits, 1)
        rows = ZeroPhaseSmoother.of_window(smoothing.window, stride * step_s, smoothing.order)
        effort_half = round(0.5 * effort_window / (stride * step_s))
        return cls(signals, stride, rows, max(1, round(kept / stride)), effort_half)

    @property
    def half(self) -> int:
        """Evaluations on either side that a row extends to."""
        return self.rows.half + self.effort_half

    def smoothed(self, rows: Array, first: int) -> Array:
        """Return smoothed rows, one in `thin`.

        Args:
            rows: Evaluations of regressor columns, value, measured and sign and velocity of friction, shape
                (k, m, n + 4).
            first: Which row comes first: that around evaluation `half` + first.
        """
        if not self.effort_half:
            return self.rows.apply(rows, first=first, stride=self.thin)
        kernel = np.convolve(triangle_weights(self.effort_half), self.rows.weights())
        measured = self.rows.apply(rows[..., -3], first=first + self.effort_half, stride=self.thin)
        nominal = rows.copy()
        nominal[..., -4] = rows[..., -3] - rows[..., -4]
        windows = sliding_window_view(nominal, len(kernel), axis=0)[first :: self.thin]
        smooth: Array = windows @ kernel
        measured = measured[: len(smooth)]
        smooth[..., -4], smooth[..., -3] = measured - smooth[..., -4], measured
        return smooth

    @property
    def shortest_s(self) -> float:
        """Length of the shortest stretch that gives a row [s]."""
        return self.signals.step_s * (2 * self.signals.half + 1 + self.stride * 2 * self.half)

    @property
    def independent(self) -> float:
        """Rows of white noise equivalent to one of these: 1 / sum of the autocorrelation of the rows.

        Smoothing correlates the noise, so the variance of an average over many rows is larger than their
        number suggests.
        """
        slow = np.zeros(self.stride * 2 * self.rows.half + 1)
        slow[:: self.stride] = self.rows.weights()
        kernel = np.convolve(self.signals.weights(), slow)
        correlation = np.correlate(kernel, kernel, mode="full")
        centre = len(kernel) - 1
        lags = correlation[centre % (self.stride * self.thin) :: self.stride * self.thin]
        return float(min(1.0, correlation[centre] / max(lags.sum(), 1e-300)))


class RowStream:
    """Turns consecutive blocks into rows."""

    def __init__(self, model: RowModel) -> None:
        self._model = model
        self._direction = CoulombDirection(model.coulomb)
        self._timing: RowTiming | None = None
        self._timings: dict[float, RowTiming] = {}
        self._interrupted = False
        self._origin_ns = 0
        self._signals = np.empty((0, 0))
        self._first_sample = 0
        self._next_evaluation = 0
        self._rows = np.empty((0, 0, 0))
        self._centres: list[tuple[Array, Array | None]] = []
        self._first_row = 0

    def push(self, block: SignalBlock) -> Iterator[RowBlock]:
        """Take a block and yield the rows it completes.

        Raises:
            MeasurementError: If the block lacks a signal, or has another shape than the model.
        """
        signals = self._stacked(block)
        timing = self._timing
        if (
            timing is None
            or self._interrupted
            or not block.continues
            or abs(block.step_s - timing.signals.step_s) > 1e-9
        ):
            timing = self._restart(block)
        else:
            jump = np.round((signals[0] - self._signals[-1])[: self._model.n_joints] / (2 * np.pi))
            signals[:, : self._model.n_joints] -= 2 * np.pi * jump
        self._signals = np.concatenate((self._signals, signals)) if len(self._signals) else signals
        while (states := self._next_states(timing)) is not None:
            yield from self._next_rows(timing, *states)

    def interrupt(self) -> None:
        """Start a new stretch with the next block, even if that block continues the last one."""
        self._interrupted = True

    @property
    def shortest_s(self) -> float:
        """Length of the shortest stretch that gives a row [s], 0 before the first block."""
        return self._timing.shortest_s if self._timing else 0.0

    def _restart(self, block: SignalBlock) -> RowTiming:
        if block.step_s not in self._timings:
            self._timings[block.step_s] = RowTiming.of_step(
                self._model.smoothing, block.step_s, self._model.effort_window
            )
        self._timing = timing = self._timings[block.step_s]
        self._interrupted = False
        self._direction.reset()
        self._origin_ns = block.start_ns
        self._signals = np.empty((0, 0))
        self._first_sample = 0
        self._next_evaluation = timing.signals.half
        self._rows = np.empty((0, 0, 0))
        self._centres = []
        self._first_row = timing.half
        return timing

    def _stacked(self, block: SignalBlock) -> Array:
        """Return all signals side by side, turning joints unwrapped, shape (k, ...)."""
        model, k = self._model, block.size
        needed: list[tuple[str, Array | None, int]] = [("q", block.q, model.n_joints)]
        if model.smoothing.differentiate == "velocity":
            needed.append(("v", block.v, model.n_joints))
        if model.need_effort:
            needed.append(("tau", block.tau, model.n_joints))
        if model.imu:
            needed += [("f_I", block.f_I, 3), ("w_I", block.w_I, 3)]
        if model.contacts:
            wrenches = None if block.wrenches is None else block.wrenches.reshape(k, -1)
            needed.append(("wrenches", wrenches, 6 * model.contacts))
        columns = []
        for name, values, width in needed:
            if values is None:
                raise MeasurementError(f"the data have no '{name}', which this identification needs")
            if values.shape != (k, width):
                raise MeasurementError(f"signal '{name}' has shape {values.shape}, expected {(k, width)}")
            columns.append(np.unwrap(values, axis=0) if name == "q" else values)
        return np.hstack(columns)

    def _next_states(self, timing: RowTiming) -> tuple[MeasuredState, Indices] | None:
        """Return smoothed states of the next chunk and their sample numbers; None without a whole window."""
        smoother, stride = timing.signals, timing.stride
        start = self._next_evaluation - smoother.half - self._first_sample
        last = start + (CHUNK_EVALUATIONS - 1) * stride + 2 * smoother.half
        window = self._signals[start : last + 1]
        if len(window) < 2 * smoother.half + 1:
            return None
        states = self._state(smoother, stride, window)
        samples = self._next_evaluation + stride * np.arange(len(states.q))
        self._next_evaluation = int(samples[-1]) + stride
        keep_from = self._next_evaluation - smoother.half
        # The last sample is kept, since the next angles are unwrapped against it.
        cut = min(max(keep_from - self._first_sample, 0), len(self._signals) - 1)
        self._signals = self._signals[cut:]
        self._first_sample += cut
        return states, samples

    def _state(self, smoother: ZeroPhaseSmoother, stride: int, window: Array) -> MeasuredState:
        model, n = self._model, self._model.n_joints
        smooth = smoother.apply(window, stride=stride)
        place = n
        if model.smoothing.differentiate == "velocity":
            v = smooth[:, n : 2 * n]
            a = smoother.apply(window[:, n : 2 * n], 1, stride=stride)
            place = 2 * n
        else:
            v, a = (smoother.apply(window[:, :n], d, stride=stride) for d in (1, 2))
        q, tau, wrenches = smooth[:, :n], None, None
        if model.need_effort:
            tau = smooth[:, place : place + n]
            place += n
        f_B = w_B = wd_B = None
        if model.imu:
            f_I, w_I = smooth[:, place : place + 3], smooth[:, place + 3 : place + 6]
            wd_I = smoother.apply(window[:, place + 3 : place + 6], 1, stride=stride)
            base = [
                model.imu.base_motion(*one)
                for one in zip(zip(q, v, a, strict=True), f_I, w_I, wd_I, strict=True)
            ]
            f_B, w_B, wd_B = (np.array([motion[i] for motion in base]) for i in range(3))
            place += 6
        if model.contacts:
            wrenches = smooth[:, place:].reshape(-1, model.contacts, 6)
        sign = self._direction.along(v, stride * smoother.step_s)
        return MeasuredState(q, v, a, tau, f_B, w_B, wd_B, wrenches, sign)

    def _next_rows(self, timing: RowTiming, states: MeasuredState, samples: Indices) -> Iterator[RowBlock]:
        made = self._model.measurement.rows(states)
        friction = self._friction(states, made.value.shape[1])
        columns = (made.regressor, made.value[:, :, None], made.measured[:, :, None], friction)
        rows = np.concatenate(columns, axis=2)
        self._rows = np.concatenate((self._rows, rows)) if len(self._rows) else rows
        bases = [None] * len(samples) if made.basis is None else list(made.basis)
        self._centres += list(zip(states.v, bases, strict=True))
        half = timing.half
        newest = int(samples[-1] - timing.signals.half) // timing.stride  # number of the last evaluation
        oldest = newest + 1 - len(self._rows)
        kept = np.arange(self._first_row, newest - half + 1, timing.thin)
        if not len(kept):
            return
        smooth = timing.smoothed(self._rows, first=int(kept[0]) - half - oldest)
        yield self._finished(timing, smooth, kept, kept - oldest)
        self._first_row = int(kept[-1]) + timing.thin
        cut = max(self._first_row - half - oldest, 0)
        self._rows, self._centres = self._rows[cut:], self._centres[cut:]

    def _friction(self, states: MeasuredState, count: int) -> Array:
        """Return sign and velocity of the joint of each of `count` rows, shape (k, count, 2)."""
        joints = self._model.torque_joints
        if not (joints >= 0).any():
            return np.zeros((len(states.v), count, 2))
        sign = states.sign
        if sign is None:
            sign = smooth_sign(states.v, self._model.coulomb.smoothing_speed)
        both = np.stack((sign, states.v), axis=2)
        friction: Array = np.where((joints >= 0)[:, None], both[:, joints], 0.0)
        return friction

    def _finished(self, timing: RowTiming, smooth: Array, kept: Indices, places: Indices) -> RowBlock:
        """Return rows in the unknowns, as deviations from nominal, without their redundant part."""
        model = self._model
        centres = [self._centres[int(i)] for i in places]
        bases = [N for _v, N in centres if N is not None]
        if bases:
            smooth = np.array([N.T @ row for row, N in zip(smooth, bases, strict=True)])
        A = smooth[:, :, :-4]
        value = smooth[:, :, -4] - A @ model.nominal
        steps = timing.signals.half + timing.stride * kept
        stamps = self._origin_ns + np.round(steps * (timing.signals.step_s * NANOSECONDS)).astype(np.int64)
        used = np.ones(value.shape, dtype=bool)
        if model.smoothing.stiction_speed > 0.0:
            speeds = np.abs([v for v, _N in centres])
            of_joint = model.torque_joints >= 0
            used[:, of_joint] = speeds[:, model.torque_joints[of_joint]] >= model.smoothing.stiction_speed
        return RowBlock(
            stamps_ns=stamps,
            regressor=A @ model.to_unknowns,
            value=value,
            measured=smooth[:, :, -3],
            used=used,
            independent=len(kept) * timing.independent,
            friction=smooth[:, :, -2:],
        )


@dataclass(frozen=True, eq=False)
class RowModels:
    """How signals become rows in one set of unknowns.

    Attributes:
        parameters: The unknowns.
        row_names: Names of the rows.
        pooled: Whether all rows have one weight.
        loaded: Rows of the robot with the load that is identified, if any.
        unloaded: Rows of the robot without it; None where no load is identified.
    """

    parameters: ParameterSet
    row_names: tuple[str, ...]
    pooled: bool
    loaded: RowModel
    unloaded: RowModel | None


def check_base(config: IdentificationConfig, robot: RobotModel, imu: ImuMount | None) -> None:
    """Check that base acceleration, IMU and rows fit each other.

    Raises:
        ConfigurationError: If they do not.
    """
    rows = config.rows
    if robot.floating_base and rows.base_acceleration != "accelerometer":
        raise ConfigurationError(
            f"base_acceleration is '{rows.base_acceleration}', expected 'accelerometer': recordings are "
            "identified with what the IMU senses"
        )
    if robot.floating_base and imu is None:
        raise ConfigurationError("'imu_frame' is empty; a floating base needs the link of its IMU")
    if config.robot.effort_window > 0.0 and (robot.floating_base or config.robot.contacts):
        raise ConfigurationError(
            "'effort_window' is for efforts alone, expected 0 for a robot with a floating base or contacts"
        )
    if config.smoothing.stiction_speed > 0.0 and rows.selection().contacts.projects:
        raise ConfigurationError(
            "'stiction_speed' leaves out torque rows, but projected rows mix the joints; set it to 0"
        )


def row_models(config: IdentificationConfig, setup: RobotSetup, parameters: ParameterSet) -> RowModels:
    """Return how signals become rows in the unknowns.

    Args:
        config: Parameters of the identification.
        setup: The robot, its contacts and its IMU.
        parameters: The unknowns.
    """
    robot, selection = setup.robot, config.rows.selection()
    _, known = friction_model(config.friction, robot, config.robot.nominal_friction)
    measurement = DynamicsMeasurement(
        robot,
        parameters.bodies,
        selection,
        MeasurementNoise(),
        () if selection.contacts is ContactMode.NONE else setup.contacts,
        parameters.friction,
        known_friction=known,
    )
    joints = {name: j for j, name in enumerate(robot.joint_names)}
    plain = not selection.contacts.projects
    torque_joints = [joints.get(name, -1) if plain else -1 for name in measurement.row_names]

    def model(to_joint: Array) -> RowModel:
        return RowModel(
            smoothing=config.smoothing,
            measurement=measurement,
            imu=ImuToBase(robot, setup.imu) if setup.imu is not None and robot.floating_base else None,
            n_joints=robot.n_joints,
            contacts=len(setup.contacts) if selection.contacts.senses else 0,
            need_effort=bool(config.rows.torque_rows),
            to_unknowns=to_joint @ parameters.E,
            nominal=to_joint @ parameters.nominal,
            coulomb=config.coulomb_law,
            effort_window=config.robot.effort_window,
            torque_joints=np.array(torque_joints, dtype=np.int64),
        )

    bare = parameters.to_joint_unloaded
    return RowModels(
        parameters,
        measurement.row_names,
        selection.contacts.projects or config.weighting == "none",
        model(parameters.to_joint),
        None if bare is None else model(bare),
    )
