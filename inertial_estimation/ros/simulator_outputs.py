"""Outputs of the node `simulator`: sensors, clock and ground truth."""

from collections.abc import Callable, Sequence
from typing import Any

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.configuration.node_options import SimulatorOptions
from inertial_estimation.inputs.messages import (
    base_state_to_msg,
    imu_to_msg,
    inertia_to_msg,
    joints_to_msg,
    wrench_to_msg,
)
from inertial_estimation.models.robot_config import IMU_TOPIC, RobotConfig
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.command_messages import clock_to_msg
from inertial_estimation.signals import NANOSECONDS, StampedInertia
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.simulation.simulation import Simulation

AddOutput = Callable[[type[Any], str], Publisher]


class SimulationClock:
    """Publishes /clock at a rate in simulated time."""

    def __init__(self, add_output: AddOutput, rate: float, stamp_ns: int) -> None:
        """Create the publisher.

        Args:
            add_output: Creates a publisher of a type on a topic.
            rate: Rate in simulated time [Hz].
            stamp_ns: Time of the first message [ns].
        """
        self._publisher = add_output(Clock, "/clock")
        self._period_ns = round(NANOSECONDS / rate)
        self._next_ns = stamp_ns

    def publish(self, stamp_ns: int) -> None:
        """Publish a time [ns] if it is due."""
        if stamp_ns >= self._next_ns:
            self._publisher.publish(clock_to_msg(stamp_ns))
            self._next_ns += self._period_ns

    def restart(self, stamp_ns: int) -> None:
        """Make the next message due at a time [ns]."""
        self._next_ns = stamp_ns


class SensorOutputs:
    """Publishes the readings of the sensors on the topics of a robot."""

    def __init__(self, add_output: AddOutput, robot: RobotConfig, *, wrenches: bool) -> None:
        """Create the publishers.

        Args:
            add_output: Creates a publisher of a type on a topic.
            robot: IMU and contacts of the robot.
            wrenches: Whether the contacts have force sensors.
        """
        wrench_frames = robot.wrench_frames or robot.contact_frames or robot.contacts
        self._imu_frame = robot.imus.get(IMU_TOPIC, "")
        self._wrench_frames = dict(zip(robot.contacts, wrench_frames, strict=True))
        self._joints = add_output(JointState, "joint_states")
        self._imu = add_output(Imu, IMU_TOPIC) if robot.imus else None
        self._wrenches = {
            contact: add_output(WrenchStamped, f"{topic_token(contact)}/wrench")
            for contact in (robot.contacts if wrenches else ())
        }

    def publish(self, readings: SensorReadings) -> None:
        """Publish the readings that are not lost: wrenches, joints, then the IMU."""
        for contact, wrench in readings.wrenches.items():
            msg = wrench_to_msg(wrench, WrenchStamped(), self._wrench_frames[contact])
            self._wrenches[contact].publish(msg)
        if readings.joints is not None:
            self._joints.publish(joints_to_msg(readings.joints, JointState()))
        if readings.imu is not None and self._imu is not None:
            self._imu.publish(imu_to_msg(readings.imu, Imu(), self._imu_frame))


class GroundTruthOutputs:
    """Publishes the true base state and the true inertias of links while they have subscribers."""

    def __init__(
        self, add_output: AddOutput, options: SimulatorOptions, simulation: Simulation, links: Sequence[str]
    ) -> None:
        """Create the publishers.

        Args:
            add_output: Creates a publisher of a type on a topic.
            options: Names of the frames.
            simulation: The robot.
            links: Links whose inertias are published.
        """
        self._simulation = simulation
        self._world_frame = options.world_frame
        self._base_frame = options.base_frame or simulation.robot.base_link
        self._odometry = add_output(Odometry, "ground_truth/odom")
        self._inertias = {
            link: add_output(InertiaStamped, f"ground_truth/link_inertias/{topic_token(link)}")
            for link in links
        }

    def publish(self) -> None:
        """Publish the present state."""
        publishers = (self._odometry, *self._inertias.values())
        if not any(publisher.get_subscription_count() for publisher in publishers):
            return
        truth = self._simulation.truth(tuple(self._inertias))
        odometry = base_state_to_msg(truth.base, Odometry(), self._world_frame, self._base_frame)
        self._odometry.publish(odometry)
        for link, publisher in self._inertias.items():
            inertia = StampedInertia(truth.stamp_ns, truth.inertias[link])
            publisher.publish(inertia_to_msg(inertia, InertiaStamped()))
