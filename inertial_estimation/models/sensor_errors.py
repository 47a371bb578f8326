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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.dynamics_measurement import LinearEquation, MeasuredState
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


def weight_of(robot: RobotModel) -> tuple[float, float]:
    """Return the weight of a robot [N], and its moment on the lever of errors of forces [Nm].

    Args:
        robot: The robot.
    """
    weight = STANDARD_GRAVITY * robot.total_mass
    return weight, weight * LEVER * float(np.cbrt(robot.total_mass / FULL_SIZE))


WRENCH = tuple(f"base_{kind}/{axis}" for kind in ("force", "moment") for axis in "xyz")
OF_ACCELEROMETER = (*(f"accelerometer_bias/{axis}" for axis in "xyz"), "accelerometer_scale/imu")


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
        size: Number of errors.
        informing: Positions of the rows whose errors are described, which may correct an estimate; None: all.
        joints: The joints whose torques have errors, by name the index in the model's order.
        rows: Names of the rows of the equation of motion that `of_rows` describes: of the base, then joints.
        others: Rows of which the errors are not described.
    """

    def __init__(
        self,
        robot: RobotModel,
        offsets: Mapping[int, int],
        gains: Mapping[int, int],
        *,
        base: bool,
        accelerometer: bool,
        informing: Indices | None = None,
        others: UninformingRows | None = None,
    ) -> None:
        """Put the errors in a row: offsets and gains of torques, wrench on the base, accelerometer.

        Args:
            robot: The robot.
            offsets: Joints whose torque has an unknown offset, with the positions of their rows.
            gains: Joints whose torque has an unknown scale, the same; it contains those of `offsets`.
            base: Whether there is a wrench on the base, whose rows are the first.
            accelerometer: Whether the accelerometer of a floating base has a bias and a scale.
            informing: Positions of the rows whose errors they describe; None: all.
            others: Rows of which they are not described; None: none.
        """
        names, of_gains = robot.joint_names, list(gains)
        wrench = WRENCH if base else ()
        self.names = (
            *(f"torque_offset/{names[j]}" for j in offsets),
            *(f"torque_gain/{names[j]}" for j in of_gains),
            *wrench,
            *(OF_ACCELEROMETER if accelerometer else ()),
        )
        self.size = len(self.names)
        parts = [torque_offsets(robot)[list(offsets)], np.full(len(of_gains), TORQUE_GAIN)]
        parts += [SHARE * np.repeat(weight_of(robot), 3)] if base else []
        parts += [np.array([*3 * [ACCELEROMETER_BIAS], ACCELEROMETER_SCALE])] if accelerometer else []
        self.sigmas: Array = np.concatenate(parts)
        self.informing, self.others = informing, others or UninformingRows.none()
        self.joints = {names[j]: j for j in of_gains}
        self.rows = (*(BASE_ROWS if base else ()), *self.joints)
        first, end = len(offsets), len(offsets) + len(of_gains)
        self._accelerometer = end + len(wrench) if accelerometer else None
        self._gains = _indices(gains.values()), _indices(of_gains), np.arange(first, end)
        columns = [*range(first), *range(end, end + len(wrench))]
        self._ones = _indices([*offsets.values(), *range(len(wrench))]), _indices(columns)
        self._constant = np.zeros((len(self.rows), self.size))  # of `rows`
        self._constant[: len(wrench), end : end + len(wrench)] = np.eye(len(wrench))
        at = [len(wrench) + of_gains.index(j) for j in offsets]
        self._constant[at, np.arange(first)] = 1.0
        self._of_torques = len(wrench) + np.arange(len(of_gains)), self._gains[2]

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
        T = self._constant.copy()
        T[self._of_torques] = tau[self._gains[1]]
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
        at = self._accelerometer
        return None if at is None else errors[at : at + 4].copy()

    def about(self, state: MeasuredState, errors: Array) -> MeasuredState:
        """Return a measured state whose equation is linearised about errors of the accelerometer.

        Args:
            state: The state as measured.
            errors: All errors, shape (size,).
        """
        known = self.of_accelerometer(errors)
        return state if known is None else replace(state, accelerometer=known)

    def _fill(self, C: Array, equation: LinearEquation, unexplained: Array | None = None) -> None:
        """Write the columns of the errors, shape (rows, size), which are zero before.

        The scale of the specific force of the IMU and that of the base differ by the effect of the rotation
        on their distance, which is small against gravity.
        """
        state, paths = equation.state, equation.paths
        assert state is not None
        assert paths is not None
        C[self._ones] = 1.0
        rows, joints, columns = self._gains
        if state.tau is not None:
            tau = state.tau[joints]
            C[rows, columns] = tau if unexplained is None else tau - unexplained[rows]
        if self._accelerometer is not None:
            bias = slice(self._accelerometer, self._accelerometer + 3)
            np.negative(paths.sensed[:, :3], out=C[:, bias])
            if state.f_B is not None:
                C[:, self._accelerometer + 3] = paths.inertia[:, :3].dot(-state.f_B)


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
    gains = {j: i for j, i in position.items() if j >= 0 and (rows.projects or j in carrying)}
    possible = torque_offsets(robot)
    offsets = {j: i for j, i in gains.items() if possible[j] and j not in known_offsets}
    base = [i for j, i in position.items() if j < 0]
    described = _indices([*base, *gains.values()])
    informing, others = None, None
    if not rows.projects and 0 < len(described) < len(rows.picked):
        informing = described
        left = {j: i for j, i in position.items() if j >= 0 and j not in gains}
        names = tuple(robot.joint_names[j] for j in left)
        others = UninformingRows(names, _indices(left.values()), possible[list(left)])
    errors = SensorErrors(
        robot,
        offsets,
        gains,
        base=bool(base),
        accelerometer=accelerometer and robot.floating_base,
        informing=informing,
        others=others,
    )
    return errors if errors.size else None


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


def _indices(values: Iterable[int]) -> Indices:
    return np.fromiter(values, dtype=np.int64)
