"""A timer finds its place behind the messages, from anywhere, and keeps it while they jitter and drift."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from inertial_estimation.ros.phase_lock import LARGEST_SHIFT, PhaseLock

PERIOD = 0.003


def delays(begin, *, drift=0.0, jitter=0.0, ticks=4000):
    """Time from the newest completed step to each tick [s]; a step is complete every period, with jitter."""
    rng = np.random.default_rng(1)
    lock = PhaseLock(PERIOD)
    arrivals = (1.0 + drift) * PERIOD * np.arange(ticks + 10) + jitter * rng.uniform(size=ticks + 10)
    now, period, found = begin, PERIOD, []
    for _ in range(ticks):
        newest = arrivals[max(np.searchsorted(arrivals, now) - 1, 0)]
        waited = max(now - newest, 0.0)
        found.append(waited)
        following = lock.next_period(waited)
        assert abs(following - PERIOD) <= LARGEST_SHIFT * PERIOD + 1e-12
        now, period = now + period, following  # a period takes effect one tick later
    return np.array(found), lock.delay


@pytest.mark.parametrize("begin", np.linspace(0.0, PERIOD, 13))
@pytest.mark.parametrize("drift", [-1e-3, 0.0, 1e-3])
def test_it_settles_at_its_delay(begin, drift):
    found, delay = delays(begin, drift=drift)
    assert abs(found[-500:] - delay).max() < 0.1 * PERIOD


@pytest.mark.parametrize("drift", [-1e-3, 1e-3])
def test_no_step_waits_a_whole_period_though_messages_jitter(drift):
    found, _delay = delays(0.5 * PERIOD, drift=drift, jitter=3e-4)
    assert found[1000:].max() < 0.7 * PERIOD
    assert np.abs(np.diff(found[1000:])).max() < 0.001


def test_what_is_nearly_a_period_late_goes_on_to_the_next_message():
    assert PhaseLock(PERIOD).next_period(0.99 * PERIOD) > PERIOD
    assert PhaseLock(PERIOD).next_period(0.0) > PERIOD
    assert PhaseLock(PERIOD).next_period(0.5 * PERIOD) < PERIOD
    lock = PhaseLock(PERIOD)
    assert lock.next_period(lock.delay) == pytest.approx(PERIOD)


@pytest.mark.parametrize("late", [0.05, 0.3, 0.5, 0.95])
def test_steps_completed_one_reading_later_are_the_ones_that_are_followed(late):
    # the end of a window falls on a reading: the step is completed by it, or by the next one 1 ms later
    rng = np.random.default_rng(2)
    number = np.arange(6000)
    arrivals = 0.999 * PERIOD * number + 1e-3 * (rng.uniform(size=6000) < late)
    lock, now, period, done, completed = PhaseLock(PERIOD), 0.4 * PERIOD, PERIOD, 0, []
    for _ in range(5500):
        newest = int(np.searchsorted(arrivals, now))
        following = lock.next_period(now - arrivals[done]) if newest > done else period
        completed.append(newest - done)
        done, now, period = newest, now + period, following
    assert np.mean(np.array(completed[500:]) == 1) > 0.99


def test_the_average_rate_is_kept_where_steps_have_no_period():
    rng, lock = np.random.default_rng(3), PhaseLock(PERIOD)
    periods = [lock.next_period(PERIOD * rng.uniform()) for _ in range(20000)]
    assert abs(np.mean(periods[5000:]) / PERIOD - 1.0) < 0.006
