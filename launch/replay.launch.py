"""The estimators on a recording: `ros2 launch inertial_estimation replay.launch.py bag:=BAG robot:=icub`.

The launch ends when the player does, and with an error where the player has one. `remap` and `namespace`
apply to the nodes, as on the robot; the player publishes under the recorded names.
"""

import sys
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.launch_description_sources.python_launch_file_utilities import (
    load_python_launch_file_as_module as load_module,
)
from launch.substitutions import LaunchConfiguration

SOURCE = Path(__file__).resolve().parent / "estimation.launch.py"
estimation = load_module(str(SOURCE))
SETTLING = 1.0  # for the nodes to publish their last estimates [s]
OWN_ARGUMENTS: dict[str, tuple[str | None, str, list[str] | None]] = {  # default, description, choices
    "bag": (None, "Folder of the rosbag2, or its .mcap or .db3 file.", None),
    "rate": ("1.0", "Speed, as a multiple of real time.", None),
    "loop": ("false", "Whether the recording starts again at its end, until a signal.", ["true", "false"]),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, start the nodes and play the recording."""
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(SOURCE)),
        launch_arguments=[
            *((name, LaunchConfiguration(name)) for name in estimation.ARGUMENTS),
            ("use_sim_time", "true"),
        ],
    )
    arguments = estimation.declared({**OWN_ARGUMENTS, **estimation.ARGUMENTS})
    return LaunchDescription([*arguments, nodes, OpaqueFunction(function=start_player)])


def start_player(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Play the recording, and end the launch when it has ended."""
    value = estimation.values_of(context, [*OWN_ARGUMENTS, *estimation.ARGUMENTS])
    robot = value["robot"]
    source = estimation.trunk_source(robot, value["trunk_inertia"])
    nodes = estimation.chosen_nodes(value["nodes"], robot, source)
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "play", value["bag"]]
    command += ["--rate", value["rate"], "--subscribers", str(len(nodes))]
    loop = ["--loop"] if value["loop"] == "true" else []
    player = ExecuteProcess(cmd=[*command, *loop], output="screen", name="play")
    return [player, RegisterEventHandler(OnProcessExit(target_action=player, on_exit=ended))]


def ended(event: ProcessExited, context: LaunchContext) -> LaunchDescriptionEntity:
    """End the launch, with an error if the player has ended with one: a recording that is not there.

    Raises:
        RuntimeError: Which launch turns into its own exit code.
    """
    if event.returncode > 0 and not context.is_shutdown:
        raise RuntimeError(f"the player has ended with code {event.returncode}: no recording was played")
    return TimerAction(period=SETTLING, actions=[EmitEvent(event=Shutdown(reason="the recording has ended"))])
