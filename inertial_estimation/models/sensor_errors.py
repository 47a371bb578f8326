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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.dynamics_measurement import LinearEquation, MeasuredState
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_rows import BASE_ROWS, FULL_SIZE, ResolvedRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

SHARE = 0.01  # of effort limits and of the robot's weight: assumed, in the range of force and torque sensors
SCALE = 0.05  # relative error of the scales of torques (of data sheets, two sigma) and accelerometer, assumed
ACCELEROMETER_BIAS = 0.2  # along each axis: assumed, 20 mg [m/s^2]
LEVER = 0.2  # of the errors of forces on a robot of `FULL_SIZE`, for those of moments [m]
UNLIMITED = 1.0  # offset of a joint without effort limit [Nm]
WRENCH = tuple(f"base_{kind}/{axis}" for kind in ("force", "moment") for axis in "xyz")
OF_ACCELEROMETER = (*(f"accelerometer_bias/{axis}" for axis in "xyz"), "accelerometer_scale/imu")


@dataclass(frozen=True)
class SensorErrorConfig:
    """What is done about errors of the sensors that are constant or vary slowly."""

    treatment: str = parameter(
        "none",
        "Treatment of slowly varying errors of the sensors: none, or estimated together with the inertias.",
        choices=("none", "estimated"),
    )


def weight_of(robot: RobotModel) -> tuple[float, float]:
    """Return the weight of a robot [N], and its moment on the lever of errors of forces [Nm]."""
    weight = STANDARD_GRAVITY * robot.total_mass
    return weight, weight * LEVER * float(np.cbrt(robot.total_mass / FULL_SIZE))


class SensorErrors:
    """The errors of a robot's sensors as linear parameters of its measurement equation.

    Every torque has an offset. It has a gain, too, where the joint carries a body of interest, or where rows
    are mixed by a projection; other rows only have to be left free.

    Attributes:
        names: Of each error, ``kind/where``.
        sigmas: Prior standard deviations [Nm, N, m/s^2; gain and scale without unit], shape (size,).
        size: Number of errors.
        rows: Names of the rows of the equation of motion that `of_rows` describes: of the base, then joints.
    """

    def __init__(
        self,
        robot: RobotModel,
        rows: ResolvedRows,
        bodies: Sequence[BodyReference],
        *,
        accelerometer: bool = False,
        known_offsets: Sequence[int] = (),
    ) -> None:
        """Put the errors in a row: offsets and gains of torques, wrench on the base, accelerometer.

        Args:
            robot: The robot.
            rows: The measured rows.
            bodies: The bodies of interest.
            accelerometer: Whether an accelerometer senses the acceleration of the base.
            known_offsets: Joints whose torque offset is estimated as friction.
        """
        joints = [int(row) - robot.n_base for row in rows.picked]
        row_of = {j: i for i, j in enumerate(joints) if j >= 0}
        carrying = robot.joints_to(*(body.link for body in bodies))
        limits = urdf_limits(robot).effort
        offset_sigmas = np.where(np.isfinite(limits), SHARE * limits, UNLIMITED)
        offsets = [j for j in row_of if offset_sigmas[j] and j not in known_offsets]
        gains = [j for j in row_of if rows.projects or j in carrying]
        base = range(len(joints) - len(row_of))
        wrench, of_imu = (
            WRENCH[: len(base)],
            OF_ACCELEROMETER if accelerometer and robot.floating_base else (),
        )
        names = robot.joint_names
        self.names = (
            *(f"torque_offset/{names[j]}" for j in offsets),
            *(f"torque_gain/{names[j]}" for j in gains),
            *wrench,
            *of_imu,
        )
        self.rows = (*BASE_ROWS[: len(base)], *(names[j] for j in row_of))
        self.size, first = len(self.names), len(offsets)
        end = first + len(gains)
        parts = (
            offset_sigmas[offsets],
            np.full(len(gains), SCALE),
            SHARE * np.repeat(weight_of(robot), 3)[: len(base)],
            np.array([*3 * [ACCELEROMETER_BIAS], SCALE])[: len(of_imu)],
        )
        self.sigmas: Array = np.concatenate(parts)
        self._accelerometer = slice(end + len(wrench), self.size)
        self._gains = np.array([row_of[j] for j in gains], dtype=int), np.array(gains, dtype=int)
        self._of_gains = np.arange(first, end)
        self._constant = np.zeros((len(joints), self.size))  # columns of offsets and of the wrench
        self._constant[[row_of[j] for j in offsets], np.arange(first)] = 1.0
        self._constant[base, end + np.array(base, dtype=int)] = 1.0

    def of_rows(self, errors: Array, P: Array, tau: Array) -> tuple[Array, Array]:
        """Return what each of `rows` takes more than its model, and its standard deviation [N, Nm].

        For the base it is u, for a joint g tau + o: at a constant torque, offset and gain of a joint are
        hardly distinguished, but their sum is known.

        Args:
            errors: The errors, shape (size,).
            P: Their covariance, shape (size, size).
            tau: Torques as read [Nm], shape (n_joints,).
        """
        T, (rows, joints) = self._constant.copy(), self._gains
        T[rows, self._of_gains] = tau[joints]
        return T @ errors, np.sqrt(np.maximum(((T @ P) * T).sum(axis=1), 0.0))

    def appended(self, equation: LinearEquation, phi: Array | None = None) -> LinearEquation:
        """Return an equation with the columns of the errors after its own.

        The scale of the specific force of the IMU and that of the base differ by the effect of the rotation
        on their distance, which is small against gravity.

        Args:
            equation: The equation.
            phi: Present parameters, those of the equation first, shape (k,), k at least n: the columns of
                gains are the torques that they predict. None, or where rows are projected: as read.
        """
        e, state, paths = equation, equation.state, equation.paths
        C, known, (rows, joints) = self._constant.copy(), self._accelerometer, self._gains
        if known.start < known.stop and state.f_B is not None:
            C[:, known] = np.column_stack((-paths.sensed[:, :3], -paths.inertia[:, :3] @ state.f_B))
        if state.tau is not None:
            C[rows, self._of_gains] = state.tau[joints]
        if paths.projection is not None:
            C = paths.projection.T @ C
        elif phi is not None:
            unexplained = e.value - e.regressor @ phi[: e.regressor.shape[1]]
            if state.accelerometer is not None:
                unexplained = unexplained - C[:, known] @ state.accelerometer
            C[rows, self._of_gains] -= unexplained[rows]
        return replace(e, regressor=np.concatenate((e.regressor, C), axis=1))

    def about(self, state: MeasuredState, errors: Array) -> MeasuredState:
        """Return a measured state whose equation is linearised about errors of the accelerometer."""
        known = errors[self._accelerometer]
        return replace(state, accelerometer=known.copy()) if len(known) else state
