"""Where contacts and IMU are in the base, by the joint positions."""

from collections.abc import Collection, Sequence

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel, reduced_model
from inertial_estimation.signals import Array

SOLE_JOINTS = 6  # joints from which a leg can place its foot in any pose


class ContactView:
    """Forward kinematics over the joints between base, IMU and contacts alone; each update makes new arrays.

    Attributes:
        soles: Whether each contact is moved by six joints or more, which can keep it flat on the ground,
            shape (n,).
        points: Origins of the contact frames in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from each contact frame, shape (n, 3, 3).
        wrench_rotations: IMU frame from each wrench frame, shape (n, 3, 3).
        T_BI: Pose of the IMU in the base, homogeneous, shape (4, 4).
        imu_moves: Whether joints move the IMU relative to the base.
    """

    def __init__(self, setup: RobotSetup) -> None:
        """Resolve all frames.

        Args:
            setup: The robot, its contacts and its IMU.

        Raises:
            ConfigurationError: If the robot has no IMU.
        """
        robot, imu = setup.robot, setup.imu
        if imu is None:
            raise ConfigurationError("'imu_frame' is empty, expected the link of the IMU")
        frames = [contact.frame for contact in setup.contacts]
        mount, chain = (supporting_joints(robot, names) for names in ((imu.frame,), (imu.frame, *frames)))
        self.soles = np.array(
            [len(supporting_joints(robot, (f,))) >= SOLE_JOINTS for f in frames], dtype=bool
        )
        self.imu_moves = bool(mount)
        self._mount, self._chain = _Limbs(robot, mount, [imu.frame]), _Limbs(robot, chain, frames)
        offsets = [robot.fixed_transform(c.frame, c.wrench_frame).rotation for c in setup.contacts]
        self._wrench_offsets = np.array(offsets).reshape(-1, 3, 3)
        self.points, self.rotations = np.zeros((len(frames), 3)), np.zeros((len(frames), 3, 3))
        self.wrench_rotations = self.rotations
        self.update(np.zeros(robot.n_joints))

    def update(self, q: Array) -> None:
        """Compute all poses.

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
        """
        self.update_imu(q)
        frames = self._chain.placements(q)
        if frames:
            p, R = np.array([T.translation for T in frames]), np.array([T.rotation for T in frames])
            self.points, self.rotations = (p - self.p_BI) @ self.R_BI, self.R_BI.T @ R
            self.wrench_rotations = self.rotations @ self._wrench_offsets

    def update_imu(self, q: Array) -> None:
        """Compute the pose of the IMU alone; those of the contacts stay. The argument is that of `update`."""
        self.T_BI: Array = self._mount.placements(q)[0].homogeneous

    @property
    def R_BI(self) -> Array:
        """Orientation of the IMU in the base, shape (3, 3)."""
        return self.T_BI[:3, :3]

    @property
    def p_BI(self) -> Array:
        """Position of the IMU in the base [m], shape (3,)."""
        return self.T_BI[:3, 3]

    @property
    def points_B(self) -> Array:
        """Origins of the contact frames in the base frame [m], shape (n, 3)."""
        points: Array = self.p_BI + self.points @ self.R_BI.T
        return points


class _Limbs:
    """Kinematics of frames with some of the joints alone, the others locked."""

    def __init__(self, robot: RobotModel, names: Collection[str], frames: Sequence[str]) -> None:
        self._joints = np.array([i for i, name in enumerate(robot.joint_names) if name in names], dtype=int)
        self._robot = locked_robot(robot, [name for name in robot.joint_names if name not in names])
        self._model, self._data = self._robot.model, self._robot.model.createData()
        self._frames = [self._robot.frame_id(name) for name in frames]

    def placements(self, q: Array) -> list[pin.SE3]:
        """Return the poses of the frames in the base, views until the next call."""
        pin.forwardKinematics(self._model, self._data, self._robot.configuration(q[self._joints]))
        return [pin.updateFramePlacement(self._model, self._data, frame) for frame in self._frames]


def supporting_joints(robot: RobotModel, frames: Sequence[str]) -> set[str]:
    """Return the names of the joints between the base and any of the frames."""
    model = robot.model
    moving = set(robot.joint_names)
    supports: set[str] = set()
    for frame in frames:
        joint = model.frames[robot.frame_id(frame)].parentJoint
        supports |= {model.names[j] for j in model.supports[joint]} & moving
    return supports


def locked_robot(robot: RobotModel, names: Sequence[str]) -> RobotModel:
    """Return a robot without some joints, which are fixed at position zero."""
    if not names:
        return robot
    reduced = reduced_model(robot.model, [robot.model.getJointId(name) for name in names])
    return RobotModel(reduced, floating_base=robot.floating_base, base_link=robot.base_link)
