"""The true state of a simulated robot, in the conventions of the package."""

import numpy as np

from inertial_estimation.signals import Array, BaseState
from inertial_estimation.simulation.robot_physics import RobotPhysics
from inertial_estimation.spatial.vectors import cross, vector


def base_rotation(physics: RobotPhysics) -> Array:
    """Return the rotation R_WB of a floating base, shape (3, 3)."""
    R_WB: Array = physics.data.xmat[1].reshape(3, 3)
    return R_WB


def base_state(physics: RobotPhysics, stamp_ns: int) -> BaseState:
    """Return pose and twist of the base; the origin at rest for a fixed base.

    Args:
        physics: The robot.
        stamp_ns: The present time [ns].
    """
    if not physics.robot.floating_base:
        zero = np.zeros(3)
        return BaseState(stamp_ns, np.array([0.0, 0.0, 0.0, 1.0]), zero, zero, zero)
    qpos, qvel = physics.data.qpos, physics.data.qvel
    xyzw = qpos[[4, 5, 6, 3]]
    v_B = base_rotation(physics).T @ qvel[:3]
    return BaseState(stamp_ns, xyzw, qpos[:3], v_B, qvel[3:6])


def generalised_acceleration(physics: RobotPhysics, base: BaseState) -> Array:
    """Return the acceleration in Pinocchio's coordinates: of the base, in its axes, then of the joints.

    Args:
        physics: The robot, its accelerations found.
        base: Pose and twist of its base.
    """
    data = physics.data
    joints: Array = data.qacc[physics.built.dof]
    if not physics.robot.floating_base:
        return joints
    turning = cross(vector(base.w_WB_B), vector(base.v_WB_B))
    linear = base_rotation(physics).T @ data.qacc[:3] - np.array(turning)
    return np.concatenate([linear, data.qacc[3:6], joints])
