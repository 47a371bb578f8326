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


@pytest.mark.parametrize(
    ("urdf", "upper", "speed", "assumed"),
    [
        (FREE, [2.8, POSITION_DEFAULT, 2.8], 2.0, "position limits of joint2: +-1.5 (the URDF has none)"),
        (
            arm_urdf(speed=0.0),
            3 * [2.8],
            VELOCITY_DEFAULT,
            "speed limits of joint1, joint2, joint3: 2 rad/s (the URDF has none)",
        ),
    ],
)
def test_limits_that_the_urdf_lacks_are_assumed_and_stated(urdf, upper, speed, assumed) -> None:
    limits = joint_limits(RobotModel.from_urdf(urdf, floating_base=False))
    np.testing.assert_array_equal(limits.upper, upper)
    np.testing.assert_array_equal(limits.velocity, speed)
    assert limits.assumed == (assumed,)


def test_a_margin_that_uses_up_a_range_is_refused() -> None:
    robot = RobotModel.from_urdf(arm_urdf(reach=0.1), floating_base=False)
    with pytest.raises(ConfigurationError, match=r"joint 'joint1' can move from -0\.1 to 0\.1"):
        joint_limits(robot).within(robot.joint_names, position_margin=0.1, velocity_share=1.0)
