"""Where contacts and IMU are in the base, by the joint positions."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
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
        self.soles = np.array([len(robot.joints_to(f)) >= SOLE_JOINTS for f in frames], dtype=bool)
        self.imu_moves = bool(robot.joints_to(imu.frame))
        self._mount, self._chain = _Chains(robot, [imu.frame]), _Chains(robot, frames)
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


class _Chains:
    """Kinematics of frames with the joints that move them alone, the others locked."""

    def __init__(self, robot: RobotModel, frames: Sequence[str]) -> None:
        self._joints = np.array(robot.joints_to(*frames), dtype=int)
        names = robot.joint_names
        self._robot = robot.without([name for j, name in enumerate(names) if j not in self._joints])
        self._model, self._data = self._robot.model, self._robot.model.createData()
        self._frames = [self._robot.frame_id(name) for name in frames]

    def placements(self, q: Array) -> list[pin.SE3]:
        """Return the poses of the frames in the base, views until the next call."""
        pin.forwardKinematics(self._model, self._data, self._robot.configuration(q[self._joints]))
        return [pin.updateFramePlacement(self._model, self._data, frame) for frame in self._frames]
