"""Node `simulator`: a simulated robot that publishes on the robot's topics, with /clock and ground truth."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.inputs.messages import (
    base_state_to_msg,
    imu_to_msg,
    inertia_to_msg,
    joints_to_msg,
    wrench_to_msg,
)
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.robot_config import SimulatedRobotConfig
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.messages import clock_to_msg, torque_command_from_msg
from inertial_estimation.ros.qos import RELIABLE
from inertial_estimation.ros.robot_node import RobotNode
from inertial_estimation.signals import NANOSECONDS, Health, StampedInertia, seconds
from inertial_estimation.simulation.disturbances import parse_disturbance
from inertial_estimation.simulation.driver import SimulationDriver
from inertial_estimation.simulation.sensors import SensorReadings
from inertial_estimation.simulation.simulation import Simulation

AddOutput = Callable[[type[Any], str], Publisher]
FREE_RUN_PERIOD = 0.0005  # timer period of a simulation that runs as fast as possible [s]
LOCKSTEP_PERIOD = 0.02  # timer period in lockstep, where the timer only checks the time-outs [s]
CLOCK_PERIOD_NS = NANOSECONDS // 100  # simulated time between two messages of /clock [ns]


class SimulatedTopics:
    """The topics of a simulated robot: sensor readings, and the truth while it has subscribers."""

    def __init__(
        self, add_output: AddOutput, simulation: Simulation, robot: SimulatedRobotConfig, links: Sequence[str]
    ) -> None:
        """Create the publishers for the IMU and contacts of a robot, and for the inertias of some links."""
        wrench_frames = robot.wrench_frames or robot.contact_frames or robot.contacts
        self._simulation, self._imu_frame = simulation, robot.imu_frame
        self._joints = add_output(JointState, "joint_states")
        self._imu = add_output(Imu, IMU) if robot.imu_frame else None
        self._wrenches = {
            contact: (add_output(WrenchStamped, f"{topic_token(contact)}/wrench"), frame)
            for contact, frame in zip(robot.contacts, wrench_frames, strict=True)
        }
        self._odometry = add_output(Odometry, "ground_truth/odom")
        self._inertias = {
            link: add_output(InertiaStamped, f"ground_truth/link_inertias/{topic_token(link)}")
            for link in links
        }

    def publish(self, readings: SensorReadings) -> None:
        """Publish the readings that are not lost: wrenches, joints, then the IMU."""
        for contact, wrench in readings.wrenches.items():
            publisher, frame = self._wrenches[contact]
            publisher.publish(wrench_to_msg(wrench, WrenchStamped(), frame))
        if readings.joints is not None:
            self._joints.publish(joints_to_msg(readings.joints, JointState()))
        if readings.imu is not None and self._imu is not None:
            self._imu.publish(imu_to_msg(readings.imu, Imu(), self._imu_frame))

    def publish_truth(self) -> None:
        """Publish the true base state, and the true inertias of links, if there are subscribers."""
        publishers = (self._odometry, *self._inertias.values())
        if not any(publisher.get_subscription_count() for publisher in publishers):
            return
        truth = self._simulation.truth(tuple(self._inertias))
        self._odometry.publish(
            base_state_to_msg(truth.base, Odometry(), "world", self._simulation.robot.base_link)
        )
        for link, publisher in self._inertias.items():
            inertia = StampedInertia(truth.stamp_ns, truth.inertias[link])
            publisher.publish(inertia_to_msg(inertia, InertiaStamped()))


class SimulatorNode(RobotNode):
    """Runs one simulation: publishes the readings of its sensors and applies the received torques.

    In lockstep a tick is executed in the callback of the command that it waits for; a timer on the wall clock
    controls the pace and the time-outs. No callback blocks.
    """

    name = "simulator"

    def _start(self, urdf: str) -> None:
        config = self.config.pipeline
        self._options = self.config.options
        disturbances = [parse_disturbance(text) for text in self._options.disturbances]
        links = tuple(dict.fromkeys(disturbance.link for disturbance in disturbances))
        self.simulation = Simulation(config, urdf, disturbances)
        self.driver = SimulationDriver(self.simulation, config.robot, self._options.pacing)
        self._clock_output, self._next_clock_ns = self.add_output(Clock, "/clock"), self.simulation.stamp_ns
        self._topics = SimulatedTopics(self.add_output, self.simulation, config.robot, links)
        push, convert = self.driver.push_command, torque_command_from_msg
        self.listen(JointState, "joint_torque_commands", push, RELIABLE, convert)
        self.add_trigger("~/reset", self._reset)
        self.add_switch("~/pause", self._pause)
        self._timer: Any = None
        self._set_timer()

    def _on_inputs(self) -> None:
        if self._options.pacing.lockstep:
            self._poll()

    def _poll(self) -> None:
        if not self.active:
            return
        released, unattended = self.simulation.released, self.driver.unattended
        while readings := self.driver.poll(time.monotonic()):
            self._publish(readings)
            if self.driver.unattended or not self._options.pacing.lockstep:
                break  # one tick per call, so that inputs are read even if ticks exceed their period
        if self.simulation.released != released:
            self.get_logger().info(f"released from the hoist at {seconds(self.simulation.stamp_ns):.3f} s")
            self._set_timer()
        elif self.driver.unattended != unattended:
            now = f"at {seconds(self.simulation.stamp_ns):.3f} s"
            if unattended:
                self.get_logger().info(f"commands arrive again {now}: the brakes are released")
            else:
                text = f"no command in time {now}: the joints are braked until one arrives"
                self.get_logger().warning(text)
            self._set_timer()

    def _publish(self, arrived: Sequence[SensorReadings]) -> None:
        if self.simulation.stamp_ns >= self._next_clock_ns:
            self._clock_output.publish(clock_to_msg(self.simulation.stamp_ns))
            self._next_clock_ns += CLOCK_PERIOD_NS
        self._topics.publish_truth()
        for readings in arrived:
            self._topics.publish(readings)

    def _set_timer(self) -> None:
        idle = LOCKSTEP_PERIOD if self._options.pacing.lockstep else FREE_RUN_PERIOD
        period = self.driver.wall_period or idle
        if self._timer is None:
            self._timer = self.add_timer(period, self._poll)
        else:
            self._timer.timer_period_ns = round(period * NANOSECONDS)
            self._timer.reset()

    def _set_parameter(self, name: str, value: Any) -> None:
        if name == "real_time_factor":
            self.driver.pace.factor = value
            self._set_timer()

    def _health(self, now_ns: int) -> list[Health]:
        return self.driver.health()

    def _reset(self) -> str:
        self.driver.reset()
        self._next_clock_ns = self.simulation.stamp_ns
        self._set_timer()
        return "the robot hangs from the hoist again"

    def _pause(self, paused: bool) -> str:
        self.driver.pause(paused)
        return "paused" if paused else "running"
