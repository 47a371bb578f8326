"""Writes the layouts for PlotJuggler, Foxglove and RViz of a robot's parameter file.

    python docs/layouts.py [ROBOT] [--namespace /NS] [--output DIR]

Those in config/layouts/ are of TALOS in the root namespace: `python docs/layouts.py` after a change of the
telemetry's names. For another robot name its parameter file, or the robot's, and a folder.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from inertial_estimation.configuration.config_file import find_config, load_config_file
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines
from inertial_estimation.payload.estimate import payload_figures
from inertial_estimation.telemetry import AGE, Figures, inertial_figures, tilt_figures

FOLDER = Path(__file__).resolve().parents[1] / "config" / "layouts"
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf")
BAND_SIGMAS = 2


@dataclass
class Plot:
    """One plot: figures of telemetry topics, over each other.

    Attributes:
        title: What it shows.
        figures: Topic and name of each figure.
        bands: Mass and its sigma, where a band is drawn around it.
    """

    title: str
    figures: list[tuple[str, str]] = field(default_factory=list)
    bands: list[tuple[str, str, str]] = field(default_factory=list)


class Robot:
    """The telemetry of a parameter file's nodes, arranged in tabs of plots.

    Attributes:
        names: Names of the figures by topic.
        markers: Topics of markers.
        tabs: Plots by the title of their tab.
        base: Frame of the base.
    """

    def __init__(self, pipelines: Pipelines, namespace: str) -> None:
        """Look at the pipelines of the nodes."""
        self._namespace = namespace.rstrip("/")
        self.names: dict[str, tuple[str, ...]] = {}
        self.markers: list[str] = []
        self.tabs: dict[str, list[Plot]] = {}
        built = [pipelines.tilt, pipelines.inertial, pipelines.payload]
        self.base = next(pipeline.robot.base_link for pipeline in built if pipeline is not None)
        if pipelines.tilt is not None:
            self._add_tilt(self._topic("tilt_observer", tilt_figures(pipelines.tilt.contacts)))
        if pipelines.inertial is not None:
            links = pipelines.inertial.config.links
            figures = inertial_figures(
                links,
                pipelines.inertial.model.friction_names,
                pipelines.inertial.noise_parameters,
                pipelines.inertial.model.error_names,
            )
            self._add_inertial(self._topic("inertial_ekf", figures), links)
        if pipelines.payload is not None:
            trunk = pipelines.payload.trunk
            self._add_payload(self._topic("trunk_payload", payload_figures(trunk)), trunk)

    def topic(self, name: str) -> str:
        """Return an absolute topic name."""
        return f"{self._namespace}/{name}"

    def _topic(self, node: str, figures: Figures[Any]) -> str:
        topic = self.topic(f"{node}/telemetry")
        self.names[topic] = (*figures.names, AGE)
        self.markers.append(self.topic(f"{node}/markers"))
        return topic

    def _of(self, topic: str, *prefixes: str) -> list[tuple[str, str]]:
        """Return the figures whose names begin so, in the order of the prefixes."""
        return [(topic, n) for prefix in prefixes for n in self.names[topic] if n.startswith(prefix)]

    def _add_tilt(self, topic: str) -> None:
        self.tabs["tilt"] = [
            Plot("roll and pitch", self._of(topic, "tilt/roll", "tilt/pitch")),
            Plot("sigma of tilt and yaw", self._of(topic, "tilt/sigma", "yaw/sigma")),
            Plot("gyroscope bias", self._of(topic, "gyro_bias/")),
            Plot("its sigma", self._of(topic, "gyro_bias_sigma/")),
            Plot("contacts in use", self._of(topic, "contacts/", "at_rest")),
            Plot("contact forces", self._of(topic, "contact_force/")),
            Plot("shares of the weight", self._of(topic, "contact_share/")),
            Plot("age", self._of(topic, "age")),
        ]

    def _add_inertial(self, topic: str, links: Sequence[str]) -> None:
        self.tabs["masses"] = [self._mass(topic, link) for link in links]
        self.tabs["centres of mass"] = [
            Plot(link, self._of(topic, *(f"com_{axis}/{link} " for axis in "xyz"))) for link in links
        ]
        self.tabs["learning"] = [
            Plot("NIS and its bound", self._of(topic, "nis")),
            Plot("learning", self._of(topic, "learning/")),
            Plot("informed directions", self._of(topic, "information/")),
            Plot("age", self._of(topic, "age")),
        ]

    def _add_payload(self, topic: str, trunk: str) -> None:
        self.tabs["payload"] = [
            self._mass(topic, trunk),
            Plot("centre of mass", self._of(topic, *(f"com_{axis}/{trunk} " for axis in "xyz"))),
            Plot("phase", self._of(topic, "phase", "hold", "at_rest")),
            Plot("age", self._of(topic, "age")),
        ]

    def _mass(self, topic: str, link: str) -> Plot:
        mass, sigma = f"mass/{link} [kg]", f"mass_sigma/{link} [kg]"
        masses = [mass, f"mass_published/{link} [kg]", f"mass_nominal/{link} [kg]"]
        return Plot(link, [(topic, name) for name in masses], [(topic, mass, sigma)])


def plotjuggler(robot: Robot) -> str:
    """Return the layout of PlotJuggler 3, which names a series topic/name/position."""
    root = ElementTree.Element("root")
    tabbed = ElementTree.SubElement(root, "tabbed_widget", parent="main_window", name="Main Window")
    equations: dict[str, tuple[str, str, str]] = {}
    for title, plots in robot.tabs.items():
        tab = ElementTree.SubElement(tabbed, "Tab", containers="1", tab_name=title)
        container = ElementTree.SubElement(tab, "Container")
        share = ";".join(len(plots) * (f"{1 / len(plots):.6g}",))
        splitter = ElementTree.SubElement(
            container, "DockSplitter", orientation="-", count=str(len(plots)), sizes=share
        )
        for plot in plots:
            area = ElementTree.SubElement(splitter, "DockArea", name=plot.title)
            modes = {"style": "Lines", "mode": "TimeSeries", "flip_x": "false", "flip_y": "false"}
            element = ElementTree.SubElement(area, "plot", modes)
            ElementTree.SubElement(element, "limitY")
            curves = [series(topic, name) for topic, name in plot.figures]
            for topic, mass, sigma in plot.bands:
                for side, sign in (("high", "+"), ("low", "-")):
                    curve = f"{topic}/band/{plot.title}/{side}"
                    equations[curve] = (sign, series(topic, mass), series(topic, sigma))
                    curves.append(curve)
            for k, curve in enumerate(curves):
                ElementTree.SubElement(element, "curve", name=curve, color=COLOURS[k % len(COLOURS)])
    ElementTree.SubElement(tabbed, "currentTabIndex", index="0")
    ElementTree.SubElement(root, "use_relative_time_offset", enabled="1")
    plugin = ElementTree.SubElement(
        ElementTree.SubElement(root, "Plugins"), "plugin", ID="ROS2 Topic Subscriber"
    )
    for name, value in (
        ("use_header_stamp", "true"),
        ("discard_large_arrays", "false"),
        ("max_array_size", "500"),
    ):
        ElementTree.SubElement(plugin, name, value=value)
    ElementTree.SubElement(plugin, "selected_topics", value=";".join(robot.names))
    ElementTree.SubElement(root, "previouslyLoaded_Streamer", name="ROS2 Topic Subscriber")
    custom = ElementTree.SubElement(root, "customMathEquations")
    for name, (sign, value, sigma) in equations.items():
        snippet = ElementTree.SubElement(custom, "snippet", name=name)
        ElementTree.SubElement(snippet, "global")
        ElementTree.SubElement(snippet, "function").text = f"return value {sign} {BAND_SIGMAS} * v1"
        ElementTree.SubElement(snippet, "linked_source").text = value
        ElementTree.SubElement(ElementTree.SubElement(snippet, "additional_sources"), "v1").text = sigma
    ElementTree.indent(root, " ")
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"


def series(topic: str, name: str) -> str:
    """Return PlotJuggler's name of a figure."""
    return f"{topic}/{name}/position"


def foxglove(robot: Robot) -> str:
    """Return the layout of Foxglove, which knows a figure by its place in the message."""
    panels: dict[str, Any] = {
        "3D!estimates": {
            "followTf": robot.base,
            "followMode": "follow-none",
            "topics": {topic: {"visible": True} for topic in robot.markers},
            "cameraState": {"distance": 4.0, "phi": 70.0, "thetaOffset": 45.0, "perspective": True},
        },
        "DiagnosticSummary!nodes": {
            "topicToRender": "/diagnostics",
            "minLevel": 0,
            "pinnedIds": [],
            "hardwareIdFilter": "",
            "sortByLevel": True,
        },
    }
    tabs = []
    for title, plots in robot.tabs.items():
        ids = []
        for plot in plots:
            ids.append(f"Plot!{title.replace(' ', '_')}_{plot.title.replace(' ', '_')}")
            panels[ids[-1]] = {
                "foxglovePanelTitle": plot.title,
                "paths": [
                    {
                        "value": f"{topic}.position[{robot.names[topic].index(name)}]",
                        "label": name,
                        "enabled": True,
                        "timestampMethod": "headerStamp",
                    }
                    for topic, name in plot.figures
                ],
                "xAxisVal": "timestamp",
                "isSynced": True,
                "showLegend": True,
                "legendDisplay": "floating",
                "showPlotValuesInLegend": True,
                "showXAxisLabels": True,
                "showYAxisLabels": True,
                "sidebarDimension": 240,
                "followingViewWidth": 30,
            }
        tabs.append({"title": title, "layout": _stacked(ids, "column")})
    panels["Tab!figures"] = {"activeTabIdx": 0, "tabs": tabs}
    seen = _stacked(["3D!estimates", "DiagnosticSummary!nodes"], "column")
    layout = {"first": seen, "second": "Tab!figures", "direction": "row", "splitPercentage": 40}
    document = {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": layout,
    }
    return json.dumps(document, indent=2) + "\n"


def _stacked(ids: Sequence[str], direction: str) -> Any:
    """Return panels of equal size after one another."""
    if len(ids) == 1:
        return ids[0]
    rest = _stacked(ids[1:], direction)
    return {"first": ids[0], "second": rest, "direction": direction, "splitPercentage": 100 / len(ids)}


def rviz(robot: Robot) -> str:
    """Return the configuration of RViz: robot, transforms and the markers, seen from the base."""
    latched = {"Durability Policy": "Transient Local", "Reliability Policy": "Reliable"}
    description = {"Value": robot.topic("robot_description"), "Depth": 1, **latched}
    displays: list[dict[str, Any]] = [
        _display("Grid", "Grid", **{"Cell Size": 0.5, "Plane Cell Count": 10, "Color": "120; 120; 120"}),
        _display(
            "RobotModel",
            "Robot",
            Alpha=0.4,
            **{"Description Source": "Topic", "Description Topic": description},
        ),
        _display("TF", "Frames", enabled=False),
    ]
    for topic in robot.markers:
        name = topic.rpartition("/")[0].lstrip("/")
        where = {
            "Value": topic,
            "Depth": 5,
            "Durability Policy": "Volatile",
            "Reliability Policy": "Reliable",
        }
        displays.append(_display("MarkerArray", name, Topic=where, Namespaces={}))
    document = {
        "Panels": [{"Class": "rviz_common/Displays", "Name": "Displays"}],
        "Visualization Manager": {
            "Class": "",
            "Displays": displays,
            "Enabled": True,
            "Global Options": {"Fixed Frame": robot.base, "Background Color": "48; 48; 48", "Frame Rate": 30},
            "Tools": [{"Class": "rviz_default_plugins/MoveCamera"}, {"Class": "rviz_default_plugins/Select"}],
            "Views": {
                "Current": {
                    "Class": "rviz_default_plugins/Orbit",
                    "Distance": 3.5,
                    "Pitch": 0.3,
                    "Yaw": 0.8,
                    "Focal Point": {"X": 0.0, "Y": 0.0, "Z": 0.0},
                }
            },
        },
        "Window Geometry": {"Width": 1200, "Height": 900},
    }
    return yaml.safe_dump(document, sort_keys=False)


def _display(kind: str, name: str, *, enabled: bool = True, **settings: Any) -> dict[str, Any]:
    return {
        "Class": f"rviz_default_plugins/{kind}",
        "Name": name,
        "Enabled": enabled,
        "Value": enabled,
        **settings,
    }


def layouts(robot: Robot) -> dict[str, str]:
    """Return the text of every layout by its file name."""
    return {"plotjuggler.xml": plotjuggler(robot), "foxglove.json": foxglove(robot), "rviz.rviz": rviz(robot)}


def robot_of(config: str, namespace: str = "") -> Robot:
    """Return the robot of a parameter file."""
    return Robot(build_pipelines(load_config_file(find_config(config))), namespace)


def main(arguments: Iterable[str] | None = None) -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("robot", nargs="?", default="talos", help="name in config/, or parameter file")
    parser.add_argument("--namespace", default="", help="namespace of the nodes")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder")
    args = parser.parse_args(None if arguments is None else list(arguments))
    args.output.mkdir(parents=True, exist_ok=True)
    for name, text in layouts(robot_of(args.robot, args.namespace)).items():
        (args.output / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
