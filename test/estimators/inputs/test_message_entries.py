"""Bytes of messages through one compiled call each give what conversion and aligner give apart."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="needs rosbags")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from support.faulty_messages import message_of, messages, read, readings, serialized, with_padding

from inertial_estimation.compilation import compiling
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.inputs.rows import IMU, wrench_stream
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
)
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.signals import JointReading

MS = 1_000_000


@pytest.fixture(scope="module")
def entries():
    return readings()


class Whole:
    """Hands the bytes to a pipeline."""

    def __init__(self, pipeline):
        self.pipeline, self.damaged, self.taken = pipeline, [], 0
        feet = {f"/{topic_token(foot)}/wrench": foot for foot in pipeline.config.robot.contacts}
        entries = pipeline.entries
        self.ways = {
            "/imu/data": (entries.imu.take, pipeline.push_imu),
            "/joint_states": (entries.joints.take, pipeline.push_joints),
            **{t: (entries.wrenches[f].take, partial(pipeline.push_wrench, f)) for t, f in feet.items()},
        }

    def feed(self, topic, kind, data):
        take, push = self.ways[topic]
        if take(data):
            self.taken += topic == "/joint_states"
            return
        value = read(kind, data, self.damaged)
        if value is not None:
            push(value)


class Apart:
    """Converts, orders and aligns one after the other."""

    def __init__(self, pipeline):
        self.pipeline, self.damaged = pipeline, []
        self.aligner = pipeline._stepper.aligner
        self.feet = {f"/{topic_token(foot)}/wrench": foot for foot in pipeline.config.robot.contacts}
        pipeline.entries.joints.take_reading = lambda _reading: False

    def feed(self, topic, kind, data):
        value = read(kind, data, self.damaged)
        if value is None:
            return
        if kind == JOINT_STATE_TYPE:
            self.pipeline.push_joints(value)
        elif kind == IMU_TYPE:
            row = np.concatenate((value.specific_force_I, value.angular_rate_I))
            self.aligner.push(IMU, value.stamp_ns, row)
        else:
            stream = wrench_stream(self.feet[topic])
            if stream in self.aligner._streams:
                self.aligner.push(stream, value.stamp_ns, value.wrench_F)


@pytest.fixture(scope="module")
def values():
    return load_config_file(find_config("talos"))


def run(way, fed):
    made, told = [], []
    for k, (topic, kind, log_ns, data) in enumerate(fed):
        way.feed(topic, kind, data)
        made += way.pipeline.tick(log_ns)
        if k % 200 == 0:
            told.append(way.pipeline.health(log_ns))
    return made, told


@pytest.mark.parametrize("seed", range(8))
def test_bytes_give_what_the_steps_of_the_way_give_apart(entries, values, seed):
    fed = list(messages(entries, seed))
    whole, apart = (build_pipelines(values).tilt for _ in range(2))
    one, other = Whole(whole), Apart(apart)
    made, told = run(one, fed)
    expected, expected_told = run(other, fed)
    assert [e.state.stamp_ns for e in made] == [e.state.stamp_ns for e in expected]
    for a, b in zip(made, expected, strict=True):
        np.testing.assert_array_equal(a.state.quaternion_xyzw, b.state.quaternion_xyzw)
        np.testing.assert_array_equal(a.state.v_WB_B, b.state.v_WB_B)
        np.testing.assert_array_equal(a.state.p_WB, b.state.p_WB)
    assert told == expected_told
    assert one.damaged == other.damaged
    assert len(made) > 100
    assert one.taken > 100 or not compiling()


def test_joint_states_too_long_to_be_held_are_read_by_name(entries, values):
    pipeline = build_pipelines(values).tilt
    way = Whole(pipeline)
    joint_states = [e for e in entries if e[1] == JOINT_STATE_TYPE][:60]
    for k, (_, kind, log_ns, sample) in enumerate(joint_states):
        more = tuple(f"finger_{k}" for k in range(5000))
        fields = (np.append(x, np.full(len(more), 0.1)) for x in (sample.position, sample.velocity))
        long = JointReading(sample.stamp_ns, (*sample.names, *more), *fields)
        if k % 2:
            pipeline.push_joints(long)
        else:
            way.feed("/joint_states", kind, serialized(kind, message_of(kind, long)))
        pipeline.tick(log_ns)
    assert way.taken == 0
    health = next(part for part in pipeline.health(log_ns) if part.name == "joint_states")
    assert health.message == "arriving"
    assert not way.damaged


def test_padding_is_not_compared(entries, values):
    pipeline = build_pipelines(values).tilt
    way, taken = Whole(pipeline), 0
    for k, (_, kind, _, sample) in enumerate(e for e in entries if e[1] == JOINT_STATE_TYPE):
        message = message_of(kind, sample)
        data = with_padding(kind, message) if k % 2 else serialized(kind, message)
        before = way.taken
        way.feed("/joint_states", kind, data)
        taken += way.taken - before
    assert taken > 450 or not compiling()
