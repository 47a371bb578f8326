"""Stamps that are wrong, and clocks that jump: one reading moves no clock, a clock that stopped is left."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertial_estimation.estimators.inputs.aligned_sample import Continuity
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.signals import HealthLevel

MS = 1_000_000
SECOND = 1000 * MS
HOUR = 3600 * SECOND
BEGIN = 1_700_000_000 * SECOND
PERIODS = {"imu": 4 * MS, "joints": 10 * MS, "foot": 5 * MS}


def make(**options):
    imu, *others = (StreamSpec(name, 1) for name in PERIODS)
    return SignalAligner(imu, tuple(others), InputConfig(**options))


class Rig:
    """Three streams at their rates; strays are added, and the steps collected."""

    def __init__(self, **options):
        self.aligner = make(**options)
        self.steps = []

    def push(self, stream, stamp_ns):
        self.aligner.push(stream, stamp_ns, np.array([stamp_ns * 1e-9]))
        self.steps += self.aligner.pop_ready()

    def run(self, begin, duration, *, shift=0, streams=tuple(PERIODS), extra=()):
        """Push clean streams from a time on, their stamps shifted, and extra (time, stream, stamp)."""
        clean = [
            (t, name, t + shift) for name in streams for t in range(begin, begin + duration, PERIODS[name])
        ]
        for _t, name, stamp in sorted([*clean, *extra]):
            self.push(name, stamp)

    def complete(self, begin, end):
        return [s for s in self.steps if s.complete and begin <= s.stamp_ns < end]

    def continuities(self):
        return [s.continuity for s in self.steps if s.continuity is not Continuity.CONTINUOUS]

    def health(self, name, now_ns):
        return {entry.name: entry for entry in self.aligner.health(now_ns)}[name]


@pytest.mark.parametrize("stream", PERIODS)
@pytest.mark.parametrize("stamp", [0, BEGIN + HOUR, BEGIN - HOUR, BEGIN - SECOND // 2, BEGIN + SECOND // 2])
def test_one_wrong_stamp_at_the_start_costs_no_output(stream, stamp):
    rig = Rig()
    rig.push(stream, stamp)
    rig.run(BEGIN, SECOND)
    assert len(rig.complete(BEGIN + 100 * MS, BEGIN + SECOND)) > 200


@pytest.mark.parametrize("stream", PERIODS)
@pytest.mark.parametrize("stamp", [0, BEGIN + HOUR, BEGIN - HOUR, BEGIN + 800 * MS, BEGIN + 300 * MS])
def test_one_wrong_stamp_forgets_nothing_and_is_dropped_and_named(stream, stamp):
    reference, rig = Rig(), Rig()
    reference.run(BEGIN, SECOND)
    rig.run(BEGIN, SECOND, extra=[(BEGIN + 500 * MS + 1, stream, stamp)])
    assert [s.stamp_ns for s in rig.steps] == [s.stamp_ns for s in reference.steps]
    assert rig.continuities() == [Continuity.RESTARTED]
    entry = rig.health(stream, BEGIN + SECOND)
    assert entry.level is HealthLevel.WARN
    assert "1 of" in entry.message
    assert "stamp" in entry.message


@pytest.mark.parametrize("shift", [HOUR, -HOUR, SECOND // 2, -SECOND // 2, -BEGIN])
@pytest.mark.parametrize("stream", PERIODS)
@pytest.mark.parametrize("first", ["right", "wrong"])
def test_of_two_publishers_on_two_clocks_the_one_that_agrees_with_the_others_is_used(shift, stream, first):
    rig = Rig()
    early = -1 if first == "wrong" else 1
    extra = [(t + early, stream, t + shift) for t in range(BEGIN, BEGIN + 2 * SECOND, PERIODS[stream])]
    rig.run(BEGIN, 3 * SECOND, extra=extra)
    assert len(rig.complete(BEGIN + SECOND, BEGIN + 2 * SECOND)) > 240
    assert len(rig.complete(BEGIN + 2 * SECOND, BEGIN + 3 * SECOND)) > 240
    assert rig.continuities()[0] is Continuity.RESTARTED
    assert Continuity.RESTARTED not in rig.continuities()[1:]
    assert rig.health(stream, BEGIN + 2 * SECOND).level is HealthLevel.WARN


def test_a_clock_that_jumps_back_for_one_stream_forgets_nothing():
    rig = Rig()
    rig.run(BEGIN, SECOND)
    streams = ("imu", "joints")
    extra = [(t, "foot", t - HOUR) for t in range(BEGIN + SECOND, BEGIN + 3 * SECOND, PERIODS["foot"])]
    rig.run(BEGIN + SECOND, 2 * SECOND, streams=streams, extra=extra)
    rig.run(BEGIN + 3 * SECOND, SECOND)
    assert Continuity.RESTARTED not in rig.continuities()[1:]
    assert len(rig.complete(BEGIN + 3 * SECOND, BEGIN + 4 * SECOND)) > 220


@pytest.mark.parametrize(("shift", "continuity"), [(-HOUR, "RESTARTED"), (HOUR, "AFTER_GAP")])
def test_a_jump_of_all_clocks_loses_no_reading(shift, continuity):
    rig = Rig()
    rig.run(BEGIN, SECOND)
    rig.run(BEGIN + SECOND, SECOND, shift=shift)
    assert rig.continuities() == [Continuity.RESTARTED, Continuity[continuity]]
    assert len(rig.complete(BEGIN + SECOND + shift, BEGIN + 2 * SECOND + shift)) > 245


@pytest.mark.parametrize("pause", [50 * MS, 300 * MS, 900 * MS, 5 * SECOND])
def test_after_a_pause_all_readings_are_used(pause):
    rig = Rig()
    rig.run(BEGIN, SECOND)
    rig.run(BEGIN + SECOND + pause, SECOND)
    begin = BEGIN + SECOND + pause
    assert len(rig.complete(begin, begin + SECOND)) > 245
    expected = [Continuity.RESTARTED, Continuity.AFTER_GAP]
    assert rig.continuities() == expected[: 1 + (pause > SECOND)]


def test_one_stream_alone_restarts_and_pauses():
    rig = Rig()
    rig.aligner = SignalAligner(StreamSpec("imu", 1), (), InputConfig())
    imu = ("imu",)
    rig.run(BEGIN, SECOND, streams=imu)
    rig.run(BEGIN + SECOND, SECOND, streams=imu, shift=-HOUR)
    rig.run(BEGIN + 2 * SECOND, SECOND, streams=imu)
    assert rig.continuities() == [Continuity.RESTARTED, Continuity.RESTARTED, Continuity.AFTER_GAP]
    assert len(rig.steps) == 750


def test_a_loop_shorter_than_a_jump_goes_on():
    rig = Rig()
    for _ in range(4):
        rig.run(BEGIN, 800 * MS)
    assert len(rig.complete(BEGIN, BEGIN + SECOND)) > 3 * 190


def test_held_readings_stay_bounded():
    rig = Rig()
    rig.run(BEGIN, SECOND)
    extra = [(t, "foot", t + HOUR) for t in range(BEGIN + SECOND, BEGIN + 16 * SECOND, MS)]
    rig.run(BEGIN + SECOND, 15 * SECOND, streams=("imu", "joints"), extra=extra)
    held = rig.aligner._streams["foot"].candidate.held
    assert len(held) <= 2048


OFFSETS = st.sampled_from(
    [0, 0, 0, HOUR, -HOUR, -BEGIN, SECOND, -SECOND, 300 * MS, -300 * MS, 90 * MS, -40 * MS]
)
STRAYS = st.lists(
    st.tuples(st.integers(0, 1000), st.sampled_from(sorted(PERIODS)), OFFSETS, st.integers(-50, 50)),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(
    strays=STRAYS,
    burst=st.integers(1, 12),
    drop=st.sampled_from([(), ("foot",), ("imu",), ("joints", "foot")]),
)
def test_no_sequence_of_stamps_silences_the_output_for_longer_than_a_second(strays, burst, drop):
    """A second of wrong stamps, with some streams missing, then clean ones."""
    rig = Rig()
    extra = [
        (BEGIN + t * MS, name, BEGIN + (t + k) * MS + offset + jitter * MS)
        for t, name, offset, jitter in strays
        for k in range(burst)
    ]
    kept = tuple(name for name in PERIODS if name not in drop)
    rig.run(BEGIN, SECOND, streams=kept, extra=extra)
    rig.run(BEGIN + SECOND, 2 * SECOND)
    times = [s.stamp_ns for s in rig.complete(BEGIN + SECOND, BEGIN + 3 * SECOND)]
    assert times
    assert times[0] <= BEGIN + 2 * SECOND
    assert len([t for t in times if t >= BEGIN + 2 * SECOND]) > 230
