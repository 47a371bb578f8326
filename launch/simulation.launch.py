"""A simulated robot on its own estimates: `ros2 launch inertial_estimation simulation.launch.py`.

Simulator, estimators and whole-body controller; ends when the simulator does. The demo's weight with
params_file:=payload_demo, other things with disturbances:='push link=torso_2_link force=50,0,0 start=6'.
"""

import runpy
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ESTIMATION = Path(__file__).resolve().parent / "estimation.launch.py"
TRUNK = ("trunk_inertia", "alongside")  # arguments of estimation.launch.py
FORWARDED = ("robot", "urdf", "params_file", "namespace", *TRUNK)
ARGUMENTS = {
    "robot": ("talos", "Name of a file in config/, or path of a parameter file."),
    "urdf": ("", "Robot description; empty: parameter file."),
    "params_file": ("", "Parameter files read last, separated by commas."),
    "namespace": ("", "Namespace of nodes and topics."),
    "real_time_factor": ("1.0", "Simulated over wall time, at most; 0: as fast as possible."),
    "disturbances": ("", "What happens to the robot, separated by semicolons."),
}
SWITCHES = {
    "lockstep": ("true", "Whether the simulation waits for the command to every reading."),
    "adaptation": ("true", "Whether the controller uses the estimated inertias."),
    "viewer": ("false", "Whether to show the robot; needs a display."),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and start the nodes."""
    texts = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    switches = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=["true", "false"])
        for name, (default, text) in SWITCHES.items()
    ]
    estimators = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(ESTIMATION)),
        launch_arguments=[
            *((name, LaunchConfiguration(name)) for name in FORWARDED),
            ("use_sim_time", "true"),
        ],
    )
    trunk = runpy.run_path(str(ESTIMATION))["trunk_arguments"]()
    return LaunchDescription([*texts, *switches, *trunk, estimators, OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Make simulator and controller once the arguments are known."""
    value = {name: LaunchConfiguration(name).perform(context) for name in (*ARGUMENTS, *SWITCHES, *TRUNK)}
    simulator: dict[str, Any] = {name: value[name] == "true" for name in ("lockstep", "viewer")}
    simulator["real_time_factor"] = float(value["real_time_factor"])
    disturbances = [text.strip() for text in value["disturbances"].split(";") if text.strip()]
    if disturbances:
        simulator["disturbances"] = disturbances
    controller: dict[str, Any] = {"use_sim_time": True}
    estimation = runpy.run_path(str(ESTIMATION))
    if value["adaptation"] == "false":
        controller["inertias.links"] = [""]  # an empty list, as ROS can type it
    elif estimation["trunk_source"](value["robot"], value["trunk_inertia"]) == estimation["TRUNK_PAYLOAD"]:
        files = estimation["parameter_files"](value["robot"], value["params_file"])
        controller["inertias.links"] = [estimation["trunk_link"](files)]  # it knows no other
    nodes = [make_node("simulator", value, simulator), make_node("whole_body_controller", value, controller)]
    end = EmitEvent(event=Shutdown(reason="the simulator has ended"))
    return [*nodes, RegisterEventHandler(OnProcessExit(target_action=nodes[0], on_exit=[end]))]


def make_node(name: str, value: dict[str, str], overrides: dict[str, Any]) -> Node:
    """Make one node with the robot's parameters and those of this launch."""
    estimation = runpy.run_path(str(ESTIMATION))
    estimation["find_executables"]()
    files = estimation["parameter_files"](value["robot"], value["params_file"])
    if value["urdf"]:
        overrides = {**overrides, "urdf": ParameterValue(value["urdf"], value_type=str)}
    return Node(
        package=estimation["PACKAGE"],
        executable=name,
        name=name,
        namespace=value["namespace"],
        parameters=[*files, overrides],
        output="screen",
        emulate_tty=True,
    )
