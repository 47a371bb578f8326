"""A simulated robot on its own estimates: `ros2 launch inertial_estimation simulation.launch.py`.

Simulator, estimators and whole-body controller; ends when the simulator does. The demo's weight comes with
params_file:=payload_demo, another disturbance for instance with
disturbances:='{kind: push, link: torso_2_link, force: [50, 0, 0], start: 6}'.
"""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import EmitEvent, IncludeLaunchDescription, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource

SOURCE = Path(__file__).resolve().parent / "estimation.launch.py"


def estimation_launch() -> ModuleType:
    """Load the launch file beside this one, which makes the nodes."""
    loader = SourceFileLoader("estimation_launch", str(SOURCE))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


estimation = estimation_launch()
OWN_ARGUMENTS: dict[str, tuple[str | None, str, list[str] | None]] = {  # default, description, choices
    "robot": ("talos", "Name of a file in config/, or path of a parameter file.", None),
    "real_time_factor": ("1.0", "Simulated over wall time, at most; 0: as fast as possible.", None),
    "disturbances": ("", "Disturbances of the robot, a YAML mapping each, separated by semicolons.", None),
    "lockstep": (
        "true",
        "Whether the simulation waits for the command to every reading; trigger:= is then arrival.",
        estimation.SWITCH,
    ),
    "adaptation": ("true", "Whether the controller uses the estimated inertias.", estimation.SWITCH),
    "viewer": ("false", "Whether to show the robot; needs a display.", estimation.SWITCH),
}
ARGUMENTS = {**estimation.ARGUMENTS, **OWN_ARGUMENTS}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and start the nodes."""
    return LaunchDescription([*estimation.declared(ARGUMENTS), OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Make estimators, simulator and controller once the arguments are known."""
    value = estimation.values_of(context, list(ARGUMENTS))
    if value["lockstep"] == "true" and not value["trigger"]:
        value["trigger"] = "arrival"  # a reading is answered at once, by every node on the way
    estimators = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(SOURCE)),
        launch_arguments=[*((name, value[name]) for name in estimation.ARGUMENTS), ("use_sim_time", "true")],
    )
    simulator = estimation.make_node("simulator", value, simulator_parameters(value), [])
    controller = estimation.make_node("whole_body_controller", value, controller_parameters(value), [])
    end = EmitEvent(event=Shutdown(reason="the simulator has ended"))
    at_exit = RegisterEventHandler(OnProcessExit(target_action=simulator, on_exit=[end]))
    return [estimators, simulator, controller, at_exit]


def simulator_parameters(value: dict[str, str]) -> dict[str, Any]:
    """Return the simulator's parameters over those of the files."""
    parameters: dict[str, Any] = {name: value[name] == "true" for name in ("lockstep", "viewer")}
    parameters["real_time_factor"] = float(value["real_time_factor"])
    disturbances = [text.strip() for text in value["disturbances"].split(";") if text.strip()]
    return {**parameters, "disturbances": disturbances} if disturbances else parameters


def controller_parameters(value: dict[str, str]) -> dict[str, Any]:
    """Return the controller's parameters over those of the files."""
    parameters: dict[str, Any] = {"use_sim_time": True, **estimation.trigger_of(value)}
    if value["adaptation"] == "false":
        return {**parameters, "inertias.links": [""]}  # an empty list, as ROS can type it
    if estimation.trunk_source(value["robot"], value["trunk_inertia"]) == estimation.TRUNK_PAYLOAD:
        files = estimation.files_of.parameter_files(value["robot"], value["params_file"])
        return {**parameters, "inertias.links": [estimation.trunk_link(files)]}  # it knows no other
    return parameters
