"""Every topic and every figure a layout names exists in the nodes of its robot."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from support.scripts import script

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")
pytest.importorskip("example_robot_data")
pytest.importorskip("visualization_msgs")

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "config" / "layouts"


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
    return script("docs/layouts.py")


def test_the_files_are_those_the_script_writes(layouts, tmp_path):
    assert layouts.main(["talos", "--output", str(tmp_path)]) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts_of_files()


def nodes_of(build, robot, names):
    """Topics that nodes publish, and the figures of their telemetry."""
    nodes = [build(name, "--params-file", str(ROOT / "config" / f"{robot}.yaml")) for name in names]
    topics = {publisher.topic_name for node in nodes for publisher in node.publishers}
    return topics, {
        f"/{node.get_name()}/telemetry": list(node._telemetry._figures._msg.name) for node in nodes
    }


def test_every_topic_and_figure_exists_in_the_nodes_of_talos(build):
    topics, names = nodes_of(build, "talos", ("tilt_observer", "inertial_ekf"))
    texts = texts_of_files()
    assert topics_in(texts) <= topics
    figures = series_in(texts["plotjuggler.xml"])
    assert len(figures) > 30
    assert all(name in names[topic] for topic, name in figures)
    indexed = indexed_in(texts["foxglove.json"])
    assert len(indexed) > 30
    assert all(names[topic][int(place)] == label for topic, place, label in indexed)
    rviz = yaml.safe_load(texts["rviz.rviz"])["Visualization Manager"]
    assert rviz["Global Options"]["Fixed Frame"] == "base_link"


def test_layouts_of_another_robot_name_its_topics(layouts, build):
    texts = layouts.layouts(layouts.robot_of("hyq"))
    published, _names = nodes_of(build, "hyq", ("tilt_observer", "inertial_ekf", "trunk_payload"))
    topics = topics_in(texts)
    assert topics <= published
    assert {"/trunk_payload/markers", "/trunk_payload/telemetry"} <= topics
    assert any("phase" in name for _topic, name in series_in(texts["plotjuggler.xml"]))


def test_layouts_of_a_namespace_name_its_topics(layouts):
    shared = {"/diagnostics"}
    root, below = (topics_in(layouts.layouts(layouts.robot_of("hyq", ns))) - shared for ns in ("", "/hyq/"))
    assert below == {f"/hyq{topic}" for topic in root}
