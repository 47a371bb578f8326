"""Joint torques of a synthetic gait, by inverse dynamics under the forces at the feet."""

import numpy as np
import pinocchio as pin

from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array


def gait_torques(
    setup: RobotSetup,
    joints: tuple[Array, Array, Array],
    base: tuple[Array, Array, Array],
    wrenches_F: Array,
) -> Array:
    """Return the torques on the links with which a robot moves as given; only the joints' rows are solved.

    Args:
        setup: The robot and its contacts.
        joints: Positions [rad], velocities [rad/s] and accelerations [rad/s^2], shape (n, n_joints) each.
        base: Proper acceleration [m/s^2], angular velocity [rad/s] and angular acceleration [rad/s^2] of the
            base's origin, base axes, shape (n, 3) each.
        wrenches_F: Wrench of each contact in its wrench frame [N, Nm], shape (n, m, 6).

    Returns:
        Torques [Nm], shape (n, n_joints).
    """
    robot = setup.robot
    model = robot.model.copy()
    model.gravity = pin.Motion.Zero()  # the proper acceleration contains it
    data, k = model.createData(), robot.n_base
    frames = [model.frames[robot.frame_id(contact.wrench_frame)] for contact in setup.contacts]
    torques = np.empty_like(joints[0])
    for i, (q, v, a, f, w, dw) in enumerate(zip(*joints, *base, strict=True)):
        configuration = robot.configuration(q)
        velocity, acceleration = np.concatenate((np.zeros(3), w, v)), np.concatenate((f, dw, a))
        torques[i] = pin.rnea(model, data, configuration, velocity, acceleration)[k:]
        pin.computeJointJacobians(model, data, configuration)
        for frame, wrench in zip(frames, wrenches_F[i], strict=True):
            J = pin.getJointJacobian(model, data, frame.parentJoint, pin.LOCAL)[:, k:]
            torques[i] -= J.T @ (frame.placement.toActionMatrixInverse().T @ wrench)
    return torques
