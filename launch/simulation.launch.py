"""A simulated robot that uses its own estimates: `ros2 launch inertial_estimation simulation.launch.py`.

It starts simulator, estimators and whole-body controller, and ends when the simulator does. The weight of
the demo is added by params_file:=payload_demo, other disturbances by
disturbances:='{kind: push, link: torso_2_link, force: [50, 0, 0], start: 6}'.
"""

from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import EmitEvent, IncludeLaunchDescription, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.launch_description_sources.python_launch_file_utilities import (
    load_python_launch_file_as_module as load_module,
)

SOURCE = Path(__file__).resolve().parent / "estimation.launch.py"


estimation = load_module(str(SOURCE))
OWN_ARGUMENTS: dict[str, tuple[str | None, str, list[str] | None]] = {  # default, description, choices
    "robot": ("talos", "Name of a file in config/, or path of a parameter file.", None),
    "real_time_factor": ("1.0", "Largest ratio of simulated to wall time; 0: unlimited.", None),
    "disturbances": ("", "Disturbances of the robot, YAML mappings separated by semicolons.", None),
    "lockstep": (
        "true",
        "Whether the simulator waits for the command that answers each reading; trigger is then arrival.",
        estimation.SWITCH,
    ),
    "adaptation": ("true", "Whether the controller uses the estimated inertias.", estimation.SWITCH),
}
ARGUMENTS = {**estimation.ARGUMENTS, **OWN_ARGUMENTS}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and start the nodes."""
    return LaunchDescription([*estimation.declared(ARGUMENTS), OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Create estimators, simulator and controller once the values of the arguments are known."""
    value = estimation.values_of(context, list(ARGUMENTS))
    if value["namespace"]:  # of another simulation the time is another one
        value["remap"] = f"/clock:=clock, {value['remap']}"
    if value["lockstep"] == "true" and not value["trigger"]:
        value["trigger"] = "arrival"  # a reading is answered at once, by every node of the loop
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
    """Return the simulator's parameters that replace those of the files."""
    factor = value["real_time_factor"]
    try:
        parameters = {"lockstep": value["lockstep"] == "true", "real_time_factor": float(factor)}
    except ValueError:
        raise RuntimeError(f"real_time_factor is '{factor}', expected a number") from None
    disturbances = [text.strip() for text in value["disturbances"].split(";") if text.strip()]
    return {**parameters, "disturbances": disturbances} if disturbances else parameters


def controller_parameters(value: dict[str, str]) -> dict[str, Any]:
    """Return the controller's parameters that replace those of the files."""
    parameters: dict[str, Any] = {
        "use_sim_time": True,
        **estimation.chosen_parameters("whole_body_controller", value),
    }
    if value["adaptation"] == "false":
        parameters["inertias.applied"] = False  # it waits for the estimates all the same
    if estimation.trunk_source(value["robot"], value["trunk_inertia"]) == estimation.TRUNK_PAYLOAD:
        files = estimation.files_of.parameter_files(value["robot"], value["params_file"])
        return {**parameters, "inertias.links": [estimation.trunk_link(files)]}  # it estimates no other link
    return parameters
