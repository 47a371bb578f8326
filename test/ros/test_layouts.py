"""Layouts and security policy name what the nodes have in the graph, and no more."""

import json
import re
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.lifecycle import TransitionCallbackReturn
from sensor_msgs.msg import JointState
from support.scripts import script
from visualization_msgs.msg import MarkerArray

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "config" / "layouts"


def texts_of_files():
    return {path.name: path.read_text() for path in FOLDER.iterdir()}


def topics_in(texts):
    """Topics and types of what the layouts subscribe to, found by how each tool writes them."""
    plotjuggler = ElementTree.fromstring(texts["plotjuggler.xml"].encode())
    selected = plotjuggler.find("Plugins/plugin/selected_topics").get("value").split(";")
    topics = {(topic, JointState) for topic in selected}
    for panel in json.loads(texts["foxglove.json"])["configById"].values():
        topics |= {(topic, MarkerArray) for topic in panel.get("topics", ())}
        topics |= {(path["value"].partition(".")[0], JointState) for path in panel.get("paths", ())}
        topics |= {(panel["topicToRender"], DiagnosticArray)} if "topicToRender" in panel else set()
    displays = yaml.safe_load(texts["rviz.rviz"])["Visualization Manager"]["Displays"]
    kinds = {"rviz_default_plugins/MarkerArray": MarkerArray}
    return topics | {(d["Topic"]["Value"], kinds[d["Class"]]) for d in displays if "Topic" in d}


def series_in(text):
    """Topic and name of every figure PlotJuggler reads, in curves and in custom functions."""
    root = ElementTree.fromstring(text.encode())
    snippets = root.findall("customMathEquations/snippet")
    own = {snippet.get("name") for snippet in snippets}
    read = {curve.get("name") for curve in root.iter("curve")} - own
    for snippet in snippets:
        assert re.fullmatch(r"return value [+-] 2 \* v1", snippet.findtext("function"))
        read |= {snippet.findtext("linked_source"), snippet.findtext("additional_sources/v1")}
    assert own <= {curve.get("name") for curve in root.iter("curve")}, "a band is drawn nowhere"
    found = [re.fullmatch(r"(.*/telemetry)/(.*)/position", name).groups() for name in read]
    return set(found)


def indexed_in(text):
    """Topic, place and label of every figure Foxglove plots."""
    panels = json.loads(text)["configById"].values()
    paths = [path for panel in panels for path in panel.get("paths", ())]
    return [
        (*re.fullmatch(r"(.*)\.position\[(\d+)\]", path["value"]).groups(), path["label"]) for path in paths
    ]


@pytest.fixture(scope="module")
def layouts():
    return script("docs/layouts.py")


def test_the_files_are_those_the_script_writes(layouts, tmp_path):
    assert layouts.main(["talos", "--output", str(tmp_path)]) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts_of_files()


def nodes_of(build, robot, names):
    """Topics that nodes publish, and the figures of their telemetry."""
    nodes = [build(name, "--params-file", str(ROOT / "config" / f"{robot}.yaml")) for name in names]
    topics = {(publisher.topic_name, publisher.msg_type) for node in nodes for publisher in node.publishers}
    return topics, {
        f"/{node.get_name()}/telemetry": list(node._telemetry._output._msg.name) for node in nodes
    }


@pytest.mark.parametrize(
    ("robot", "more", "own"),
    [("talos", (), set()), ("hyq", ("trunk_payload",), {("/trunk_payload/markers", MarkerArray)})],
)
def test_every_topic_and_figure_exists_in_the_nodes_of_a_robot(layouts, build, robot, more, own):
    topics, names = nodes_of(build, robot, ("tilt_observer", "inertial_ekf", *more))
    texts = layouts.layouts(layouts.robot_of(robot))
    assert own <= topics_in(texts) <= topics
    figures = series_in(texts["plotjuggler.xml"])
    assert len(figures) > 30
    assert all(name in names[topic] for topic, name in figures)
    indexed = indexed_in(texts["foxglove.json"])
    assert len(indexed) > 30
    assert all(names[topic][int(place)] == label for topic, place, label in indexed)
    rviz = yaml.safe_load(texts["rviz.rviz"])["Visualization Manager"]
    assert rviz["Global Options"]["Fixed Frame"] == "base_link"
    assert any("phase" in name for _topic, name in figures) == bool(more)


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
