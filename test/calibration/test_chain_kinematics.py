"""Relative poses against Pinocchio's own placements, derivatives against central differences."""

import numpy as np
import pinocchio as pin
import pytest
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
