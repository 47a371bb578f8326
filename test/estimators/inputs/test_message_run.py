"""Many messages by one compiled call give what each of them alone gives, with a tick after each."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="needs rosbags")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from support.faulty_messages import messages, read, readings

from inertial_estimation.compilation import compiling
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.estimators.inputs.message_run import MessageRun
from inertial_estimation.message_numbers import MessageNumbers, MessageSeries
from inertial_estimation.recordings.recorded_message import SerialisedMessage
from inertial_estimation.replay.replay_lane import PipelineLane, Stretch
from inertial_estimation.replay.replay_ways import ways_into_fed, ways_into_tilt

MS = 1_000_000


@pytest.fixture(scope="module")
def entries():
    return readings()


@pytest.fixture(scope="module")
def values():
    return load_config_file(find_config("talos"))


def disturbed(fed, rng):
    """Lose the messages of a topic for a while, and let those of another one come late, all at once."""
    topics = sorted({topic for topic, *_ in fed})
    begin, lost, late = fed[0][2], rng.choice(topics), rng.choice(topics)
    gap, hold = (begin + int(at) * MS for at in rng.integers(300, 1500, 2))
    until = hold + int(rng.integers(20, 300)) * MS
    kept = [m for m in fed if not (m[0] == lost and gap <= m[2] < gap + 150 * MS)]
    come = [until if topic == late and hold <= log_ns < until else log_ns for topic, _, log_ns, _ in kept]
    order = np.argsort(come, kind="stable")
    return [(kept[k][0], kept[k][1], come[k], kept[k][3]) for k in order]


class Robot:
    """Both pipelines, the first of which feeds the second."""

    def __init__(self, values):
        built = build_pipelines(values)
        self.tilt, self.inertial = built.tilt, built.inertial
        topics = replay_topics(built.values, {})
        self.ways = (
            ways_into_tilt(topics, self.tilt),
            ways_into_fed(topics, self.inertial, wrenches=True, base_state=False),
        )
        self.base, self.made, self.told, self.unfit = [], [], [], []

    def tell(self, now_ns):
        self.told.append([*self.tilt.health(now_ns), *self.inertial.health(now_ns)])


class ByStretches(Robot):
    """Gets them as a replay does."""

    def __init__(self, values):
        super().__init__(values)
        push_base, own, fed = self.inertial.push_base_state, *self.ways
        runs = MessageRun(self.tilt.entries), MessageRun(self.inertial.entries)
        self.calls = 0
        for run in runs:
            run.enter = partial(self.count, run.enter)
        self.first = PipelineLane(own, runs[0], self.tilt.tick, (self.base, []))
        inertial = self.inertial
        self.second = PipelineLane(
            fed, runs[1], inertial.tick, (self.made, []), push_base=push_base, stepper=inertial.stepper
        )

    def count(self, enter, *numbers):
        self.calls += 1
        return enter(*numbers)

    def feed(self, part):
        stretch = Stretch(
            [SerialisedMessage(t, log_ns, data, self.reader(kind)) for t, kind, log_ns, data in part], 0
        )
        self.second.advance(stretch, self.first.advance(stretch, {}))

    def reader(self, kind):
        return lambda data: read(kind, data, self.unfit)


class OneByOne(Robot):
    """Gets each alone, and is ticked after each."""

    def feed(self, part):
        for topic, kind, log_ns, data in part:
            base = self.enter(self.ways[0], topic, kind, data, self.tilt, log_ns)
            if base is None:
                continue
            for estimate in base:
                self.inertial.push_base_state(estimate.state)
            self.base += base
            self.made += self.enter(self.ways[1], topic, kind, data, self.inertial, log_ns)

    def enter(self, ways, topic, kind, data, pipeline, log_ns):
        push, entry = ways[topic][0]
        if not entry.take(data):
            value = read(kind, data, self.unfit if pipeline is self.tilt else [])
            if value is None:
                return None
            push(value)
        return pipeline.tick(log_ns)


@pytest.mark.parametrize("seed", range(8))
def test_runs_of_messages_give_what_a_tick_after_each_gives(entries, values, seed):
    rng = np.random.default_rng(seed)
    fed = disturbed(list(messages(entries, seed)), rng)
    many, single = ByStretches(values), OneByOne(values)
    begin = 0
    while begin < len(fed):
        end = begin + int(rng.choice([1, 7, 120]))
        for robot in (many, single):
            robot.feed(fed[begin:end])
            robot.tell(fed[min(end, len(fed)) - 1][2])
        begin = end
    assert [e.state.stamp_ns for e in many.base] == [e.state.stamp_ns for e in single.base]
    for a, b in zip(many.base, single.base, strict=True):
        np.testing.assert_array_equal(a.state.quaternion_xyzw, b.state.quaternion_xyzw)
        np.testing.assert_array_equal(a.state.v_WB_B, b.state.v_WB_B)
    assert [e.stamp_ns for e in many.made] == [e.stamp_ns for e in single.made]
    for a, b in zip(many.made, single.made, strict=True):
        assert a.nis == b.nis
        assert [x.estimate.mass for x in a.links] == [x.estimate.mass for x in b.links]
    assert many.told == single.told
    assert many.unfit == single.unfit
    assert len(many.base) > 100
    assert len(many.made) > 100
    assert many.calls < 1.5 * len(fed) or not compiling()


def test_each_message_of_a_series_lies_as_it_does_alone():
    rng = np.random.default_rng(0)
    sent = [rng.bytes(int(length)) for length in rng.integers(0, 60, 50)] + [bytes(1 << 17), b"", b"\0\1\0\0"]
    series, alone = MessageSeries(sent), MessageNumbers()
    for k, data in enumerate(sent):
        place, length = series.places[k], series.places[len(sent) + k]
        assert length == alone.hold(data)
        held = np.asarray(series.words[place : place + (length + 15) // 8]).tobytes()
        if length:
            assert held[4 : 4 + len(data)] == data
