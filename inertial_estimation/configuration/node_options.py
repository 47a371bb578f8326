"""Parameters that only the nodes use; declared without ROS, so that a replay can check them, too."""

from dataclasses import dataclass

from inertial_estimation.parameters import iterate_parameters, parameter, section
from inertial_estimation.simulation.config import SimulationPacing

ARRIVAL, TIMER = "arrival", "timer"


@dataclass(frozen=True)
class NodeOptions:
    """Options of every node."""

    managed: bool = parameter(
        False,
        "Whether the node starts as an unconfigured lifecycle node, whose transitions a manager requests; "
        "if false, it works at once.",
    )


@dataclass(frozen=True)
class PipelineNodeOptions(NodeOptions):
    """Options of every node that owns a pipeline."""

    trigger: str = parameter(
        TIMER,
        "What makes the node process its inputs: a timer at `rate`, or the arrival of each input. The "
        "estimates are the same.",
        choices=(TIMER, ARRIVAL),
    )


@dataclass(frozen=True)
class TiltNodeOptions(PipelineNodeOptions):
    """Outputs of the node `tilt_observer`."""

    world_frame: str = parameter(
        "odom", "Name of the world frame (z up) in which the base state is published."
    )
    base_frame: str = parameter(
        "", "Name of the base frame in published messages; empty takes the root link of the URDF."
    )
    publish_tf: bool = parameter(
        False, "Whether the transform world_frame -> base_frame is published on /tf; needs tf2_msgs."
    )


@dataclass(frozen=True)
class InertialNodeOptions(PipelineNodeOptions):
    """Outputs of the node `inertial_ekf`."""

    export_path: str = parameter(
        "",
        "Path of the file that ~/export_urdf writes, ending in .urdf; it cannot change while the node runs. "
        "Empty returns the text of the URDF in the service response.",
    )


@dataclass(frozen=True)
class SimulatorOptions(NodeOptions):
    """Options of the node `simulator`."""

    pacing: SimulationPacing = section(SimulationPacing, prefix="")
    disturbances: tuple[str, ...] = parameter(
        (),
        "Disturbances of the simulated robot, a YAML mapping as text each (for example "
        "'{kind: push, link: base, force: [50, 0, 0], start: 4}'); times count from the release.",
    )


@dataclass(frozen=True)
class ControllerNodeOptions(PipelineNodeOptions):
    """Outputs of the node `whole_body_controller`."""

    await_inertias: bool = parameter(
        False,
        "Whether no command is sent until the inertias of all links in inertias.links have arrived; a "
        "simulated robot hangs on its hoist meanwhile.",
    )
    command_joints: tuple[str, ...] = parameter(
        (),
        "Joints of an array of efforts on joint_effort_commands (forward_command_controller), in the order "
        "of its numbers; empty sends a JointState by joint name on joint_torque_commands.",
    )


ROS_PARAMETERS = frozenset(  # used only by nodes; a replay ignores them
    spec.name
    for options in (TiltNodeOptions, InertialNodeOptions, SimulatorOptions, ControllerNodeOptions)
    for spec in iterate_parameters(options)
) | {"use_sim_time"}
