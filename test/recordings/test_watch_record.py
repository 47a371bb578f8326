"""What the monitor knows: rates are counted, ages grow when anything falls silent."""

import pytest

from inertial_estimation.recordings.watch_record import NodeRecord, WatchRecord
from inertial_estimation.signals import Health, HealthLevel


def an_input(name="imu/data", *, received=100, age=0.01, level=HealthLevel.OK, message="arriving"):
    values = {"received": str(received), "rate [Hz]": "500.0", "age [s]": f"{age}"}
    return Health(name, level, message, values)


def test_rate_and_age_of_telemetry():
    node = NodeRecord()
    assert (node.rate_hz(0.0), node.age_s(0.0)) == (0.0, None)
    for k in range(41):
        node.hear_figures(0.05 * k, {"age [s]": 0.02}, count=25)
    assert node.rate_hz(2.0) == pytest.approx(500.0)
    assert node.age_s(2.0) == pytest.approx(0.02)
    assert node.age_s(5.0) == pytest.approx(3.02)
    assert node.rate_hz(5.0) == 0.0


def test_an_input_ages_between_its_reports_only_when_they_stop():
    node = NodeRecord()
    node.hear_report(1.0, [an_input(received=100)])
    (state,) = node.inputs(1.9)
    assert (state.age_s, state.rate_hz, state.level) == (0.01, 500.0, HealthLevel.OK)
    assert node.silent_s(1.9) == 0.0
    (state,) = node.inputs(6.0)
    assert state.age_s == pytest.approx(5.01)
    assert state.level == HealthLevel.WARN
    assert node.silent_s(6.0) == 5.0


def test_an_input_that_stops_with_the_clock_of_the_simulation_ages_all_the_same():
    node = NodeRecord()
    for second in range(8):  # reports go on, the clock stands, no reading is added
        node.hear_report(second, [an_input(received=100, age=-0.003)])
    (state,) = node.inputs(7.0)
    assert state.age_s == pytest.approx(6.997)
    assert "nothing new for 7 s" in state.message
    node.hear_report(8.0, [an_input(received=101, age=0.0)])
    (state,) = node.inputs(8.0)
    assert (state.age_s, state.level) == (0.0, HealthLevel.OK)


def test_a_topic_two_nodes_read_shows_the_worse():
    record = WatchRecord()
    record.node("/talos/tilt_observer").hear_report(0.0, [an_input(), an_input("joint_states", age=0.3)])
    lost = an_input(level=HealthLevel.ERROR, message="lost", age=0.2)
    record.node("talos/inertial_ekf").hear_report(0.0, [lost, an_input("joint_states")])
    states = {state.topic: state for state in record.inputs(0.1)}
    assert set(states) == {"talos/imu/data", "talos/joint_states"}
    assert states["talos/imu/data"].message == "lost"
    assert states["talos/joint_states"].age_s == 0.3
