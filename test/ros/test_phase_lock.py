"""A timer finds its place behind the messages, from anywhere, and keeps it while they jitter and drift."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from inertial_estimation.ros.pipeline_node import LARGEST_SHIFT, LONGEST_DELAY, next_shift

PERIOD, TICKS = 0.003, 6000


def ticked(arrivals, begin):
    """Simulate the node's timer; return the latency of every step [s] and the steps of every tick."""
    latencies, steps, done, now, period, shift = [], [], 0, begin, PERIOD, 0.0
    for _ in range(TICKS - 100):
        newest = int(np.searchsorted(arrivals, now))
        if newest > done:
            shift = next_shift(now - arrivals[done], shift, PERIOD)
        assert abs(shift) <= LARGEST_SHIFT * PERIOD
        latencies += (now - arrivals[done:newest]).tolist()
        steps.append(newest - done)
        done, now, period = newest, now + period, PERIOD + shift  # a period takes effect one tick later
    return np.array(latencies), np.array(steps)


@pytest.mark.parametrize("begin", np.linspace(0.0, PERIOD, 5))
@pytest.mark.parametrize("drift", [-1e-3, 0.0, 1e-3])
def test_it_settles_at_its_delay(begin, drift):
    latencies, _steps = ticked((1.0 + drift) * PERIOD * np.arange(TICKS), begin)
    assert abs(latencies[-500:] - LONGEST_DELAY).max() < 0.01 * PERIOD


@pytest.mark.parametrize("jitter", [3e-4, 1e-3])
def test_it_stays_behind_messages_that_jitter(jitter):
    late = jitter * np.random.default_rng(1).uniform(size=TICKS)
    latencies, _steps = ticked(1.001 * PERIOD * np.arange(TICKS) + late, 0.5 * PERIOD)
    assert latencies[1000:].mean() < LONGEST_DELAY + 0.5 * PERIOD


def test_the_average_rate_is_kept_where_steps_have_no_period():
    arrivals = np.sort(np.random.default_rng(3).uniform(0.0, PERIOD * TICKS, TICKS))
    _latencies, steps = ticked(arrivals, 0.0)
    assert np.mean(steps) == pytest.approx(1.0, abs=0.02)
