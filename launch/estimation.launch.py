"""The estimators on a robot: `ros2 launch inertial_estimation estimation.launch.py robot:=talos`.

Where a parameter file has sections for inertial_ekf and for trunk_payload, trunk_inertia:=trunk_payload says
whose trunk goes to the controller; alongside:=true runs the other one too, on topics of its own.
"""

import os
import re
from pathlib import Path

import yaml
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PACKAGE = "inertial_estimation"
EKF, TRUNK_PAYLOAD = SOURCES = ("inertial_ekf", "trunk_payload")  # of the trunk's inertia
NODES = ("tilt_observer", *SOURCES)
TRUNK_ARGUMENTS = {
    "trunk_inertia": f"Node whose trunk the controller gets; empty: {EKF} where it is configured.",
    "alongside": "Whether the other of the two runs as well, on topics of its own.",
}
SHARE = Path(__file__).resolve().parents[1]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and start the nodes."""
    arguments = [
        DeclareLaunchArgument("robot", description="Name of a file in config/, or path of a parameter file."),
        DeclareLaunchArgument(
            "urdf", default_value="", description="Robot description; empty: parameter file, or topic."
        ),
        DeclareLaunchArgument(
            "params_file", default_value="", description="Parameter files read last, separated by commas."
        ),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of nodes and topics."),
        DeclareLaunchArgument(
            "nodes",
            default_value="",
            description="Nodes to start; empty: those in the parameter file.",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=["true", "false"],
            description="Time of /clock.",
        ),
    ]
    trunk = trunk_arguments()
    return LaunchDescription([*arguments, *trunk, OpaqueFunction(function=start_nodes)])


def trunk_arguments() -> list[DeclareLaunchArgument]:
    """Declare where the trunk's inertia comes from."""
    default = {"trunk_inertia": "", "alongside": "false"}
    choices = {"trunk_inertia": ["", *SOURCES], "alongside": ["true", "false"]}
    return [
        DeclareLaunchArgument(name, default_value=default[name], choices=choices[name], description=text)
        for name, text in TRUNK_ARGUMENTS.items()
    ]


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Make the nodes once the arguments are known."""
    find_executables()
    value = {
        name: LaunchConfiguration(name).perform(context)
        for name in ("robot", "urdf", "params_file", "namespace", "nodes", "use_sim_time", *TRUNK_ARGUMENTS)
    }
    files = parameter_files(value["robot"], value["params_file"])
    overrides: dict[str, object] = {"use_sim_time": value["use_sim_time"] == "true"}
    if value["urdf"]:
        overrides["urdf"] = ParameterValue(value["urdf"], value_type=str)
    source = trunk_source(value["robot"], value["trunk_inertia"])
    trunk = trunk_link(files) if source == TRUNK_PAYLOAD else ""
    return [
        Node(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=value["namespace"],
            parameters=[*files, overrides],
            remappings=remappings(name, trunk),
            output="screen",
            emulate_tty=True,
        )
        for name in chosen_nodes(value["nodes"], value["robot"], source, value["alongside"] == "true")
    ]


def remappings(node: str, trunk: str) -> list[tuple[str, str]]:
    """Return the topics of a node that change.

    Args:
        node: Its name.
        trunk: Link whose inertia trunk_payload hands over; empty: inertial_ekf does, and trunk_payload only
            watches: what it asks of the controller does not get there.
    """
    handed_over = f"link_inertias/{re.sub('[^A-Za-z0-9_]', '_', trunk)}"
    if trunk:
        own = {EKF: (handed_over, f"{EKF}/{handed_over}"), TRUNK_PAYLOAD: ("trunk_inertia", handed_over)}
        return [own[node]] if node in own else []
    asked = ("hold", "base_reference") if node == TRUNK_PAYLOAD else ()
    return [(topic, f"{TRUNK_PAYLOAD}/{topic}") for topic in asked]


def trunk_source(robot: str, asked: str) -> str:
    """Return the node whose trunk the controller gets: as asked, or the first with a section; empty: none."""
    configured = [name for name in SOURCES if name in sections(robot)]
    if asked and asked not in configured:
        raise RuntimeError(f"'{robot}' has no section {asked}; of {', '.join(SOURCES)} it has {configured}")
    return asked or next(iter(configured), "")


def trunk_link(files: list[str]) -> str:
    """Return the link of the trunk, which names its topic, from parameter files of which the last counts."""
    trunk = ""
    for file in files:
        content = yaml.safe_load(Path(file).read_text(encoding="utf-8")) or {}
        for section in ("/**", TRUNK_PAYLOAD):
            parameters = (content.get(section) or {}).get("ros__parameters") or {}
            trunk = parameters.get("trunk") or trunk
    if not trunk:
        raise RuntimeError(
            f"no parameter 'trunk' for {TRUNK_PAYLOAD} in {', '.join(files)}: it names the topic"
        )
    return str(trunk)


def chosen_nodes(text: str, robot: str, source: str = "", alongside: bool = False) -> list[str]:
    """Return the nodes to start: as asked, or those with a section in the parameter file.

    Args:
        text: Names separated by commas; empty: by the file.
        robot: Name or path of the parameter file.
        source: Node whose trunk the controller gets.
        alongside: Whether the other one that knows the trunk starts as well.
    """
    if not text:
        idle = set() if alongside else {*SOURCES} - {source or trunk_source(robot, "")}
        return [name for name in nodes_of(robot) if name not in idle]
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in NODES]
    if unknown or not names:
        raise RuntimeError(f"no node {', '.join(unknown) or '(none given)'}; there are {', '.join(NODES)}")
    return names


def nodes_of(robot: str) -> list[str]:
    """Return the nodes with a section in the parameter file of a robot."""
    names = [name for name in NODES if name in sections(robot)]
    if not names:
        raise RuntimeError(f"'{robot}' has a section for none of {', '.join(NODES)}")
    return names


def sections(robot: str) -> set[str]:
    """Return the sections of the parameter file of a robot."""
    return set(yaml.safe_load(parameter_file(robot).read_text(encoding="utf-8")) or {})


def parameter_files(robot: str, later: str) -> list[str]:
    """Return the parameter file of a robot and those read after it, given separated by commas."""
    names = [robot, *(name.strip() for name in later.split(",") if name.strip())]
    return [str(parameter_file(name)) for name in names]


def parameter_file(robot: str) -> Path:
    """Return the parameter file of a robot, by name or by path."""
    path = Path(robot).expanduser()
    if path.suffix in {".yaml", ".yml"} and path.is_file():
        return path
    named = SHARE / "config" / f"{robot}.yaml"
    if named.is_file():
        return named
    known = ", ".join(sorted(file.stem for file in (SHARE / "config").glob("*.yaml")))
    raise RuntimeError(f"no parameter file '{robot}': not a file, and config/ has {known}")


def find_executables() -> None:
    """Put the prefix this file is installed in where launch looks (pip knows no setup.bash)."""
    prefix = SHARE.parents[1]
    known = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / PACKAGE
    if marker.is_file() and str(prefix) not in known:
        os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join([*filter(None, known), str(prefix)])
