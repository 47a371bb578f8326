import numpy as np
from support.leg_robot import CONFIG, NAMES, URDF, Stance

from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.models.imu import base_twist
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config


def test_velocity_of_the_imu_moved_to_the_base_is_the_velocity_of_the_base():
    """Oracle: differences of both poses, the IMU on a torso that turns against the base."""
    setup = robot_from_config(RobotConfig(**CONFIG), URDF)
    robot, contacts = setup.robot, setup.contacts
    order = [NAMES.index(name) for name in robot.joint_names]
    stance, t = Stance(4), 2.1
    state = ContactKinematics(robot, contacts, setup.imu).update(stance.q(t)[order], stance.v(t)[order])
    v_I, w_I = stance.velocity("imu", t)
    twist = base_twist(tuple(v_I), tuple(w_I), state.R_BI, state.p_BI, state.v_BI_B, state.w_BI_B)
    np.testing.assert_allclose(twist, stance.velocity("base", t), atol=1e-7)
