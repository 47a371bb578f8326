"""Streams and single sensors: stamps, gaps, stuck, silent and saturated values."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.diagnosis.sensors import stream_findings, value_findings
from inertial_estimation.inputs.robot_streams import RobotStreams, StreamNotes, StreamRows
from inertial_estimation.inputs.stream import DropReason

NAMES, STEP_NS = ("hip", "knee"), 4_000_000


def times(count=2500):
    return 1_000_000_000 + STEP_NS * np.arange(count)


def streams(imu=None, joints=None, **wrenches):
    t, rng = 1e-9 * times(), np.random.default_rng(0)
    q = np.column_stack((np.sin(t), np.cos(2.0 * t)))
    motion = np.hstack((q, np.column_stack((np.cos(t), -2.0 * np.sin(2.0 * t))), 5.0 * q))
    noise = rng.standard_normal((len(t), 6))
    found = {name: StreamRows(times(), values) for name, values in wrenches.items()}
    return RobotStreams(
        StreamRows(times(), motion + 1e-3 * rng.standard_normal(motion.shape) if joints is None else joints),
        StreamRows(times(), noise if imu is None else imu),
        found,
    )


def failed(given):
    found, _cleaned = value_findings(given, NAMES)
    return [(one.check, one.subject) for one in found if one.failed]


def test_inputs_without_a_number_are_named_and_left_out():
    rng, nothing = np.random.default_rng(1), np.full((2500, 6), np.nan)
    given = streams(left=rng.standard_normal((2500, 6)), right=nothing)
    assert failed(given) == [("missing values", "right/wrench")]
    assert list(value_findings(given, NAMES)[1].wrenches) == ["left"]
    assert failed(streams(imu=nothing)) == [("missing values", "imu/data")]


@pytest.mark.parametrize("turn", [np.diag([1.0, -1.0, -1.0]), np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])])
def test_two_imus_on_a_topic_are_named_and_noise_is_not(turn):
    t, rng = 1e-9 * times(), np.random.default_rng(1)
    force = np.column_stack((np.sin(t), np.cos(2.0 * t), 9.8 + 0.0 * t))
    rate = np.column_stack((np.sin(3.0 * t), np.cos(4.0 * t), 0.1 * np.sin(t)))
    values = np.hstack((force, rate)) + 0.05 * rng.standard_normal((len(t), 6))
    assert failed(streams(imu=values)) == []
    assert failed(streams(imu=values + rng.standard_normal((len(t), 6)))) == []
    values[1::2] = np.hstack((values[1::2, :3] @ turn.T, values[1::2, 3:] @ turn.T))
    assert failed(streams(imu=values)) == [("rivals", "imu/data")]


def test_zeros_of_a_second_publisher_between_the_wrenches_of_a_foot_are_named_and_steps_are_not():
    t, rng = 1e-9 * times(), np.random.default_rng(1)
    steps = np.outer(np.sin(10.0 * t) > 0.0, [0.0, 5.0, 300.0, 2.0, 4.0, 0.0])
    steps += rng.standard_normal(steps.shape)
    assert failed(streams(left=steps)) == []
    steps[1::2] = 0.0
    assert failed(streams(left=steps)) == [("rivals", "left/wrench")]


def test_an_imu_that_repeats_its_last_reading_is_stuck_and_what_it_repeats_is_unknown():
    values = np.random.default_rng(1).standard_normal((2500, 6))
    values[500:900] = values[500]
    given = streams(imu=values)
    assert failed(given) == [("stuck", "imu/data")]
    assert np.isnan(value_findings(given, NAMES)[1].imu.values[500:900]).all()


def test_integers_and_switches_that_stand_still_are_neither_stuck_nor_saturated():
    rng = np.random.default_rng(2)
    integers, switch = np.zeros((2, 2500, 6))
    integers[:, 2] = 20.0 + np.round(3.0 * rng.standard_normal(2500))
    integers[1500:, 2] = 21.0
    switch[:, 2] = np.sin(0.01 * np.arange(2500)) > -0.3
    assert failed(streams(left=integers, right=switch)) == []


@pytest.mark.parametrize(
    ("name", "change", "check"),
    [
        ("imu", lambda column: column, ""),
        ("imu", lambda column: np.minimum(column, 1.5), "saturated"),
        ("imu", lambda column: 0.0 * column, "silent"),
        ("joints", lambda column: column[0], "stuck"),  # a position whose velocity moves it
    ],
)
def test_a_column_that_is_clipped_or_never_changes_is_named_and_a_sound_one_is_not(name, change, check):
    values = getattr(streams(), name).values.copy()
    values[:, 1] = change(values[:, 1])
    subject = {"imu": "imu/data", "joints": "knee"}[name]
    assert failed(streams(**{name: values})) == ([(check, subject)] if check else [])


def test_a_position_that_stays_while_all_others_move_is_stuck_without_velocities():
    joints = streams().joints.values.copy()
    joints[1000:, 1], joints[:, 2:4] = joints[1000, 1], np.nan
    given = streams(joints=joints)
    assert failed(given) == [("stuck", "knee")]
    assert np.isnan(value_findings(given, NAMES)[1].joints.values[1000:]).all()


def test_coarse_degrees_of_a_robot_that_hardly_moves_are_not_stuck():
    t, joints = 1e-9 * times(), streams().joints.values.copy()
    joints[:, 0] = np.round(0.5 * np.sin(t) - 30.0, 1)
    joints[:, 1], joints[:, 2:4] = np.where(t < 7.0, 60.0, 60.1), np.nan
    assert failed(streams(joints=joints)) == []


def test_a_foot_that_does_not_change_while_the_other_steps_is_stuck():
    left, right = np.zeros((2, 2500, 6))
    right[:, 2] = 50.0 * (1.0 + np.sin(0.05 * np.arange(2500)))
    left[:, 2] = np.round(100.0 - right[:, 2])
    assert failed(streams(left=left, right=right)) == []
    left[800:, 2] = left[800, 2]
    assert failed(streams(left=left, right=right)) == [("stuck", "left/wrench")]


@pytest.mark.parametrize("since", [2000, 700, 100])
def test_a_foot_that_repeats_a_reading_is_stuck_for_however_long(since):
    left = np.random.default_rng(2).standard_normal((2500, 6)) + 50.0
    left[since:] = left[since]
    assert failed(streams(left=left)) == [("stuck", "left/wrench")]


@pytest.mark.parametrize("dead", [0.0, 21.5])
def test_a_foot_of_a_slow_walk_whose_readings_stand_still_is_stuck_and_one_in_the_air_is_not(dead):
    t = 1e-9 * times()
    rng = np.random.default_rng(1)
    feet = {}
    for k, name in enumerate(("lf", "rf", "lh", "rh")):
        lifted = np.mod(t / 3.0 + 0.25 * k, 1.0) < 0.2
        force = np.where(lifted, 0.0, 60.0 + rng.standard_normal(len(t)))
        force[100] = 400.0  # an impact
        feet[name] = np.column_stack((np.zeros((len(t), 2)), force, np.zeros((len(t), 3))))
    assert failed(streams(**feet)) == []
    feet["rf"] = np.where(t[:, None] > t[600], [0.0, 0.0, dead, 0.0, 0.0, 0.0], feet["rf"])
    assert failed(streams(**feet)) == [("stuck", "rf/wrench")]
    switches = replace(streams(), loads=streams(**feet).wrenches)
    findings, cleaned = value_findings(switches, NAMES)
    assert [(one.check, one.subject) for one in findings if one.failed] == [("stuck", "rf/wrench")]
    assert np.isnan(cleaned.loads["rf"].values[700:]).all(), "what follows is not judged by it"


def named(stream):
    found = stream_findings(RobotStreams(stream, None, {}), 0.1)
    return [one.check for one in found if one.failed]


@pytest.mark.parametrize(
    ("kept", "since"), [(slice(0, 1500), 1499), ([*range(900), *range(2000, 2500)], 899)]
)
def test_an_input_without_readings_while_others_arrive_is_named(kept, since):
    t, rows = times(), np.random.default_rng(0).standard_normal((2500, 6))
    whole, quiet = StreamRows(t, streams().joints.values), StreamRows(t[kept], rows[kept])
    found = stream_findings(RobotStreams(whole, quiet, {}), 0.1)
    (said,) = [one for one in found if one.failed]
    assert (said.check, said.subject) == ("silence", "imu/data")
    assert f"from {1e-9 * (t[since] - t[0]):.3g} s on" in said.sentence
    both = RobotStreams(StreamRows(t[kept], whole.values[kept]), quiet, {})
    slow = RobotStreams(whole, StreamRows(t[::60], rows[::60]), {})  # every 0.24 s
    for sound in (both, slow):
        assert "silence" not in [one.check for one in stream_findings(sound, 0.1) if one.failed]


def test_stamps_gaps_clocks_and_lost_readings_are_named():
    t, values = times(), streams().joints.values
    assert named(StreamRows(t, values)) == []
    kept = np.ones(2500, dtype=bool)
    kept[[*range(500, 640), *range(1500, 1640)]] = False
    assert named(StreamRows(t[kept], values[kept])) == ["gaps"]
    kept[500:640] = True
    assert named(StreamRows(t[kept], values[kept])) == ["gaps"]
    for notes, check in (
        (StreamNotes(unset=True), "stamps"),
        (StreamNotes(clock_s=7.0), "clock"),
        (StreamNotes(even=True), "bursts"),
        (StreamNotes(received=2500, dropped={DropReason.BACKWARD_STAMP: 40}), "stamps"),
        (StreamNotes(restarts=2), "stamps"),
    ):
        assert named(StreamRows(t, values, notes)) == [check]


def test_joints_that_are_missing_are_named():
    found = stream_findings(replace(streams(), missing=("knee",)), 0.1)
    assert [(one.check, one.subject) for one in found if one.failed] == [("joint names", "joint_states")]
