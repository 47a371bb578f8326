"""Slowly varying errors of the sensors, linear in the measurement equation.

A sensor whose reading is wrong by a constant makes the rows wrong by a constant that the noise does not
describe, since it does not average out. With tau_obs = (1 + g) tau + o of a joint, f_obs = (1 + s) f + b of
the accelerometer and a wrench u on the base that is not modelled (cables, contacts that read too much),

    dtau = Y pi + friction + S' (g tau_obs + o) + u - E (s f_obs + b) + noise

to the first order in the errors; E is the effect of an error of the sensed acceleration on the rows. What a
row takes more than a model says that senses nothing is S' (g tau_obs + o) + u (`SensorErrors.of_rows`).

The noise of the reading is in the row as well, so the column of a gain must not contain it: their product has
the mean of the noise's variance, which n independent readings would add up to a gain of
n / (1 / sigma_g^2 + sum tau^2 / sigma^2), several standard deviations after some seconds. The column is the
torque that the model predicts in place of the reading (an instrument, in the words of regression with errors
in the variables).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.dynamics_measurement import InputPaths, LinearEquation, MeasuredState
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_noise import FULL_SIZE
from inertial_estimation.models.measurement_rows import BASE_ROWS, Indices, ResolvedRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

TREATMENTS = ("none", "considered", "estimated")
SHARE = 0.01  # of effort limits and of the robot's weight: assumed, in the range of force and torque sensors
TORQUE_GAIN = 0.03  # relative error of a torque's scale: assumed, of motor constants and strain gauges
ACCELEROMETER_BIAS = 0.2  # along each axis: assumed, 20 mg [m/s^2]
ACCELEROMETER_SCALE = 0.03  # relative error of its scale, assumed
LEVER = 0.2  # of the errors of forces on a robot of `FULL_SIZE`, for those of moments [m]
UNLIMITED = 1.0  # offset of a joint without effort limit [Nm]


@dataclass(frozen=True)
class SensorErrorConfig:
    """What is done about errors of the sensors that are constant or vary slowly."""

    treatment: str = parameter(
        "none",
        "Treatment of slowly varying errors of the sensors: estimated together with the inertias; considered,"
        " so that standard deviations of the inertias contain them, but not estimated (Schmidt); or none.",
        choices=TREATMENTS,
    )

    @property
    def considered(self) -> bool:
        """Whether the errors are taken into account and not estimated (Schmidt)."""
        return self.treatment == "considered"


def torque_offsets(robot: RobotModel) -> Array:
    """Return the standard deviation of each joint's torque offset [Nm], shape (n_joints,).

    Args:
        robot: The robot.
    """
    limits = urdf_limits(robot).effort
    offsets: Array = np.where(np.isfinite(limits), SHARE * limits, UNLIMITED)
    return offsets


def base_wrench(robot: RobotModel) -> Array:
    """Return that of a constant wrench on the base that no sensor reads [N, Nm], shape (6,).

    It is that of cables and of wrong masses that are not estimated.

    Args:
        robot: The robot.
    """
    return SHARE * np.repeat(weight_of(robot), 3)


def weight_of(robot: RobotModel) -> tuple[float, float]:
    """Return the weight of a robot [N], and its moment on the lever of errors of forces [Nm].

    Args:
        robot: The robot.
    """
    weight = STANDARD_GRAVITY * robot.total_mass
    return weight, weight * LEVER * float(np.cbrt(robot.total_mass / FULL_SIZE))


AXES = ("x", "y", "z")
OF_ACCELEROMETER = (*(f"accelerometer_bias/{axis}" for axis in AXES), "accelerometer_scale/imu")
WRENCH = tuple(f"{kind}_{axis}" for kind in ("force", "moment") for axis in AXES)


class _Kind(ABC):
    """Errors of one kind.

    Attributes:
        names: Of each error, ``kind/where``.
        sigmas: Their prior standard deviations, shape (k,).
        varies: Whether their columns depend on the measurement.
    """

    varies = True

    def __init__(self, names: Sequence[str], sigmas: Array) -> None:
        self.names, self.sigmas = tuple(names), sigmas

    @abstractmethod
    def fill(self, C: Array, state: MeasuredState, paths: InputPaths, unexplained: Array | None) -> None:
        """Write the columns, shape (rows, k), which are zero before.

        Args:
            C: Written.
            state: The measured state.
            paths: How errors of the inputs reach the rows.
            unexplained: What the model does not predict of each row, shape (rows,); None where unknown.
        """


class _Constants(_Kind):
    """Constants added to single rows: offsets of torques, a wrench on the base."""

    varies = False

    def __init__(self, names: Sequence[str], sigmas: Array, rows: Indices) -> None:
        super().__init__(names, sigmas)
        self._rows, self._columns = rows, np.arange(len(rows))

    def fill(self, C: Array, state: MeasuredState, paths: InputPaths, unexplained: Array | None) -> None:
        C[self._rows, self._columns] = 1.0


class _TorqueGains(_Kind):
    """Errors of scale of joint torques."""

    def __init__(self, names: Sequence[str], sigmas: Array, rows: Indices, joints: Indices) -> None:
        super().__init__(names, sigmas)
        self._rows, self._joints, self._columns = rows, joints, np.arange(len(rows))

    def fill(self, C: Array, state: MeasuredState, paths: InputPaths, unexplained: Array | None) -> None:
        if state.tau is None:
            return
        tau = state.tau[self._joints]
        C[self._rows, self._columns] = tau if unexplained is None else tau - unexplained[self._rows]


class _AccelerometerBias(_Kind):
    """Constant error of the specific force, along the axes of the IMU."""

    def fill(self, C: Array, state: MeasuredState, paths: InputPaths, unexplained: Array | None) -> None:
        np.negative(paths.sensed[:, :3], out=C)


class _AccelerometerScale(_Kind):
    """Error of scale of the specific force.

    That of the IMU and that of the base differ by the effect of the rotation on their distance, which is
    small against gravity.
    """

    def fill(self, C: Array, state: MeasuredState, paths: InputPaths, unexplained: Array | None) -> None:
        if state.f_B is not None:
            C[:, 0] = paths.inertia[:, :3].dot(-state.f_B)


@dataclass(frozen=True, eq=False)
class UninformingRows:
    """Rows of joints that carry no body of interest; each has an error of its own, apart from the others.

    Attributes:
        joints: Their names.
        rows: Their positions in the equations, shape (k,).
        sigmas: Prior standard deviations of their errors [Nm], shape (k,).
    """

    joints: tuple[str, ...]
    rows: Indices
    sigmas: Array

    @classmethod
    def none(cls) -> "UninformingRows":
        """Return no rows."""
        return cls((), np.zeros(0, dtype=np.int64), np.zeros(0))


class SensorErrors:
    """The errors of a robot's sensors as linear parameters of its measurement equation.

    Attributes:
        names: Of each error, ``kind/where``.
        sigmas: Prior standard deviations [Nm, N, m/s^2; gain and scale without unit], shape (size,).
        informing: Positions of the rows whose errors are described, which may correct an estimate; None: all.
        joints: The joints whose torques have errors, by name the index in the model's order.
        rows: Names of the rows of the equation of motion that `of_rows` describes: of the base, then joints.
        others: Rows of which the errors are not described.
    """

    def __init__(
        self,
        kinds: Sequence[_Kind],
        joints: Mapping[str, int],
        informing: Indices | None = None,
        others: UninformingRows | None = None,
    ) -> None:
        """Put the errors of all kinds in a row.

        Args:
            kinds: The kinds.
            joints: The joints whose torques may have errors, by name the index in the model's order.
            informing: Positions of the rows whose errors they describe; None: all.
            others: Rows of which they are not described; None: none.
        """
        self.informing = informing
        self.others = others or UninformingRows.none()
        self.names = tuple(name for kind in kinds for name in kind.names)
        self.sigmas: Array = np.concatenate([np.zeros(0), *(kind.sigmas for kind in kinds)])
        ends = np.cumsum([len(kind.names) for kind in kinds]).tolist()
        places = {name: place for place, name in enumerate(OF_ACCELEROMETER)}
        self._of_accelerometer = [(i, places[name]) for i, name in enumerate(self.names) if name in places]
        self._kinds = [(slice(end - len(k.names), end), k) for k, end in zip(kinds, ends, strict=True)]
        self._fixed: Array = np.zeros((0, 0))  # columns, of which those that vary are written anew
        described = {name.partition("/")[2] for name in self.names if name.startswith("torque_")}
        self.joints = {name: joint for name, joint in joints.items() if name in described}
        of_base = [row for row in BASE_ROWS if _base_label(row) in self.names]
        self.rows = (*of_base, *self.joints)
        self._of_joints = _indices(self.joints.values())
        labels = np.array(self.names)
        constant = [_base_label(row) for row in of_base] + [f"torque_offset/{name}" for name in self.joints]
        gains = [""] * len(of_base) + [f"torque_gain/{name}" for name in self.joints]
        self._constant, self._per_torque = (
            np.array([labels == label for label in of_kind], dtype=float).reshape(len(of_kind), len(labels))
            for of_kind in (constant, gains)
        )

    @property
    def size(self) -> int:
        """Number of errors."""
        return len(self.names)

    def of_rows(self, errors: Array, P: Array, tau: Array) -> tuple[Array, Array]:
        """Return what each row takes more than its model, and its standard deviation.

        For the base it is u, for a joint g tau + o: at a constant torque, offset and gain of a joint are
        hardly distinguished, but their sum is known.

        Args:
            errors: The errors, shape (size,).
            P: Their covariance, shape (size, size).
            tau: Torques as read [Nm], shape (n_joints,).

        Returns:
            Of the rows in `rows` [N, Nm], shape (k,) each.
        """
        torques = np.zeros(len(self.rows))
        torques[len(self.rows) - len(self._of_joints) :] = tau[self._of_joints]
        T = self._constant + self._per_torque * torques[:, None]
        return T @ errors, np.sqrt(np.maximum(((T @ P) * T).sum(axis=1), 0.0))

    def appended(self, equation: LinearEquation, phi: Array | None = None) -> LinearEquation:
        """Return an equation with the columns of the errors after its own.

        Args:
            equation: One with the state and the paths of its inputs.
            phi: Present parameters, those of the equation first, shape (k,), k at least n: the columns of
                gains are the torques that they predict. None, or where rows are projected: as read.
        """
        e, paths = equation, equation.paths
        assert paths is not None
        if paths.projection is None:
            n = e.regressor.shape[1]
            A = np.zeros((len(e.regressor), n + self.size))
            A[:, :n] = e.regressor
            unexplained = None if phi is None else e.value - e.regressor @ phi[:n] - _known(equation)
            self._fill(A[:, n:], e, unexplained)
        else:
            C = np.zeros((len(paths.picked), self.size))
            self._fill(C, e)
            A = np.concatenate((e.regressor, paths.projection.T @ C), axis=1)
        return LinearEquation(A, e.value, e.noise, e.measured, paths, e.state)

    def of_accelerometer(self, errors: Array) -> Array | None:
        """Return bias [m/s^2] and scale of the accelerometer, shape (4,); None where they have no columns.

        Args:
            errors: All errors, shape (size,).
        """
        if not self._of_accelerometer:
            return None
        found = np.zeros(4)
        for i, place in self._of_accelerometer:
            found[place] = errors[i]
        return found

    def about(self, state: MeasuredState, errors: Array) -> MeasuredState:
        """Return a measured state whose equation is linearised about errors of the accelerometer.

        Args:
            state: The state as measured.
            errors: All errors, shape (size,).
        """
        known = self.of_accelerometer(errors)
        return state if known is None else replace(state, accelerometer=known)

    def _fill(self, C: Array, equation: LinearEquation, unexplained: Array | None = None) -> None:
        assert equation.state is not None
        assert equation.paths is not None
        if self._fixed.shape != C.shape:
            self._fixed = np.zeros_like(C)
            for columns, kind in self._kinds:
                kind.fill(self._fixed[:, columns], equation.state, equation.paths, None)
        C[:] = self._fixed
        for columns, kind in self._kinds:
            if kind.varies:
                kind.fill(C[:, columns], equation.state, equation.paths, unexplained)


def sensor_errors(
    config: SensorErrorConfig,
    robot: RobotModel,
    rows: ResolvedRows,
    bodies: Sequence[BodyReference],
    *,
    accelerometer: bool = False,
    known_offsets: Sequence[int] = (),
) -> SensorErrors | None:
    """Lay out the errors of a robot's sensors.

    Where every row is that of one joint, only torques of joints that carry a body of interest have errors
    here, and only these rows and those of the base inform. Others contain no column of such a body, and what
    they tell through noise that they share would be wrong by their own errors, which are not described
    together with the bodies (`UninformingRows`).

    Args:
        config: Whether there are any.
        robot: The robot.
        rows: The measured rows.
        bodies: The bodies of interest.
        accelerometer: Whether an accelerometer senses the acceleration of the base.
        known_offsets: Joints whose torque offset is estimated as friction.

    Returns:
        The errors; None where there are none.
    """
    if config.treatment == "none":
        return None
    position = {int(row) - robot.n_base: i for i, row in enumerate(rows.picked)}
    carrying = robot.joints_to(*(body.link for body in bodies))
    joints = [j for j in position if j >= 0 and (rows.projects or j in carrying)]
    kinds = _torque_errors(robot, {j: position[j] for j in joints}, known_offsets)
    base = [i for j, i in position.items() if j < 0]
    if base:
        kinds.append(_base_errors(robot))
    if accelerometer and robot.floating_base:
        kinds += _accelerometer_errors()
    informing = np.array(base + [position[j] for j in joints], dtype=np.int64)
    everything = rows.projects or len(informing) in (0, len(rows.picked))
    described = {robot.joint_names[j]: j for j in joints}
    if everything:
        errors = SensorErrors(kinds, described)
    else:
        left_out = {j: i for j, i in position.items() if j >= 0 and j not in joints}
        errors = SensorErrors(kinds, described, informing, _uninforming(robot, left_out))
    return errors if errors.size else None


def _uninforming(robot: RobotModel, row_of: Mapping[int, int]) -> UninformingRows:
    """Return the rows of joints, by their positions."""
    joints = list(row_of)
    names = tuple(robot.joint_names[j] for j in joints)
    return UninformingRows(names, _indices(row_of.values()), torque_offsets(robot)[joints])


def _torque_errors(robot: RobotModel, row_of: Mapping[int, int], known_offsets: Sequence[int]) -> list[_Kind]:
    """Return offsets and gains of joints, by the positions of their rows."""
    offsets, names = torque_offsets(robot), robot.joint_names
    joints = [j for j in row_of if offsets[j] and j not in known_offsets]
    labels = [f"torque_offset/{names[j]}" for j in joints]
    constants = _Constants(labels, offsets[joints], _indices(row_of[j] for j in joints))
    labels = [f"torque_gain/{names[j]}" for j in row_of]
    sigmas = np.full(len(labels), TORQUE_GAIN)
    return [constants, _TorqueGains(labels, sigmas, _indices(row_of.values()), _indices(row_of))]


def _base_errors(robot: RobotModel) -> _Kind:
    """Return the wrench on the base that is not modelled."""
    return _Constants([f"base_{name.replace('_', '/')}" for name in WRENCH], base_wrench(robot), np.arange(6))


def _accelerometer_errors() -> list[_Kind]:
    """Return bias and scale of the accelerometer."""
    bias = _AccelerometerBias(OF_ACCELEROMETER[:3], np.full(3, ACCELEROMETER_BIAS))
    return [bias, _AccelerometerScale(OF_ACCELEROMETER[3:], np.array([ACCELEROMETER_SCALE]))]


def _known(equation: LinearEquation) -> Array | float:
    """Return what the known errors of the accelerometer are in the value of an equation, shape (rows,)."""
    state, paths = equation.state, equation.paths
    if state is None or state.accelerometer is None:
        return 0.0
    assert paths is not None
    assert state.f_B is not None
    bias, scale = state.accelerometer[:3], state.accelerometer[3]
    known: Array = -paths.sensed[:, :3] @ bias - scale * paths.inertia[:, :3] @ state.f_B
    return known


def _base_label(row: str) -> str:
    """Return the name of the error of a base row: base_force/x of base_force_x."""
    return "/".join(row.rsplit("_", 1))


def _indices(values: Iterable[int]) -> Indices:
    return np.fromiter(values, dtype=np.int64)
