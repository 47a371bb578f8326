import numpy as np
import pytest
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, joints, parameters, wrench

from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.inputs.sensors import IMU, ContactSource
from inertial_estimation.inputs.stream import DropReason
from inertial_estimation.pipeline import Stepper
from inertial_estimation.signals import HealthLevel, ImuSample, JointReading

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
        robot.push(IMU, ImuSample(START + k, np.zeros(3), bad), START)
        robot.push("l_foot/wrench", wrench(START + k, bad), START)
        tau = np.array([value, 0.0, 0.0, 0.0])
        robot.push(JOINTS, JointReading(START + k, JOINTS_OF, zeros, zeros, tau), START)
    reason = DropReason.OUT_OF_RANGE if np.isfinite(value) else DropReason.NOT_FINITE
    for name, what in ((IMU, "angular rate y"), ("l_foot/wrench", "force y"), (JOINTS, "effort of L_hip")):
        drops = robot.streams[name].drops
        assert drops.counts == {reason: 3}
        assert what in drops.summary


def test_health_tells_waiting_lost_dropping_and_arriving():
    robot = inputs(sources=FEET)
    levels = {h.name: h.level for h in robot.health(START)}
    assert set(levels.values()) == {HealthLevel.STALE}
    for k in range(50):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp, rate=[0.0, 0.0, np.nan if k == 20 else 0.01 * (k % 3)]), stamp)
        robot.push(JOINTS, joints(stamp), stamp)
        if k < 10:
            robot.push("l_foot/wrench", wrench(stamp), stamp)
    health = {h.name: h for h in robot.health(START + 245 * MS)}
    assert health[IMU].level is HealthLevel.WARN
    assert "1 of 50 readings dropped, last: not finite: angular rate z is nan" in health[IMU].message
    assert health["l_foot/wrench"].level is HealthLevel.ERROR
    assert "lost: last reading 0.20 s ago, limit 0.1 s" in health["l_foot/wrench"].message
    robot.push("l_foot/wrench", wrench(START - 3600_000 * MS), START + 246 * MS)
    assert "its stamps are now -3600.05 s off" in robot.health(START + 246 * MS)[2].message
    assert health["r_foot/wrench"].message == "waiting for the first reading"


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
