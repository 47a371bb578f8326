"""A replay pushes what was recorded, ticks as a node does, and holds out what it is told to."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
    MessageReader,
)
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.replay.replay import ReplayWatcher

START = 1_700_000_000_000_000_000
STEP = 10_000_000
TYPES = {
    "/imu/data": IMU_TYPE,
    "/joint_states": JOINT_STATE_TYPE,
    "/foot/wrench": WRENCH_TYPE,
    "/yaw_reference": QUATERNION_TYPE,
}
TOPICS = ie.RecordedTopics(("foot",))


def recording(count: int = 100, *, log_offset: int = 0, types: dict[str, str] = TYPES) -> ie.MemoryRecording:
    entries = []
    for k in range(count):
        t = START + k * STEP
        samples = {
            "/imu/data": ie.ImuSample(t, np.full(3, float(k)), np.zeros(3)),
            "/joint_states": ie.JointReading(t, ("a",), np.zeros(1), np.zeros(1), np.zeros(1)),
            "/foot/wrench": ie.WrenchSample(t, np.zeros(6)),
            "/yaw_reference": ie.OrientationSample(t, np.array([0.0, 0.0, 0.0, 1.0])),
            "/base_state": base_state(t),
        }
        entries += [ie.RecordingEntry(n, t + log_offset, samples[n]) for n in types if n in samples]
    return ie.MemoryRecording(tuple(entries), types)


def base_state(t: int) -> ie.BaseState:
    return ie.BaseState(t, np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3), np.zeros(3))


INPUTS = {
    "imu/data": ("imu", (IMU_TYPE,)),
    "joint_states": ("joints", (JOINT_STATE_TYPE,)),
    "foot/wrench": ("foot", (WRENCH_TYPE,)),
    "yaw_reference": ("yaw", (QUATERNION_TYPE,)),
    "base_state": ("base", (ODOMETRY_TYPE,)),
}


class FakeInputs:
    """Notes what is pushed."""

    def __init__(self, *names: str) -> None:
        self.pushed: list[tuple[str, int]] = []
        self.contacts = ["foot"]
        self.arrivals: list[int] = []
        self.waiting: list[int] = []
        self.topics = {
            name: (INPUTS[name][1], partial(self._push, INPUTS[name][0])) for name in names or INPUTS
        }

    def _push(self, what: str, value: Any, arrival_ns: int, _frame: str) -> None:
        self.pushed.append((what, value.stamp_ns))
        self.arrivals.append(arrival_ns)
        if what == "imu":
            self.waiting.append(value.stamp_ns)

    def push(self, name: str, value: Any, arrival_ns: int) -> None:
        self._push(INPUTS[name][0], value, arrival_ns, "")

    def connect(
        self, name: str, message_type: str, deserialize: Any, _readers: Any
    ) -> Callable[[bytes, int], None]:
        types, push = self.topics[name]
        if message_type not in types:
            raise ie.ConfigurationError(f"topic '{name}' has type {message_type}, expected {types[0]}")
        reader = MessageReader(message_type, deserialize)
        return lambda data, arrival_ns: push(reader.read(data), arrival_ns, reader.frame_id)


@dataclass
class FakePipeline:
    """Makes one estimate of every IMU reading at the next tick."""

    inputs: FakeInputs = field(default_factory=FakeInputs)
    ticks: list[int] = field(default_factory=list)
    learned: list[int] = field(default_factory=list)
    held_out: list[int] = field(default_factory=list)
    enabled: bool = True

    @property
    def pushed(self) -> list[tuple[str, int]]:
        return self.inputs.pushed

    def set_enabled(self, enabled: bool) -> None:
        self.enabled = enabled

    def tick(self, now_ns: int) -> list[ie.BaseEstimate]:
        self.ticks.append(now_ns)
        stamps, self.inputs.waiting = self.inputs.waiting, []
        (self.learned if self.enabled else self.held_out).extend(stamps)
        return [
            ie.BaseEstimate(
                base_state(t), np.eye(3)[2], np.zeros(3), (), np.zeros(3), False, False, np.eye(3)
            )
            for t in stamps
        ]

    def health(self, now_ns: int) -> list[ie.Health]:
        return [ie.Health("fake", ie.HealthLevel.OK, "fine")]


def stamps(pipeline: FakePipeline, what: str) -> list[int]:
    return [t for name, t in pipeline.pushed if name == what]


ALL = [START + k * STEP for k in range(100)]


def test_everything_is_pushed_in_order_and_estimated(
    processor_time: Callable[[], AbstractContextManager[None]],
) -> None:
    pipeline = FakePipeline()
    with processor_time():
        run = ie.replay_recording(recording(), TOPICS, ie.ReplayReaders(tilt=pipeline))
    for what in ("imu", "joints", "foot", "yaw"):
        assert stamps(pipeline, what) == ALL
    assert [e.state.stamp_ns for e in run.base] == ALL
    assert run.data_s == pytest.approx(0.99)
    assert run.realtime_factor > 1.0
    assert [h.message for h in run.health] == ["fine"]
    assert len(run.tick_ns["tilt_observer"]) == 100


class Onlooker(ReplayWatcher):
    """Keeps what it sees."""

    def __init__(self) -> None:
        self.joints: list[int] = []
        self.seen: list[list[Any]] = [[], [], []]

    def push_joints(self, reading: ie.JointReading) -> None:
        self.joints.append(reading.stamp_ns)

    def see(self, *estimates: Sequence[Any]) -> None:
        for kept, new in zip(self.seen, estimates, strict=True):
            kept.extend(new)


def test_an_onlooker_sees_every_estimate() -> None:
    onlooker, readers = Onlooker(), ie.ReplayReaders(tilt=FakePipeline(), inertial=FakePipeline())
    run = ie.replay_recording(recording(), TOPICS, readers, watcher=onlooker)
    assert onlooker.seen == [run.base, run.inertial, []]
    assert onlooker.joints == [reading.stamp_ns for reading in run.efforts]


def test_inertial_pipeline_is_fed_by_the_tilt_pipeline() -> None:
    tilt, inertial = FakePipeline(), FakePipeline()
    run = ie.replay_recording(recording(), TOPICS, ie.ReplayReaders(tilt=tilt, inertial=inertial))
    assert stamps(inertial, "base") == ALL
    assert stamps(inertial, "imu") == ALL
    assert len(run.inertial) == len(run.efforts) == 100


def test_messages_of_a_bag_are_handed_over_as_bytes_with_their_log_times(tmp_path: Path) -> None:
    write_recording(recording(log_offset=2_000_000), tmp_path / "bag")
    tilt, inertial = FakePipeline(), FakePipeline()
    with ie.BagRecording(tmp_path / "bag") as bag:
        run = ie.replay_recording(bag, TOPICS, ie.ReplayReaders(tilt=tilt, inertial=inertial))
        assert [r.stamp_ns for r in run.efforts] == ALL
    for what in ("imu", "joints", "foot"):
        assert stamps(tilt, what) == stamps(inertial, what) == ALL
    assert np.unique(tilt.inputs.arrivals).tolist() == [stamp + 2_000_000 for stamp in ALL]


def test_nothing_is_learned_after_the_hold_out() -> None:
    pipeline = FakePipeline()
    ie.replay_recording(recording(), TOPICS, ie.ReplayReaders(inertial=pipeline), hold_out_s=0.6)
    assert pipeline.learned == ALL[:60]
    assert pipeline.held_out == ALL[60:]


def test_log_times_of_another_clock_do_not_make_inputs_stale() -> None:
    for offset in (0, 5_000_000, -(10**18)):
        pipeline = FakePipeline()
        run = ie.replay_recording(
            recording(log_offset=offset), TOPICS, ie.ReplayReaders(inertial=pipeline), hold_out_s=0.6
        )
        newest = np.array(pipeline.ticks[1:60]) - START
        assert newest.min() >= 0
        assert newest.max() < 2_000_000_000
        assert pipeline.learned == ALL[:60]
        assert run.clock_offset_ns == (-offset if abs(offset) > 10**10 else 0)


@pytest.mark.parametrize("gone", ["/imu/data", "/joint_states", "/foot/wrench"])
def test_missing_input_lists_what_exists(gone: str) -> None:
    types = {name: kind for name, kind in TYPES.items() if name != gone}
    with pytest.raises(ie.RecordingError, match=rf"no topic '{gone}' in .*; it has "):
        ie.replay_recording(recording(types=types), TOPICS, ie.ReplayReaders(tilt=FakePipeline()))


def test_a_topic_without_messages_is_refused_only_where_nothing_is_estimated() -> None:
    whole, readers = recording(), ie.ReplayReaders(tilt=FakePipeline())
    quiet, none = (
        replace(whole, messages=tuple(e for e in whole.messages if e.topic not in topics))
        for topics in (["/foot/wrench"], ["/imu/data"])
    )
    assert len(ie.replay_recording(quiet, TOPICS, readers).base) == 100
    with pytest.raises(ie.RecordingError, match="no message on /imu/data"):
        ie.replay_recording(none, TOPICS, readers)


def test_an_imu_alone_is_refused_with_the_parameter_that_takes_it() -> None:
    alone = recording(types={"/imu/data": IMU_TYPE})
    with pytest.raises(ie.RecordingError, match=r"the IMU alone.*set contacts: \[\]"):
        ie.replay_recording(alone, TOPICS, ie.ReplayReaders(tilt=FakePipeline()))


@pytest.mark.parametrize("odd", list(TYPES))
def test_input_of_wrong_type(odd: str) -> None:
    types = {**TYPES, odd: "std_msgs/msg/String"}
    with pytest.raises(ie.RecordingError, match=rf"'{odd[1:]}' has type std_msgs/msg/String, expected"):
        ie.replay_recording(recording(types=types), TOPICS, ie.ReplayReaders(tilt=FakePipeline()))
