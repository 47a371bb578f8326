from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.estimators.inputs.aligned_sample import Continuity
from inertial_estimation.estimators.inputs.alignment import CAUGHT_UP, SignalAligner
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.estimators.inputs.stamped_buffer import rows_between
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.signals import HealthLevel

MS = 1_000_000
CONFIG = InputConfig(stamps="as_is", timeout=0.1, max_wait=0.05, max_gap=0.1, jump=1.0)


def make(config=CONFIG, **options):
    return SignalAligner(
        StreamSpec("imu", 1), (StreamSpec("joints", 1), StreamSpec("foot", 1)), config, **options
    )


def feed(aligner, streams, stamps_ms, value=lambda t: t):
    for t in stamps_ms:
        for stream in streams:
            aligner.push(stream, round(t * MS), np.array([float(value(t))]))


def test_a_step_waits_until_all_have_arrived():
    aligner = make()
    feed(aligner, ["imu"], [0, 1, 2])
    feed(aligner, ["joints"], [0, 3])
    assert aligner.pop_ready() == []
    feed(aligner, ["foot"], [0, 1.5])
    ready = aligner.pop_ready()
    assert [s.stamp_ns for s in ready] == [0, MS]
    np.testing.assert_allclose([s.rows["joints"][0] for s in ready], [0, 1])
    assert [s.continuity for s in ready] == [Continuity.RESTARTED, Continuity.CONTINUOUS]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_arrival_between_streams_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    events = [(t + 0.3 * i, s) for i, s in enumerate(("imu", "joints", "foot")) for t in range(100)]

    def run(order):
        aligner = make()
        steps = []
        for t, stream in order:
            aligner.push(stream, round(t * MS), np.array([np.sin(t)]))
            if rng.random() < 0.3:
                steps += aligner.pop_ready()
        steps += aligner.pop_ready()
        return [
            (s.stamp_ns, s.driver_row.tolist(), {k: v.tolist() for k, v in s.rows.items() if v is not None})
            for s in steps
        ]

    shuffled = sorted(events, key=lambda e: e[0] + rng.uniform(0, 8) * (e[1] == "foot"))
    shuffled = sorted(shuffled, key=lambda e: e[0] + 5 * (e[1] == "joints") + 2 * (e[1] == "foot"))
    assert run(sorted(events)) == run(shuffled)


def test_a_missing_stream_is_said_to_be_missing_after_the_wait():
    aligner = make()
    feed(aligner, ["imu", "foot"], range(40))
    assert aligner.pop_ready() == []
    feed(aligner, ["imu", "foot"], range(40, 60))
    ready = aligner.pop_ready()
    assert ready[-1].stamp_ns == 9 * MS
    assert all(s.rows["joints"] is None and not s.complete for s in ready)


def test_faster_driver_rows_are_averaged_to_the_rate():
    aligner = make(rate=250.0)
    feed(aligner, ["imu", "joints", "foot"], range(41))
    ready = aligner.pop_ready()
    assert np.diff([s.stamp_ns for s in ready]).tolist() == [4 * MS] * 10
    np.testing.assert_allclose(
        [s.driver_row[0] for s in ready[1:]], [s.stamp_ns / MS - 1.5 for s in ready[1:]]
    )


def test_a_delay_moves_a_stream():
    aligner = SignalAligner(StreamSpec("imu", 1), (StreamSpec("joints", 1, delay=0.002),), CONFIG)
    feed(aligner, ["imu", "joints"], range(20))
    ready = aligner.pop_ready()
    # The joint reading stamped t + 2 ms was taken at t.
    np.testing.assert_allclose([s.rows["joints"][0] - s.stamp_ns / MS for s in ready[1:]], 2.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_dropped_and_counted(bad):
    aligner = make()
    feed(aligner, ["imu", "joints", "foot"], range(5))
    assert not aligner.push("imu", 5 * MS, np.array([bad]))
    feed(aligner, ["imu", "joints", "foot"], range(6, 8))
    assert all(np.isfinite(s.driver_row).all() for s in aligner.pop_ready())
    imu = aligner.health(8 * MS)[0]
    assert imu.values["dropped: not finite"] == "1"
    assert imu.level == HealthLevel.WARN


def test_a_dropped_reading_warns_for_a_while_and_stays_counted():
    aligner = make()
    feed(aligner, ["imu"], range(5))
    aligner.push("imu", 5 * MS, np.array([np.nan]))
    feed(aligner, ["imu"], range(6, 9000, 10))
    assert aligner.health(9000 * MS)[0].level == HealthLevel.WARN
    feed(aligner, ["imu"], range(9006, 11000, 10))
    imu = aligner.health(11000 * MS)[0]
    assert imu.level == HealthLevel.OK
    assert imu.values["dropped: not finite"] == "1"


def test_equal_and_backward_stamps_are_dropped_and_counted():
    aligner = make()
    feed(aligner, ["imu"], [0, 5])
    assert not aligner.push("imu", 5 * MS, np.zeros(1))
    assert not aligner.push("imu", 3 * MS, np.zeros(1))
    values = aligner.health(5 * MS)[0].values
    assert (values["dropped: equal stamp"], values["dropped: backward stamp"]) == ("1", "1")


@pytest.mark.parametrize(
    ("start_again", "continuity"), [(-5000, Continuity.RESTARTED), (60000, Continuity.AFTER_GAP)]
)
def test_a_jump_clears_all_buffers_and_tells_its_direction(start_again, continuity):
    aligner = make()
    feed(aligner, ["imu", "joints", "foot"], range(50))
    aligner.pop_ready()
    feed(aligner, ["imu", "joints", "foot"], range(start_again, start_again + 560))
    ready = aligner.pop_ready()
    assert [s.stamp_ns for s in ready] == [t * MS for t in range(start_again, start_again + 560)]
    assert [s.continuity for s in ready] == [continuity] + [Continuity.CONTINUOUS] * 559
    assert aligner.resets == 1


def test_a_short_step_back_of_all_clocks_discards_nothing_and_a_longer_one_is_named():
    """A clock that is set back by mistake and corrected: what has been learned is not the clock's matter."""
    aligner = make()
    feed(aligner, ["imu", "joints", "foot"], range(5000, 5050))
    feed(aligner, ["imu", "joints", "foot"], range(100))
    assert aligner.missing(100 * MS) == []
    feed(aligner, ["imu", "joints", "foot"], range(100, 200))
    assert aligner.missing(200 * MS) == ["imu", "joints", "foot"]
    assert "readings arrive with stamps 5.05 s back" in aligner.health(200 * MS)[0].message
    feed(aligner, ["imu", "joints", "foot"], range(5250, 5300))
    ready = aligner.pop_ready()
    assert [s.stamp_ns // MS for s in ready] == [*range(5000, 5050), *range(5250, 5300)]
    assert Continuity.RESTARTED not in [s.continuity for s in ready[1:]]
    assert aligner.resets == 0


def test_one_stream_that_comes_back_is_no_jump():
    aligner = make()
    feed(aligner, ["imu", "joints", "foot"], range(50))
    feed(aligner, ["imu", "foot"], range(50, 3000))
    assert "joints" in aligner.missing(3000 * MS)
    aligner.pop_ready()
    feed(aligner, ["imu", "joints", "foot"], range(3000, 3010))
    ready = aligner.pop_ready()
    assert ready[-1].complete
    assert aligner.resets == 0
    assert aligner.missing(3010 * MS) == []


def test_health_tells_waiting_from_lost():
    aligner = make()
    feed(aligner, ["imu", "foot"], range(5))
    imu, joints, foot = aligner.health(500 * MS)
    assert joints.level == HealthLevel.STALE
    assert "waiting" in joints.message
    assert imu.level == foot.level == HealthLevel.ERROR
    assert "0.50 s" in imu.message
    assert aligner.missing(500 * MS) == ["imu", "joints", "foot"]


def test_window_needs_the_future_half():
    aligner = make(half_window=0.005)
    feed(aligner, ["imu", "joints", "foot"], range(20))
    ready = aligner.pop_ready()
    assert ready[-1].stamp_ns == 14 * MS
    buffer = aligner.buffer("joints")
    first, last = rows_between(5 * MS, 15 * MS, buffer.times)
    np.testing.assert_array_equal(buffer.rows[first:last, 0], np.arange(5, 16))


@pytest.mark.parametrize("late", ["imu", "joints", "foot"])
def test_a_step_waits_until_every_stream_covers_the_future_half_of_its_window(late):
    """Whichever stream is behind: the newest step lies half a window before its newest row."""
    aligner = make(half_window=0.005)
    for stream in ("imu", "joints", "foot"):
        feed(aligner, [stream], range(12 if stream == late else 20))
    ready = aligner.pop_ready()
    assert ready[-1].stamp_ns == 6 * MS
    for sample in ready[5:]:
        span = sample.time_ns - 5 * MS, sample.time_ns + 5 * MS
        first, last = rows_between(*span, aligner.buffer(late).times)
        assert last - first == 11


def test_a_reading_at_the_end_of_a_window_completes_it_though_stamps_jitter():
    """The sixth reading from the centre is at the end of the window, but for its jitter."""
    rng = np.random.default_rng(1)
    aligner = make(half_window=0.005)
    for k in range(60):
        for stream in ("imu", "joints", "foot"):
            feed(aligner, [stream], [k + rng.uniform(-0.05, 0.05)])
        ready = aligner.pop_ready()
        if k >= 10:
            assert [round(sample.time_ns / MS) for sample in ready] == [k - 5]


def test_a_window_is_not_complete_for_a_reading_that_is_missing_at_its_end():
    aligner = make(half_window=0.005)
    feed(aligner, ["imu", "joints", "foot"], range(20))
    aligner.pop_ready()
    feed(aligner, ["imu", "joints", "foot"], [19.8])
    assert not aligner.pop_ready()


def test_steps_without_numbers_are_the_same_steps():
    """Rows that come at 1 kHz for steps at 250 Hz; one input has a gap."""
    plain, bare = (make(half_window=0.005, rate=250.0, numbers=numbers) for numbers in (True, False))
    for aligner in (plain, bare):
        feed(aligner, ["imu", "joints"], range(40))
        feed(aligner, ["foot"], [*range(10), *range(31, 40)])
    for one, other in zip(plain.pop_ready(), bare.pop_ready(), strict=True):
        assert (one.stamp_ns, one.time_ns, one.continuity) == (
            other.stamp_ns,
            other.time_ns,
            other.continuity,
        )
        assert one.complete == other.complete
        missing = [[name for name, row in s.rows.items() if row is None] for s in (one, other)]
        assert missing[0] == missing[1]


def test_the_wait_for_a_missing_stream_begins_when_the_window_is_over():
    aligner = make(half_window=0.005)
    feed(aligner, ["imu", "foot"], range(60))  # waits 50 ms
    assert aligner.pop_ready()[-1].stamp_ns == (59 - 50 - 5) * MS


def test_a_forward_jump_before_the_first_step_is_a_beginning_and_no_gap():
    """One stream was on before the others: nothing was estimated that could outlive a gap."""
    aligner = make()
    feed(aligner, ["imu"], range(5))
    feed(aligner, ["imu", "joints", "foot"], range(60000, 60010))
    ready = aligner.pop_ready()
    assert [s.continuity for s in ready] == [Continuity.RESTARTED] + [Continuity.CONTINUOUS] * 9
    feed(aligner, ["imu", "joints", "foot"], range(120000, 120010))
    assert aligner.pop_ready()[0].continuity is Continuity.AFTER_GAP


def test_the_newest_row_of_an_optional_stream_is_that_at_or_before_a_time():
    aligner = make()
    feed(aligner, ["joints"], range(10))
    assert aligner.latest("joints", 4 * MS, 0.0)[0] == 4.0
    assert aligner.latest("joints", 11 * MS, 0.002)[0] == 9.0
    assert aligner.latest("joints", 11 * MS + 1, 0.002) is None


def test_steps_that_have_waited_are_caught_up_with_over_several_calls():
    aligner = make(replace(CONFIG, max_wait=1.0))
    feed(aligner, ["imu"], range(60))
    assert aligner.pop_ready() == []
    feed(aligner, ["joints", "foot"], [0, 20, 40, 60])
    calls = []
    while ready := aligner.pop_ready():
        calls.append([s.stamp_ns // MS for s in ready])
    assert [stamp for call in calls for stamp in call] == list(range(60))
    assert max(map(len, calls)) == CAUGHT_UP


def test_a_caller_that_seldom_asks_gets_every_step_at_once():
    aligner = make()
    for first in (0, 20, 40):
        feed(aligner, ["imu", "joints", "foot"], range(first, first + 20))
        assert [s.stamp_ns // MS for s in aligner.pop_ready()] == list(range(first, first + 20))
