"""Messages that are lost on the way are counted, and say so."""

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.qos import LONGEST_STALL, sensor_input
from inertial_estimation.signals import HealthLevel


def test_gaps_in_the_numbers_of_the_publisher_are_losses():
    counter = InputCounter("imu/data")
    counter.count(3, 12)
    assert counter.health().level == HealthLevel.OK
    counter.count(4, 20)  # 13 to 20 are eight
    health = counter.health()
    assert (counter.received, counter.lost) == (7, 4)
    assert health.level == HealthLevel.WARN
    assert "4 message(s) lost" in health.message
    counter.count(2, 22)
    assert counter.health().level == HealthLevel.OK, "said once"


def test_a_publisher_that_begins_anew_loses_nothing():
    counter = InputCounter("imu/data")
    counter.count(5, 900)
    counter.count(5, 5)
    counter.count(1, 6)
    assert counter.lost == 0


def test_numbers_of_several_publishers_say_nothing():
    counter = InputCounter("joint_states", publishers=lambda: 2)
    for sequence in (10, 500, 11, 501, 12):
        counter.count(1, sequence)
    health = counter.health()
    assert health.level == HealthLevel.OK
    assert health.values["lost"] == "0"


def test_a_required_input_that_is_silent_is_an_error_whatever_the_clock_of_the_stamps_says():
    counter, optional = InputCounter("imu/data", required=True), InputCounter("base_state")
    levels = []
    for received in (5, 0, 5, 0, 0, 0, 5):
        for one in (counter, optional):
            one.count(received, None)
        levels.append((counter.health().level, optional.health().level))
    ok, error = HealthLevel.OK, HealthLevel.ERROR
    assert [level for level, _ in levels] == [ok, ok, ok, ok, error, error, ok]
    assert {level for _, level in levels} == {ok}


@pytest.mark.parametrize("publishers", [0, 1])
def test_a_publisher_that_is_connected_in_vain_is_told(publishers):
    counter = InputCounter("imu/data", required=True, publishers=lambda: publishers)
    messages = [counter.health().message for _ in range(5)]
    assert messages[:4] == ["no message yet"] * 4
    assert ("a publisher is connected" in messages[4]) == (publishers == 1)
    counter.count(1, None)
    assert counter.health().message == "messages arrive"
    assert counter.waited_in_vain() == ""


def test_the_newest_reason_of_malformed_messages_is_told():
    counter = InputCounter("imu/data")
    counter.count(12, None)
    for k in range(12):
        counter.count_malformed(f"reason {k}")
    assert counter.health().message == "12 malformed message(s): reason 11"
    assert len(counter.malformed) == 11


def test_without_numbers_nothing_is_lost():
    counter = InputCounter("imu/data")
    counter.count(5, None)
    counter.count(5, None)
    assert (counter.received, counter.lost) == (10, 0)


@pytest.mark.parametrize(("rate", "period"), [(1000.0, 0.003), (4000.0, 0.001), (100.0, 0.5), (1.0, 0.01)])
def test_a_queue_holds_what_comes_in_a_period_and_a_stall(rate, period):
    depth = sensor_input(rate, period).depth
    assert depth >= rate * (period + LONGEST_STALL)
    assert depth <= max(10, rate * (period + LONGEST_STALL) + 1)
