"""One measurement equation for all robots: Y pi + friction = S' tau + sum J' lambda, by rows.

The wanted bodies' columns come from body regressors, Y_est = J_j' A_j; everything else from one inverse
dynamics of a model whose wanted inertias are zero. What is left is linear in the unknowns:

    dtau = S' tau + sum J' lambda - tau_nom = [Y_est, F] [pi_est; friction] + noise

(Foster et al. 13-15, Yamane 6-16, Tournois et al. 1-6). Gravity and the base's acceleration enter only
through the proper acceleration f_B = R_WB' (p'' - g_W), what an accelerometer senses: gravity is zero
here and f_B takes the place of the base's acceleration, so neither tilt nor velocity enters.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.friction import FrictionModel, KnownFriction
from inertial_estimation.models.measurement_rows import ContactMode, Indices, RowSelection
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

__all__ = [
    "DynamicsMeasurement",
    "DynamicsState",
    "LinearEquation",
    "MeasuredRows",
    "NoiseModel",
]

FULL_REGRESSOR_SHARE = 0.2  # of the bodies wanted, above which the regressor of all of them is quicker


@dataclass(frozen=True, slots=True, eq=False)
class DynamicsState:
    """Everything measured at one time; not copied, for it is made and used within one update.

    Attributes:
        q: Joint positions [rad], shape (n_joints,).
        v: Joint velocities [rad/s], shape (n_joints,).
        a: Joint accelerations [rad/s^2], shape (n_joints,).
        tau: Joint torques [Nm], shape (n_joints,), or None where not measured.
        f_B: Proper acceleration of the base origin, base axes [m/s^2], shape (3,); None: fixed base.
        w_B: Angular velocity of the base, base axes [rad/s], shape (3,).
        wd_B: Angular acceleration of the base, base axes [rad/s^2], shape (3,).
        wrenches: Measured wrench of each contact, about and along its frame, shape (n_contacts, 6).
        sign: Smoothed sign of v averaged over the window, shape (n_joints,), or None.
    """

    q: Array
    v: Array
    a: Array
    tau: Array | None = None
    f_B: Array | None = None
    w_B: Array | None = None
    wd_B: Array | None = None
    wrenches: Array | None = None
    sign: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LinearEquation:
    """value = regressor @ [pi_1, ..., pi_n, friction] + noise.

    Attributes:
        regressor: About the joint frames, Pinocchio's order, shape (m, 10 n + n_friction).
        value: dtau [Nm, N], shape (m,).
        noise: Covariance of the noise, shape (m, m).
        measured: S' tau + sum J' lambda, for relative errors [Nm, N], shape (m,).
    """

    regressor: Array
    value: Array
    noise: Array
    measured: Array


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRows:
    """The same equation at k times, without the noise: value = regressor @ [pi_1, ..., friction].

    Where unknown wrenches are projected out with the null-space basis N of their Jacobians, rows hold N N'
    times the equation: it changes smoothly with the posture, as N need not, so it can be filtered in time.
    N' times a row, `basis`, is the equation without its redundant part.

    Attributes:
        regressor: About the joint frames, Pinocchio's order, shape (k, m, 10 n + n_friction).
        value: dtau [Nm, N], shape (k, m).
        measured: S' tau + sum J' lambda [Nm, N], shape (k, m).
        basis: N of each time, shape (k, m, m'), or None where nothing is redundant.
    """

    regressor: Array
    value: Array
    measured: Array
    basis: Array | None = None


@dataclass(frozen=True)
class NoiseModel:
    """Standard deviations of the inputs of one update, all white.

    Attributes:
        torque: Joint torque [Nm].
        base_force: Unmodelled force on the base rows [N].
        base_moment: Unmodelled moment on the base rows [Nm].
        contact_force: Force of a measured contact wrench [N].
        contact_moment: Moment of a measured contact wrench [Nm].
        proper_acceleration: Of the IMU; of the base where no IMU senses it [m/s^2].
        angular_acceleration: Of the IMU; of the base where no IMU senses it [rad/s^2].
        joint_acceleration: Of the joints [rad/s^2].
    """

    torque: float = 0.5
    base_force: float = 1.0
    base_moment: float = 0.5
    contact_force: float = 2.0
    contact_moment: float = 0.2
    proper_acceleration: float = 0.05
    angular_acceleration: float = 0.1
    joint_acceleration: float = 0.2


class DynamicsMeasurement:
    """Makes the linear equation of selected rows out of a measured state.

    Attributes:
        row_names: Name of each row of the equations it makes.
    """

    def __init__(
        self,
        robot: RobotModel,
        bodies: tuple[BodyReference, ...],
        rows: RowSelection,
        noise: NoiseModel,
        contacts: tuple[ContactFrames, ...] = (),
        friction: FrictionModel | None = None,
        imu_frame: str = "",
        known_friction: KnownFriction | None = None,
    ) -> None:
        """Prepare the models.

        Args:
            robot: The robot; its inertias are the nominal ones.
            bodies: The bodies to estimate.
            rows: Which rows are measured, and how contacts are treated.
            noise: Standard deviations of the inputs.
            contacts: Contacts that act on the robot.
            friction: Friction to estimate, None for none.
            imu_frame: Link of the IMU the base's acceleration comes from; empty: it is known as such.
            known_friction: Friction that is not estimated, part of the nominal torque; None for none.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
            ~inertial_estimation.errors.ConfigurationError: If the rows do not fit robot and contacts.
        """
        self._robot = robot
        self._bodies = bodies
        self._friction = friction
        self._known_friction = known_friction
        self._rows = rows.resolved(robot, contacts)
        self.row_names = self._rows.names
        self._picked = _slice_if_contiguous(self._rows.picked)
        self._nominal_model = robot.model.copy()
        if robot.floating_base:
            self._nominal_model.gravity.linear = np.zeros(3)
        self._rest_model = self._nominal_model.copy()
        for body in bodies:
            self._rest_model.inertias[body.joint_id] = pin.Inertia.Zero()
        self._data = self._rest_model.createData()
        self._nominal_data = self._nominal_model.createData()
        self._contact_maps = _contact_maps(robot, contacts)
        self._imu = _imu_place(robot, imu_frame) if imu_frame and robot.floating_base else None
        self._n_parameters = 10 * len(bodies) + (friction.size if friction else 0)
        ids = np.array([body.joint_id for body in bodies], dtype=np.int64)
        columns = (10 * (ids[:, None] - 1) + np.arange(10)).ravel()  # in the regressor of all bodies
        self._columns = _slice_if_contiguous(columns) if bodies else columns
        self._rest_parameters = _parameters(self._rest_model)
        self._set_noise(noise)

    def equation(self, state: DynamicsState) -> LinearEquation:
        """Return the linear equation at a measured state.

        Args:
            state: The measurements, all of one time.

        Returns:
            The equation in the rows `row_names`.
        """
        q, v, a = self._generalized(state)
        M = pin.crba(self._nominal_model, self._nominal_data, q, pin.Convention.WORLD)  # fills J as well
        A = np.zeros((len(v), self._n_parameters))
        tau_nom = self._fill_by_bodies(A, q, v, a)
        self._fill_friction(A, state)
        self._add_known_friction(tau_nom, state)
        J_C = self._contact_jacobian()
        applied = self._applied(state, J_C)
        picked = self._picked
        noise = self._noise(M[picked], J_C[:, picked])
        value = (applied - tau_nom)[picked]
        equation = LinearEquation(A[picked], value, noise, applied[picked])
        return self._projected(equation, J_C) if self._rows.projects else equation

    def rows(self, states: DynamicsState) -> MeasuredRows:
        """Return the same rows at many measured states, without the covariance of their noise.

        Args:
            states: The measurements; every array has one more axis in front, of length k.

        Returns:
            The rows `row_names` at each time, or before the redundant part was taken out (see there).
        """
        k, n_v = len(states.q), self._rest_model.nv
        q, v, a = self._generalized_rows(states)
        A = np.zeros((k, n_v, self._n_parameters))
        tau_nom = np.zeros((k, n_v))
        jacobians = np.zeros((k, 6 * len(self._contact_maps), n_v))
        many = len(self._bodies) >= FULL_REGRESSOR_SHARE * (self._rest_model.njoints - 1)
        if many:
            self._fill_by_full_regressor(A, tau_nom, q, v, a)
        for i in range(k if self._contact_maps or not many else 0):
            pin.computeJointJacobians(self._nominal_model, self._nominal_data, q[i])
            jacobians[i] = self._contact_jacobian()
            if not many:
                tau_nom[i] = self._fill_by_bodies(A[i], q[i], v[i], a[i])
        self._fill_friction(A, states)
        self._add_known_friction(tau_nom, states)
        applied = self._applied(states, jacobians)
        picked = self._picked
        rows = MeasuredRows(A[:, picked], (applied - tau_nom)[:, picked], applied[:, picked])
        return self._projected_rows(rows, jacobians) if self._rows.projects else rows

    def _add_known_friction(self, tau_nom: Array, state: DynamicsState) -> None:
        """Add the friction that is not estimated to the nominal torques, shape (..., nv)."""
        if self._known_friction is not None:
            tau_nom[..., self._robot.n_base :] += self._known_friction.torques(state.v, state.a, state.sign)

    def _applied(self, state: DynamicsState, J_C: Array) -> Array:
        """Return S' tau + sum J' lambda of one state or of many, shape (..., nv)."""
        applied = np.zeros((*state.q.shape[:-1], self._rest_model.nv))
        if state.tau is not None:
            applied[..., self._robot.n_base :] = state.tau
        if self._rows.contacts is ContactMode.MEASURED and state.wrenches is not None:
            wrenches = state.wrenches.reshape(*state.q.shape[:-1], 1, -1)
            applied += (wrenches @ J_C)[..., 0, :]
        return applied

    def _generalized(self, state: DynamicsState) -> tuple[Array, Array, Array]:
        q = self._robot.configuration(state.q)
        if not self._robot.floating_base:
            return q, state.v, state.a
        assert state.f_B is not None
        assert state.w_B is not None
        assert state.wd_B is not None
        # Linear velocity zero: Galilean invariance; then spatial and proper acceleration coincide.
        v: Array = np.concatenate((np.zeros(3), state.w_B, state.v))
        return q, v, np.concatenate((state.f_B, state.wd_B, state.a))

    def _generalized_rows(self, states: DynamicsState) -> tuple[Array, Array, Array]:
        plain = self._rest_model.nq == self._robot.n_joints  # no base, no joint without limits
        q = states.q if plain else np.array([self._robot.configuration(q_i) for q_i in states.q])
        if not self._robot.floating_base:
            return q, states.v, states.a
        assert states.f_B is not None
        assert states.w_B is not None
        assert states.wd_B is not None
        v = np.concatenate((np.zeros_like(states.f_B), states.w_B, states.v), axis=1)
        return q, v, np.concatenate((states.f_B, states.wd_B, states.a), axis=1)

    def _fill_by_bodies(self, A: Array, q: Array, v: Array, a: Array) -> Array:
        """Write the bodies' columns into A one by one, the Jacobians being known; return tau_nom."""
        model, data = self._rest_model, self._data
        tau_nom: Array = pin.rnea(model, data, q, v, a)
        for i, body in enumerate(self._bodies):
            J = pin.getJointJacobian(model, self._nominal_data, body.joint_id, pin.LOCAL)
            A[:, 10 * i : 10 * i + 10] = J.T @ pin.jointBodyRegressor(model, data, body.joint_id)
        return tau_nom

    def _fill_by_full_regressor(self, A: Array, tau_nom: Array, q: Array, v: Array, a: Array) -> None:
        """Do the same at many states, out of the regressor of all bodies."""
        model, data, regressor = self._rest_model, self._data, pin.computeJointTorqueRegressor
        wanted = self._columns
        rest = self._rest_parameters if self._rest_parameters.any() else None
        for i, (columns, state) in enumerate(zip(A, zip(q, v, a, strict=True), strict=True)):
            Y = regressor(model, data, *state)
            columns[:, : 10 * len(self._bodies)] = Y[:, wanted]
            if rest is not None:
                tau_nom[i] = Y @ rest

    def _fill_friction(self, A: Array, state: DynamicsState) -> None:
        if self._friction:
            F = self._friction.regressor(state.v, state.a, state.sign)
            A[..., self._robot.n_base :, 10 * len(self._bodies) :] = F

    def _contact_jacobian(self) -> Array:
        """Return all contact Jacobians stacked, wrench frames' axes, shape (6 n_contacts, nv)."""
        model, data = self._nominal_model, self._nominal_data
        J_C = np.empty((6 * len(self._contact_maps), model.nv))
        for i, (joint_id, X_CJ) in enumerate(self._contact_maps):
            J_C[6 * i : 6 * i + 6] = X_CJ @ pin.getJointJacobian(model, data, joint_id, pin.LOCAL)
        return J_C

    def _set_noise(self, noise: NoiseModel) -> None:
        joints = self._robot.n_joints
        acceleration = [noise.joint_acceleration] * joints
        direct = [noise.torque] * joints
        if self._robot.floating_base:
            base = 3 * [noise.proper_acceleration] + 3 * [noise.angular_acceleration]
            acceleration = base + acceleration
            direct = 3 * [noise.base_force] + 3 * [noise.base_moment] + direct
        self._sigma_a = np.array(acceleration)
        self._variance = np.array(direct)[self._rows.picked] ** 2
        wrench = 3 * [noise.contact_force] + 3 * [noise.contact_moment]
        measured = self._rows.contacts is ContactMode.MEASURED
        self._sigma_wrench = np.array(wrench * len(self._contact_maps) if measured else [])

    def _noise(self, M: Array, J_C: Array) -> Array:
        """Return R = R_tau + M T Sigma_a T' M' + J' Sigma_lambda J in the picked rows, as R_tau + W W'."""
        n = M.shape[1]
        W = np.empty((len(M), n + len(self._sigma_wrench)))
        W_a = W[:, :n]
        np.multiply(M, self._sigma_a, out=W_a)
        if self._imu is not None:
            self._see_through_imu(M[:, :6], W_a)
        if len(self._sigma_wrench):
            np.multiply(J_C.T, self._sigma_wrench, out=W[:, n:])
        R: Array = W @ W.T
        R.reshape(-1)[:: len(R) + 1] += self._variance
        return R

    def _see_through_imu(self, M_B: Array, W_a: Array) -> None:
        """Make W_a = M T: the generalized forces per sigma of each acceleration as it is sensed.

        The base's acceleration is not sensed: a_B = X_BI (a_I - J_I a), so errors of the IMU reach the
        base through the lever arm, and those of the joints between base and IMU act in two places.

        Args:
            M_B: Columns of the mass matrix that belong to the base, shape (m, 6).
            W_a: Mass matrix times the sigmas, changed in place, shape (m, nv).
        """
        assert self._imu is not None
        joint_id, T_JI, between = self._imu
        data, sigma = self._nominal_data, self._sigma_a
        X_BI = (data.oMi[joint_id] * T_JI).toActionMatrix()  # the base is at the origin of the world
        np.matmul(M_B, X_BI * sigma[:6], out=W_a[:, :6])
        if between is not None:
            W_a[:, between] -= M_B @ (data.J[:, between] * sigma[between])

    def _projected(self, equation: LinearEquation, J_C: Array) -> LinearEquation:
        N = self._rows.projection(J_C)
        return LinearEquation(
            N.T @ equation.regressor, N.T @ equation.value, N.T @ equation.noise @ N, N.T @ equation.measured
        )

    def _projected_rows(self, rows: MeasuredRows, jacobians: Array) -> MeasuredRows:
        N = np.array([self._rows.projection(J_C) for J_C in jacobians])
        P = N.transpose(0, 2, 1)
        redundant = self._rows.contacts is ContactMode.PROJECTED
        P = N @ P if redundant else P
        value, measured = ((P @ column[:, :, None])[:, :, 0] for column in (rows.value, rows.measured))
        return MeasuredRows(P @ rows.regressor, value, measured, N if redundant else None)


def _parameters(model: pin.Model) -> Array:
    """Return the inertial parameters of all bodies but the world, as the regressor takes them."""
    return np.concatenate([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])


def _slice_if_contiguous(indices: Indices) -> slice | Indices:
    """Return the same rows as a slice where it can be: views instead of copies."""
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if np.array_equal(indices, np.arange(first, last + 1)) else indices


def _imu_place(robot: RobotModel, imu_frame: str) -> tuple[int, pin.SE3, slice | Indices | None]:
    """Return the IMU's joint, its placement there, and the velocities between base and IMU, if any."""
    frame = robot.model.frames[robot.frame_id(imu_frame)]
    joint_id = int(frame.parentJoint)
    between = [robot.model.idx_vs[j] for j in robot.model.supports[joint_id] if j > 1]
    rows = _slice_if_contiguous(np.array(between, dtype=np.int64)) if between else None
    return joint_id, frame.placement, rows


def _contact_maps(robot: RobotModel, contacts: tuple[ContactFrames, ...]) -> list[tuple[int, Array]]:
    """Return of each contact its joint, and the action that takes velocities of J into its wrench frame."""
    maps = []
    for contact in contacts:
        frame = robot.model.frames[robot.frame_id(contact.wrench_frame)]
        maps.append((int(frame.parentJoint), frame.placement.toActionMatrixInverse()))
    return maps
