"""Every topic and every figure a layout names exists in the nodes of its robot."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
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
    assert {("/trunk_payload/markers", MarkerArray), ("/trunk_payload/telemetry", JointState)} <= topics
    assert any("phase" in name for _topic, name in series_in(texts["plotjuggler.xml"]))


def test_layouts_of_a_namespace_name_its_topics(layouts):
    shared = {("/diagnostics", DiagnosticArray)}
    root, below = (topics_in(layouts.layouts(layouts.robot_of("hyq", ns))) - shared for ns in ("", "/hyq/"))
    assert below == {(f"/hyq{topic}", kind) for topic, kind in root}


def test_every_plot_of_plotjuggler_has_its_share_and_curves(layouts):
    for config in ("talos", "hyq"):
        root = ElementTree.fromstring(layouts.plotjuggler(layouts.robot_of(config)).encode())
        for splitter in root.iter("DockSplitter"):
            sizes = [float(size) for size in splitter.get("sizes").split(";")]
            assert int(splitter.get("count")) == len(splitter) == len(sizes), "it reads one size for each"
            assert sum(sizes) == pytest.approx(1.0, abs=1e-4)
        assert all(plot.findall("curve") for plot in root.iter("plot"))
        streamer = root.find("previouslyLoaded_Streamer").get("name")
        assert streamer == root.find("Plugins/plugin").get("ID") == "ROS2 Topic Subscriber"


def panels_in(layout):
    """Panels of a layout, a name or two parts side by side."""
    if isinstance(layout, str):
        return [layout]
    assert layout["direction"] in ("row", "column")
    assert 0.0 < layout["splitPercentage"] < 100.0
    return [*panels_in(layout["first"]), *panels_in(layout["second"])]


def test_foxglove_places_every_panel_once():
    document = json.loads(texts_of_files()["foxglove.json"])
    panels = document["configById"]
    tabs = [tab for panel in panels.values() for tab in panel.get("tabs", ())]
    placed = [*panels_in(document["layout"]), *(name for tab in tabs for name in panels_in(tab["layout"]))]
    assert sorted(placed) == sorted(panels)
