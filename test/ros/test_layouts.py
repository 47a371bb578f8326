"""Every topic and every figure a layout names exists in the nodes of its robot."""

import importlib.util
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")
pytest.importorskip("example_robot_data")
pytest.importorskip("visualization_msgs")

import rclpy
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inputs import messages as conversion
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.ros.inertial_ekf_node import InertialEkfNode
from inertial_estimation.ros.tilt_observer_node import TiltObserverNode
from inertial_estimation.ros.trunk_payload_node import TrunkPayloadNode
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "config" / "layouts"
TALOS_NODES = ("tilt_observer", "inertial_ekf")


def load_script():
    spec = importlib.util.spec_from_file_location("layouts", ROOT / "docs" / "layouts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts_of_files():
    return {path.name: path.read_text() for path in FOLDER.iterdir()}


def topics_in(texts):
    """Topics that the layouts subscribe to, found by how each tool writes them."""
    plotjuggler = ElementTree.fromstring(texts["plotjuggler.xml"].encode())
    topics = set(plotjuggler.find("Plugins/plugin/selected_topics").get("value").split(";"))
    panels = json.loads(texts["foxglove.json"])["configById"]
    for panel in panels.values():
        topics |= set(panel.get("topics", ()))
        topics |= {path["value"].partition(".")[0] for path in panel.get("paths", ())}
        topics |= {panel["topicToRender"]} if "topicToRender" in panel else set()
    displays = yaml.safe_load(texts["rviz.rviz"])["Visualization Manager"]["Displays"]
    return topics | {display["Topic"]["Value"] for display in displays if "Topic" in display}


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
    return load_script()


def test_the_files_are_those_the_script_writes(layouts, tmp_path):
    assert layouts.main(["talos", "--output", str(tmp_path)]) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts_of_files()


def test_every_topic_and_figure_exists_in_live_nodes_of_talos(world):
    stand_as_talos(world)
    heard = {}
    for node in TALOS_NODES:
        world.start(node, "--params-file", str(ROOT / "config" / "talos.yaml"), described=False, robot={})
        heard[f"/{node}/telemetry"] = world.listen(JointState, f"{node}/telemetry")
    assert world.run(lambda: all(heard.values()), timeout=60.0), {k: len(v) for k, v in heard.items()}
    names = {topic: list(received[-1].name) for topic, received in heard.items()}
    live = {topic for topic, _types in world.node.get_topic_names_and_types()}
    publishing = {topic for topic in live if world.node.count_publishers(topic)}
    texts = texts_of_files()
    assert topics_in(texts) <= publishing
    figures = series_in(texts["plotjuggler.xml"])
    assert len(figures) > 30
    for topic, name in figures:
        assert name in names[topic]
    indexed = indexed_in(texts["foxglove.json"])
    assert len(indexed) > 30
    for topic, place, label in indexed:
        assert names[topic][int(place)] == label
    rviz = yaml.safe_load(texts["rviz.rviz"])["Visualization Manager"]
    assert rviz["Global Options"]["Fixed Frame"] == "base_link"


def test_layouts_of_another_robot_name_its_topics(layouts, domain):
    texts = layouts.layouts(layouts.robot_of("hyq"))
    context = rclpy.Context()
    arguments = ["--ros-args", "--params-file", str(ROOT / "config" / "hyq.yaml")]
    rclpy.init(args=arguments, context=context, domain_id=domain)
    try:
        published = set()
        for node_class in (TiltObserverNode, InertialEkfNode, TrunkPayloadNode):
            node = node_class(context=context)
            published |= {publisher.topic_name for publisher in node.publishers}
            node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    topics = topics_in(texts)
    assert topics <= published
    assert {"/trunk_payload/markers", "/trunk_payload/telemetry"} <= topics
    assert any("phase" in name for _topic, name in series_in(texts["plotjuggler.xml"]))


def test_layouts_of_a_namespace_name_its_topics(layouts):
    shared = {"/diagnostics"}
    root, below = (topics_in(layouts.layouts(layouts.robot_of("hyq", ns))) - shared for ns in ("", "/hyq/"))
    assert below == {f"/hyq{topic}" for topic in root}


def stand_as_talos(world):
    """Let the world publish the sensors of a TALOS at its zero posture."""
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))
    zeros = np.zeros(robot.n_joints)
    load = [0.0, 0.0, 0.5 * 9.80665 * robot.total_mass, 0.0, 0.0, 0.0]

    def sense(stamp_ns, leave_out=(), **_spoiled):
        imu = ImuSample(stamp_ns, [0.0, 0.0, 9.80665], [0.0, 0.0, 0.0])
        joints = JointReading(stamp_ns, robot.joint_names, zeros, zeros, zeros)
        world.publish("imu/data", conversion.imu_to_msg(imu, Imu(), "imu_link"))
        world.publish("joint_states", conversion.joints_to_msg(joints, JointState()))
        for side in ("left", "right"):
            wrench = conversion.wrench_to_msg(
                WrenchSample(stamp_ns, load), WrenchStamped(), f"{side}_sole_link"
            )
            world.publish(f"{side}_foot/wrench", wrench)

    world.sense = sense
