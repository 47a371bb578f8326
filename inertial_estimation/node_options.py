"""Parameters that only the nodes use; declared without ROS, so a replay knows them too."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter

__all__ = ["InertialNodeOptions", "TiltNodeOptions"]


@dataclass(frozen=True)
class TiltNodeOptions:
    """What the node `tilt_observer` does with the estimates."""

    world_frame: str = parameter("odom", "Frame the base state is published in; z is up.")
    base_frame: str = parameter("", "Name of the base in messages; empty takes the root link of the URDF.")
    publish_tf: bool = parameter(False, "Broadcast world_frame -> base_frame; needs tf2_ros.")


@dataclass(frozen=True)
class InertialNodeOptions:
    """What the node `inertial_ekf` does with the estimates."""

    export_path: str = parameter(
        "",
        "File that ~/export_urdf writes; empty answers with the text of the URDF itself.",
        runtime=True,
    )
