"""The estimators on a recording: `ros2 launch inertial_estimation replay.launch.py bag:=BAG robot:=icub`.

The launch ends when the player does, and with an error where the player has one. `remap` and `namespace`
apply to the nodes, as on the robot; the player publishes under the recorded names.
"""

import shutil
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

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
from launch.substitutions import LaunchConfiguration

ESTIMATION = Path(__file__).resolve().parent / "estimation.launch.py"
SETTLING = 1.0  # for the nodes to publish their last estimates [s]
OWN_ARGUMENTS: dict[str, tuple[str | None, str, list[str] | None]] = {  # default, description, choices
    "bag": (None, "Folder of the rosbag2, or its .mcap or .db3 file.", None),
    "rate": ("1.0", "Speed, as a multiple of real time.", None),
    "player": (
        "play",
        "Player: inertial-estimation play, or ros2 bag play.",
        ["play", "ros2_bag"],
    ),
    "loop": (
        "false",
        "Whether the recording starts again at its end; the launch then ends by a signal.",
        ["true", "false"],
    ),
    "clock_rate": ("", "Rate of /clock [Hz]; empty: 200 with play, 40 with ros2_bag.", None),
    "delay": (
        "5.0",
        "Time that ros2_bag leaves the nodes to start [s], at every loop; play waits for the nodes.",
        None,
    ),
}


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, start the nodes and play the recording."""
    estimation = estimation_launch()
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(ESTIMATION)),
        launch_arguments=[
            *((name, LaunchConfiguration(name)) for name in estimation.ARGUMENTS),
            ("use_sim_time", "true"),
        ],
    )
    arguments = estimation.declared({**OWN_ARGUMENTS, **estimation.ARGUMENTS})
    return LaunchDescription([*arguments, nodes, OpaqueFunction(function=start_player)])


def start_player(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Play the recording, and end the launch when it has ended."""
    estimation = estimation_launch()
    value = estimation.values_of(context, [*OWN_ARGUMENTS, *estimation.ARGUMENTS])
    robot = value["robot"]
    source = estimation.trunk_source(robot, value["trunk_inertia"])
    nodes = estimation.chosen_nodes("", robot, source, value["alongside"] == "true")
    command = PLAYERS[value["player"]](value, len(nodes))
    player = ExecuteProcess(cmd=command, output="screen", name=value["player"])
    return [player, RegisterEventHandler(OnProcessExit(target_action=player, on_exit=ended))]


def ended(event: ProcessExited, context: LaunchContext) -> LaunchDescriptionEntity | None:
    """End the launch, with an error if the player has ended with one: a recording that is not there.

    Raises:
        RuntimeError: Which launch turns into its own exit code.
    """
    if event.returncode and not context.is_shutdown:
        raise RuntimeError(f"the player has ended with code {event.returncode}: no recording was played")
    return TimerAction(period=SETTLING, actions=[EmitEvent(event=Shutdown(reason="the recording has ended"))])


def own_player(value: dict[str, str], nodes: int) -> list[str]:
    """Return the command of `inertial-estimation play`, which begins once the nodes have subscribed."""
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "play", value["bag"]]
    clock = ["--clock-rate", value["clock_rate"]] if value["clock_rate"] else []
    loop = ["--loop"] if value["loop"] == "true" else []
    return [*command, "--rate", value["rate"], "--wait", "30", "--subscribers", str(nodes), *clock, *loop]


def rosbag2_player(value: dict[str, str], _nodes: int) -> list[str]:
    """Return the command of `ros2 bag play`.

    Raises:
        RuntimeError: If there is no command ros2.
    """
    if shutil.which("ros2") is None:
        raise RuntimeError(
            "player:=ros2_bag needs the command ros2 (ros2cli with ros2bag); player:=play does not"
        )
    command = ["ros2", "bag", "play", value["bag"], "--clock", value["clock_rate"] or "40"]
    delay = ["--delay", value["delay"]] if float(value["delay"]) > 0.0 else []
    loop = ["--loop"] if value["loop"] == "true" else []
    return [*command, "--rate", value["rate"], *delay, *loop, "--disable-keyboard-controls"]


PLAYERS = {"play": own_player, "ros2_bag": rosbag2_player}


def estimation_launch() -> ModuleType:
    """Load estimation.launch.py of this folder, which selects the nodes of a parameter file."""
    loader = SourceFileLoader("estimation_launch", str(ESTIMATION))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
