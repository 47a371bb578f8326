"""Relative poses against Pinocchio's own placements, derivatives against central differences."""

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip("example_robot_data")

from support.example_robots import talos

from inertial_estimation.errors import ConfigurationError, ModelError
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.models.robot_model import RobotModel


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return talos()


def test_pose_is_the_relative_placement(robot: RobotModel) -> None:
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (1, robot.n_joints))
    chain = ChainKinematics(robot, reference="left_sole_link", frames=["gripper_left_base_link"])
    poses = chain.poses(q, np.zeros(len(chain.joints)))
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.configuration(q[0]))
    names = ("left_sole_link", "gripper_left_base_link")
    sole, hand = (data.oMf[robot.frame_id(name)] for name in names)
    expected = sole.inverse() * hand
    assert poses.R_SF[0, 0] == pytest.approx(expected.rotation, abs=1e-12)
    assert poses.p_SF[0, 0] == pytest.approx(expected.translation, abs=1e-12)


def test_only_joints_between_the_frames_move_them(robot: RobotModel) -> None:
    chain = ChainKinematics(robot, reference="base_link", frames=["left_sole_link"])
    assert chain.moving == tuple(f"leg_left_{i}_joint" for i in range(1, 7))
    with pytest.raises(ConfigurationError, match="no joint moves"):
        ChainKinematics(robot, reference="base_link", frames=["base_link"])
    with pytest.raises(ModelError, match="no frame 'tail'"):
        ChainKinematics(robot, reference="base_link", frames=["tail"])


def test_a_twist_along_the_joint_axis_is_an_offset_and_the_basis_has_none(robot: RobotModel) -> None:
    q = np.random.default_rng(1).uniform(-0.5, 0.5, (2, robot.n_joints))
    chain = ChainKinematics(robot, reference="left_sole_link", frames=["arm_left_7_link"])
    n = len(chain.joints)
    poses = chain.poses(q, np.zeros(n), np.zeros((n, 6)))
    per_joint = poses.dp_twist.reshape(2, 1, 3, n, 6)
    for j, basis in enumerate(chain.placement_basis()):
        axis = np.linalg.svd(basis)[2][5]  # what the five directions leave out
        moved = per_joint[:, 0, :, j] @ axis
        sign = np.sign(np.sum(moved * poses.dp[:, 0, :, j]))
        assert sign * moved == pytest.approx(poses.dp[:, 0, :, j], abs=1e-12)
