"""Inputs together: what is dropped, said and missing; streams aligned at the times of the driver; steps."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, joints, parameters, setup, swing, wrench

import inertial_estimation as ie
from inertial_estimation.inputs.alignment import Steps
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.inputs.robot_inputs import BASE_STATE, YAW_REFERENCE
from inertial_estimation.inputs.robot_streams import StreamCollector
from inertial_estimation.inputs.sensors import IMU, RATE, ContactSource
from inertial_estimation.inputs.stream import DropReason, Ring
from inertial_estimation.pipeline import Stepper
from inertial_estimation.signals import ContactSample

FEET = {"l_foot": ContactSource.WRENCH, "r_foot": ContactSource.WRENCH}


def test_damaged_bytes_are_counted_and_named():
    robot = inputs(parameters(joint_states__topics=("front", "hind")))
    robot.connect("front", JOINT_STATE_TYPE)(b"abc", START)
    assert "3 bytes are no sensor_msgs/msg/JointState" in robot.streams[JOINTS].drops.summary
    push = robot.connect(IMU, IMU_TYPE)
    push(b"\x00\x01\x00\x00abc", START)
    assert "7 bytes are no sensor_msgs/msg/Imu" in robot.streams[IMU].drops.summary
    assert robot.streams[IMU].drops.counts == {DropReason.UNUSABLE: 1}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, 1e300])
def test_impossible_readings_are_dropped_with_an_example(value):
    robot = inputs(sources=FEET, needs=JointNeeds(efforts=True))
    zeros = np.zeros(4)
    for k in range(3):
        bad = np.array([0.0, value, 0.0])
        robot.push(IMU, ie.ImuSample(START + k, np.zeros(3), bad), START)
        robot.push("l_foot/wrench", wrench(START + k, bad), START)
        tau = np.array([value, 0.0, 0.0, 0.0])
        robot.push(JOINTS, ie.JointReading(START + k, JOINTS_OF, zeros, zeros, tau), START)
    reason = DropReason.OUT_OF_RANGE if np.isfinite(value) else DropReason.NOT_FINITE
    said = {IMU: ("angular rate y", "rad/s"), "l_foot/wrench": ("force y", "N")}
    said[JOINTS] = ("effort of L_hip", "Nm")
    for name, (what, unit) in said.items():
        drops = robot.streams[name].drops
        assert drops.counts == {reason: 3}
        ends = f" {unit}, limit" if np.isfinite(value) else ""
        assert re.search(f"{what} is [^ ]+{ends}", drops.summary)
    robot.reset()
    assert not any(len(robot.streams[name].raw()[0]) for name in said)


WEIGHT = 14.0 * 9.80665  # of the robot


def base_state(speed):
    return ie.BaseState(START, [0.0, 0.0, 0.0, 1.0], np.zeros(3), [speed, 0.0, 0.0], np.zeros(3))


@pytest.mark.parametrize(
    ("name", "reading", "largest"),
    [
        (IMU, lambda x: imu(START, force=(x, 0.0, 0.0)), 320.0),
        (IMU, lambda x: imu(START, rate=(x, 0.0, 0.0)), 40.0),
        ("l_foot/wrench", lambda x: wrench(START, force=(x, 0.0, 0.0)), 8.0 * WEIGHT),
        ("l_foot/wrench", lambda x: wrench(START, moment=(x, 0.0, 0.0)), 4.0 * WEIGHT),
        (BASE_STATE, base_state, 20.0),
    ],
)
def test_readings_are_possible_up_to_what_sensors_and_robots_reach(name, reading, largest):
    for value, dropped in ((0.99 * largest, 0), (-1.01 * largest, 1)):
        robot = inputs(sources=FEET, base_state=True)
        robot.push(name, reading(value), START)
        assert robot.streams[name].drops.total == dropped


def test_health_tells_waiting_lost_dropping_and_arriving():
    robot = inputs(sources=FEET)
    levels = {h.name: h.level for h in robot.health(START)}
    assert set(levels.values()) == {ie.HealthLevel.STALE}
    for k in range(50):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp, rate=[0.0, 0.0, np.nan if k == 20 else 0.01 * (k % 3)]), stamp)
        robot.push(JOINTS, joints(stamp), stamp)
        if k < 10:
            robot.push("l_foot/wrench", wrench(stamp), stamp)
    health = {h.name: h for h in robot.health(START + 245 * MS)}
    assert health[IMU].level is ie.HealthLevel.WARN
    assert "1 of 50 readings dropped, last: not finite: angular rate z is nan" in health[IMU].message
    assert health["l_foot/wrench"].level is ie.HealthLevel.ERROR
    assert "lost: last reading 0.20 s ago, limit 0.1 s" in health["l_foot/wrench"].message
    robot.push("l_foot/wrench", wrench(START - 3600_000 * MS), START + 246 * MS)
    assert "its stamps are now -3600.05 s off" in robot.health(START + 246 * MS)[2].message
    assert health["r_foot/wrench"].message == "waiting for the first reading"
    rates = [health[name].values["rate [Hz]"] for name in (IMU, "r_foot/wrench")]
    assert rates == ["200.0", "unknown"]


@pytest.mark.parametrize(
    ("every", "late", "said"),
    [(22, 0, "comes every 0.11 s"), (1, 12, "0.065 s behind imu/data"), (12, 4, "comes every 0.06 s")],
)
def test_an_input_that_comes_too_late_for_steps_is_named_with_the_remedy_that_mends_it(every, late, said):
    timeout = 0.1
    for timeout_is_set in (False, True):
        robot, samples = inputs(parameters(inputs__timeout=timeout)), []
        for k in range(500):
            stamp = START + 5 * MS * k
            robot.push(IMU, imu(stamp, rate=[0.0, 0.0, 0.01 * (k % 3)]), stamp)
            if k % every == 0:
                sent = joints(stamp - late * 5 * MS, [1e-3 * (k - late)] * 4, [0.2] * 4)
                robot.push(JOINTS, sent, stamp)
            samples += robot.ready()
        message = next(h for h in robot.health(stamp) if h.name == JOINTS).message
        lacking = np.mean([bool(sample.missing) for sample in samples[60:]])
        if timeout_is_set:
            assert message == "arriving"
            assert lacking == 0.0
        else:
            assert said in message
            assert lacking > 0.1
            timeout = float(message.rpartition("set it to ")[2])


class Pipeline:
    """Counts steps; fails at some of them."""

    def __init__(self, robot, fails=(), defects=()):
        self.events, self.fails, self.defects = [], set(fails), set(defects)
        self.stepper = Stepper(
            robot,
            on_step=self.step,
            on_restart=lambda: self.events.append("restart"),
            on_gap=lambda: self.events.append("gap"),
            on_failure=lambda: self.events.append("failure"),
            defect=lambda result: "defect" if result[0] < 0 else "",
        )
        self.steps = 0

    def step(self, sample):
        h = self.stepper.elapsed(sample)
        self.stepper.advance(sample)
        self.steps += 1
        if self.steps in self.fails:
            raise FloatingPointError("overflow")
        return (-1 if self.steps in self.defects else 1), h

    def feed(self, begin, end, now=None):
        found = []
        for k in range(begin, end):
            stamp = START + 5 * MS * k
            self.stepper.inputs.push(IMU, imu(stamp), stamp)
            found += self.stepper.tick(stamp if now is None else now)
        return found


def test_steps_are_run_with_their_elapsed_time_and_failures_are_contained():
    pipeline = Pipeline(inputs(needs=None), fails=[10], defects=[30])
    results = pipeline.feed(0, 50)
    assert len(results) == 48
    assert pipeline.events == ["failure", "failure"]
    assert [h for _one, h in results[:3]] == [None, 0.005, 0.005]
    assert results[9][1] is None  # the first one after the failure
    assert pipeline.stepper.failures == 2
    assert "defect" in pipeline.stepper.health_note(START + 250 * MS)
    assert pipeline.stepper.health_note(START + 20_000 * MS) == ""


def test_a_backlog_is_caught_up_with_and_not_published():
    pipeline = Pipeline(inputs(needs=None))
    fresh = pipeline.feed(0, 101, now=START + 500 * MS)
    assert len(fresh) == 31  # those of the last 0.1 s and of what a step may wait for
    assert pipeline.steps == 101


def line(t, k):
    """A row that is linear in time, which interpolation gives exactly."""
    return 0.1 * k + 0.2 * t


def feed(robot, until, drop=()):
    """Messages of an IMU, joint states and wrenches with delays, in the order of their arrival."""
    messages = []
    for kind, (rate, delay) in enumerate(((500, 0.0), (200, 0.001), (100, 0.003))):
        for k in range(int(until * rate)):
            t = k / rate
            messages.append((t + delay, kind, round(t * 1e9)))
    for arrival, kind, t_ns in sorted(messages):
        t, stamp, at = 1e-9 * t_ns, START + t_ns, START + round(arrival * 1e9)
        if kind in drop and 0.2 < t < 0.6:
            continue
        if kind == 0:
            robot.push(IMU, imu(stamp, rate=[line(t, 1), line(t, 2), line(t, 3)]), at)
        elif kind == 1:
            robot.push(JOINTS, joints(stamp, [line(t, k) for k in range(4)], [0.2] * 4), at)
        else:
            for contact in ("l_foot", "r_foot"):
                robot.push(f"{contact}/wrench", wrench(stamp, (0.0, 0.0, 50.0 + line(t, 0))), at)
        yield robot


def test_other_streams_are_interpolated_at_the_times_of_the_driver():
    robot = inputs(sources=FEET)
    samples = [sample for one in feed(robot, 1.0) for sample in one.ready()]
    assert len(samples) > 480
    for sample in samples[5:]:
        t = 1e-9 * (sample.time_ns - START)
        np.testing.assert_allclose(sample.rows[JOINTS][:4], [line(t, k) for k in range(4)], atol=1e-6)
        np.testing.assert_allclose(sample.rows["l_foot/wrench"][2], 50.0 + line(t, 0), atol=1e-6)
        np.testing.assert_allclose(sample.driver[RATE], [line(t, 1), line(t, 2), line(t, 3)], atol=1e-6)


def test_samples_do_not_depend_on_when_they_are_asked_for():
    every = [sample for one in feed(inputs(sources=FEET), 1.0, drop=(1,)) for sample in one.ready()]
    robot, rng, sometimes = inputs(sources=FEET), np.random.default_rng(0), []
    for one in feed(robot, 1.0, drop=(1,)):
        sometimes += one.ready() if rng.random() < 0.05 else []
    sometimes += robot.ready()
    assert len(every) == len(sometimes)
    for a, b in zip(every, sometimes, strict=True):
        for name in ("stamp_ns", "time_ns", "continuity", "missing"):
            assert getattr(a, name) == getattr(b, name)
        np.testing.assert_array_equal(a.driver, b.driver)
        assert a.rows.keys() == b.rows.keys()
        for name, row in a.rows.items():
            np.testing.assert_array_equal(row, b.rows[name])


@pytest.mark.parametrize("lost", [(1,), (2,)])
def test_a_lost_input_delays_steps_by_no_more_than_the_wait_and_then_not_at_all(lost):
    config = parameters(inputs__timeout=0.06)
    robot, newest, seen = inputs(config, sources=FEET), 0.0, []
    for one in feed(robot, 1.0, drop=lost):
        arrived = robot.streams[IMU].ring.newest_ns
        newest = newest if arrived is None else 1e-9 * (arrived - START)
        seen += [(1e-9 * (s.time_ns - START), newest, s.missing) for s in one.ready()]
    name = JOINTS if lost == (1,) else "l_foot/wrench"
    during = [(t, at, missing) for t, at, missing in seen if 0.25 < t < 0.55]
    assert all(name in missing for _t, _at, missing in during)
    assert max(at - t for t, at, _missing in during) < 0.035
    assert max(at - t for t, at, _missing in during if t > 0.32) < 0.016  # for the wrenches, of 100 Hz
    assert all(not missing for t, _at, missing in seen if t > 0.62)
    assert len(seen) > 480


@pytest.mark.parametrize(("driver", "lost"), [(JOINTS, ()), (IMU, (2,))])
def test_a_step_with_a_window_has_all_rows_up_to_a_sixth_of_a_period_before_its_end(driver, lost):
    """Also of a stream that has just come back: the period is not its gap."""
    robot, count = inputs(sources=FEET, steps=Steps(driver, 100.0, 0.02)), 0
    for one in feed(robot, 1.0, drop=lost):
        for sample in one.ready():
            t = 1e-9 * (sample.time_ns - START)
            if t < 0.02 or (lost and 0.17 < t < 0.585):
                continue
            begin, end = sample.time_ns - 20 * MS, sample.time_ns + 20 * MS
            for name, period in ((IMU, 2 * MS), (JOINTS, 5 * MS), ("l_foot/wrench", 10 * MS)):
                times, rows = robot.aligner.window(name, begin, end)
                assert len(times) == len(rows) >= (2 if t < 0.62 else 40 * MS // period)
                assert times[-1] >= end - period / 6
            count += 1
    assert count > (50 if lost else 90)


def test_base_states_are_rows_and_yaw_references_are_looked_up():
    robot = inputs(base_state=True, yaw_reference=True)
    half = np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])
    for k in range(20):
        stamp = START + 5 * MS * k
        state = ie.BaseState(stamp, half, np.zeros(3), np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
        robot.push(BASE_STATE, state)
        robot.push(IMU, imu(stamp))
        robot.push(JOINTS, joints(stamp))
    robot.push(YAW_REFERENCE, ie.OrientationSample(START, half))
    robot.push(YAW_REFERENCE, ie.OrientationSample(START + MS, np.zeros(4)))
    sample = robot.ready()[-1]
    np.testing.assert_allclose(
        sample.rows[BASE_STATE], [1, 2, 3, 0.1, 0.2, 0.3, 0, 0, 1, 0, -1, 0], atol=1e-12
    )
    assert YAW_REFERENCE not in sample.rows
    np.testing.assert_allclose(robot.aligner.latest(YAW_REFERENCE, sample.time_ns, 1.0), half)
    assert robot.aligner.latest(YAW_REFERENCE, sample.time_ns, 0.01) is None
    assert "direction" in robot.streams[YAW_REFERENCE].drops.summary
    assert {h.name: h.level for h in robot.health(START + 300 * MS)}[YAW_REFERENCE] is ie.HealthLevel.WARN


def test_a_switch_that_is_sent_when_it_changes_holds_and_nobody_waits_for_it():
    robot = inputs(sources={"l_foot": ContactSource.SWITCH, "r_foot": ContactSource.NONE})
    for k in range(400):
        stamp = START + 5 * MS * k
        if k in (0, 100, 300):
            robot.push("l_foot/wrench", ContactSample(0, float(k != 100)), stamp)
        robot.push(IMU, imu(stamp), stamp)
        robot.push(JOINTS, joints(stamp, [swing(0.005 * k)[0]] * 4), stamp)
    values = [sample.rows["l_foot/wrench"] for sample in robot.ready()]
    assert len(values) == 400
    assert [float(v[0]) for v in values] == [1.0] * 100 + [0.0] * 200 + [1.0] * 100


@given(strategies.lists(strategies.integers(1, 50), min_size=1, max_size=60), strategies.integers(0, 3000))
def test_rows_are_those_of_linear_interpolation_over_gaps_that_are_allowed(steps, at):
    times = np.cumsum(steps)
    ring = Ring(2, 64)
    for t in times.tolist():
        ring.append(t, t, np.array([t, 2.0 * t]))
    row = ring.at(at, 20)
    low = np.searchsorted(times, at, side="right") - 1
    inside = low >= 0 and (times[low] == at or (low + 1 < len(times) and times[low + 1] - times[low] <= 20))
    assert (row is not None) == inside
    if row is not None:
        np.testing.assert_allclose(row, [at, 2.0 * at])


def test_the_oldest_rows_give_way_and_numbers_stay():
    ring = Ring(1, 16)
    for k in range(100):
        ring.append(k, k, np.array([k]))
        assert ring.rows[ring.end - 1, 0] == k
        assert ring.end + ring.moved == k + 1
    assert len(ring) == 16
    assert ring.window(90, 95)[1][:, 0].tolist() == [90, 91, 92, 93, 94, 95]
    assert ring.at(50, 1000) is None


def test_rows_between_steps_are_averaged():
    """Five rows of 500 Hz, whose middle is 4 ms before the last one."""
    robot = inputs(steps=Steps(IMU, 100.0))
    samples = [sample for one in feed(robot, 0.5) for sample in one.ready()]
    assert set(np.diff([sample.time_ns for sample in samples])) == {10 * MS}
    for sample in samples[1:]:
        t = 1e-9 * (sample.time_ns - START) - 0.004
        np.testing.assert_allclose(sample.driver[RATE], [line(t, k) for k in (1, 2, 3)], atol=1e-9)


def test_inputs_are_missing_after_the_timeout_and_samples_stale_after_what_they_wait_for():
    robot = inputs(parameters(inputs__timeout=0.2), steps=Steps(IMU, half_window=0.03))
    assert robot.aligner.missing(START) == [IMU, JOINTS]
    for one in feed(robot, 0.5):
        one.ready()
    last = robot.streams[JOINTS].ring.newest_ns
    assert last == START + 495 * MS
    assert robot.aligner.missing(last + 199 * MS) == []
    assert robot.aligner.missing(last + 201 * MS) == [JOINTS]
    assert robot.aligner.missing(last + 300 * MS) == [IMU, JOINTS]
    longest = 200 * MS + 100 * MS + 30 * MS  # timeout, half of it as a wait, half a window
    assert [robot.aligner.is_stale(START, START + longest + more) for more in (0, 1)] == [False, True]


def test_rows_are_collected_for_a_time_from_the_first_joint_state_on():
    collector = StreamCollector(setup(), 0.1)
    for k in range(40):
        times = START + MS * np.arange(4 * k, 4 * k + 5)  # the last one comes again
        for name, width in (*(((JOINTS, 12),) if k >= 10 else ()), (IMU, 6), ("l_foot/wrench", 6)):
            collector.push(name, times, np.tile(times[:, None] - START, width))
    assert collector.duration_s == 0.1
    streams = collector.streams().by_name
    assert streams.keys() == {IMU, JOINTS, "l_foot/wrench"}
    for name, stream in streams.items():
        assert (stream.times_ns - START).tolist() == [k * MS for k in range(40, 141)], name
        assert (stream.values[:, -1] == stream.times_ns - START).all()
