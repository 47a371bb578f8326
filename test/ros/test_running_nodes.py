"""Nodes as processes in namespaces, managed, and stopped for a while."""

from pathlib import Path

import pytest
from geometry_msgs.msg import QuaternionStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from std_msgs.msg import String

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.ros.parameters import from_ros_value

CONFIG = Path(__file__).resolve().parents[2] / "config"
IN_ROBOT1 = ("-r", "__ns:=/robot1")


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


MANAGED = {"managed": "true"}


def change(world, transition):
    request = ChangeState.Request(transition=Transition(id=transition))
    return world.call(ChangeState, "tilt_observer/change_state", request).success


def state(world):
    return world.call(GetState, "tilt_observer/get_state").current_state.label


def reports(world, word):
    return any(word in status.message for status in world.reports.values())


def test_through_all_states(world):
    node = world.start("tilt_observer", **MANAGED)
    heard = world.listen(QuaternionStamped, "base_orientation")
    assert state(world) == "unconfigured"
    assert not world.node.count_subscribers("imu/data")
    assert world.run(lambda: reports(world, "unconfigured"))

    assert change(world, Transition.TRANSITION_CONFIGURE)
    assert state(world) == "inactive"
    assert world.run(lambda: world.node.count_subscribers("imu/data") == 1)
    assert world.run(lambda: reports(world, "inactive"))
    assert not heard

    assert change(world, Transition.TRANSITION_ACTIVATE)
    assert world.run(lambda: len(heard) > 20)
    assert change(world, Transition.TRANSITION_DEACTIVATE)
    deactivated, before = world.stamps[-1], world.heard
    assert world.run(lambda: world.heard > before + 1), "it goes on reading"
    assert stamp_from_msg(heard[-1].header.stamp) <= deactivated

    assert change(world, Transition.TRANSITION_CLEANUP)
    assert state(world) == "unconfigured"
    assert world.run(lambda: not world.node.count_subscribers("imu/data"))
    assert change(world, Transition.TRANSITION_CONFIGURE), "again, from the beginning"
    assert change(world, Transition.TRANSITION_ACTIVATE)
    again = len(heard)
    assert world.run(lambda: len(heard) > again + 20)

    world.reports.clear()
    assert change(world, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state(world) == "finalized"
    assert world.run(lambda: reports(world, "finalized"))
    assert node.stop() == 0, node.output
    assert "Traceback" not in node.output


def test_what_cannot_be_configured_is_said_and_refused(world):
    """A transition that does not exist, no description yet, and a wrong name in it."""
    wrong = {"imu_frame": "imo", "contacts": "[foot]"}
    node = world.start("tilt_observer", robot=wrong, described=False, **MANAGED)
    assert not change(world, Transition.TRANSITION_ACTIVATE)
    assert not change(world, Transition.TRANSITION_CONFIGURE)
    assert "no robot description on /robot_description yet" in node.output
    latched = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    world.publish("robot_description", String(data=world.urdf.read_text()), latched)

    def named():
        assert not change(world, Transition.TRANSITION_CONFIGURE)
        return "no frame 'imo'" in node.output

    assert world.run(named)
    assert state(world) == "unconfigured"
