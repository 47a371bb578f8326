"""Serialised messages to the controller give what their values give, and all others are left to be pushed."""

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="needs rosbags")

from rosbags.typesys import Stores, get_typestore
from support.control_robots import UPRIGHT, home, pipeline_of

from inertial_estimation.compilation import compiling
from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.messages import (
    CONVERSIONS,
    INERTIA_TYPE,
    JOINT_STATE_TYPE,
    WRENCH_TYPE,
    bytes_reader,
)
from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.signals import (
    BaseState,
    JointReading,
    LinkInertia,
    OrientationSample,
    StampedInertia,
    WrenchSample,
)

STORE = get_typestore(Stores.ROS2_JAZZY)
TORSO, FOREARM, FOOT = "torso_2_link", "arm_left_5_link", "left_foot"
TICK_NS = 3_000_000


def serialized(kind, sample, frame="frame"):
    arguments = (frame,) if kind != INERTIA_TYPE else ()
    message = CONVERSIONS[kind].to_msg(sample, empty_message(STORE, kind), *arguments)
    return bytes(STORE.serialize_cdr(message, kind))


class Feed:
    """A controller that is given messages: their bytes where it takes them, or their values alone."""

    def __init__(self, *, by_bytes):
        self.pipeline = pipeline_of("talos", **{"inertias.links": (TORSO, FOREARM)})
        self._by_bytes, self.taken = by_bytes, 0
        pipeline, inputs = self.pipeline, self.pipeline.inputs
        self._ways = {
            JOINT_STATE_TYPE: (inputs.take_joints, pipeline.push_joints),
            WRENCH_TYPE: (inputs.wrenches[FOOT].take, lambda sample: pipeline.push_wrench(FOOT, sample)),
            INERTIA_TYPE: (
                lambda data: pipeline.take_inertia(TORSO, data),
                lambda stamped: pipeline.push_inertia(stamped.stamp_ns, stamped.inertia),
            ),
        }
        self._read = {
            kind: bytes_reader(kind, lambda data, kind=kind: STORE.deserialize_cdr(data, kind))
            for kind in self._ways
        }

    def __call__(self, kind, data):
        take, push = self._ways[kind]
        if self._by_bytes and take(data):
            self.taken += 1
            return
        try:
            push(self._read[kind](data))
        except MeasurementError:
            return


def spoilt(rng, data):
    """Return a message, now and then with an absurd number or of another length."""
    message, kind = bytearray(data), rng.integers(8)
    if kind == 0:
        place = len(message) - 8 * int(rng.integers(1, 10))
        message[place : place + 8] = np.array([rng.choice([np.nan, np.inf, 1e9, -1.0])]).tobytes()
    if kind == 1:
        return bytes(message[: rng.integers(4, len(message))])
    return bytes(message)


def joint_states(rng, names, q, stamp):
    """Return a joint state of all joints in some order, with or without efforts or velocities."""
    order = rng.permutation(len(names)) if rng.random() < 0.1 else np.arange(len(names))
    v = 1e-3 * rng.standard_normal(len(names))
    effort = rng.standard_normal(len(names)) if rng.random() < 0.9 else None
    velocity = None if rng.random() < 0.03 else v[order]
    return JointReading(stamp, tuple(names[i] for i in order), q[order], velocity, effort)


def test_bytes_give_the_torques_and_reports_of_their_values():
    rng = np.random.default_rng(6)
    feeds = Feed(by_bytes=True), Feed(by_bytes=False)
    names, q = feeds[0].pipeline.robot.joint_names, home(feeds[0].pipeline)
    for k in range(600):
        stamp = 10**9 + k * TICK_NS
        wrench = WrenchSample(stamp - 10**6, rng.normal(0.0, 300.0, 6))
        torso = LinkInertia(TORSO, 17.0 + 1e-3 * k, np.array([0.0, 0.0, 0.1]), np.diag([0.3, 0.25, 0.2]))
        messages = [
            (JOINT_STATE_TYPE, spoilt(rng, serialized(JOINT_STATE_TYPE, joint_states(rng, names, q, stamp)))),
            (WRENCH_TYPE, spoilt(rng, serialized(WRENCH_TYPE, wrench))),
            (INERTIA_TYPE, spoilt(rng, serialized(INERTIA_TYPE, StampedInertia(stamp, torso)))),
        ]
        forearm = LinkInertia(FOREARM, 1.8, np.zeros(3), 0.01 * np.eye(3))
        commands = []
        for feed in feeds:
            for kind, data in messages:
                feed(kind, data)
            pipeline = feed.pipeline
            pipeline.push_inertia(stamp, forearm)
            pipeline.push_orientation(OrientationSample(stamp, UPRIGHT))
            pipeline.push_base_state(BaseState(stamp, UPRIGHT, *np.zeros((3, 3))))
            commands.append(pipeline.tick(stamp))
            assert pipeline.inputs.normal_forces(stamp) == pytest.approx(
                feeds[0].pipeline.inputs.normal_forces(stamp)
            )
        assert [c.stamp_ns for c in commands[0]] == [c.stamp_ns for c in commands[1]]
        for one, other in zip(*commands, strict=True):
            np.testing.assert_allclose(one.tau, other.tau, rtol=0.0, atol=1e-9)
        if k % 20 == 0:
            assert feeds[0].pipeline.health(stamp) == feeds[1].pipeline.health(stamp)
    assert feeds[0].taken > (800 if compiling() else 400)
