"""Generalised force, contact Jacobians and centre of mass of the robot as described, at one instant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class NominalState:
    """What the robot's description predicts at one instant.

    Attributes:
        force: M a + c: force and moment on the base origin in base axes (floating base only), then the joint
            torques in the absence of contacts [N, Nm], shape (nv,).
        jacobians: Of the contacts' wrench frames, their own axes, shape (k, 6, nv).
        points_B: Origins of the wrench frames in the base frame [m], shape (k, 3).
        rotations_BF: Orientations of the wrench frames in the base, shape (k, 3, 3).
        com_B: Centre of mass in the base frame [m], shape (3,).
    """

    force: Array
    jacobians: Array
    points_B: Array
    rotations_BF: Array
    com_B: Array


class NominalLoad:
    """Predicts forces from joint states and the motion of the base, by the inertias of the URDF."""

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames] = ()) -> None:
        """Find the wrench frames of the contacts.

        Args:
            robot: The robot.
            contacts: Its contacts.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        self._robot = robot
        self._data = robot.model.createData()
        self._has_mass = robot.total_mass > 0.0
        self._frames = [robot.frame_id(contact.wrench_frame) for contact in contacts]

    def at(self, q: Array, v: Array, a: Array, base: tuple[Array, Array, Array] | None) -> NominalState:
        """Predict at one instant.

        Args:
            q: Joint positions [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
            a: Joint accelerations [rad/s^2], shape (n_joints,).
            base: Proper acceleration [m/s^2], angular velocity [rad/s] and angular acceleration [rad/s^2] of
                a floating base, base axes; None for a fixed one, whose gravity is that of the model.

        Returns:
            The prediction.
        """
        model, data = self._robot.model, self._data
        configuration = self._robot.configuration(q)
        if base is not None:
            f_B, w_B, wd_B = base
            v = np.concatenate((np.zeros(3), w_B, v))
            a = np.concatenate((f_B + model.gravity.linear, wd_B, a))  # the base is not turned in the world
        force = np.array(pin.rnea(model, data, configuration, v, a))
        pin.computeJointJacobians(model, data, configuration)  # also places the bodies
        k = len(self._frames)
        jacobians, points, rotations = np.zeros((k, 6, model.nv)), np.zeros((k, 3)), np.zeros((k, 3, 3))
        for i, frame in enumerate(self._frames):
            placed = pin.updateFramePlacement(model, data, frame)
            points[i], rotations[i] = placed.translation, placed.rotation
            jacobians[i] = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
        return NominalState(force, jacobians, points, rotations, self._com())

    def frame_motion(self, frame_id: int, w_B: Array) -> tuple[Array, Array]:
        """Return how a frame is oriented and turns relative to the base at the last instant.

        Args:
            frame_id: Index of the frame.
            w_B: Angular velocity of the base at that instant, base axes [rad/s], shape (3,).

        Returns:
            Orientation in the base, shape (3, 3), and angular velocity relative to the base in the axes of
            the frame [rad/s], shape (3,).
        """
        model, data = self._robot.model, self._data
        R_BF = np.array(pin.updateFramePlacement(model, data, frame_id).rotation)
        w_F = pin.getFrameVelocity(model, data, frame_id, pin.LOCAL).angular
        return R_BF, w_F - R_BF.T @ w_B

    def _com(self) -> Array:
        """Centre of mass by the placements of the last recursion [m], shape (3,)."""
        if not self._has_mass:
            return np.zeros(3)
        return np.array(pin.centerOfMass(self._robot.model, self._data, pin.POSITION, False))
