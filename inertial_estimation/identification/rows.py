"""Conversion of signals to rows of the measurement equation.

Signals are smoothed and differentiated, the equation is evaluated several times within each window, and the
rows are smoothed by the same filter, so that regressor columns (friction signs, inertias) and torques are
filtered alike. Both steps use whole windows only: there are no rows near the ends of a segment.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.identification.identification_config import IdentificationConfig, SmoothingConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredState
from inertial_estimation.models.friction import CoulombDirection, friction_model
from inertial_estimation.models.imu import ImuToBase
from inertial_estimation.models.local_polynomials import ZeroPhaseSmoother, triangle_weights
from inertial_estimation.models.measurement_rows import ContactMode, Indices, MeasurementNoise
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS, Array

SIGNALS = ("q", "v", "tau", "f_I", "w_I", "wrenches")


@dataclass(frozen=True, eq=False)
class SignalBlock:
    """Samples at a constant rate without gaps, in the model's joint order; arrays are not copied."""

    start_ns: int  # stamp of the first sample [ns]
    step_s: float  # time between samples [s]
    q: Array  # joint positions [rad], shape (k, n_joints)
    # Joint velocities [rad/s], shape (k, n_joints); None, like the following ones, if not measured
    v: Array | None = None
    tau: Array | None = None  # joint torques [Nm], shape (k, n_joints)
    f_I: Array | None = None  # specific force of the IMU [m/s^2], shape (k, 3)
    w_I: Array | None = None  # angular rate of the IMU [rad/s], shape (k, 3)
    wrenches: Array | None = None  # wrench of each contact in its frame [N, Nm], shape (k, n_contacts, 6)

    def part(self, first: int, end: int) -> "SignalBlock":
        """Return consecutive samples, from index `first` to `end`, without the latter."""
        values = {name: getattr(self, name) for name in SIGNALS}
        cut = {name: array[first:end] for name, array in values.items() if array is not None}
        return replace(self, start_ns=int(self.stamps_ns[first]), **cut)

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.q)

    @property
    def stamps_ns(self) -> NDArray[np.int64]:
        """Stamp of each sample [ns], shape (k,)."""
        steps = np.round(np.arange(self.size) * (self.step_s * NANOSECONDS)).astype(np.int64)
        return self.start_ns + steps


def finite_runs(block: SignalBlock, effort_joints: Sequence[int]) -> Iterator[SignalBlock]:
    """Yield the segments of a block in which every signal is finite; the block itself if all samples are.

    Torques need to be finite only for `effort_joints`.
    """
    good = np.ones(block.size, dtype=bool)
    for name in SIGNALS:
        if (values := getattr(block, name)) is not None:
            values = values[:, list(effort_joints)] if name == "tau" else values
            good &= np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if block.size and good.all():
        yield block
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(int)))
    for first, end in edges.reshape(-1, 2).tolist():
        yield block.part(first, end)


FEWEST_EVALUATIONS = 24  # least number of evaluations of the equation within one window
RATE_TOLERANCE = 0.1  # largest relative deviation of the row rate from the requested one, to save evaluations
CHUNK_ROWS = 256  # number of rows in memory at once


@dataclass(frozen=True, eq=False)
class RowBlock:
    """value = regressor @ x + noise at several times, x the deviation of the unknowns from nominal."""

    stamps_ns: NDArray[np.int64]  # stamps of the rows [ns], shape (k,)
    regressor: Array  # derivative of the prediction by x, shape (k, m, n)
    value: Array  # measured minus the prediction of the nominal parameters [Nm, N], shape (k, m)
    measured: Array  # S' tau + sum J' lambda, smoothed [Nm, N], shape (k, m)
    independent: float  # number of rows with white noise that would have the same information

    @property
    def size(self) -> int:
        """Number of times."""
        return len(self.stamps_ns)

    def predicted(self, x: Array) -> Array:
        """Return the prediction of `measured` by unknowns x, shape (k, m); x = 0 gives the nominal one."""
        return self.measured - self.value + self.regressor @ x

    @classmethod
    def joined(cls, blocks: "list[RowBlock]") -> "RowBlock":
        """Return blocks joined in their order; at least one is needed."""
        names = ("stamps_ns", "regressor", "value", "measured")
        arrays = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in names}
        return cls(**arrays, independent=sum(block.independent for block in blocks))


@dataclass(frozen=True)
class RowTiming:
    """Grids for one sample time: an evaluation every `stride` samples, a row every `thin` evaluations.

    If efforts were smoothed before they were recorded, the prediction is smoothed by the same window in
    addition: only then does a reversal of friction look the same in both.
    """

    signals: ZeroPhaseSmoother  # smoother of the signals
    stride: int  # number of samples between two evaluations
    rows: ZeroPhaseSmoother  # smoother of the evaluations
    thin: int  # number of evaluations between two rows
    effort_half: int  # half length of the window of the recorded efforts, in evaluations

    @classmethod
    def of_step(cls, smoothing: SmoothingConfig, step_s: float, effort_window: float) -> "RowTiming":
        """Choose the grids.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the window contains too few samples.
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
        """Number of evaluations on either side that a row depends on."""
        return self.rows.half + self.effort_half

    @property
    def shortest_s(self) -> float:
        """Length of the shortest segment that gives a row [s]."""
        return self.signals.step_s * (2 * self.signals.half + 1 + self.stride * 2 * self.half)

    def smoothed(self, rows: Array) -> Array:
        """Return every `thin`-th smoothed evaluation of [regressor, value, measured], (k, m, n + 2)."""
        if not self.effort_half:
            return self.rows.apply(rows, stride=self.thin)
        kernel = np.convolve(triangle_weights(self.effort_half), self.rows.weights())
        measured = self.rows.apply(rows[..., -1], first=self.effort_half, stride=self.thin)
        nominal = rows.copy()
        nominal[..., -2] = rows[..., -1] - rows[..., -2]
        smooth: Array = sliding_window_view(nominal, len(kernel), axis=0)[:: self.thin] @ kernel
        measured = measured[: len(smooth)]
        smooth[..., -2], smooth[..., -1] = measured - smooth[..., -2], measured
        return smooth

    @cached_property
    def independent(self) -> float:
        """Number of independent rows equivalent to one row: 1 / sum of the autocorrelation of the rows.

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


class RowModel:
    """Conversion of signals to rows for one set of unknowns.

    Attributes:
        parameters: The unknowns.
        measurement: The measurement equation.
        row_names: Names of the rows.
        pooled: Whether all rows have one weight, as rows in an arbitrary null-space basis need.
        sensed: The robot with the IMU and the contacts whose readings the signals must contain.
        need_velocity: Whether the signals must contain joint velocities.
        effort_joints: Joints whose torques the signals must contain; if empty, torques are not needed.
    """

    def __init__(self, config: IdentificationConfig, setup: RobotSetup, parameters: ParameterSet) -> None:
        """Set up the equation of a robot.

        Raises:
            ConfigurationError: If a floating base has no IMU, or `effort_window` is set for other rows.
        """
        robot, mode = setup.robot, config.rows.contacts
        _check_base(config, setup)
        _, known = friction_model(config.friction, robot, config.robot.nominal_friction)
        self.parameters = parameters
        self.measurement = DynamicsMeasurement(
            robot,
            parameters.bodies,
            config.rows,
            MeasurementNoise(),
            () if mode is ContactMode.NONE else setup.contacts,
            parameters.friction,
            known_friction=known,
        )
        self.row_names = self.measurement.row_names
        self.pooled = mode is ContactMode.PROJECTED or config.weighting == "none"
        contacts = setup.contacts if mode is ContactMode.MEASURED else ()
        self.sensed = RobotSetup(robot, contacts, setup.imu if robot.floating_base else None)
        self.need_velocity = config.smoothing.differentiate == "velocity"
        self.effort_joints = config.rows.torque_joints(robot)
        self._imu = ImuToBase(robot, self.sensed.imu) if self.sensed.imu else None
        self._smoothing, self._effort_window = config.smoothing, config.robot.effort_window
        self._coulomb = config.robot.nominal_friction

    def timing(self, step_s: float) -> RowTiming:
        """Return the grids for a time between samples [s]."""
        return RowTiming.of_step(self._smoothing, step_s, self._effort_window)

    def rows(self, block: SignalBlock, *, unloaded: bool = False) -> Iterator[RowBlock]:
        """Yield the rows of a segment in blocks of bounded size.

        Args:
            block: The segment.
            unloaded: Whether the robot does not carry the load that is among the unknowns.

        Raises:
            MeasurementError: If the block lacks a signal, or has another shape than the model.
        """
        self.check(block)
        timing = self.timing(block.step_s)
        states = self._states(block, timing)
        centres = np.arange(timing.half, len(states.q) - timing.half, timing.thin)
        for first in range(0, len(centres), CHUNK_ROWS):
            yield self._smoothed(block, timing, states, centres[first : first + CHUNK_ROWS], unloaded)

    def check(self, block: SignalBlock) -> None:
        """Raise an error if a block lacks a signal, or has another shape than the model."""
        n, contacts = self.sensed.robot.n_joints, len(self.sensed.contacts)
        needed: dict[str, tuple[int, ...]] = {"q": (n,)}
        needed |= {"v": (n,)} if self.need_velocity else {}
        needed |= {"tau": (n,)} if self.effort_joints else {}
        needed |= {"f_I": (3,), "w_I": (3,)} if self._imu else {}
        needed |= {"wrenches": (contacts, 6)} if contacts else {}
        for name, shape in needed.items():
            values = getattr(block, name)
            if values is None:
                raise MeasurementError(f"the data have no '{name}', which this identification needs")
            if values.shape != (block.size, *shape):
                raise MeasurementError(
                    f"signal '{name}' has shape {values.shape}, expected {(block.size, *shape)}"
                )

    def _states(self, block: SignalBlock, timing: RowTiming) -> MeasuredState:
        """Return the smoothed and differentiated signals at every evaluation, angles unwrapped."""

        def smooth(signal: Array | None, derivative: int = 0) -> Array:
            assert signal is not None
            return timing.signals.apply(signal, derivative, stride=timing.stride)

        positions = np.unwrap(block.q, axis=0)
        q, f_B, w_B, wd_B = smooth(positions), None, None, None
        source, order = (block.v, 0) if self.need_velocity else (positions, 1)
        v, a = smooth(source, order), smooth(source, order + 1)
        tau = smooth(block.tau) if self.effort_joints else None
        wrenches = smooth(block.wrenches) if self.sensed.contacts else None
        if self._imu:
            sensed = (smooth(block.f_I), smooth(block.w_I), smooth(block.w_I, 1))
            motion = [
                self._imu.base_motion((q[k], v[k], a[k]), *(part[k] for part in sensed))
                for k in range(len(q))
            ]
            f_B, w_B, wd_B = (np.array([one[i] for one in motion]).reshape(-1, 3) for i in range(3))
        sign = CoulombDirection(self._coulomb).along(v, timing.stride * block.step_s)
        return MeasuredState(q, v, a, tau, f_B, w_B, wd_B, wrenches, sign)

    def _smoothed(
        self, block: SignalBlock, timing: RowTiming, states: MeasuredState, centres: Indices, unloaded: bool
    ) -> RowBlock:
        """Return rows centred at some evaluations, indices of shape (k,), without redundant components."""
        first, end = int(centres[0]) - timing.half, int(centres[-1]) + timing.half + 1
        names = ("q", "v", "a", "tau", "f_B", "w_B", "wd_B", "wrenches", "sign")
        given = {name: v[first:end] for name in names if (v := getattr(states, name)) is not None}
        evaluated = self.measurement.rows(MeasuredState(**given))
        smooth = timing.smoothed(
            np.concatenate(
                (evaluated.regressor, evaluated.value[..., None], evaluated.measured[..., None]), axis=2
            )
        )
        if evaluated.basis is not None:
            smooth = np.swapaxes(evaluated.basis[centres - first], 1, 2) @ smooth
        known = self.parameters
        to_joint = known.to_joint_unloaded if unloaded else known.to_joint
        assert to_joint is not None
        A, steps = smooth[:, :, :-2], timing.signals.half + timing.stride * centres
        return RowBlock(
            stamps_ns=block.start_ns + np.round(steps * (block.step_s * NANOSECONDS)).astype(np.int64),
            regressor=A @ (to_joint @ known.E),
            value=smooth[:, :, -2] - A @ (to_joint @ known.nominal),
            measured=smooth[:, :, -1],
            independent=len(centres) * timing.independent,
        )


def _check_base(config: IdentificationConfig, setup: RobotSetup) -> None:
    floating = setup.robot.floating_base
    if floating and setup.imu is None:
        raise ConfigurationError("'imu_frame' is empty; a floating base needs the link of its IMU")
    if config.robot.effort_window > 0.0 and (floating or config.robot.contacts):
        raise ConfigurationError(
            "'effort_window' is for efforts alone, expected 0 for a robot with a floating base or contacts"
        )
