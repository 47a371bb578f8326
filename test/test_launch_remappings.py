"""The launch argument `remap`; needs neither launch nor ROS."""

import pytest
from support.scripts import script

remap_of = script("launch/topic_remappings.py")
FEET = ["left_foot", "right.foot"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        (
            "imu/data:=/imu_sensor_broadcaster/imu, joint_states:=/robot/joint_states",
            {"imu/data": "/imu_sensor_broadcaster/imu", "joint_states": "/robot/joint_states"},
        ),
        ("imu/data := waist/imu,", {"imu/data": "waist/imu"}),
        (
            "~/reset:=reset, /diagnostics:=/robot/diagnostics",
            {"~/reset": "reset", "/diagnostics": "/robot/diagnostics"},
        ),
        ("imu/data:=a,imu/data:=b", {"imu/data": "b"}),
        ("link_inertias/arm:=/controller/arm", {"link_inertias/arm": "/controller/arm"}),
    ],
)
def test_pairs_are_read(text, expected):
    assert remap_of.parse_remap(text, FEET) == expected


def test_the_preset_has_the_default_names_of_ros2_control():
    expected = {
        "imu/data": "imu_sensor_broadcaster/imu",
        "left_foot/wrench": "left_foot_force_torque_sensor_broadcaster/wrench",
        "right_foot/wrench": "right_foot_force_torque_sensor_broadcaster/wrench",
    }
    assert remap_of.parse_remap("ros2_control", FEET) == expected
    changed = remap_of.parse_remap("ros2_control,left_foot/wrench:=/ft_left/wrench", FEET)
    assert changed == {**expected, "left_foot/wrench": "/ft_left/wrench"}
    assert remap_of.parse_remap("ros2_control") == {"imu/data": "imu_sensor_broadcaster/imu"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "ros2control",
            "'ros2control' in remap is neither a pair FROM:=TO nor a preset; presets: ros2_control",
        ),
        ("imu/data:/imu", "neither a pair"),
        ("imu/data:=", "'' in remap"),
        (":=/imu", "'' in remap"),
        ("imu/data:=/imu/", "'/imu/' in remap .* is no topic name"),
        ("imu/data:=a b", "'a b' in remap"),
        ("imu/data:=1st/imu", "'1st/imu' in remap"),
        ("imu/data:=a:=b", "'a:=b' in remap"),
        ("__ns:=/robot1", "is no topic name; the launch argument is namespace:="),
        ("imu_data:=/imu", "no topic 'imu_data' to remap, did you mean 'imu/data'"),
        ("left_fot/wrench:=/ft", "no topic 'left_fot/wrench' to remap, did you mean 'left_foot/wrench'"),
    ],
)
def test_what_is_wrong_is_said(text, expected):
    with pytest.raises(RuntimeError, match=expected):
        remap_of.parse_remap(text, FEET)


def test_the_argument_applies_to_the_names_the_launch_file_gives():
    """The trunk that is handed over goes where the argument says; that of the other node does not."""
    rules = {"link_inertias/trunk": "/controller/trunk", "imu/data": "/imu"}
    hands_over = remap_of.combined([("trunk_inertia", "link_inertias/trunk")], rules)
    assert dict(hands_over)["trunk_inertia"] == "/controller/trunk"
    alongside = remap_of.combined([("link_inertias/trunk", "inertial_ekf/link_inertias/trunk")], rules)
    assert dict(alongside) == {"link_inertias/trunk": "inertial_ekf/link_inertias/trunk", "imu/data": "/imu"}
    assert remap_of.combined([], rules) == list(rules.items())
