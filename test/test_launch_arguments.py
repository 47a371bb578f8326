"""Parameter files and the argument remap of the launch files; needs neither launch nor ROS."""

import re
from pathlib import Path

import pytest
import yaml
from support.scripts import script

from inertial_estimation.configuration.config_file import load_config_file


def reaches(section: str, node: str) -> bool:
    """Return whether rcl gives the values of a section to a node of a full name, as rclpy's node.cpp does."""
    pattern = f"/{section.removeprefix('/')}".replace("/*", r"(/\w+)")
    return re.fullmatch(pattern, node, re.ASCII) is not None


ROOT = Path(__file__).resolve().parents[1]
files_of = script("launch/parameter_files.py")
ROBOT = """# comment with ünïcode
/**:
  ros__parameters: {contacts: [a, b]}
tilt_observer: &anchor   # behind it
  ros__parameters: {rate: 1e3, on: yes}
"inertial_ekf":
  ros__parameters:
    trunk: base
/robot1/trunk_payload: {ros__parameters: {trunk: torso}}
robot2:
  simulator: {ros__parameters: {lockstep: true}}
"""


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text(ROBOT)
    return path


def test_plain_sections_get_a_wildcard_and_nothing_else_changes():
    expected = ROBOT.replace("tilt_observer:", "/**/tilt_observer:")
    expected = expected.replace('"inertial_ekf"', '"/**/inertial_ekf"')
    assert files_of.with_wildcards(ROBOT) == expected
    assert files_of.with_wildcards(expected) == expected
    assert files_of.with_wildcards("") == ""


def test_a_copy_reaches_nodes_of_any_namespace_and_keeps_the_file_s_name(robot):
    (copy,) = files_of.reaching_files([str(robot)])
    assert Path(copy).name == "robot.yaml"
    sections = yaml.safe_load(Path(copy).read_text())
    for node in ("/tilt_observer", "/robot1/tilt_observer", "/fleet/robot1/inertial_ekf"):
        assert any(reaches(section, node) for section in sections if section != "/**")
    assert load_config_file(copy).nodes == load_config_file(robot).nodes


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_files_that_come_with_the_package_are_passed_as_they_are(path):
    assert files_of.reaching_files([str(path)]) == [str(path)]


def test_sections_are_the_nodes_that_a_replay_finds_in_the_file(robot):
    assert files_of.nodes_in(robot) == {"**", *load_config_file(robot).nodes}
    nodes = {"tilt_observer", "inertial_ekf", "trunk_payload", "simulator"}
    assert files_of.nodes_in(robot) - {"**"} == nodes


def test_the_last_file_counts_and_a_node_s_section_over_the_shared_one(robot, tmp_path):
    later = tmp_path / "later.yaml"
    later.write_text(
        "/**/tilt_observer: {ros__parameters: {contacts: [c]}}\n/**: {ros__parameters: {contacts: [d]}}"
    )
    files = [str(robot), str(later)]
    assert files_of.last_value(files[:1], "tilt_observer", "contacts") == ["a", "b"]
    assert files_of.last_value(files, "tilt_observer", "contacts") == ["c"]
    assert files_of.last_value(files, "inertial_ekf", "contacts") == ["d"]
    assert files_of.last_value(files, "inertial_ekf", "trunk") == "base"
    assert files_of.last_value(files, "trunk_payload", "trunk") == "torso"
    assert files_of.last_value(files, "tilt_observer", "trunk") is None


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
        ("ros2control", "'ros2control' in remap is neither a pair .* nor a preset; presets: ros2_control"),
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
