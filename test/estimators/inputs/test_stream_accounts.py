"""What a stream reports of itself, and what the aligner forgets: counts, ages, rates, restarts."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.estimators.inputs.aligned_sample import Continuity
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.signals import HealthLevel

MS = 1_000_000
SECOND = 1000 * MS
CONFIG = InputConfig(stamps="as_is", timeout=0.1, max_wait=0.05, max_gap=0.1, jump=1.0)
ALL = ("imu", "joints")


def make(config=CONFIG, optional=False, **options):
    others = (StreamSpec("joints", 1), *((StreamSpec("yaw", 1, required=False),) if optional else ()))
    return SignalAligner(StreamSpec("imu", 1), others, config, **options)


def feed(aligner, streams, stamps_ms, value=float):
    for t in stamps_ms:
        for stream in streams:
            aligner.push(stream, round(t * MS), np.array([value(t)]))


def health(aligner, now_ns, name="imu"):
    return {entry.name: entry for entry in aligner.health(now_ns)}[name]


def test_stamps_ahead_of_the_clock_are_told():
    aligner = make()
    feed(aligner, ["imu", "joints"], [5000, 5005])
    entry = health(aligner, 2 * SECOND)
    assert entry.level == HealthLevel.WARN
    assert entry.message.startswith("its stamps are 3.01 s ahead of the clock")
    assert health(aligner, 4800 * MS).level == HealthLevel.OK, "as of two machines"


def test_every_reading_is_counted_and_every_drop_by_its_reason():
    aligner = make()
    feed(aligner, ["imu"], [0, 5, 5, 10, 7])
    aligner.push("imu", 11 * MS, np.array([np.nan]))
    aligner.count_drop("imu", DropReason.UNFIT, "misses a joint")
    aligner.count_drop("imu", DropReason.UNFIT, "misses two joints")
    entry = health(aligner, 20 * MS)
    assert entry.values["received"] == "8"
    dropped = {k.removeprefix("dropped: "): v for k, v in entry.values.items() if k.startswith("dropped")}
    assert dropped == {
        "equal stamp": "1",
        "backward stamp": "1",
        "not finite": "1",
        "does not fit the model": "2",
    }
    assert entry.message == "5 of 8 readings dropped, last: does not fit the model: misses two joints"
    assert entry.values["last does not fit the model"] == "misses two joints"
    assert health(aligner, 20 * MS, "joints").values["received"] == "0"


def test_a_jump_is_counted_once_at_every_stream_that_made_it():
    aligner = make()
    feed(aligner, ALL, range(5))
    feed(aligner, ALL, range(9000, 9005))
    feed(aligner, ALL, range(100, 660))
    for stream in ALL:
        assert health(aligner, 660 * MS, stream).values["dropped: clock jump"] == "2"
    assert aligner.resets == 2


@pytest.mark.parametrize(
    ("step_ms", "readings", "resets"), [(1000, 4, 0), (1001, 4, 1), (-1001, 4, 0), (-1001, 560, 1)]
)
def test_a_jump_ahead_is_longer_than_the_stated_time_and_one_back_lasts(step_ms, readings, resets):
    aligner = make()
    feed(aligner, ALL, range(4990, 5001))
    feed(aligner, ALL, range(5000 + step_ms, 5000 + step_ms + readings))
    assert aligner.resets == resets


def test_age_timeout_and_the_hint_of_another_clock():
    aligner = make()
    feed(aligner, ALL, range(5))
    assert health(aligner, 104 * MS).level == HealthLevel.OK
    assert health(aligner, 104 * MS).values["age [s]"] == "0.100"
    assert aligner.missing(104 * MS) == []
    late = health(aligner, 105 * MS)
    assert late.level == HealthLevel.ERROR
    assert "0.10 s ago, limit 0.1 s" in late.message
    assert aligner.missing(105 * MS) == ["imu", "joints"]
    for age, hinted in ((3600 * SECOND, False), (3601 * SECOND, True)):
        assert ("use_sim_time" in health(aligner, 4 * MS + age).message) == hinted


def test_a_timeout_changes_while_running():
    aligner = make()
    feed(aligner, ALL, range(5))
    aligner.limits.timeout = 0.5
    assert health(aligner, 500 * MS).level == HealthLevel.OK
    assert aligner.missing(500 * MS) == []
    assert aligner.missing(505 * MS) == ["imu", "joints"]


def test_an_optional_stream_is_neither_awaited_nor_missed():
    aligner = make(optional=True)
    feed(aligner, ALL, range(5))
    assert len(aligner.pop_ready()) == 5
    assert health(aligner, SECOND, "yaw").level == HealthLevel.OK
    assert "waiting" in health(aligner, SECOND, "yaw").message
    aligner.push("yaw", 0, np.zeros(1))
    assert health(aligner, 50 * SECOND, "yaw").level == HealthLevel.OK
    assert "yaw" not in aligner.missing(50 * SECOND)


def test_a_drop_warns_for_ten_seconds():
    aligner, begin = make(replace(CONFIG, timeout=100.0)), 50 * SECOND
    aligner.push("imu", begin, np.zeros(1))
    aligner.push("imu", begin + MS, np.array([np.nan]))
    assert health(aligner, begin + 10 * SECOND - 1).level == HealthLevel.WARN
    assert health(aligner, begin + 10 * SECOND).level == HealthLevel.OK
    early = make()
    early.push("imu", 0, np.array([np.nan]))
    early.push("imu", 5 * MS, np.zeros(1))
    assert health(early, 10 * MS).level == HealthLevel.WARN  # dropped before anything arrived


def test_the_rate_of_a_stream_and_how_its_stamps_are_taken():
    aligner = make()
    assert health(aligner, 0).values["rate [Hz]"] == "unknown"
    feed(aligner, ALL, range(0, 1000, 4))
    assert health(aligner, 996 * MS).values["stamps"] == "as they come"
    regular = make(replace(CONFIG, stamps="regularise"))
    feed(regular, ALL, range(0, 1000, 4))
    assert health(regular, 996 * MS).values["stamps"].startswith("regularised")
    assert health(regular, 996 * MS).values["rate [Hz]"] == "250.0"


def test_clearing_forgets_rows_steps_and_means_but_no_counts():
    aligner = make(rate=250.0)
    feed(aligner, ALL, range(7), value=lambda t: 1000.0 + t)  # two rows wait for the next step
    assert len(aligner.pop_ready()) == 2
    aligner.clear()
    assert aligner.missing(7 * MS) == ["imu", "joints"]
    feed(aligner, ALL, range(7, 16))
    again = aligner.pop_ready()
    assert [s.stamp_ns for s in again] == [7 * MS, 11 * MS, 15 * MS]
    assert [s.continuity for s in again] == [Continuity.RESTARTED] + 2 * [Continuity.CONTINUOUS]
    np.testing.assert_allclose([s.driver_row[0] for s in again], [7.0, 9.5, 13.5])
    assert health(aligner, 16 * MS).values["received"] == "16"


@pytest.mark.parametrize(("late_us", "taken"), [(100, True), (110, False)])
def test_a_step_may_come_a_tenth_of_the_period_early(late_us, taken):
    aligner = make(rate=1000.0)
    feed(aligner, ALL, [0.0, 1.0 - 1e-3 * late_us, 3.0])
    assert len(aligner.pop_ready()) == (3 if taken else 2)


def test_a_row_that_waits_longer_than_the_buffer_is_counted_as_overrun():
    aligner = make(replace(CONFIG, max_wait=60.0, jump=100.0))
    feed(aligner, ["imu"], range(2200))
    feed(aligner, ["joints"], range(2200))
    ready = aligner.pop_ready()
    assert len(ready) == 2048
    assert health(aligner, 2200 * MS).values["dropped: overrun"] == str(2200 - 2048)


def test_a_gap_in_a_stream_leaves_its_row_out_of_the_step():
    aligner = make()
    feed(aligner, ["imu"], range(0, 400, 10))
    feed(aligner, ["joints"], [0, 100, 201, 400])
    rows = {s.stamp_ns // MS: s.rows["joints"] for s in aligner.pop_ready()}
    assert rows[50][0] == 50.0
    assert rows[150] is None
    assert rows[100][0] == 100.0


def test_a_wait_ends_at_the_stated_time():
    aligner = make()
    feed(aligner, ["imu"], [0, 49])
    assert aligner.pop_ready() == []
    feed(aligner, ["imu"], [50])
    (sample,) = aligner.pop_ready()
    assert not sample.complete
    feed(aligner, ["joints"], [50])
    assert [s.stamp_ns for s in aligner.pop_ready()] == [49 * MS, 50 * MS]


def test_regularised_times_begin_anew_after_a_jump_ahead():
    aligner = make(replace(CONFIG, stamps="regularise"))
    feed(aligner, ALL, range(0, 800, 4))
    aligner.pop_ready()
    feed(aligner, ALL, range(60003, 60403, 4))
    ready = aligner.pop_ready()
    assert len(ready) >= 99
    assert all(abs(s.time_ns - s.stamp_ns) < MS for s in ready)


@pytest.mark.parametrize(("rate", "period_ms"), [(0.0, 500), (0.5, 2000)])
def test_the_first_row_is_the_first_step_as_it_came(rate, period_ms):
    """A rate below one a second thins as any other."""
    aligner = make(replace(CONFIG, max_gap=10.0), rate=rate)
    feed(aligner, ALL, range(0, 4001, 500), value=lambda t: 7.0 + t)
    steps = aligner.pop_ready()
    assert steps[0].driver_row[0] == 7.0
    assert [s.stamp_ns // MS for s in steps] == (
        list(range(0, 4001, 500)) if rate == 0.0 else [0, 2000, 4000]
    )


def test_health_names_the_stream_whose_times_hold_the_output():
    """Joint states arrive without pause, but on stamps that lag: no step is complete, and health says so."""
    aligner = make()
    for t in range(500):
        aligner.push("imu", t * MS, np.zeros(1))
        if t >= 300:
            aligner.push("joints", (t - 90) * MS, np.zeros(1))
        assert not any(sample.complete for sample in aligner.pop_ready())
    joints = health(aligner, 499 * MS, "joints")
    assert joints.level is HealthLevel.ERROR
    assert "their times lag 0.09 s behind imu" in joints.message
    assert "joints" in aligner.missing(499 * MS)


def test_health_names_a_stream_that_is_too_slow_to_interpolate():
    aligner = make(replace(CONFIG, timeout=1.0))
    for t in range(1500):
        aligner.push("imu", t * MS, np.zeros(1))
        if not t % 150:
            aligner.push("joints", t * MS + 1, np.zeros(1))
        aligner.pop_ready()
    joints = health(aligner, 1500 * MS, "joints")
    assert joints.level is HealthLevel.ERROR
    assert "0.15 s apart, but inputs.max_gap is 0.1 s" in joints.message
