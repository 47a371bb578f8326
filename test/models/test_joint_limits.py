"""Limits are those of the URDF, and what is not in it is assumed aloud."""

import numpy as np
import pytest
from support.design_scenes import arm_urdf

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.joint_limits import POSITION_DEFAULT, VELOCITY_DEFAULT, joint_limits
from inertial_estimation.models.robot_model import RobotModel

FREE = arm_urdf().replace('name="joint2" type="revolute"', 'name="joint2" type="continuous"')


def test_limits_of_the_urdf() -> None:
    limits = joint_limits(RobotModel.from_urdf(arm_urdf(reach=1.7, speed=2.5), floating_base=False))
    np.testing.assert_array_equal(limits.lower, -1.7)
    np.testing.assert_array_equal(limits.upper, 1.7)
    np.testing.assert_array_equal(limits.velocity, 2.5)
    np.testing.assert_array_equal(limits.effort, 50.0)
    assert limits.assumed == ()


def test_a_joint_without_a_range_gets_a_stated_one() -> None:
    limits = joint_limits(RobotModel.from_urdf(FREE, floating_base=False))
    np.testing.assert_array_equal(limits.upper, [2.8, POSITION_DEFAULT, 2.8])
    assert limits.assumed == ("position limits of joint2: +-1.5 (the URDF has none)",)


def test_no_speed_limit_is_stated_too() -> None:
    limits = joint_limits(RobotModel.from_urdf(arm_urdf(speed=0.0), floating_base=False))
    np.testing.assert_array_equal(limits.velocity, VELOCITY_DEFAULT)
    assert limits.assumed == ("speed limits of joint1, joint2, joint3: 2 rad/s (the URDF has none)",)


def test_a_margin_that_uses_up_a_range_is_refused() -> None:
    robot = RobotModel.from_urdf(arm_urdf(reach=0.1), floating_base=False)
    with pytest.raises(ConfigurationError, match=r"joint 'joint1' can move from -0\.1 to 0\.1"):
        joint_limits(robot).within(robot.joint_names, position_margin=0.1, velocity_share=1.0)
