"""Node `trunk_payload` as a process: a load is found, told, identified as in a replay, and asked about."""

from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from support.standing_robot import Standing

import inertial_estimation as ie
from inertial_estimation.configuration.node_names import PAYLOAD_NODE
from inertial_estimation.inputs import messages as conversion
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE, ODOMETRY_TYPE, stamp_from_msg
from inertial_estimation.payload.report import KIND
from inertial_estimation.ros.messages import health_from_msg, message_reader

CONFIG = Path(__file__).parents[2] / "config" / "hyq.yaml"
LOAD, PLACE = 8.0, (-0.2, 0.1, 0.05)
SETTLING = {"inputs.timeout": 10.0}  # whatever the machine is doing
TYPES = {"/joint_states": JOINT_STATE_TYPE, "/imu/data": IMU_TYPE, "/base_state": ODOMETRY_TYPE}
LATE = QoSProfile(depth=10, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


class Quadruped:
    """Stands in for the sensors of `World`: HyQ at rest, level, with a load; keeps what it has sent."""

    def __init__(self, world):
        self.world, self.sent, self.torques = world, [], True
        world.sense = self.sense
        self.carry(0.0)

    def carry(self, load):
        """Carry a point mass on the trunk [kg]."""
        self.scene = Standing(load=load, point=PLACE)
        self.tau = self.scene.readings()[1].tau
        model = self.scene.robot.model
        R_BI = model.frames[self.scene.robot.frame_id("trunk_imu")].placement.rotation
        self.force_I = -R_BI.T @ model.gravity.linear

    def sense(self, stamp_ns, leave_out=(), **spoiled):
        still, q = np.zeros(3), self.scene.q
        base = ie.BaseState(stamp_ns, [0, 0, 0, 1], [0, 0, 0.6], still, still)
        imu = ie.ImuSample(stamp_ns, self.force_I, still)
        torques = self.tau if self.torques else None
        joints = ie.JointReading(stamp_ns, self.scene.robot.joint_names, q, np.zeros(len(q)), torques)
        outgoing = {
            "imu/data": (imu, conversion.imu_to_msg(imu, Imu(), "trunk_imu")),
            "base_state": (base, conversion.base_state_to_msg(base, Odometry(), "odom", "base_link")),
            "joint_states": (joints, conversion.joints_to_msg(joints, JointState())),
        }
        for topic, (sample, msg) in outgoing.items():
            self.sent.append(ie.RecordingEntry(f"/{topic}", stamp_ns, sample))
            self.world.publish(topic, msg)

    def replayed(self):
        """The estimates of a replay of what was sent, by stamp."""
        settling = [(PAYLOAD_NODE, name, value) for name, value in SETTLING.items()]
        built = ie.build_pipelines(ie.load_config_file(CONFIG).overridden(settling), only=[PAYLOAD_NODE])
        topics = ie.replay_topics(built.values, {})
        run = ie.replay_recording(
            ie.MemoryRecording(tuple(self.sent), TYPES), topics, ie.ReplayReaders(payload=built.payload)
        )
        return {estimate.stamp_ns: estimate for estimate in run.payload}


def numbers(inertia):
    return [inertia.mass, *inertia.com_L, *inertia.inertia_Lcm.ravel()]


def inertia_of(msg):
    return message_reader(InertiaStamped)(serialize_message(msg))


def event_of(msg):
    (status,) = msg.status
    return stamp_from_msg(msg.header.stamp), health_from_msg(status)


def change(world, *transitions):
    for transition in transitions:
        request = ChangeState.Request(transition=Transition(id=transition))
        assert world.call(ChangeState, "trunk_payload/change_state", request, sensors=False).success


def test_a_load_is_found_told_and_identified_as_in_a_replay(world):
    robot = Quadruped(world)
    arguments = ["--params-file", str(CONFIG)]
    node = world.start("trunk_payload", *arguments, described=False, robot={}, managed="true", **SETTLING)
    change(world, Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    inertias = world.listen(InertiaStamped, "trunk_inertia", 2000)
    payloads = world.listen(InertiaStamped, "payload", 2000)
    changes = world.listen(DiagnosticArray, "load_change", LATE)
    holds = world.listen(Bool, "hold", LATE)
    assert world.run(lambda: [msg.data for msg in holds] == [False], sensors=False), "before any input"
    assert world.run(lambda: inertias and payloads), "all are connected"
    world.pause(0.2)
    assert world.call(Trigger, "trunk_payload/reset", sensors=False).success
    for seen in (inertias, payloads, holds, robot.sent):
        seen.clear()
    assert world.run(lambda: len(inertias) > 100)
    assert not changes, "the robot is as its description says"
    assert inertias[-1].header.frame_id == payloads[-1].header.frame_id == "trunk"

    robot.carry(LOAD)
    assert world.run(lambda: len(changes) > 1 and not holds[-1].data), node.output
    (loaded_ns, loaded), (identified_ns, identified) = map(event_of, changes)
    assert (loaded.values[KIND], loaded.level) == ("loaded", ie.HealthLevel.WARN)
    assert (identified.values[KIND], identified.level) == ("identified", ie.HealthLevel.OK)
    assert float(identified.values["mass [kg]"]) == pytest.approx(robot.scene.mass, abs=0.02)
    assert {loaded_ns, identified_ns} <= set(world.stamps)
    assert [msg.data for msg in holds] == [True, False]

    mass = pytest.approx(robot.scene.mass, abs=0.02)
    assert world.run(lambda: inertias[-1].inertia.m == mass)
    stamp_ns, trunk = inertia_of(inertias[-1])
    np.testing.assert_allclose(trunk.com_L[:2], robot.scene.com[:2], atol=2e-3)
    assert inertia_of(payloads[-1])[1].mass == pytest.approx(LOAD, abs=0.02)
    expected = robot.replayed()
    published = dict(map(inertia_of, inertias))
    assert stamp_ns in expected
    for stamp_ns, inertia in published.items():
        np.testing.assert_array_equal(numbers(inertia), numbers(expected[stamp_ns].trunk))

    it_is_asked(world, changes, holds)
    robot.torques = False
    missing = "it has no effort, but joint torques are needed"
    assert world.run(lambda: missing in node.output), "the log says it"

    def said(status):
        texts = (status.message, *(item.key for item in status.values))
        return status.level != DiagnosticStatus.OK and any(missing in text for text in texts)

    assert world.run(lambda: any(map(said, world.reports.values()))), "and diagnostics, too"
    robot.torques = True
    assert world.call(Trigger, "trunk_payload/reset").success
    nominal = robot.scene.nominal.mass
    assert world.run(lambda: inertias[-1].inertia.m == pytest.approx(nominal))
    node.ends_cleanly()


def it_is_asked(world, changes, holds):
    """An identification begun by another method, asked for again after a pause of the node, and given up."""
    method = Parameter("method", value="static_poses").to_parameter_msg()
    request = SetParameters.Request(parameters=[method])
    assert world.call(SetParameters, "trunk_payload/set_parameters", request).results[0].successful
    answer = world.call(Trigger, "trunk_payload/identify")
    assert answer.success
    assert answer.message
    assert world.run(lambda: holds[-1].data)
    before = len(holds)
    change(world, Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE)
    assert world.run(lambda: [msg.data for msg in holds[before:]] == [True])
    assert world.call(Trigger, "trunk_payload/cancel").success
    assert world.run(lambda: not holds[-1].data and len(changes) == 3)
    assert event_of(changes[-1])[1].values[KIND] == "cancelled"
