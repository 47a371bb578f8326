"""Limits of joints are those of the URDF, and motions within them fade in and out exactly."""

from dataclasses import replace

import numpy as np
import pytest
from support.design_scenes import arm_urdf

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.joint_limits import POSITION_DEFAULT, VELOCITY_DEFAULT, joint_limits
from inertial_estimation.models.joint_trajectory import random_sines
from inertial_estimation.models.robot_model import RobotModel

ARM = arm_urdf(reach=1.7, speed=2.5)
FREE = ARM.replace('name="joint2" type="revolute"', 'name="joint2" type="continuous"')


@pytest.mark.parametrize(
    ("urdf", "upper", "speed", "assumed"),
    [
        (ARM, 1.7, 2.5, ()),
        (FREE, [1.7, POSITION_DEFAULT, 1.7], 2.5, ("position limits of joint2: +-1.5 (the URDF has none)",)),
        (
            arm_urdf(speed=0.0),
            2.8,
            VELOCITY_DEFAULT,
            ("speed limits of joint1, joint2, joint3: 2 rad/s (the URDF has none)",),
        ),
    ],
)
def test_limits_are_those_of_the_urdf_and_what_it_lacks_is_assumed_and_stated(urdf, upper, speed, assumed):
    limits = joint_limits(RobotModel.from_urdf(urdf, floating_base=False))
    np.testing.assert_array_equal(limits.upper, np.full(3, upper))
    np.testing.assert_array_equal(limits.lower, -limits.upper)
    np.testing.assert_array_equal(limits.velocity, speed)
    np.testing.assert_array_equal(limits.effort, 50.0)
    assert limits.assumed == assumed


def test_a_margin_that_uses_up_a_range_is_refused() -> None:
    robot = RobotModel.from_urdf(arm_urdf(reach=0.1), floating_base=False)
    with pytest.raises(ConfigurationError, match=r"joint 'joint1' can move from -0\.1 to 0\.1"):
        joint_limits(robot).within(robot.joint_names, position_margin=0.1, velocity_share=1.0)


MOTION = replace(
    random_sines(np.array([0.3, -1.0]), np.array([0.5, 0.2]), np.random.default_rng(0), fade_s=0.8), end_s=6.0
)


def test_it_is_at_the_centre_and_still_before_and_after() -> None:
    for t in (0.0, 1.0, 6.0, 7.5):
        q, v, a = MOTION.at(t)
        np.testing.assert_allclose(q, MOTION.centre, atol=1e-14)
        np.testing.assert_array_equal(v, 0.0)
        np.testing.assert_allclose(a, 0.0, atol=1e-12)


def test_derivatives_through_both_fades() -> None:
    times, h = np.linspace(0.9, 6.1, 400), 1e-5
    _, v, a = MOTION.at(times)
    (q0, v0, _), (q1, v1, _) = MOTION.at(times - h), MOTION.at(times + h)
    np.testing.assert_allclose((q1 - q0) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-3)  # the third derivative jumps at the fades
