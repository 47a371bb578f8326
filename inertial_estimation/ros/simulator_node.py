"""Node `simulator`: a robot in simulation on the robot's topics, with /clock and ground truth."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.configuration.node_options import SimulatorOptions
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import section
from inertial_estimation.recordings.message_conversion import (
    base_state_to_msg,
    imu_to_msg,
    joints_to_msg,
    link_inertia_to_msg,
    wrench_to_msg,
)
from inertial_estimation.recordings.samples import StampedInertia
from inertial_estimation.ros.command_messages import clock_to_msg, torque_command_from_msg
from inertial_estimation.ros.node_inputs import InputKind
from inertial_estimation.ros.robot_node import NodeConfig, RobotNode, topic_token
from inertial_estimation.signals import Health
from inertial_estimation.simulation.disturbance_text import parse_disturbance
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.simulation.simulation_driver import SimulationDriver
from inertial_estimation.simulation.viewer import RobotViewer

__all__ = ["SimulatorConfig", "SimulatorNode"]

NANOSECONDS = 1_000_000_000
FASTEST = 0.0005  # period of the timer where the pace asked for is as fast as possible [s]
VIEWER_PERIOD = 1.0 / 30.0  # [s]
WATCHING = 0.02  # the same in lockstep, where commands drive it and the timer sees to time-outs


@dataclass(frozen=True)
class SimulatorConfig(NodeConfig):
    """All parameters of the node."""

    options: SimulatorOptions = section(SimulatorOptions, prefix="")
    simulation: SimulationConfig = section(SimulationConfig, prefix="")


class SimulatorNode(RobotNode[SimulatorConfig]):
    """Owns one simulation, publishes what its sensors deliver, takes torques.

    In lockstep a tick is done in the callback of the command it waits for; a timer by the wall clock keeps
    the pace and the time-outs. Nothing ever blocks.
    """

    name = "simulator"
    config_class = SimulatorConfig

    def _robot_config(self, config: SimulatorConfig) -> RobotConfig:
        return config.simulation.robot

    def _start(self, urdf: str) -> None:
        config = self.config.simulation
        self._options = self.config.options
        disturbances = [parse_disturbance(text) for text in self._options.disturbances]
        self.simulation = Simulation(config, urdf, disturbances)
        self._links = tuple(dict.fromkeys(disturbance.link for disturbance in disturbances))
        self.driver = SimulationDriver(self.simulation, config.robot, self._options.pacing)
        self._create_outputs(config.robot)
        push, kind = self.driver.push_command, InputKind.COMMAND
        self.subscribe(JointState, "joint_torque_commands", push, convert=torque_command_from_msg, kind=kind)
        self.add_trigger("~/reset", self._reset)
        self.add_switch("~/pause", self._pause)
        self._timer: Any = None
        self._set_timer()
        if self._options.viewer:
            self._viewer = RobotViewer(self.simulation.robot, terrain_from_config(config.ground))
            self.add_timer(VIEWER_PERIOD, self._show)

    def _create_outputs(self, robot: RobotConfig) -> None:
        model = self.simulation.robot
        self._base_frame = self._options.base_frame or model.base_link
        self._frames = (robot.imu_frame, dict(zip(robot.contacts, _wrench_frames(robot), strict=True)))
        self._clock_publisher = self.add_output(Clock, "/clock")
        self._clock_period_ns = round(NANOSECONDS / self._options.clock_rate)
        self._next_clock_ns = self.simulation.stamp_ns
        self._joints = self.add_output(JointState, "joint_states")
        self._imu = self.add_output(Imu, "imu/data") if robot.imu_frame else None
        self._wrenches: dict[str, Publisher] = {
            contact: self.add_output(WrenchStamped, f"{topic_token(contact)}/wrench")
            for contact in robot.contacts
        }
        self._odometry = self.add_output(Odometry, "ground_truth/odom")
        self._inertias: dict[str, Publisher] = {
            link: self.add_output(InertiaStamped, f"ground_truth/link_inertias/{topic_token(link)}")
            for link in self._links
        }

    def _on_inputs(self) -> None:
        if self._options.pacing.lockstep:
            self._poll()

    def _poll(self) -> None:
        if not self.active:
            return
        released = self.simulation.released
        while readings := self.driver.poll(time.monotonic()):
            self._publish(readings)
            if not (self._options.pacing.lockstep and self.simulation.released):
                break  # one at a call: when ticks take longer than their time, inputs must still come in
        if self.simulation.released != released:
            self.get_logger().info(f"released from the hoist at {self.simulation.stamp_ns * 1e-9:.3f} s")
            self._set_timer()

    def _publish(self, arrived: Sequence[SensorReadings]) -> None:
        stamp_ns = self.simulation.stamp_ns
        if stamp_ns >= self._next_clock_ns:
            self._clock_publisher.publish(clock_to_msg(stamp_ns))
            self._next_clock_ns += self._clock_period_ns
        self._publish_truth()
        imu_frame, wrench_frames = self._frames
        for readings in arrived:
            for contact, wrench in readings.wrenches.items():
                msg = wrench_to_msg(wrench, WrenchStamped(), wrench_frames[contact])
                self._wrenches[contact].publish(msg)
            if readings.joints is not None:
                self._joints.publish(joints_to_msg(readings.joints, JointState()))
            if readings.imu is not None and self._imu is not None:
                self._imu.publish(imu_to_msg(readings.imu, Imu(), imu_frame))

    def _publish_truth(self) -> None:
        publishers = (self._odometry, *self._inertias.values())
        if not any(publisher.get_subscription_count() for publisher in publishers):
            return
        truth = self.simulation.truth(self._links)
        world, base = self._options.world_frame, self._base_frame
        self._odometry.publish(base_state_to_msg(truth.base, Odometry(), world, base))
        for link, publisher in self._inertias.items():
            inertia = StampedInertia(truth.stamp_ns, truth.inertias[link])
            publisher.publish(link_inertia_to_msg(inertia, InertiaStamped()))

    def _show(self) -> None:
        if self._viewer.is_open:
            truth = self.simulation.truth()
            self._viewer.show(truth.base, truth.q)

    def _set_timer(self) -> None:
        period = self.driver.wall_period or (WATCHING if self._options.pacing.lockstep else FASTEST)
        if self._timer is None:
            self._timer = self.add_timer(period, self._poll)
        else:
            self._timer.timer_period_ns = round(period * NANOSECONDS)
            self._timer.reset()

    def _set_parameter(self, name: str, value: Any) -> None:
        if name == "real_time_factor":
            self.driver.set_factor(value)
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


def _wrench_frames(robot: RobotConfig) -> Sequence[str]:
    return robot.wrench_frames or robot.contact_frames or robot.contacts
