"""Regressor columns of the bodies to estimate, and the torque of all other bodies."""

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import MutableTable, Table, compiled, warm_up
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.measurement_rows import slice_if_contiguous
from inertial_estimation.signals import Array

__all__ = ["BodyColumns"]

FULL_REGRESSOR_SHARE = 0.2  # share of the bodies above which the regressor of all of them is faster


class BodyColumns:
    """Body regressors Y_est = J_j' A_j, and inverse dynamics of the robot without these bodies.

    Attributes:
        size: Number of columns, ten for each body.
        many: Whether `fill_all` is faster than `fill` for many states.
        nominal: Nominal parameters of the bodies about their joint frames, shape (size,).
    """

    def __init__(self, model: pin.Model, bodies: tuple[BodyReference, ...]) -> None:
        """Copy the model and set the inertias of the bodies to zero.

        Args:
            model: The nominal model, with the gravity that the accelerations leave out.
            bodies: The bodies to estimate.
        """
        self._joint_ids = tuple(body.joint_id for body in bodies)
        self._jacobians = np.zeros((6 * len(bodies), model.nv))
        self._regressors = np.zeros((6 * len(bodies), 10))
        warm_up()
        self._rest = model.copy()
        for body in bodies:
            self._rest.inertias[body.joint_id] = pin.Inertia.Zero()
        self._data = self._rest.createData()
        ids = np.array([body.joint_id for body in bodies], dtype=np.int64)
        columns = (10 * (ids[:, None] - 1) + np.arange(10)).ravel()  # in the regressor of all bodies
        self._columns = slice_if_contiguous(columns) if bodies else columns
        rest = np.concatenate([inertia.toDynamicParameters() for inertia in list(self._rest.inertias)[1:]])
        self._rest_parameters = rest if rest.any() else None
        self.size = 10 * len(bodies)
        self.nominal = np.array([body.nominal_J.vector for body in bodies]).ravel()
        self.many = len(bodies) >= FULL_REGRESSOR_SHARE * (model.njoints - 1)

    def fill(self, A: Array, q: Array, v: Array, a: Array, jacobians: pin.Data) -> Array:
        """Write the columns of one state body by body.

        Args:
            A: Regressor, contiguous, changed in place, shape (nv, n), n at least `size`.
            q: Configuration, shape (nq,).
            v: Generalized velocity, shape (nv,).
            a: Generalized acceleration, shape (nv,).
            jacobians: Data of the nominal model that hold the joint Jacobians at q.

        Returns:
            Torque of the rest of the robot, shape (nv,).
        """
        model, data = self._rest, self._data
        tau_nom: Array = pin.rnea(model, data, q, v, a)
        J, regressors = self._jacobians, self._regressors
        for i, joint_id in enumerate(self._joint_ids):
            J[6 * i : 6 * i + 6] = pin.getJointJacobian(model, jacobians, joint_id, pin.LOCAL)
            regressors[6 * i : 6 * i + 6] = pin.jointBodyRegressor(model, data, joint_id)
        _fill_columns(J, regressors, A)
        return tau_nom

    def fill_all(self, A: Array, tau_nom: Array, q: Array, v: Array, a: Array) -> None:
        """Write the columns of many states, taken from the regressor of all bodies.

        Args:
            A: Regressors, changed in place, shape (k, nv, n).
            tau_nom: Torque of the rest of the robot, zero at first, changed in place, shape (k, nv).
            q: Configurations, shape (k, nq).
            v: Generalized velocities, shape (k, nv).
            a: Generalized accelerations, shape (k, nv).
        """
        model, data, regressor = self._rest, self._data, pin.computeJointTorqueRegressor
        wanted, rest = self._columns, self._rest_parameters
        for i, (columns, state) in enumerate(zip(A, zip(q, v, a, strict=True), strict=True)):
            Y = regressor(model, data, *state)
            columns[:, : self.size] = Y[:, wanted]
            if rest is not None:
                tau_nom[i] = Y @ rest


@compiled
def _fill_columns(jacobians: Table, regressors: Table, A: MutableTable) -> None:
    """Write J' A_j of every body into ten columns of a regressor.

    Args:
        jacobians: Of the joints of n bodies, their axes, one below the other, shape (6 n, nv).
        regressors: Of the bodies, one below the other, shape (6 n, 10).
        A: Written, shape (nv, k), k at least 10 n.
    """
    for i in range(len(regressors) // 6):
        rows = slice(6 * i, 6 * i + 6)
        A[:, 10 * i : 10 * i + 10] = jacobians[rows].T @ regressors[rows]
