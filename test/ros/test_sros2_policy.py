"""The policy grants each node what it has in the graph, and no more."""

import xml.etree.ElementTree as ElementTree
from fnmatch import fnmatch
from pathlib import Path

import pytest
from rclpy.lifecycle import TransitionCallbackReturn

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "config" / "sros2" / "policy.xml"
NOT_HERE = {"/tf"}  # needs tf2_msgs, of which there is no wheel
STARTS = {  # ways to start a node that together make it use all it may
    "tilt_observer": [("talos", {})],
    "inertial_ekf": [("talos", {"sensor_errors.treatment": "estimated"}), ("talos", {"imu_frame": "''"})],
    "trunk_payload": [("hyq", {"ground_forces": "measured"})],
    "whole_body_controller": [("talos", {}), ("talos", {"command_joints": "[arm_left_4_joint]"})],
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


def graph(node):
    """What a node subscribes to, publishes and serves."""
    asked = {
        ("topic", "subscribe"): node.get_subscriber_names_and_types_by_node,
        ("topic", "publish"): node.get_publisher_names_and_types_by_node,
        ("service", "reply"): node.get_service_names_and_types_by_node,
    }
    return {kind: {name for name, _types in ask(node.get_name(), "/")} for kind, ask in asked.items()}


def configured(build, name, robot, parameters):
    """The graph of a node that is managed, configured and by the time of a simulation."""
    given = {f"{name}:{one}": value for one, value in {**parameters, "managed": "true"}.items()}
    simulated = {} if name == "simulator" else {f"{name}:use_sim_time": "true"}
    node = build(name, "--params-file", str(ROOT / "config" / f"{robot}.yaml"), **given, **simulated)
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
    return graph(node)


@pytest.mark.parametrize("name", STARTS)
def test_policy_is_the_graph(build, name):
    used = [configured(build, name, robot, parameters) for robot, parameters in STARTS[name]]
    used.append(
        graph(build(name, "--params-file", str(ROOT / "config" / "hyq.yaml"), "-p", f"{name}:urdf:=''"))
    )
    for kind, action in used[0]:
        allowed = granted(name, kind, action)
        names = set().union(*(graph[kind, action] for graph in used))
        beyond = {one for one in names if not any(fnmatch(one, rule) for rule in allowed)}
        assert not beyond, f"the policy does not let {name} {action} {beyond}"
        idle = {rule for rule in allowed if not any(fnmatch(one, rule) for one in names)} - NOT_HERE
        assert not idle, f"the policy lets {name} {action} {idle}, which it does not do"


def test_every_node_has_an_enclave():
    paths = {enclave.get("path") for enclave in ElementTree.parse(POLICY).iter("enclave")}
    assert paths == {f"/inertial_estimation/{node}" for node in STARTS}
