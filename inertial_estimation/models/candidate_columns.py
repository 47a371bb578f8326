"""Directions in which single causes change the measurement equation: a load, or a force, on each body.

A load on body k adds A_k [m, m r] to the generalized forces, the first four columns of its regressor (a point
mass m at r from the body's nominal centre of mass). A force f and a moment n of the environment at that
centre of mass add J_k' [f; n] to what acts on the robot, so they subtract it from the torques that the model
explains; the axes are those of the base.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import second_moments, transfer_matrix
from inertial_estimation.spatial.rotations import skews

LOAD_COLUMNS = 4  # mass and first moment
EVERY_ROW = slice(None)
SMALLEST_ACCELERATION = 1e-3  # proper one that still has a direction [m/s^2]


@dataclass(frozen=True, slots=True, eq=False)
class BodyCauses:
    """Columns of the causes at one state."""

    # of mass [kg] and first moment about the nominal centre of mass, axes of the joint [kg m], shape (n, m,
    # 4)
    loads: Array
    # the same without what it takes to move the load: of a push that presses down with a constant force,
    # shape (n, m, 4)
    weights: Array
    # of force and moment at the nominal centre of mass, axes of the base [N, Nm], shape (n, m, 6)
    wrenches: Array
    R_BJ: Array  # orientation of each body's joint frame in the base, shape (n, 3, 3)


class CandidateColumns:
    """Columns of loads and external wrenches on some bodies of a robot.

    Attributes:
        links: A link of each body, in the order of the columns.
        masses: Nominal mass of each body [kg], shape (n,).
        spreads: Second moments of each body's mass about its centre of mass over the mass, axes of the joint
            [m^2], shape (n, 3, 3).
    """

    def __init__(self, robot: RobotModel, links: Sequence[str]) -> None:
        """Prepare the model; no link is fixed to the world.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
        """
        self.links = tuple(links)
        self._model = robot.model.copy()
        self._floating = robot.floating_base
        if robot.floating_base:
            self._model.gravity.linear = np.zeros(3)
        self._data = self._model.createData()
        bodies = [robot.link_body(link) for link in links]
        self.masses: Array = np.array([body.nominal_J.mass for body in bodies])
        self.spreads: Array = np.array([_spread(body.nominal_J) for body in bodies]).reshape(-1, 3, 3)
        self._T_JL = [body.T_JL for body in bodies]
        self._joints = np.array([body.joint_id for body in bodies], dtype=np.int64)
        self._coms_J = np.array([body.nominal_J.lever for body in bodies]).reshape(-1, 3)
        to_joint = [transfer_matrix(pin.SE3(np.eye(3), com)) for com in self._coms_J]
        self._to_joint = np.array(to_joint).reshape(-1, 10, 10)
        self._supports = np.zeros((len(bodies), self._model.nv))  # 1: the velocity moves the body
        self._supports[:, : robot.n_base] = 1.0
        for row, link in zip(self._supports, links, strict=True):
            row[robot.n_base + np.array(robot.joints_to(link), dtype=int)] = 1.0

    def at(self, q: Array, v: Array, a: Array, rows: slice | Indices = EVERY_ROW) -> BodyCauses:
        """Return the columns of the causes on each body.

        Args:
            q: Configuration, shape (nq,).
            v: Generalized velocity, zero linear velocity, shape (nv,).
            a: Generalized acceleration, shape (nv,); of a floating base the proper one, gravity included.
            rows: Places of the generalized forces, m of them; all of them by default.
        """
        loads = self.parameters(q, v, a, rows, LOAD_COLUMNS)
        weights = self.parameters(q, np.zeros_like(v), self._at_rest(a), rows, LOAD_COLUMNS)
        J = pin.computeJointJacobians(self._model, self._data, q).reshape(6, -1)  # at the base, in its axes
        poses = [self._data.oMi[joint] for joint in self._joints.tolist()]
        R_BJ = np.array([pose.rotation for pose in poses]).reshape(-1, 3, 3)
        points = np.array([pose.act(com) for pose, com in zip(poses, self._coms_J, strict=True)])
        wrenches = -J.T[rows] * self._supports[:, rows, None]
        # The velocity of a point p is v_O - p x w, so J_p' f = J_v' f + J_w' (p x f).
        wrenches[:, :, :3] += np.matmul(wrenches[:, :, 3:], skews(points.reshape(-1, 3)))
        return BodyCauses(loads, weights, wrenches, R_BJ)

    def parameters(
        self, q: Array, v: Array, a: Array, rows: slice | Indices = EVERY_ROW, count: int = 10
    ) -> Array:
        """Return the columns of the first parameters of each body: mass, first and second moments.

        Moments are about the nominal centre of mass, axes of the joint; shape (n, m, count).

        Args:
            q: As of `at`.
            v: As of `at`.
            a: As of `at`.
            rows: As of `at`.
            count: Number of parameters of each body.
        """
        Y = pin.computeJointTorqueRegressor(self._model, self._data, q, v, a)  # of one row: a vector
        blocks = Y.reshape(self._model.nv, -1, 10)[rows][:, self._joints - 1]
        columns: Array = np.matmul(blocks.transpose(1, 0, 2), self._to_joint[:, :, :count])
        return columns

    def _at_rest(self, a: Array) -> Array:
        """Return the generalized acceleration at rest; the proper one of a floating base points upwards."""
        still = np.zeros_like(a)
        if self._floating:
            size = max(float(np.sqrt(a[:3] @ a[:3])), SMALLEST_ACCELERATION)
            still[:3] = STANDARD_GRAVITY / size * a[:3]
        return still

    def load_in_link(self, index: int, amplitude: Array) -> tuple[float, Array]:
        """Return mass [kg] and position in the link frame [m], shape (3,), of a load.

        Args:
            index: Number of the body.
            amplitude: Its mass and first moment, as the columns count them, shape (4,); the mass is not zero.
        """
        com_J = self._coms_J[index] + amplitude[1:] / amplitude[0]
        return float(amplitude[0]), np.array(self._T_JL[index].actInv(com_J))

    def wrench_in_link(self, index: int, wrench: Array, R_BJ: Array) -> tuple[Array, Array, Array]:
        """Return force [N], moment about the link's origin [Nm], and point of attack [m], in the link frame.

        Of the points on the line of action the one nearest to the nominal centre of mass is given,
        f x n / |f|^2 from there: a force does not tell where on its line it acts.

        Args:
            index: Number of the body.
            wrench: Force and moment as the columns count them, shape (6,); the force is not zero.
            R_BJ: Orientation of its joint frame in the base, shape (3, 3).
        """
        T_JL = self._T_JL[index]
        R_LB = T_JL.rotation.T @ R_BJ.T
        force, moment = R_LB @ wrench[:3], R_LB @ wrench[3:]
        com_L = np.array(T_JL.actInv(self._coms_J[index]))
        point = com_L + np.cross(force, moment) / float(force @ force)
        return force, moment + np.cross(com_L, force), point


def _spread(inertia: pin.Inertia) -> Array:
    """Return the second moments of a body's mass over the mass, 1/2 tr(I) 1 - I, without negative ones."""
    if inertia.mass <= 0.0:
        return np.zeros((3, 3))
    values, axes = linear_algebra.eigh(second_moments(np.array(inertia.inertia)) / inertia.mass)
    spread: Array = (axes * np.maximum(values, 0.0)) @ axes.T
    return spread
