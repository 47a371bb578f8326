"""The measurement equation of every robot: Y pi + friction = S' tau + sum J' lambda, by rows.

The columns of the estimated bodies come from body regressors, Y_est = J_j' A_j; tau_nom is the inverse
dynamics of a model in which the inertias of these bodies are zero. The remainder is linear in the unknowns:

    dtau = S' tau + sum J' lambda - tau_nom = [Y_est, F] [pi_est; friction] + noise

(Foster et al. 13-15, Yamane 6-16, Tournois et al. 1-6). Gravity and the base's acceleration enter only
through the proper acceleration f_B = R_WB' (p'' - g_W), what an accelerometer senses: gravity is zero
here and f_B takes the place of the base's acceleration, so neither tilt nor velocity enters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.candidate_columns import LOAD_COLUMNS, BodyCauses, CandidateColumns
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.measurement_rows import (
    ContactMode,
    Indices,
    MeasurementNoise,
    ResolvedRows,
    RowsConfig,
)
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

PROPER_ACCELERATION = 0.05  # noise of the base's specific force over one window, of common IMUs [m/s^2]
ANGULAR_ACCELERATION = 0.1  # noise of the base's angular acceleration over one window [rad/s^2]
LEAST = 1e-9  # least standard deviation of a row, so that no covariance is singular [N, Nm]
REACHED = 1e-6  # effect of a missing reading on a row, over the largest one, that counts as none


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredState:
    """All measurements at one time. The arrays are not copied, since one update creates and uses them."""

    q: Array  # joint positions [rad], shape (n_joints,)
    v: Array  # joint velocities [rad/s], shape (n_joints,)
    a: Array  # joint accelerations [rad/s^2], shape (n_joints,)
    tau: Array | None = None  # joint torques [Nm], shape (n_joints,), or None where not measured
    # proper acceleration of the base origin, base axes [m/s^2], shape (3,); None: fixed base
    f_B: Array | None = None
    w_B: Array | None = None  # angular velocity of the base, base axes [rad/s], shape (3,)
    wd_B: Array | None = None  # angular acceleration of the base, base axes [rad/s^2], shape (3,)
    # measured wrench of each contact, about and along its frame, shape (n_contacts, 6)
    wrenches: Array | None = None
    sign: Array | None = None  # smoothed sign of v averaged over the window, shape (n_joints,), or None
    # errors of the accelerometer about which an equation is linearised: bias along the axes of the IMU
    # [m/s^2] and scale, shape (4,); f_B is as read. None: zero
    accelerometer: Array | None = None
    # torques, then wrenches, that were not there and count as zero: (n_joints + n_contacts,); None: all were
    missing: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LinearEquation:
    """value = regressor @ [pi_1, ..., pi_n, friction] + noise."""

    regressor: Array  # about the joint frames, Pinocchio's order, shape (m, 10 n + n_friction)
    value: Array  # dtau [Nm, N], shape (m,)
    noise: Array  # covariance of the noise, shape (m, m)
    measured: Array  # S' tau + sum J' lambda, for relative errors [Nm, N], shape (m,)
    paths: "InputPaths"  # how errors of the inputs reach the rows
    state: MeasuredState  # the measured state it belongs to
    # P, on what missing readings do not reach, by which value, regressor and projection are multiplied,
    # shape (m, m); None where all are there
    known: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InputPaths:
    """How errors of the inputs reach the rows of an equation."""

    inertia: Array  # rows of the mass matrix: the effect of an error of each acceleration, shape (k, nv)
    sensed: Array  # the same of each acceleration that is sensed, that of the IMU in place of the base's
    # contact Jacobians in the picked columns: transposed, the effect of an error of each wrench component,
    # shape (6 n_contacts, k)
    contacts: Array
    picked: Indices  # positions of the rows in the generalized forces, shape (k,)
    # N, where the equation is N' times the picked rows, shape (k, m); None: it is these rows
    projection: Array | None


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRows:
    """The measurement equation at k times, without the noise: value = regressor @ [pi_1, ..., friction].

    Where unknown wrenches are projected out with the null-space basis N of their Jacobians, the rows hold
    N N' times the equation. N N' is a smooth function of the posture, which N need not be, so the rows can be
    filtered in time. N' times the rows (`basis` holds N) is the equation without its redundant part.
    """

    regressor: Array  # about the joint frames, Pinocchio's order, shape (k, m, 10 n + n_friction)
    value: Array  # dtau [Nm, N], shape (k, m)
    measured: Array  # S' tau + sum J' lambda [Nm, N], shape (k, m)
    basis: Array | None = None  # N of each time, shape (k, m, m'), or None where nothing is projected


class EquationTerms:
    """Terms of the equation at the configuration of the last `move_to`.

    Attributes:
        mass_matrix: M(q) of the robot with estimated inertias, shape (nv, nv), by which errors of
            accelerations affect the generalized forces: a load in a hand makes the effect of a joint's
            acceleration on the arm's torques several times as large.
        size: Number of columns of the bodies, ten for each.
        nominal: Their nominal parameters about the joint frames, Pinocchio's order, shape (size,).
        n_wrenches: Number of components of all contact wrenches.
    """

    def __init__(
        self,
        robot: RobotModel,
        bodies: Sequence[BodyReference],
        contacts: Sequence[ContactFrames] = (),
        imu: ImuMount | None = None,
    ) -> None:
        """Copy the model.

        Args:
            robot: The robot, with nominal inertias.
            bodies: The bodies that have columns.
            contacts: The contacts.
            imu: IMU that senses the acceleration of a floating base; None if that is given directly.
        """
        self._imu = imu if robot.floating_base else None
        self._model = robot.model.copy()  # whose bodies have the parameters that are believed
        if robot.floating_base:  # its proper acceleration stands for gravity
            self._model.gravity.linear = np.zeros(3)
        self._data = self._model.createData()
        self._joints = [body.joint_id for body in bodies]
        self._inertias = [robot.model.inertias[joint].copy() for joint in self._joints]
        self._frames = [robot.frame_id(contact.wrench_frame) for contact in contacts]
        self.size, self.n_wrenches = 10 * len(bodies), 6 * len(contacts)
        self.nominal = np.array([body.nominal_J.vector for body in bodies]).ravel()
        self._believe(None)

    def _believe(self, phi: Array | None) -> None:
        self._phi, used = phi, np.empty(self.size)
        for k, (joint, nominal) in enumerate(zip(self._joints, self._inertias, strict=True)):
            pi = None if phi is None else phi[10 * k : 10 * k + 10]
            inertia = pin.Inertia.FromDynamicParameters(pi) if pi is not None and pi[0] > 0.0 else nominal
            self._model.inertias[joint] = inertia
            used[10 * k : 10 * k + 10] = inertia.toDynamicParameters()
        self._believed = used

    def move_to(self, q: Array, phi: Array | None = None) -> None:
        """Compute mass matrix and Jacobians.

        Args:
            q: Configuration, shape (nq,).
            phi: Parameters of the bodies, as `nominal`; what follows them is not read. None: nominal. A body
                without a positive mass, which a linear filter may estimate, counts as nominal.
        """
        if phi is not self._phi:
            self._believe(phi)
        self.mass_matrix: Array = pin.crba(self._model, self._data, q, pin.Convention.WORLD)

    def columns(self, q: Array, v: Array, a: Array, width: int) -> tuple[Array, Array]:
        """Return the columns of the bodies, then zeros, (nv, width), and the torques of all others, (nv,).

        Args:
            q: The configuration, shape (nq,).
            v: Generalized velocity, shape (nv,).
            a: Generalized acceleration, shape (nv,); of a floating base the proper one, gravity included.
            width: Number of columns, at least `size`.
        """
        model, data = self._model, self._data
        whole: Array = pin.rnea(model, data, q, v, a)
        A = np.zeros((len(v), width))
        for i, joint in enumerate(self._joints):
            J = pin.getJointJacobian(model, data, joint, pin.LOCAL)
            A[:, 10 * i : 10 * i + 10] = J.T @ pin.jointBodyRegressor(model, data, joint)
        return A, whole - A[:, : self.size] @ self._believed

    def contact_jacobians(self) -> Array:
        """Return the Jacobians of the contacts in the axes of their wrench frames, shape (n_wrenches, nv)."""
        J = np.empty((self.n_wrenches, self._model.nv))
        for i, frame in enumerate(self._frames):
            of_frame = pin.getFrameJacobian(self._model, self._data, frame, pin.LOCAL)
            J[6 * i : 6 * i + 6] = of_frame.reshape(6, -1)  # of one joint it is a vector
        return J

    @property
    def T_BI(self) -> pin.SE3:
        """Pose of the IMU in the base; identity without one."""
        imu = self._imu
        return pin.SE3.Identity() if imu is None else self._data.oMi[imu.joint_id] * imu.T_JI

    def by_sensed(self, inertia: Array) -> Array:
        """Return the effect of an error of each sensed acceleration on rows of the mass matrix, (m, nv).

        Accelerations of the joints are sensed directly, and that of the base where there is no IMU. With one
        it is a_B = X_BI (a_I - J_I a): errors of the joints between base and IMU enter through the base, too.

        Args:
            inertia: Rows of the mass matrix, shape (m, nv).
        """
        if self._imu is None:
            return inertia
        of_base, moving = inertia[:, :6], list(self._imu.moving)
        sensed: Array = inertia.copy()
        sensed[:, :6] = of_base @ self.T_BI.toActionMatrix()
        if moving:
            sensed[:, moving] -= of_base @ self._data.J[:, moving]
        return sensed


class _RowCovariance:
    """Covariance of the measured rows, from the noise of what they are computed from."""

    def __init__(
        self, noise: MeasurementNoise, robot: RobotModel, rows: ResolvedRows, n_contacts: int
    ) -> None:
        noise = noise.for_robot(robot)
        acceleration, direct = robot.n_joints * [noise.joint_acceleration], robot.n_joints * [noise.torque]
        if robot.floating_base:
            acceleration = 3 * [PROPER_ACCELERATION] + 3 * [ANGULAR_ACCELERATION] + acceleration
            direct = 3 * [noise.base_force] + 3 * [noise.base_moment] + direct
        wrench = 3 * [noise.contact_force] + 3 * [noise.contact_moment(robot)]
        self._acceleration = np.array(acceleration)
        self._wrench = np.array(n_contacts * wrench if rows.contacts is ContactMode.MEASURED else [])
        self._variance = np.maximum(direct, LEAST)[rows.picked] ** 2

    def at(self, sensed: Array, contacts: Array) -> Array:
        """Return R, shape (m, m).

        Args:
            sensed: Effect of an error of each sensed acceleration on the rows, shape (m, nv).
            contacts: Contact Jacobians in the columns of the rows, shape (6 n_contacts, m).
        """
        wrenches = contacts[: len(self._wrench)].T * self._wrench
        W = np.concatenate((sensed * self._acceleration, wrenches), axis=1)
        R: Array = W @ W.T
        R.ravel()[:: len(R) + 1] += self._variance
        return R


class DynamicsMeasurement:
    """Computes the linear equation of the selected rows from a measured state."""

    def __init__(
        self,
        robot: RobotModel,
        bodies: tuple[BodyReference, ...],
        rows: RowsConfig,
        noise: MeasurementNoise,
        contacts: tuple[ContactFrames, ...] = (),
        friction: FrictionModel | None = None,
        imu: ImuMount | None = None,
        known_friction: FrictionModel | None = None,
    ) -> None:
        """Prepare the models.

        Args:
            robot: The robot; its inertias are the nominal ones.
            bodies: The bodies to estimate.
            rows: Which rows are measured, and how contacts are treated.
            noise: Standard deviations of the inputs.
            contacts: Contacts that act on the robot.
            friction: Friction to estimate, None for none.
            imu: IMU that senses the acceleration of the base; None if that acceleration is given directly.
            known_friction: Friction that is not estimated, part of the nominal torque; None for none.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the rows do not fit robot and contacts.
        """
        self._robot = robot
        self._friction, self._known_friction = friction, known_friction
        self._rows = rows.resolved(robot, contacts)
        self._projects = self._rows.projects
        if self._needs_load and self._projects:
            raise ConfigurationError(
                "friction that depends on the load (coulomb_load) needs contact wrenches that are measured, "
                "expected contact_wrenches to be 'measured' or 'none'"
            )
        self._terms = EquationTerms(robot, bodies, contacts, imu)
        self._covariance = _RowCovariance(noise, robot, self._rows, len(contacts))
        self._n_parameters = self._terms.size + (friction.size if friction else 0)

    @cached_property
    def _needs_load(self) -> bool:
        return any(part.needs_load for part in (self._friction, self._known_friction) if part is not None)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of each row of the equations."""
        return self._rows.names

    @property
    def picked_rows(self) -> Indices:
        """Places of the rows in the generalized forces, before a projection, shape (k,)."""
        return self._rows.picked

    def equation(self, state: MeasuredState, phi: Array | None = None) -> LinearEquation:
        """Return the linear equation at a measured state, in the rows `row_names`.

        Rows are bilinear in the bodies and an error e of the sensed acceleration of the base, known as e_0:
        A(f_B - e) pi = z(f_B - e). Linearised about e_0, with E the rows of the mass matrix for the base,

            A(f_B - e_0) pi - E e = z(f_B - e_0) - E e_0 + noise

        whose remainder, of an error of pi and one of e, is of the second order. About zero it would be E(pi)
        e_0 - E(phi) e_0 for ever, however well e is known.

        A torque or wrench that is missing is an unknown that reaches the rows along some directions; the
        equation is projected on all others, which it does not reach.

        Args:
            state: The measurements, all of one time.
            phi: Present parameters of the bodies, about the joint frames, shape (n,): errors of accelerations
                reach the rows through the mass matrix of the robot as it is. None: nominal.
        """
        q, v, a = self._generalized(state)
        terms, picked = self._terms, self._rows.picked
        terms.move_to(q, phi)
        inertia, known = terms.mass_matrix[picked], np.zeros(3)
        if state.accelerometer is not None:
            assert state.f_B is not None
            known = terms.T_BI.rotation @ state.accelerometer[:3] + state.accelerometer[3] * state.f_B
            a[:3] -= known
        A, rest = terms.columns(q, v, a, self._n_parameters)
        J_C = terms.contact_jacobians()
        A, value, measured = self._picked(A, rest, J_C, state)
        value = value - inertia[:, :3] @ known if known.any() else value
        sensed, of_contacts = terms.by_sensed(inertia), J_C[:, picked]
        noise = self._covariance.at(sensed, of_contacts)
        N: Array | None = self._rows.projection(J_C) if self._projects else None
        if N is not None:
            A, value, noise, measured = N.T @ A, N.T @ value, N.T @ noise @ N, N.T @ measured
        P = None if state.missing is None else self._known(state.missing, J_C, N)
        if P is not None:
            N, Q = P if N is None else N @ P, np.eye(len(P)) - P
            A, value, measured = P @ A, P @ value, P @ measured
            noise = P @ noise @ P + Q @ noise @ Q  # where nothing is known, it only has to be regular
        paths = InputPaths(inertia, sensed, of_contacts, picked, N)
        return LinearEquation(A, value, noise, measured, paths, state, P)

    def _known(self, missing: NDArray[np.bool_], J_C: Array, N: Array | None) -> Array:
        """Return P = 1 - U U^+, with U the effect of missing readings on the rows, shape (m, m).

        Args:
            missing: As in `MeasuredState`.
            J_C: Contact Jacobians, shape (6 n_contacts, nv).
            N: Projection of the picked rows; None for none.
        """
        n, nv = self._robot.n_joints, self._robot.model.nv
        wrenches = J_C[np.repeat(missing[n:], 6)[: len(J_C)]]
        reach = np.vstack((np.eye(nv)[nv - n :][missing[:n]], wrenches))[:, self._rows.picked].T
        U = reach if N is None else N.T @ reach
        P: Array = np.eye(len(U)) - U @ linear_algebra.pinv(U, REACHED)
        P[np.abs(P) < REACHED] = 0.0
        return P

    def proper_acceleration(self, state: MeasuredState) -> Array:
        """Return the proper acceleration of the base, base frame [m/s^2], shape (3,): upwards at rest."""
        return -np.array(self._robot.model.gravity.linear) if state.f_B is None else state.f_B

    def causes(
        self, candidates: CandidateColumns, state: MeasuredState, projection: Array | None
    ) -> BodyCauses:
        """Return the columns of loads and external wrenches in the rows `row_names`.

        Args:
            candidates: The bodies they act on.
            state: The measurements, all of one time.
            projection: N of the equation at this state.
        """
        causes = candidates.at(*self._generalized(state), self._rows.picked)
        if projection is None:
            return causes
        parts = causes.loads, causes.weights, causes.wrenches
        loads, weights, wrenches = (projection.T @ part for part in parts)
        return BodyCauses(loads, weights, wrenches, causes.R_BJ)

    def by_parameters(
        self, candidates: CandidateColumns, state: MeasuredState, projection: Array | None
    ) -> Array:
        """Return the columns of masses and first moments of bodies in the rows `row_names`, shape (n, m, 4).

        Args:
            candidates: The bodies.
            state: The measurements, all of one time.
            projection: N of the equation at this state.
        """
        columns = candidates.parameters(*self._generalized(state), self._rows.picked, LOAD_COLUMNS)
        return columns if projection is None else projection.T @ columns

    def rows(self, states: MeasuredState) -> MeasuredRows:
        """Return the linear equation at many measured states, without the covariance of the noise.

        Args:
            states: The measurements; every array has one more axis in front, of length k.

        Returns:
            The rows `row_names` at each time; with a projection, the redundant rows before it (see
                `MeasuredRows`).
        """
        k, n_v = len(states.q), self._robot.model.nv
        A, rest = np.empty((k, n_v, self._n_parameters)), np.empty((k, n_v))
        jacobians = np.empty((k, self._terms.n_wrenches, n_v))
        for i, (q, v, a) in enumerate(zip(*self._generalized(states), strict=True)):
            self._terms.move_to(q)
            A[i], rest[i] = self._terms.columns(q, v, a, self._n_parameters)
            jacobians[i] = self._terms.contact_jacobians()
        A, value, measured = self._picked(A, rest, jacobians, states)
        if not self._projects:
            return MeasuredRows(A, value, measured)
        N = np.array([self._rows.projection(J_C) for J_C in jacobians])
        P = N @ N.transpose(0, 2, 1)
        value, measured = ((P @ column[:, :, None])[:, :, 0] for column in (value, measured))
        return MeasuredRows(P @ A, value, measured, N)

    def _picked(self, A: Array, rest: Array, J_C: Array, state: MeasuredState) -> tuple[Array, Array, Array]:
        """Return regressor with friction, dtau and S' tau + sum J' lambda in the picked rows.

        Args:
            A: Columns of the bodies, then room for those of friction, shape (..., nv, n); changed.
            rest: Torques of all other bodies, shape (..., nv).
            J_C: Contact Jacobians, shape (..., 6 n_contacts, nv).
            state: One or many measured states.
        """
        joints, load = slice(self._robot.n_base, None), None
        applied = np.zeros(rest.shape)
        if state.tau is not None:
            applied[..., joints] = state.tau
        if self._rows.contacts is ContactMode.MEASURED and state.wrenches is not None:
            wrenches = state.wrenches.reshape(*J_C.shape[:-2], 1, -1)
            applied += (wrenches @ J_C)[..., 0, :]
        value = applied - rest
        if self._needs_load:
            load = (A[..., : self._terms.size] @ self._terms.nominal - value)[..., joints]
            load = load if state.tau is None else load + state.tau
        signals = state.q, state.v, state.a, state.sign, load
        if self._friction is not None:
            A[..., joints, self._terms.size :] = self._friction.regressor(*signals)
        if self._known_friction is not None:
            value[..., joints] -= self._known_friction.torques(*signals)
        picked = self._rows.picked
        return A[..., picked, :], value[..., picked], applied[..., picked]

    def _generalized(self, states: MeasuredState) -> tuple[Array, Array, Array]:
        """Return configuration, velocity and proper acceleration of one or many states.

        The linear velocity is zero (Galilean invariance): spatial and proper acceleration then coincide.
        """
        configuration, q = self._robot.configuration, states.q
        q = configuration(q) if q.ndim == 1 else np.array([configuration(q_i) for q_i in q])
        if not self._robot.floating_base:
            return q, states.v, states.a
        assert states.f_B is not None
        assert states.w_B is not None
        assert states.wd_B is not None
        v = np.concatenate((np.zeros(states.f_B.shape), states.w_B, states.v), axis=-1)
        return q, v, np.concatenate((states.f_B, states.wd_B, states.a), axis=-1)
