"""Predefined robots for synthetic recordings: two of example-robot-data, and any fixed-base arm."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.simulation.disturbances import TWELVE_POUNDS, Attachment, ball
from inertial_estimation.synthetic.synthetic_truth import (
    StanceMotion,
    Timing,
    Truth,
    arm_truth,
    followed_truth,
    stance_truth,
)


@dataclass(frozen=True)
class SyntheticRobot:
    """Description, payload, sensors and motion of a predefined robot."""

    urdf: str  # source of its description; empty: the caller must give one
    floating_base: bool  # whether its base floats or is fixed to the world
    payload_link: str  # link that a payload is attached to; empty: the last one
    payload_com_L: tuple[float, float, float] = (0.0, 0.0, 0.0)  # its position in the link's frame [m]
    locked_joints: tuple[str, ...] = ()  # joints locked at zero
    imu_link: str = ""  # link of the IMU
    contacts: dict[str, str] = field(default_factory=dict)  # frame of each contact by its name
    motion: StanceMotion = field(default_factory=StanceMotion)  # how it stands and moves; not used for an arm

    @property
    def config(self) -> RobotConfig:
        """Parameters of the robot, without its description."""
        return RobotConfig(
            floating_base=self.floating_base,
            locked_joints=self.locked_joints,
            imu_frame=self.imu_link,
            contacts=tuple(self.contacts),
            contact_frames=tuple(self.contacts.values()),
        )


def _talos_motion() -> StanceMotion:
    posture = {"torso_2_joint": 0.006761}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        leg = (0.0, 0.0, -0.411354, 0.859395, -0.448041, -0.001708)  # half sitting, from its SRDF
        posture.update({f"leg_{side}_{i}_joint": angle for i, angle in enumerate(leg, start=1)})
        arm = (0.25847 * sign, 0.35 * sign, -0.0002 * sign, -1.2, 0.0, 0.0, 0.1)
        posture.update({f"arm_{side}_{i}_joint": angle for i, angle in enumerate(arm, start=1)})
    reach = {"torso_1_joint": 0.12, "torso_2_joint": 0.08, "head_1_joint": 0.1, "head_2_joint": 0.2}
    for side in ("left", "right"):
        spans = (0.25, 0.25, 0.5, 0.5, 0.6, 0.3, 0.3)
        reach.update({f"arm_{side}_{i}_joint": span for i, span in enumerate(spans, start=1)})
    return StanceMotion(posture, reach)


SYNTHETIC_ROBOTS: dict[str, SyntheticRobot] = {
    "talos": SyntheticRobot(
        urdf="example-robot-data:talos_reduced",
        floating_base=True,
        imu_link="imu_link",
        contacts={"left_foot": "left_sole_link", "right_foot": "right_sole_link"},
        motion=_talos_motion(),
        payload_link="arm_left_5_link",
        payload_com_L=(0.0, 0.0, 0.05),
    ),
    "panda": SyntheticRobot(
        urdf="example-robot-data:panda",
        floating_base=False,
        locked_joints=("panda_finger_joint*",),
        payload_link="panda_link7",
        payload_com_L=(0.0, 0.0, 0.15),
    ),
    "arm": SyntheticRobot(urdf="", floating_base=False, payload_link=""),
}


def synthetic_robot(name: str) -> SyntheticRobot:
    """Return a predefined robot by name.

    Raises:
        ConfigurationError: If there is no such robot; the message lists those that exist.
    """
    if name not in SYNTHETIC_ROBOTS:
        raise ConfigurationError(
            f"no synthetic robot '{name}'{did_you_mean(name, SYNTHETIC_ROBOTS, 'there are')}"
        )
    return SYNTHETIC_ROBOTS[name]


def synthetic_truth(
    name: str,
    timing: Timing,
    motion: np.random.Generator | JointTrajectory,
    *,
    urdf: str = "",
    locked_joints: Sequence[str] = (),
    payload_mass: float = TWELVE_POUNDS,
    payload_time_s: float | None = 5.0,
    payload_link: str = "",
) -> Truth:
    """Simulate a motion of a predefined robot to which a payload is attached.

    Args:
        name: Name in `SYNTHETIC_ROBOTS`.
        timing: Duration, sample rate, rest and fade-in.
        motion: Generator for a random motion, or the trajectory that a fixed-base arm follows.
        urdf: Another description of the same robot; empty: its own.
        locked_joints: Joints locked at zero; none: those of the predefined robot.
        payload_mass: Mass of the payload [kg].
        payload_time_s: Time at which it is attached [s]; None: never.
        payload_link: Link that it is attached to; empty: that of the predefined robot.

    Returns:
        The truth.

    Raises:
        ConfigurationError: If there is no such robot or the mass is not positive.
        ~inertial_estimation.errors.ModelError: If the description lacks a name in use.
    """
    spec = synthetic_robot(name)
    text, locked = read_urdf(urdf or spec.urdf), locked_joints or spec.locked_joints
    robot = RobotModel.from_urdf(text, floating_base=spec.floating_base, locked_joints=locked)
    link = payload_link or spec.payload_link or robot.link_names[-1]
    robot.link_body(link)
    payload = None
    if payload_time_s is not None:
        payload = Attachment(ball(link, payload_mass, spec.payload_com_L), payload_time_s)
    if isinstance(motion, JointTrajectory):
        return followed_truth(robot, motion, timing, payload)
    if not spec.floating_base:
        return arm_truth(robot, timing, motion, payload)
    imu = ImuMount.on(robot, spec.imu_link)
    return stance_truth(
        robot, timing, motion, contacts=spec.contacts, imu=imu, motion=spec.motion, payload=payload
    )
