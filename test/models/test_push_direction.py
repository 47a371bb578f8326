"""The direction in which the ground pushes a contact, from the description."""

import pytest
from support.leg_robot import URDF

from inertial_estimation.models.push_direction import push_direction
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel


def direction(urdf, frame, floating_base=True):
    robot = RobotModel.from_urdf(urdf, floating_base=floating_base)
    config = RobotConfig(contacts=("left",), contact_frames=("left_sole",), wrench_frames=(frame,))
    return push_direction(config, "left", robot)


def turned(rpy):
    return URDF.replace('rpy="0.5 -0.3 2"', f'rpy="{rpy}"')


@pytest.mark.parametrize(
    ("rpy", "axis"),
    [
        ("0 0 0.7", (0.0, 0.0, 1.0)),
        ("3.14159265 0 0", (0.0, 0.0, -1.0)),
        ("1.57079633 0 0", (0.0, 1.0, 0.0)),
        ("0 1.67 0", (-1.0, 0.0, 0.0)),
    ],
)
def test_it_is_the_axis_of_the_sensor_that_points_up(rpy, axis):
    assert direction(turned(rpy), "left_sensor") == axis


def test_there_is_none_where_no_axis_points_up_and_for_a_fixed_base():
    assert direction(turned("0.5 -0.3 2"), "left_sensor") is None
    assert direction(turned("0 0 0"), "left_sensor", floating_base=False) is None
