"""A node that reads more slowly than messages arrive says so; one that stalls for a moment does not."""

import time

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from inertial_estimation.ros.reading_delay import LONGEST_S, ReadingDelay
from inertial_estimation.signals import HealthLevel


@pytest.fixture
def delay(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    return ReadingDelay()


def note(delay, *waits_s):
    for wait_s in waits_s:
        delay.note(10**18 - round(1e9 * wait_s))


def level(delay):
    return delay.health().level


def test_no_message_and_messages_read_in_time_are_no_warning(delay):
    assert level(delay) is HealthLevel.OK
    note(delay, 0.002, 0.001)
    health = delay.health()
    assert health.level is HealthLevel.OK
    assert float(health.values["shortest wait [s]"]) == pytest.approx(0.001)


def test_a_stall_is_no_warning_and_a_wait_that_never_is_short_is_one(delay):
    for _ in range(3):
        note(delay, 0.8, 0.001)
        assert level(delay) is HealthLevel.OK
    note(delay, 0.8, 0.5)
    assert level(delay) is HealthLevel.OK, "a second alone may be a stall"
    note(delay, 0.8, 0.5)
    health = delay.health()
    assert health.level is HealthLevel.WARN
    assert "0.50 s and longer" in health.message
    assert "'rate'" in health.message
    note(delay, 0.001)
    assert level(delay) is HealthLevel.OK


def test_a_slow_node_lets_messages_wait_for_its_periods(delay):
    delay.period = 1.0
    for _ in range(3):
        note(delay, 1.9)
        assert level(delay) is HealthLevel.OK
    for _ in range(2):
        note(delay, 2.0 + 2.0 * LONGEST_S)
        last = level(delay)
    assert last is HealthLevel.WARN


def test_a_middleware_without_times_and_a_clock_set_back_say_nothing(delay):
    for _ in range(3):
        delay.note(0)
        assert level(delay) is HealthLevel.OK
        note(delay, -3600.0)
        assert level(delay) is HealthLevel.OK


def test_a_backlog_is_one_of_an_overloaded_node_only_after_half_a_second(delay, monkeypatch):
    delay.timeout = 0.1

    def is_backlog(at_s, wait_s):
        now_ns = 10**18 + round(1e9 * at_s)
        monkeypatch.setattr(time, "time_ns", lambda: now_ns)
        return delay.is_backlog(now_ns - round(1e9 * wait_s))

    stall = [is_backlog(0.1 * k, 0.8 - 0.2 * k) for k in range(5)]
    assert not any(stall), "it catches up"
    assert [is_backlog(1.0 + 0.1 * k, 0.5) for k in range(7)] == 5 * [False] + 2 * [True]
    assert not delay.is_backlog(0), "where the middleware gives no time of reception"
    delay.drop(7)
    assert is_backlog(2.0, 0.5), "at once, now that it is known to be overloaded"
    assert not is_backlog(12.5, 0.01)
    assert [is_backlog(t, 0.5) for t in (13.0, 13.6)] == [False, True], "it has been calm for long enough"
