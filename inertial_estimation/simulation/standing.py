"""Static equilibrium of a robot on its contact points, where the ground springs carry its weight."""

from typing import Any

import mujoco
import numpy as np

from inertial_estimation.errors import ModelError
from inertial_estimation.signals import Array
from inertial_estimation.simulation.robot_physics import RobotPhysics
from inertial_estimation.spatial import linear_algebra

MAX_ITERATIONS = 60
LARGEST_MOVE = 0.01  # largest change of the base pose in one iteration [m, rad]
FIRST_DEPTH = 1e-3  # initial penetration of the lowest point [m]
FORCE_TOLERANCE = 1e-10  # residual force and moment on the base, as a share of the weight


def stand_at_rest(physics: RobotPhysics, q: Array) -> None:
    """Place the robot at rest in a posture, with the soles where the ground carries its weight.

    Args:
        physics: The robot.
        q: Joint positions in the robot's order [rad], shape (n_joints,).

    Raises:
        ModelError: If the ground cannot carry the robot in this posture.
    """
    physics.reset()
    physics.data.qpos[physics.built.qpos] = q
    on_ground = physics.robot.floating_base and len(physics.points) > 0
    if on_ground:
        _put_on_ground(physics)
    physics.refresh()
    physics.ground.anchor_here()
    if on_ground:
        _balance(physics)


def _put_on_ground(physics: RobotPhysics) -> None:
    """Place the base upright at the origin, with the lowest contact point just below the surface."""
    height, normal = physics.points.ground_below(np.zeros(3))
    w = np.sqrt(0.5 * (1.0 + normal[2]))  # the rotation that takes the vertical to the normal
    qpos: Any = physics.data.qpos
    qpos[:7] = [0.0, 0.0, height, w, -normal[1] / (2.0 * w), normal[0] / (2.0 * w), 0.0]
    physics.refresh()
    lowest = float((physics.points.position_W @ normal).min()) - height * normal[2]
    qpos[:3] -= (lowest + FIRST_DEPTH) * normal


def _balance(physics: RobotPhysics) -> None:
    """Find the base pose at which the springs carry the resting robot, by Newton's method."""
    points, ground, data = physics.points, physics.ground, physics.data
    for _ in range(MAX_ITERATIONS):
        J = points.jacobian[:, :6]
        pull = ground.resting_forces().ravel() @ J - data.qfrc_bias[:6]
        if np.abs(pull).max() < FORCE_TOLERANCE * max(1.0, float(np.abs(data.qfrc_bias[:3]).max())):
            return
        J = J[np.repeat(points.depth[points.near] > 0.0, 3)]
        stiffness = ground.stiffness * (J.T @ J + 1e-9 * np.eye(6))
        move = np.zeros(physics.model.nv)
        move[:6] = np.clip(linear_algebra.solve(stiffness, pull), -LARGEST_MOVE, LARGEST_MOVE)
        mujoco.mj_integratePos(physics.model, data.qpos, move, 1.0)
        physics.refresh()
    raise ModelError(
        "the robot cannot stand still in its stance: its centre of mass is at "
        f"{np.round(data.subtree_com[0], 3).tolist()}, expected above the contact points "
        f"{np.round(points.position_W, 3).tolist()}"
    )
