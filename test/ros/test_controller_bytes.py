"""Any bytes on any topic of the controller: dropped as malformed or taken, and every torque stays bounded."""

from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("proxsuite", reason="needs ProxSuite")
pytest.importorskip("example_robot_data", reason="needs the robot's URDF")

from geometry_msgs.msg import InertiaStamped, PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from support.control_robots import TICK_NS, UPRIGHT, home, pipeline_of, push_state

from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.messages import (
    base_state_to_msg,
    inertia_to_msg,
    joints_to_msg,
    wrench_to_msg,
)
from inertial_estimation.recordings.estimate_messages import base_reference_to_msg
from inertial_estimation.ros.messages import (
    base_reference_from_msg,
    message_reader,
    walk_command_from_msg,
)
from inertial_estimation.signals import (
    BaseReference,
    BaseState,
    JointReading,
    LinkInertia,
    StampedInertia,
    WrenchSample,
)

TORSO = "torso_2_link"
CASES = 1500


def topics(pipeline, stamp_ns):
    """Reader, push and a good message of every topic."""
    q = home(pipeline)
    joints = joints_to_msg(JointReading(stamp_ns, pipeline.robot.joint_names, q, 0 * q, 0 * q), JointState())
    state = BaseState(stamp_ns, UPRIGHT, *np.zeros((3, 3)))
    torso = StampedInertia(stamp_ns, LinkInertia(TORSO, 17.0, np.zeros(3), 0.3 * np.eye(3)))
    wrench = wrench_to_msg(WrenchSample(stamp_ns, [0, 0, 400, 0, 0, 0]), WrenchStamped(), "sole")
    reference = base_reference_to_msg(BaseReference(0.9), PoseStamped())
    walk = Float64MultiArray(data=[2.0, 0.1])
    take_inertia = lambda s: pipeline.push_inertia(s.stamp_ns, replace(s.inertia, link=TORSO))  # noqa: E731
    return [
        (message_reader(kind, convert), push, bytes(serialize_message(good)))
        for kind, convert, push, good in (
            (JointState, None, pipeline.push_joints, joints),
            (Odometry, None, pipeline.push_base_state, base_state_to_msg(state, Odometry(), "odom", "base")),
            (WrenchStamped, None, lambda w: pipeline.push_wrench("left_foot", w), wrench),
            (InertiaStamped, None, take_inertia, inertia_to_msg(torso, InertiaStamped())),
            (JointState, None, pipeline.push_joint_reference, joints),
            (PoseStamped, base_reference_from_msg, pipeline.push_base_reference, reference),
            (Float64MultiArray, walk_command_from_msg, pipeline.push_walk_command, walk),
            (Bool, attrgetter("data"), pipeline.push_hold, Bool(data=True)),
        )
    ]


def spoiled(rng, good):
    """Return random bytes, or the message cut, with changed bytes, or with an absurd number."""
    message = bytearray(good)
    kind = rng.integers(4)
    if kind == 0:
        return rng.bytes(int(rng.integers(0, 400)))
    if kind == 1:
        return bytes(message[: rng.integers(0, len(message) + 1)])
    if kind == 2:
        for place in rng.integers(0, len(message), rng.integers(1, 8)):
            message[place] = rng.integers(256)
        return bytes(message)
    place = rng.integers(4, max(5, len(message) - 8))
    message[place : place + 8] = np.array([rng.choice([np.nan, np.inf, 1e308, -1e30, 1e3])]).tobytes()
    return bytes(message)


def test_any_bytes_are_refused_or_taken_and_the_robot_is_controlled_afterwards():
    pipeline = pipeline_of("talos", **{"inertias.links": (TORSO,)})
    rng = np.random.default_rng(0)
    q = home(pipeline)
    refused, taken, sources = 0, 0, topics(pipeline, 0)
    for k in range(CASES):
        stamp_ns = (k + 1) * TICK_NS
        if k % 100 == 0:
            sources = topics(pipeline, stamp_ns)
        read, push, good = sources[k % len(sources)]
        try:
            push(read(spoiled(rng, good)))
            taken += 1
        except MeasurementError:
            refused += 1
        if k % 10 == 0:
            push_state(pipeline, stamp_ns, q)
        for command in pipeline.tick(stamp_ns):
            assert (np.abs(command.tau) <= pipeline.controller.dynamics.limits.effort).all()
        pipeline.health(stamp_ns)
    assert min(refused, taken) > 0.1 * CASES
    pipeline.reset()
    push_state(pipeline, 0, q)
    assert pipeline.tick(0)
