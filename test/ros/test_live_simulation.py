"""Simulator and controller as processes over DDS: in lockstep with the test, and with one another."""

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from support.arm_robot import HOLDING, JOINTS

from inertial_estimation.inputs.messages import inertia_to_msg, joints_to_msg, stamp_from_msg
from inertial_estimation.ros.messages import message_reader, torque_command_to_msg
from inertial_estimation.signals import JointReading, LinkInertia, StampedInertia, TorqueCommand

BALL = "['{kind: ball, link: lower, mass: 1, at: [0.1, 0, 0], start: 0.1}']"
HELD = np.array([HOLDING[name] for name in JOINTS])


def value_of(msg):
    return message_reader(type(msg))(serialize_message(msg))


class StubController:
    """A spring and a damper in the test's process; keeps the positions by stamp."""

    def __init__(self, world):
        self.world = world
        self.positions = {}
        world.node.create_subscription(JointState, "joint_states", self.answer, 200)

    def answer(self, msg):
        reading = value_of(msg)
        self.positions[reading.stamp_ns] = reading.position
        tau = HELD - 2.0 * reading.position - 0.5 * reading.velocity
        command = TorqueCommand(reading.stamp_ns, reading.names, tau)
        self.world.publish("joint_torque_commands", torque_command_to_msg(command), 200)


def motion(world, arm, controller, ticks):
    """Positions of the arm at the ticks after its release."""
    world.reports.clear()
    controller.positions.clear()
    options = {"lockstep": "true", "hoist": "0.2", "real_time_factor": "0.0", "disturbances": BALL}
    node = world.start("simulator", robot=arm, **options)
    assert world.run(lambda: "released at [s]" in world.values("simulation"), sensors=False)
    begin = round(float(world.values("simulation")["released at [s]"]) * 1e9)
    steps = [begin + k * 3_000_000 for k in range(1, ticks + 1)]
    assert world.run(lambda: steps[-1] in controller.positions, sensors=False)
    node.ends_cleanly()
    return np.array([controller.positions[step] for step in steps])


def test_lockstep_gives_the_same_motion_at_every_run(world, arm):
    controller = StubController(world)
    first, second = (motion(world, arm, controller, 100) for _ in range(2))
    assert np.abs(first).max() > 0.01, "the ball moves it"
    np.testing.assert_array_equal(first, second)


def test_simulator_publishes_answers_and_ends(world, arm):
    node = world.start(
        "simulator", robot=arm, lockstep="true", lockstep_timeout="0.05", hoist="0.0", disturbances=BALL
    )
    clock = world.listen(Clock, "/clock")
    odometry = world.listen(Odometry, "ground_truth/odom")
    truth = world.listen(InertiaStamped, "ground_truth/link_inertias/lower")
    joints = world.listen(JointState, "joint_states", 200)
    assert world.run(lambda: clock and odometry and len(joints) > 20, sensors=False)
    assert truth[-1].inertia.m == pytest.approx(1.0), "on the hoist the ball is not there"
    assert list(joints[-1].name) == list(JOINTS)

    def loaded():
        command = TorqueCommand(stamp_from_msg(joints[-1].header.stamp), JOINTS, (0.0, 0.0))
        world.publish("joint_torque_commands", torque_command_to_msg(command), 200)
        world.pause(0.01)
        return value_of(truth[-1])[1].mass == pytest.approx(2.0)

    assert world.run(loaded, sensors=False)

    assert world.call(SetBool, "simulator/pause", SetBool.Request(data=True), sensors=False).success
    assert world.run(lambda: world.said("simulation") == "paused", sensors=False)
    paused_s, before = simulated_s(world), world.heard
    assert world.run(lambda: world.heard > before + 1, sensors=False)
    assert simulated_s(world) == paused_s
    assert stamp_from_msg(joints[-1].header.stamp) <= round(1e9 * paused_s)
    assert world.call(SetBool, "simulator/pause", SetBool.Request(data=False), sensors=False).success
    stopped_ns = stamp_from_msg(truth[-1].header.stamp)
    assert world.call(Trigger, "simulator/reset", sensors=False).success
    assert world.run(lambda: stamp_from_msg(truth[-1].header.stamp) < stopped_ns, sensors=False)
    assert truth[-1].inertia.m == pytest.approx(1.0)
    node.ends_cleanly()


def simulated_s(world):
    return float(world.values("simulation")["time [s]"])


def inertia_message(inertia, stamp_ns):
    return inertia_to_msg(StampedInertia(stamp_ns, inertia), InertiaStamped())


def rest(world, *more):
    """Let the sensors be joint states of the arm at rest, with velocities and efforts or without."""

    def sense(stamp_ns, leave_out=()):
        reading = JointReading(stamp_ns, JOINTS, [0, 0], *more)
        world.publish("joint_states", joints_to_msg(reading, JointState()), 200)

    world.sense = sense


def test_controller_answers_with_the_stamp_and_takes_inertias(world, arm):
    given = {"inertias.links": "[lower]", "await_inertias": "true"}
    latched = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    world.publish("hold", Bool(data=True), latched)
    node = world.start("whole_body_controller", robot=arm, **given)
    commands = world.listen(JointState, "joint_torque_commands", 200)
    rest(world, [0, 0], [0, 0])

    def torques():
        return dict(zip(commands[-1].name, commands[-1].effort, strict=True))

    nominal = LinkInertia("lower", 1.0, np.array([0.1, 0.0, 0.0]), np.diag([0.005, 0.01, 0.01]))
    assert world.run(lambda: "link_inertias/lower" in world.reports)
    assert not commands, "it waits for the first inertias"
    world.connect(InertiaStamped, "link_inertias/lower")

    def weighed():
        """Whether commands come; until then the inertia is sent again, as an estimator does."""
        if not commands:
            world.publish("link_inertias/lower", inertia_message(nominal, world.stamps[-1]))
        return len(commands) > 20

    assert world.run(weighed)
    assert {stamp_from_msg(msg.header.stamp) for msg in commands} <= set(world.stamps)
    assert torques() == pytest.approx(HOLDING, rel=1e-3)
    assert world.run(lambda: world.values("controller").get("held") == "yes"), "though sent before it was"
    world.publish("hold", Bool(data=False), latched)
    assert world.run(lambda: world.values("controller")["held"] == "no")

    heavier = LinkInertia("lower", 2.0, np.array([0.1, 0.0, 0.0]), 0.02 * np.eye(3))
    world.publish("link_inertias/lower", inertia_message(heavier, world.stamps[-1]))
    more = {"elbow": 2.0 * HOLDING["elbow"], "shoulder": -9.80665 * (2 * 0.2 + 2 * 0.5)}
    assert world.run(lambda: torques() == pytest.approx(more, rel=1e-3))

    assert world.call(Trigger, "whole_body_controller/reset", sensors=False).success
    assert world.run(lambda: torques() == pytest.approx(HOLDING, rel=1e-3))
    node.ends_cleanly()


def test_controller_sends_an_array_in_the_order_it_is_told(world, arm):
    """As to a forward_command_controller; joint states without velocities, as many drivers send them."""
    given = {"command_joints": "[elbow, shoulder]"}
    remapped = "joint_effort_commands:=/forward_effort_controller/commands"
    node = world.start("whole_body_controller", "-r", remapped, robot=arm, **given)
    commands = world.listen(Float64MultiArray, "/forward_effort_controller/commands", 200)
    by_name = world.listen(JointState, "joint_torque_commands", 200)

    rest(world)
    assert world.run(lambda: len(commands) >= 20), node.output
    for msg in commands:
        assert list(msg.data) == pytest.approx([HOLDING["elbow"], HOLDING["shoulder"]], rel=1e-3)
    assert not by_name
    node.ends_cleanly()
