"""Parameters that only the nodes use; declared without ROS, so a replay knows them too."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter, section
from inertial_estimation.simulation.simulation_pacing import SimulationPacing

__all__ = [
    "ControllerNodeOptions",
    "InertialNodeOptions",
    "NodeOptions",
    "PayloadNodeOptions",
    "PipelineNodeOptions",
    "RealTimeOptions",
    "SimulatorOptions",
    "TiltNodeOptions",
]

ARRIVAL, TIMER = "arrival", "timer"


@dataclass(frozen=True)
class RealTimeOptions:
    """What a node asks of the operating system."""

    priority: int = parameter(
        0,
        "Real-time priority of the process (SCHED_FIFO); 0: none. The system must permit it (rtprio).",
        lower=0,
        upper=98,
    )
    lock_memory: bool = parameter(
        False, "Keep the memory of the process from being paged out (mlockall). The system must permit it."
    )


@dataclass(frozen=True)
class NodeOptions:
    """What every node has."""

    managed: bool = parameter(
        False, "Start as an unconfigured lifecycle node, whose states a manager sets; else work at once."
    )
    realtime: RealTimeOptions = section(RealTimeOptions)


@dataclass(frozen=True)
class PipelineNodeOptions(NodeOptions):
    """What every node that owns a pipeline has."""

    trigger: str = parameter(
        TIMER,
        "What makes the node work: a timer at `rate`, or the arrival of an input. Estimates are the same.",
        choices=(TIMER, ARRIVAL),
    )
    input_rate: float = parameter(
        1000.0,
        "Highest rate of an input: with the timer's period it gives the length of the queue of each input.",
        unit="Hz",
        lower=1.0,
        upper=1e5,
    )


@dataclass(frozen=True)
class TiltNodeOptions(PipelineNodeOptions):
    """What the node `tilt_observer` does with the estimates."""

    world_frame: str = parameter("odom", "Frame the base state is published in; z is up.")
    base_frame: str = parameter("", "Name of the base in messages; empty takes the root link of the URDF.")
    publish_tf: bool = parameter(False, "Broadcast world_frame -> base_frame; needs tf2_ros.")


@dataclass(frozen=True)
class InertialNodeOptions(PipelineNodeOptions):
    """What the node `inertial_ekf` does with the estimates."""

    export_path: str = parameter(
        "",
        "File that ~/export_urdf writes; empty answers with the text of the URDF itself.",
        runtime=True,
    )


@dataclass(frozen=True)
class PayloadNodeOptions(PipelineNodeOptions):
    """What the node `trunk_payload` does with the estimates."""


@dataclass(frozen=True)
class SimulatorOptions(NodeOptions):
    """How the node `simulator` runs the simulation."""

    pacing: SimulationPacing = section(SimulationPacing, prefix="")
    disturbances: tuple[str, ...] = parameter(
        (), "Disturbances of the robot, each a YAML mapping as text; their times count from the release."
    )
    clock_rate: float = parameter(
        100.0, "How often /clock is published, in simulated time.", unit="Hz", lower=1.0, upper=1e4
    )
    world_frame: str = parameter("world", "Frame of the ground truth; z is up.")
    base_frame: str = parameter("", "Name of the base in messages; empty takes the root link of the URDF.")
    viewer: bool = parameter(False, "Show the robot in MuJoCo's viewer; needs a display.")


@dataclass(frozen=True)
class ControllerNodeOptions(PipelineNodeOptions):
    """What the node `whole_body_controller` does with the commands."""

    await_inertias: bool = parameter(
        False,
        "Send no command before inertias of all inertias.links have arrived; a simulation hangs meanwhile.",
    )
    command: str = parameter(
        "joint_state",
        "Torques as JointState by name on joint_torque_commands, or as an array of numbers on "
        "joint_effort_commands (forward_command_controller).",
        choices=("joint_state", "effort_array"),
    )
    command_joints: tuple[str, ...] = parameter(
        (), "Joints of the effort array, in the order of its numbers; needed with it, not used without."
    )
