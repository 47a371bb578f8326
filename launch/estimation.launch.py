"""The estimators on a robot: `ros2 launch inertial_estimation estimation.launch.py robot:=talos`.

Where a parameter file has sections for inertial_ekf and for trunk_payload, trunk_inertia:=trunk_payload
selects the node whose trunk inertia goes to the controller. The other one runs only where nodes:= names it,
on separate topics.
"""

import difflib
import os
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.events.process import ProcessExited
from launch.launch_description_sources.python_launch_file_utilities import (
    load_python_launch_file_as_module as load_module,
)
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PACKAGE = "inertial_estimation"
HERE = Path(__file__).resolve().parent
EKF, TRUNK_PAYLOAD = SOURCES = ("inertial_ekf", "trunk_payload")  # of the trunk's inertia
NODES = ("tilt_observer", *SOURCES)
SWITCH = ["true", "false"]
RESPAWN_DELAY = 2.0  # [s]
CANNOT_START = 2  # exit code of a node whose parameters, files or packages are wrong
ARGUMENTS: dict[str, tuple[str | None, str, list[str] | None]] = {  # default, description, choices
    "robot": (None, "Name of a file in config/, or path of a parameter file.", None),
    "urdf": (
        "",
        "Robot description, a path or example-robot-data:NAME; empty: parameter file, or topic.",
        None,
    ),
    "params_file": ("", "Parameter files read after the robot's, separated by commas; the last wins.", None),
    "namespace": ("", "Namespace of nodes and topics.", None),
    "remap": (
        "",
        "Topic remappings FROM:=TO, separated by commas, relative to the namespace unless they begin with a "
        "slash; or the preset ros2_control.",
        None,
    ),
    "trunk_inertia": (
        "",
        f"Node whose trunk inertia the controller uses; empty: {EKF} where it is configured.",
        ["", *SOURCES],
    ),
    "nodes": ("", "Estimators to start, separated by commas; empty: those in the parameter file.", None),
    "trigger": (
        "",
        "What makes a node process its inputs: a timer or their arrival; empty: as in the parameter file.",
        ["", "timer", "arrival"],
    ),
    "tf": ("false", "Whether tilt_observer publishes the transform world -> base on /tf (tf2_msgs).", SWITCH),
    "respawn": ("false", "Whether a node that ends is started again after two seconds.", SWITCH),
    "log_level": ("", "Log level of the nodes (debug, info, warn, error); empty: info.", None),
    "enclaves": ("false", "Whether each node starts with its enclave of config/sros2.", SWITCH),
}
OWN_ARGUMENTS: dict[str, tuple[str | None, str, list[str] | None]] = {
    "use_sim_time": ("false", "Whether the nodes use the time of /clock.", SWITCH),
    "managed": ("false", "Whether nodes start unconfigured, to be activated by a lifecycle manager.", SWITCH),
}


files_of, remap_of = (
    load_module(str(HERE / f"{name}.py")) for name in ("parameter_files", "topic_remappings")
)


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and start the nodes."""
    arguments = declared({**ARGUMENTS, **OWN_ARGUMENTS})
    return LaunchDescription([*arguments, OpaqueFunction(function=start_nodes)])


def declared(arguments: dict[str, tuple[str | None, str, list[str] | None]]) -> list[DeclareLaunchArgument]:
    """Declare arguments given as default (None: required), description and choices (None: any)."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, (default, text, choices) in arguments.items()
    ]


def values_of(context: LaunchContext, names: list[str]) -> dict[str, str]:
    """Return the values of launch arguments; one that resembles them is misspelt, which launch ignores."""
    for given in context.launch_configurations:
        close = difflib.get_close_matches(given, names, n=1, cutoff=0.8)
        if close and given not in names:
            get_logger("launch").warning(f"no launch argument '{given}', did you mean '{close[0]}'?")
    return {name: LaunchConfiguration(name).perform(context) for name in names}


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Create the nodes once the values of the arguments are known."""
    value = values_of(context, [*ARGUMENTS, *OWN_ARGUMENTS])
    files = files_of.parameter_files(value["robot"], value["params_file"])
    overrides: dict[str, Any] = {"use_sim_time": value["use_sim_time"] == "true"}
    if value["managed"] == "true":
        overrides["managed"] = True
    source = trunk_source(value["robot"], value["trunk_inertia"])
    trunk = trunk_link(files) if source == TRUNK_PAYLOAD else ""
    return [
        make_node(name, value, {**overrides, **chosen_parameters(name, value)}, remappings(name, trunk))
        for name in chosen_nodes(value["nodes"], value["robot"], source)
    ]


def make_node(
    name: str, value: dict[str, str], overrides: dict[str, Any], changed: list[tuple[str, str]]
) -> Node:
    """Create one node with the robot's parameters and those of this launch.

    Args:
        name: Name of node and executable.
        value: Launch arguments.
        overrides: Parameters that replace those of the files.
        changed: Topics that the launch file itself changes, as (from, to).
    """
    find_executables()
    files = files_of.parameter_files(value["robot"], value["params_file"])
    if value["urdf"]:
        overrides = {**overrides, "urdf": ParameterValue(value["urdf"], value_type=str)}
    return Node(
        package=PACKAGE,
        executable=name,
        name=name,
        namespace=value["namespace"],
        parameters=[*files_of.reaching_files(files), overrides],
        remappings=remap_of.combined(changed, remap_of.parse_remap(value["remap"], contacts_of(files))),
        ros_arguments=ros_arguments(name, value),
        output="screen",
        emulate_tty=True,
        on_exit=None if value["respawn"] == "true" else check_ended,
        respawn=value["respawn"] == "true",
        respawn_delay=RESPAWN_DELAY,
    )


def check_ended(event: ProcessExited, context: LaunchContext) -> None:
    """End the launch if a node could not start, for example of a wrong name; others outlive one that fails.

    Raises:
        RuntimeError: Which launch turns into its own exit code; an action `Shutdown` would end it with 0.
    """
    if event.returncode == CANNOT_START and not context.is_shutdown:
        raise RuntimeError(f"{event.process_name} cannot start: its error is above")


def chosen_parameters(name: str, value: dict[str, str]) -> dict[str, Any]:
    """Return the parameters of a node that the arguments `trigger` and `tf` set."""
    parameters: dict[str, Any] = {"trigger": value["trigger"]} if value["trigger"] else {}
    if name == "tilt_observer" and value["tf"] == "true":
        parameters["publish_tf"] = True
    return parameters


def ros_arguments(name: str, value: dict[str, str]) -> list[str]:
    """Return the arguments of a node for ROS itself.

    Args:
        name: Name of the node.
        value: Launch arguments.
    """
    level = ["--log-level", value["log_level"]] if value["log_level"] else []
    enclave = ["--enclave", f"/{PACKAGE}/{name}"] if value["enclaves"] == "true" else []
    return [*level, *enclave]


def remappings(node: str, trunk: str) -> list[tuple[str, str]]:
    """Return the topics of a node that change.

    Args:
        node: Its name.
        trunk: Link whose inertia trunk_payload hands over; empty: inertial_ekf does, and the requests
            of trunk_payload to the controller go to separate topics.
    """
    handed_over = f"link_inertias/{remap_of.topic_token(trunk)}"
    if trunk:
        own = {EKF: (handed_over, f"{EKF}/{handed_over}"), TRUNK_PAYLOAD: ("trunk_inertia", handed_over)}
        return [own[node]] if node in own else []
    asked = ("hold", "base_reference") if node == TRUNK_PAYLOAD else ()
    return [(topic, f"{TRUNK_PAYLOAD}/{topic}") for topic in asked]


def contacts_of(files: list[str]) -> list[str]:
    """Return the contacts that parameter files name for any of the nodes."""
    values = (files_of.last_value(files, node, "contacts") for node in NODES)
    return next((list(value) for value in values if value), [])


def trunk_source(robot: str, asked: str) -> str:
    """Return the node whose trunk the controller uses: as asked, else the first configured, or ''."""
    sections = files_of.nodes_in(files_of.parameter_file(robot))
    configured = [name for name in SOURCES if name in sections]
    if asked and asked not in configured:
        raise RuntimeError(f"'{robot}' has no section {asked}; of {', '.join(SOURCES)} it has {configured}")
    return asked or next(iter(configured), "")


def trunk_link(files: list[str]) -> str:
    """Return the link of the trunk, part of its topic's name, from parameter files (the last wins)."""
    trunk = files_of.last_value(files, TRUNK_PAYLOAD, "trunk")
    if not trunk:
        raise RuntimeError(
            f"no parameter 'trunk' for {TRUNK_PAYLOAD} in {', '.join(files)}: it names the topic"
        )
    return str(trunk)


def chosen_nodes(text: str, robot: str, source: str) -> list[str]:
    """Return the nodes to start: those named, or those with a section in the parameter file.

    Args:
        text: Names separated by commas; empty: by the file.
        robot: Name or path of the parameter file.
        source: Node whose trunk inertia the controller uses, which runs alone by the file.
    """
    if not text:
        sections = files_of.nodes_in(files_of.parameter_file(robot))
        found = [name for name in NODES if name in sections and (name not in SOURCES or name == source)]
        if not found:
            raise RuntimeError(f"'{robot}' has a section for none of {', '.join(NODES)}")
        return found
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in NODES]
    if unknown or not names:
        raise RuntimeError(f"no node {', '.join(unknown) or '(none given)'}; there are {', '.join(NODES)}")
    return names


def find_executables() -> None:
    """Add the installation prefix of this file to AMENT_PREFIX_PATH (pip installs no setup.bash)."""
    prefix = HERE.parents[2]
    known = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / PACKAGE
    if marker.is_file() and str(prefix) not in known:
        os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join([*filter(None, known), str(prefix)])
