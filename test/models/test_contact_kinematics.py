"""Where contacts and IMU are in the base, against the poses of a robot that moves."""

import numpy as np
import pytest
from support.leg_robot import CONFIG, NAMES, URDF, Stance

from inertial_estimation.errors import ModelError
from inertial_estimation.models.contacts import ContactView
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config

WRENCH_FRAMES = ("left_sensor", "right_sensor")


def view_of(imu="imu"):
    config = RobotConfig(**{**CONFIG, "imu_frame": imu, "wrench_frames": WRENCH_FRAMES})
    setup = robot_from_config(config, URDF)
    return setup.robot, ContactView(setup)


@pytest.mark.parametrize("imu", ["imu", "base"])
@pytest.mark.parametrize("t", [0.4, 1.3, 2.9])
def test_poses_of_contacts_and_imu(imu, t):
    robot, view = view_of(imu)
    stance = Stance(1, foot=(0.1, -0.2, 0.5))
    view.update(stance.q(t)[[NAMES.index(name) for name in robot.joint_names]])
    T_BI = stance.pose("base", t).actInv(stance.pose(imu, t))
    np.testing.assert_allclose(view.p_BI, T_BI.translation, atol=1e-12)
    np.testing.assert_allclose(view.R_BI, T_BI.rotation, atol=1e-12)
    for k, side in enumerate(("left", "right")):
        T_IC, T_IF = (stance.pose(imu, t).actInv(stance.pose(f"{side}_{x}", t)) for x in ("sole", "sensor"))
        np.testing.assert_allclose(view.points[k], T_IC.translation, atol=1e-12)
        np.testing.assert_allclose(view.rotations[k], T_IC.rotation, atol=1e-12)
        np.testing.assert_allclose(view.wrench_rotations[k], T_IF.rotation, atol=1e-12)
        np.testing.assert_allclose(view.points_B[k], (T_BI * T_IC).translation, atol=1e-12)


def test_an_imu_on_the_base_does_not_move():
    assert not view_of("base")[1].imu_moves
    assert view_of()[1].imu_moves


def test_legs_of_three_joints_have_no_soles_that_stay_flat():
    assert not view_of()[1].soles.any()


def test_unknown_frames_are_named():
    with pytest.raises(ModelError, match="no frame 'nose'"):
        robot_from_config(RobotConfig(**{**CONFIG, "contact_frames": ("left_sole", "nose")}), URDF)
