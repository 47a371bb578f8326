"""The policy grants each node what it has in the graph, and no more."""

import xml.etree.ElementTree as ElementTree
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")
lifecycle = pytest.importorskip("lifecycle_msgs.srv", reason="needs lifecycle_msgs")

from lifecycle_msgs.msg import Transition

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "config" / "sros2" / "policy.xml"
NOT_HERE = {"/tf"}  # needs tf2_msgs, of which there is no wheel
STARTS = {  # ways to start a node that together make it use all it may
    "tilt_observer": [("talos", {})],
    "inertial_ekf": [
        ("talos", {"sensor_errors.treatment": "estimated"}),
        ("talos", {"base_acceleration": "finite_difference"}),
    ],
    "trunk_payload": [("hyq", {"ground_forces": "measured"})],
    "whole_body_controller": [
        ("talos", {}),
        ("talos", {"command_joints": "[arm_left_4_joint]"}),
    ],
    "simulator": [("talos", {"disturbances": "['{kind: ball, link: arm_left_5_link, mass: 1, start: 1}']"})],
}


def granted(node, kind, action):
    """Names of a profile: topics (subscribe, publish) or services (reply), made absolute."""
    found = set()
    for profile in ElementTree.parse(POLICY).iter("profile"):
        if profile.get("node") == node:
            for group in profile.iter(f"{kind}s"):
                if group.get(action) == "ALLOW":
                    found |= {item.text for item in group.iter(kind)}
    return {_absolute(name, node) for name in found}


def _absolute(name, node):
    if name.startswith("~/"):
        return f"/{node}/{name[2:]}"
    return name if name.startswith("/") else f"/{name}"


def graph(world, node):
    """What a node subscribes to, publishes and serves."""
    ask = world.node
    return {
        ("topic", "subscribe"): {name for name, _ in ask.get_subscriber_names_and_types_by_node(node, "/")},
        ("topic", "publish"): {name for name, _ in ask.get_publisher_names_and_types_by_node(node, "/")},
        ("service", "reply"): {name for name, _ in ask.get_service_names_and_types_by_node(node, "/")},
    }


def configured(world, node, robot, parameters):
    """The graph of a node that is managed, configured and by the time of a simulation."""
    given = {f"{node}:{name}": value for name, value in {**parameters, "managed": "true"}.items()}
    simulated = {} if node == "simulator" else {f"{node}:use_sim_time": "true"}
    files = ["--params-file", str(ROOT / "config" / f"{robot}.yaml")]
    process = world.start(node, *files, described=False, robot={}, **given, **simulated)
    request = lifecycle.ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
    assert world.call(lifecycle.ChangeState, f"{node}/change_state", request, sensors=False).success, (
        process.output
    )
    of_every_node = {"/rosout", f"/{node}/transition_event"}
    world.run(lambda: of_every_node <= graph(world, node)["topic", "publish"], timeout=10.0, sensors=False)
    world.run(lambda: False, timeout=0.5, sensors=False)
    found = graph(world, node)
    assert process.stop() == 0, process.output
    return found


def described_by_topic(world, node, robot):
    """The graph of a node that waits for the robot description."""
    arguments = ["--params-file", str(ROOT / "config" / f"{robot}.yaml"), "-p", f"{node}:urdf:=''"]
    process = world.start(node, *arguments, described=False, robot={})
    topic = "/robot_description"
    assert world.run(lambda: topic in _subscribed(world, node), sensors=False), process.output
    assert process.stop() == 0, process.output
    return {("topic", "subscribe"): {topic}}


def _subscribed(world, node):
    try:
        return graph(world, node)["topic", "subscribe"]
    except Exception:  # rclpy's NodeNameNonExistentError, until it is found
        return set()


@pytest.mark.parametrize("node", STARTS)
def test_policy_is_the_graph(world, node):
    if node == "simulator":
        pytest.importorskip("mujoco", reason="needs MuJoCo")
    if node == "whole_body_controller":
        pytest.importorskip("proxsuite", reason="needs ProxSuite")
    starts = STARTS[node]
    used = [configured(world, node, robot, parameters) for robot, parameters in starts]
    if node == "tilt_observer":
        used.append(described_by_topic(world, node, starts[0][0]))
    else:  # as every node does
        used.append({("topic", "subscribe"): {"/robot_description"}})
    for kind, action in (("topic", "subscribe"), ("topic", "publish"), ("service", "reply")):
        allowed = granted(node, kind, action)
        names = set().union(*(graph.get((kind, action), set()) for graph in used))
        beyond = {name for name in names if not any(fnmatch(name, rule) for rule in allowed)}
        assert not beyond, f"the policy does not let {node} {action} {beyond}"
        idle = {rule for rule in allowed if not any(fnmatch(name, rule) for name in names)} - NOT_HERE
        assert not idle, f"the policy lets {node} {action} {idle}, which it does not do"


def test_every_node_has_an_enclave():
    paths = {enclave.get("path") for enclave in ElementTree.parse(POLICY).iter("enclave")}
    assert paths == {f"/inertial_estimation/{node}" for node in STARTS}
