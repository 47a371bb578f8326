"""Calls keep their period, within a slice and from one to the next, and services are not starved."""

from itertools import pairwise

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from inertial_estimation.ros import periodic as module
from inertial_estimation.ros.periodic import LONGEST_SLICE, Periodic


class FakeTime:
    """A clock that moves only when somebody sleeps or works."""

    def __init__(self):
        self.now_ns = 5_000_000_000

    def monotonic_ns(self):
        return self.now_ns

    def sleep(self, seconds):
        assert seconds > 0.0
        self.now_ns += round(1e9 * seconds)


def calls_of(monkeypatch, rate, *, sliced, slices, work_s=lambda _count: 0.0005):
    """Times of the calls [s], and the timer's period, with a timer that is exact."""
    clock = FakeTime()
    monkeypatch.setattr(module, "time", clock)
    created, calls = [], []

    def work():
        calls.append(clock.now_ns)
        clock.now_ns += round(1e9 * work_s(len(calls)))

    Periodic(lambda period, call: created.append((period, call)), 1.0 / rate, work, sliced=sliced)
    ((period, on_timer),) = created
    begin = clock.now_ns
    for k in range(slices):
        clock.now_ns = max(clock.now_ns, begin + round(1e9 * k * period))
        on_timer()
    return [1e-9 * (call - begin) for call in calls], period


@pytest.mark.parametrize("rate", [30.0, 100.0, 333.0, 1000.0])
@pytest.mark.parametrize("sliced", [True, False])
def test_calls_come_once_a_period(monkeypatch, rate, sliced):
    calls, period = calls_of(monkeypatch, rate, sliced=sliced, slices=20)
    assert period <= max(LONGEST_SLICE, 1.0 / rate) + 1e-9
    steps = [b - a for a, b in pairwise(calls)]
    assert steps == pytest.approx([1.0 / rate] * len(steps), abs=1e-7)
    assert len(calls) == 20 * round(period * rate)
    assert sliced or period == pytest.approx(1.0 / rate)


def test_a_slice_saves_most_callbacks(monkeypatch):
    calls, _period = calls_of(monkeypatch, 333.0, sliced=True, slices=10)
    assert len(calls) == 60


def test_after_a_call_that_took_long_the_missed_ones_are_not_made_up_for(monkeypatch):
    calls, _period = calls_of(
        monkeypatch, 500.0, sliced=True, slices=2, work_s=lambda count: 0.0075 if count == 3 else 0.0005
    )
    late = calls[3] - calls[2]
    assert late == pytest.approx(0.0075, abs=0.0025), "the next is made at once or at its time"
    assert min(b - a for a, b in pairwise(calls)) > 0.0004
    assert len(calls) < 20
    assert calls[-1] == pytest.approx(19 * 0.002, abs=1e-7), "and the schedule is kept"
