"""A timer finds its place behind the messages, from anywhere, and keeps it while they jitter and drift."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from inertial_estimation.ros.pipeline_node import (
    LARGEST_SHIFT,
    LOOK_SHARE,
    LOOKS,
    REGULAR,
    PhaseLock,
)

PERIOD, TICKS = 0.003, 6000


def ticked(arrivals, begin):
    """Simulate the node's timer; return the latency of every step [s] and the steps of every tick."""
    lock, now, period, done, regular = PhaseLock(PERIOD), begin, PERIOD, 0, 0
    latencies, steps = [], []
    for _ in range(TICKS - 100):
        at, newest = now, int(np.searchsorted(arrivals, now))
        for _ in range(LOOKS if regular >= REGULAR else 0):
            if newest == done:
                at += LOOK_SHARE * PERIOD
                newest = int(np.searchsorted(arrivals, at))
        following = period
        regular = regular + 1 if newest > done else 0
        if newest > done:
            following = lock.next_period(now - arrivals[done])
            assert abs(following - PERIOD) <= LARGEST_SHIFT * PERIOD + 1e-12
        latencies += (at - arrivals[done:newest]).tolist()
        steps.append(newest - done)
        done, now, period = newest, now + period, following  # a period takes effect one tick later
    return np.array(latencies), np.array(steps)


@pytest.mark.parametrize("begin", np.linspace(0.0, PERIOD, 13))
@pytest.mark.parametrize("drift", [-1e-3, 0.0, 1e-3])
def test_it_settles_at_its_delay(begin, drift):
    latencies, _steps = ticked((1.0 + drift) * PERIOD * np.arange(TICKS), begin)
    assert abs(latencies[-500:] - PhaseLock(PERIOD).delay).max() < 0.01 * PERIOD


@pytest.mark.parametrize("drift", [-1e-3, 1e-3])
@pytest.mark.parametrize("jitter", [3e-4, 1e-3])
def test_no_step_waits_a_period_though_messages_jitter(drift, jitter):
    late = jitter * np.random.default_rng(1).uniform(size=TICKS)
    latencies, steps = ticked((1.0 + drift) * PERIOD * np.arange(TICKS) + late, 0.5 * PERIOD)
    assert latencies[1000:].max() < PhaseLock(PERIOD).delay + 1.3 * jitter
    assert np.mean(steps[1000:] == 1) > 0.999


@pytest.mark.parametrize("late", [0.05, 0.3, 0.5, 0.95])
def test_a_step_that_is_completed_one_reading_later_is_found_in_its_tick(late):
    # the end of a window falls on a reading: the step is completed by it, or by the next one 1 ms later
    rng = np.random.default_rng(2)
    later = 1e-3 * (rng.uniform(size=TICKS) < late)
    latencies, steps = ticked(0.999 * PERIOD * np.arange(TICKS) + later, 0.4 * PERIOD)
    assert np.mean(steps[500:] == 1) > 0.99
    assert latencies[500:].mean() < 0.2 * PERIOD


def test_what_is_nearly_a_period_late_goes_on_to_the_next_message():
    assert PhaseLock(PERIOD).next_period(0.99 * PERIOD) > PERIOD
    assert PhaseLock(PERIOD).next_period(0.0) > PERIOD
    assert PhaseLock(PERIOD).next_period(0.5 * PERIOD) < PERIOD
    lock = PhaseLock(PERIOD)
    assert lock.next_period(lock.delay) == pytest.approx(PERIOD)


def test_the_average_rate_is_kept_where_steps_have_no_period():
    rng, lock = np.random.default_rng(3), PhaseLock(PERIOD)
    periods = [lock.next_period(PERIOD * rng.uniform()) for _ in range(20000)]
    assert abs(np.mean(periods[5000:]) / PERIOD - 1.0) < 0.006
