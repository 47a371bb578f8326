"""Both estimators on a robot: `ros2 launch inertial_estimation estimation.launch.py robot:=talos`."""

import os
from pathlib import Path

import yaml
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PACKAGE = "inertial_estimation"
NODES = ("tilt_observer", "inertial_ekf")
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
    return LaunchDescription([*arguments, OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Make the nodes once the arguments are known."""
    find_executables()
    value = {
        name: LaunchConfiguration(name).perform(context)
        for name in ("robot", "urdf", "params_file", "namespace", "nodes", "use_sim_time")
    }
    robot_file = parameter_file(value["robot"])
    files = parameter_files(value["robot"], value["params_file"])
    overrides: dict[str, object] = {"use_sim_time": value["use_sim_time"] == "true"}
    if value["urdf"]:
        overrides["urdf"] = ParameterValue(value["urdf"], value_type=str)
    return [
        Node(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=value["namespace"],
            parameters=[*files, overrides],
            output="screen",
            emulate_tty=True,
        )
        for name in chosen_nodes(value["nodes"], robot_file)
    ]


def chosen_nodes(text: str, robot_file: Path) -> list[str]:
    """Return the nodes to start: as asked, or those with a section in the parameter file."""
    if not text:
        return nodes_of(str(robot_file))
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in NODES]
    if unknown or not names:
        raise RuntimeError(f"no node {', '.join(unknown) or '(none given)'}; there are {', '.join(NODES)}")
    return names


def nodes_of(robot: str) -> list[str]:
    """Return the nodes with a section in the parameter file of a robot."""
    content = yaml.safe_load(parameter_file(robot).read_text(encoding="utf-8")) or {}
    names = [name for name in NODES if name in content]
    if not names:
        raise RuntimeError(f"'{robot}' has a section for none of {', '.join(NODES)}")
    return names


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
