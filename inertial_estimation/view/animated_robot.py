"""The robot's description in the viewer, and the transforms that move it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rerun as rr
from rerun.urdf import UrdfJoint, UrdfTree

from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, BaseState
from inertial_estimation.view.columns import Columns
from inertial_estimation.view.shown_urdf import shown_urdf

WORLD = "tf#/"  # Rerun's name of the frame of the root entity
UPRIGHT = (0.0, 0.0, 0.0, 1.0)  # x y z w


class AnimatedRobot:
    """Shapes of the links, logged once, and one transform for the base and every moving joint."""

    def __init__(
        self,
        stream: rr.RecordingStream,
        robot: RobotModel,
        urdf: str,
        folders: Sequence[Path],
        *,
        root: str,
        place: tuple[float, float, float],
    ) -> None:
        """Log the shapes.

        Args:
            stream: The recording.
            robot: Model of the robot.
            urdf: Text of its description.
            folders: Folders in which meshes are searched.
            root: Entity below which everything of this robot is; also prefix of its frames.
            place: Added to all positions of the base [m], so that several robots stand apart.
        """
        self._robot, self._root, self._place = robot, root, place
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(shown_urdf(urdf, folders, Path(folder)), encoding="utf-8")
            tree = UrdfTree.from_file_path(
                file,
                entity_path_prefix=root,
                frame_prefix=f"{root}/",
                static_transform_entity_path=f"{root}/fixed_joints",
            )
            tree.log_urdf_to_recording(stream)
        joints = {name: tree.get_joint_by_name(name) for name in robot.joint_names}
        self._joints = [(name, joint) for name, joint in joints.items() if joint is not None]
        self._stands = False

    def frame(self, link: str) -> str:
        """Return the viewer's name of the frame of a link."""
        return f"{self._root}/{link}"

    def move(self, columns: Columns, stamp_ns: int, q: Array, base: BaseState | None) -> None:
        """Add the transforms of one instant.

        Args:
            columns: Where they are collected.
            stamp_ns: Its time [ns].
            q: Joint positions in the model's order [rad or m], shape (n_joints,).
            base: Pose of the base; None leaves it where it was, at first upright at the origin.
        """
        positions = dict(zip(self._robot.joint_names, q.tolist(), strict=True))
        for name, joint in self._joints:
            entity = f"{self._root}/joints/{rr.escape_entity_path_part(name)}"
            columns.add(entity, stamp_ns, positions[name], _joint_columns(joint))
        if base is not None or not self._stands:
            pose = (self._place, UPRIGHT) if base is None else (base.p_WB + self._place, base.quaternion_xyzw)
            columns.add(f"{self._root}/base", stamp_ns, pose, self._base_columns)
            self._stands = True

    def _base_columns(self, poses: list[tuple[Any, Any]]) -> Any:
        positions, quaternions = zip(*poses, strict=True)
        return rr.Transform3D.columns(
            translation=positions,
            quaternion=quaternions,
            parent_frame=[WORLD] * len(poses),
            child_frame=[self.frame(self._robot.base_link)] * len(poses),
        )


def _joint_columns(joint: UrdfJoint) -> Any:
    return lambda values: joint.compute_transform_columns(values, clamp=False)
