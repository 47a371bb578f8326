"""The estimators on a recording: `ros2 launch inertial_estimation replay.launch.py bag:=BAG robot:=icub`.

Ends by itself when the recording does.
"""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

HERE = Path(__file__).resolve().parent
SETTLING = 1.0  # for the nodes to publish their last estimates [s]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, start the nodes and play the recording."""
    arguments = [
        DeclareLaunchArgument("bag", description="Folder of the rosbag2, or its .mcap or .db3 file."),
        DeclareLaunchArgument("robot", description="Name of a file in config/, or path of a parameter file."),
        DeclareLaunchArgument(
            "urdf", default_value="", description="Robot description; empty: parameter file, or topic."
        ),
        DeclareLaunchArgument("rate", default_value="1.0", description="Speed, as a multiple of real time."),
        DeclareLaunchArgument(
            "params_file", default_value="", description="Parameter files read last, separated by commas."
        ),
    ]
    trunk = estimation_launch().trunk_arguments()
    names = ("robot", "urdf", "params_file", *(argument.name for argument in trunk))
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / "estimation.launch.py")),
        launch_arguments=[*((name, LaunchConfiguration(name)) for name in names), ("use_sim_time", "true")],
    )
    return LaunchDescription([*arguments, *trunk, nodes, OpaqueFunction(function=start_player)])


def start_player(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Play the recording, and end the launch after it."""
    names = ("bag", "rate", "robot", "trunk_inertia", "alongside")
    bag, rate, robot, asked, alongside = (LaunchConfiguration(name).perform(context) for name in names)
    launch = estimation_launch()
    nodes = launch.chosen_nodes("", robot, launch.trunk_source(robot, asked), alongside == "true")
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "play", bag, "--rate", rate]
    waiting = ["--wait", "30", "--subscribers", str(len(nodes))]
    player = ExecuteProcess(cmd=[*command, *waiting], output="screen", name="play")
    end = TimerAction(period=SETTLING, actions=[EmitEvent(event=Shutdown(reason="the recording has ended"))])
    return [player, RegisterEventHandler(OnProcessExit(target_action=player, on_exit=[end]))]


def estimation_launch() -> ModuleType:
    """Load the launch file beside this one, which knows the nodes a parameter file configures."""
    loader = SourceFileLoader("estimation_launch", str(HERE / "estimation.launch.py"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
