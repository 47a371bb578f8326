"""Nodes in a namespace, with the parameter files that come with the package and with older ones."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, QuaternionStamped
from rosgraph_msgs.msg import Clock

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.ros.parameters import from_ros_value

CONFIG = Path(__file__).resolve().parents[2] / "config"
IN_ROBOT1 = ("-r", "__ns:=/robot1")
INPUTS = ("imu/data", "joint_states", "foot/wrench", "base_state")
FROM_ROOT = [word for topic in INPUTS for word in ("-r", f"{topic}:=/{topic}")]


@pytest.mark.parametrize(
    ("robot", "name"),
    [("icub", "tilt_observer"), ("icub", "inertial_ekf"), ("hyq", "trunk_payload"), ("go2", "simulator")],
)
def test_the_parameters_of_a_robot_file_arrive_in_a_namespace(build, robot, name):
    """The robot description is not there yet: the parameters are declared all the same."""
    file = CONFIG / f"{robot}.yaml"
    expected = load_config_file(file).nodes[name]
    node = build(name, "--params-file", str(file), *IN_ROBOT1, urdf="''")
    assert node.get_namespace() == "/robot1"
    found = {key: from_ros_value(node.get_parameter(key).value) for key in expected}
    assert found == {key: value or [""] if value == [] else value for key, value in expected.items()}


@pytest.mark.parametrize("name", ["tilt_observer", "inertial_ekf", "trunk_payload"])
def test_a_node_in_a_namespace_publishes_and_reads_the_same_as_a_plain_one(build, name):
    def topics(*remapped):
        node = build(name, "--params-file", str(CONFIG / "hyq.yaml"), *remapped)
        ends = {*node.publishers, *node.subscriptions}
        return {(type(end), node.resolve_topic_name(end.topic_name), end.msg_type) for end in ends}

    common = ("/diagnostics", "/rosout", "/parameter_events", "/clock")  # of all robots
    plain = {(end, topic if topic in common else f"/robot1{topic}", kind) for end, topic, kind in topics()}
    assert len(plain) > 10
    assert topics(*IN_ROBOT1) == plain


def robot_file(world, section):
    path = world.folder / "robot.yaml"
    path.write_text(
        f"/**: {{ros__parameters: {{urdf: {world.urdf}, imu_frame: imu, contacts: [foot], "
        "contact_frames: [sole]}}\n"
        f"{section}tilt_observer: {{ros__parameters: {{world_frame: hall}}}}\n"
        f"{section}inertial_ekf: {{ros__parameters: {{links: [leg], torque_rows: []}}}}\n"
    )
    return path


def test_nodes_in_a_namespace_estimate_and_report_there(world):
    file = str(robot_file(world, "/**/"))
    for name in ("tilt_observer", "inertial_ekf"):
        world.start(name, "--params-file", file, *IN_ROBOT1, *FROM_ROOT, described=False, robot={})
    orientations = world.listen(QuaternionStamped, "/robot1/base_orientation")
    inertias = world.listen(InertiaStamped, "/robot1/link_inertias/leg")
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")
    assert world.run(lambda: len(orientations) > 20 and len(inertias) > 20 and diagnostics)
    assert {msg.header.frame_id for msg in orientations} == {"hall"}
    published = {name for name, _ in world.node.get_topic_names_and_types()}
    assert not {"/base_orientation", "/link_inertias/leg", "/robot1/diagnostics"} & published


def test_simulations_in_two_namespaces_have_two_times(world, arm):
    """As simulation.launch.py starts them; the nodes of each follow its own."""
    pytest.importorskip("mujoco", reason="needs MuJoCo")
    robot, clocks = {**arm, "hoist": "0.0"}, {}
    for name in ("one", "two"):
        renamed = ("-r", f"__ns:=/{name}", "-r", "/clock:=clock")
        world.start("simulator", *renamed, described=False, robot=robot)
        clocks[name] = world.listen(Clock, f"/{name}/clock")
    shared = world.listen(Clock, "/clock")
    assert world.run(lambda: all(len(heard) > 20 for heard in clocks.values()), sensors=False)
    for heard in clocks.values():
        times = [stamp_from_msg(msg.clock) for msg in heard]
        assert times == sorted(times)
    assert not shared
    follower = world.start("tilt_observer", *IN_ROBOT1, "-r", "/clock:=clock", use_sim_time="true")
    assert world.run(lambda: "waiting for" in follower.output, sensors=False)
    assert "/robot1/clock" in follower.output
