"""The bodies to estimate in the kinematics of a robot, and the torque of all other bodies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.measurement_rows import Indices, slice_if_contiguous
from inertial_estimation.models.pinocchio_memory import motion_rows
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

FULL_REGRESSOR_SHARE = 0.2  # share of the bodies above which the regressor of all of them is faster


class BodyColumns:
    """Inverse dynamics of a robot without the bodies to estimate, and what their columns are made from.

    Attributes:
        bodies: Joints of the bodies, shape (n,), and ones for the velocities that move them, shape (n, nv).
        motion: Velocities, and accelerations with gravity, of all joints at the last state, in their axes,
            shape (joints, 6) each.
        size: Number of columns, ten for each body.
        many: Whether `fill_all` is faster than one state after the other.
        nominal: Nominal parameters of the bodies about their joint frames, shape (size,).
    """

    def __init__(self, model: pin.Model, bodies: tuple[BodyReference, ...]) -> None:
        """Copy the model and set the inertias of the bodies to zero.

        Args:
            model: The nominal model, with the gravity that the accelerations leave out.
            bodies: The bodies to estimate.
        """
        self._rest = model.copy()
        for body in bodies:
            self._rest.inertias[body.joint_id] = pin.Inertia.Zero()
        self._data = self._rest.createData()
        self.motion = motion_rows(self._data.v), motion_rows(self._data.a_gf)
        ids = np.array([body.joint_id for body in bodies], dtype=np.int64)
        self.bodies = ids, moving_velocities(model, ids.tolist())
        columns = (10 * (ids[:, None] - 1) + np.arange(10)).ravel()  # in the regressor of all bodies
        self._columns = slice_if_contiguous(columns) if bodies else columns
        rest = np.concatenate([inertia.toDynamicParameters() for inertia in list(self._rest.inertias)[1:]])
        self._rest_parameters = rest if rest.any() else None
        self.size = 10 * len(bodies)
        self.nominal = np.array([body.nominal_J.vector for body in bodies]).ravel()
        self.many = len(bodies) >= FULL_REGRESSOR_SHARE * (model.njoints - 1)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copied or pickled one, with views of the memory of its own data."""
        self.__dict__.update(state)
        self.motion = motion_rows(self._data.v), motion_rows(self._data.a_gf)

    def rest_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques of the robot without the bodies, shape (nv,), and fill `motion`.

        Args:
            q: Configuration, shape (nq,).
            v: Generalized velocity, shape (nv,).
            a: Generalized acceleration, shape (nv,).
        """
        tau: Array = pin.rnea(self._rest, self._data, q, v, a)
        return tau

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


def moving_velocities(model: pin.Model, joint_ids: Sequence[int]) -> Array:
    """Return ones for the generalized velocities that move joints, zeros for others, shape (n, nv).

    Args:
        model: The model.
        joint_ids: Pinocchio's numbers of n joints.
    """
    moving = np.zeros((len(joint_ids), model.nv))
    for row, joint_id in zip(moving, joint_ids, strict=True):
        for parent in list(model.supports[joint_id])[1:]:
            first = model.idx_vs[parent]
            row[first : first + model.nvs[parent]] = 1.0
    return moving


def contact_placements(robot: RobotModel, contacts: Sequence[ContactFrames]) -> tuple[Indices, Array, Array]:
    """Return where contacts are.

    Args:
        robot: The robot.
        contacts: n contacts.

    Returns:
        Pinocchio's numbers of the joints that carry them, shape (n,), orientation by rows and position of
        their wrench frames in these joints, shape (n, 12), and ones for the velocities that move them,
        shape (n, nv).
    """
    frames = [robot.model.frames[robot.frame_id(contact.wrench_frame)] for contact in contacts]
    joints = [int(frame.parentJoint) for frame in frames]
    poses = [np.concatenate((f.placement.rotation.ravel(), f.placement.translation)) for f in frames]
    placements = np.array(poses).reshape(-1, 12)
    return np.array(joints, dtype=np.int64), placements, moving_velocities(robot.model, joints)
