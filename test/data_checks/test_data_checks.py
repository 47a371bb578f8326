"""Errors of the data are named with their joint and remedy; clean data and unusual readings give no alarm."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from support.pipeline_inputs import push

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.data_checks.check_result import CheckResult, Verdict, as_json, health_of, in_words
from inertial_estimation.data_checks.data_checks import MOST_WINDOWS, DataChecks
from inertial_estimation.data_checks.regression import best_assignment
from inertial_estimation.data_checks.stream_checks import stamp_checks
from inertial_estimation.data_checks.stream_statistics import StreamStatistics
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.signals import HealthLevel, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.spatial.vectors import DEGREES
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing


class Recorded:
    """Readings of a synthetic robot that rests and then moves."""

    def __init__(self, name, seconds):
        spec = synthetic_robot(name)
        timing = Timing(seconds, 100.0)
        truth = synthetic_truth(name, timing, np.random.default_rng(1), payload_time_s=None)
        self.config = spec.config
        self.setup = robot_from_config(self.config, read_urdf(spec.urdf))
        recording = measure(truth, REALISTIC, np.random.default_rng(2), self.config)
        self.entries = [(entry.topic, entry.sample) for entry in recording.messages]

    def fed(self, change=lambda sample: sample, *, config=None):
        checks = DataChecks(self.setup, config or self.config)
        for topic, sample in self.entries:
            push(checks, topic, change(sample))
        return checks

    def failed(self, change=lambda sample: sample, **options):
        return [r for r in self.fed(change, **options).results() if r.failed]


@pytest.fixture(scope="module")
def panda():
    return Recorded("panda", 6.0)


@pytest.fixture(scope="module")
def talos():
    return Recorded("talos", 5.0)


def scaled(field, factor, joint=""):
    """Scale one field of one joint, or of all."""

    def change(sample):
        if not isinstance(sample, JointReading):
            return sample
        factors = [factor if joint in ("", name) else 1.0 for name in sample.names]
        return replace(sample, **{field: np.array(factors) * getattr(sample, field)})

    return change


def of_imu(field, change_values):
    def change(sample):
        if not isinstance(sample, ImuSample):
            return sample
        return replace(sample, **{field: change_values(getattr(sample, field))})

    return change


def of_wrench(factor):
    return lambda s: replace(s, wrench_F=factor * s.wrench_F) if isinstance(s, WrenchSample) else s


@pytest.mark.parametrize("robot", ["panda", "talos"])
def test_clean_data_give_no_alarm(robot, request):
    results = request.getfixturevalue(robot).fed().results()
    assert [str(r) for r in results if r.failed] == []
    assert {"joint names", "stamps", "joint positions", "effort"} <= {r.check for r in results}


@pytest.mark.parametrize(
    ("change", "check", "remedy"),
    [
        (scaled("effort", -1.0, "panda_joint4"), "effort sign", "-1"),
        (scaled("effort", 1e3, "panda_joint2"), "effort unit", "mNm"),
        (scaled("effort", 1e-3, "panda_joint6"), "effort unit", "kNm"),
        (scaled("effort", 0.01, "panda_joint4"), "effort unit", "before the gear"),
        (scaled("effort", 0.0, "panda_joint4"), "effort silent", "driver"),
        (scaled("effort", -1.0, "panda_joint1"), "effort sign", "-1"),  # its axis is vertical: inertia alone
        (scaled("velocity", -1.0, "panda_joint3"), "joint velocities", "sign"),
        (scaled("velocity", DEGREES, "panda_joint3"), "joint velocities", "rad/s"),
        (scaled("velocity", 0.0, "panda_joint3"), "joint velocities", "derived"),
    ],
)
def test_the_error_of_one_joint_is_named_and_no_other(panda, change, check, remedy):
    (result,) = panda.failed(change)
    joint = next(n for n in panda.setup.robot.joint_names if change_of(change, n))
    assert (result.check, result.subject, result.verdict) == (check, joint, Verdict.WRONG)
    assert remedy in result.remedy


def held_efforts(rate_hz):
    """Return a change of joint states that sends efforts again until the next measurement."""
    last = [-1, None]

    def change(sample):
        if not isinstance(sample, JointReading):
            return sample
        count = sample.stamp_ns * rate_hz // 10**9
        if count != last[0]:
            last[:] = count, sample.effort
        return replace(sample, effort=last[1])

    return change


@pytest.mark.parametrize("robot", ["panda", "talos"])
def test_efforts_that_are_held_are_named_with_their_rate(robot, request):
    recorded = request.getfixturevalue(robot)
    (result,) = recorded.failed(held_efforts(10))
    assert (result.check, result.subject, result.verdict) == ("held values", "joint_states", Verdict.WARN)
    assert result.value == pytest.approx(10.0, abs=0.3)
    health = health_of(recorded.fed(held_efforts(10)).results())
    assert health.level is HealthLevel.WARN
    assert "joint_states: efforts change at " in health.message
    assert "Hz only of 100 Hz" in health.message


AT_REST = np.array([0.0, -0.785, 0.6, -2.356, 0.4, 1.571, 0.785])


@pytest.mark.parametrize(
    ("change", "check", "joint"),
    [
        (lambda reading: reading, None, ""),
        (scaled("effort", 0.02, "panda_joint6"), "effort unit", "panda_joint6"),  # 0.04 Nm
        (scaled("effort", -1.0, "panda_joint5"), "effort sign", "panda_joint5"),  # 0.6 Nm
        (scaled("position", -1.0, "panda_joint6"), "joint sign", "panda_joint6"),  # outside its limits
    ],
)
def test_an_arm_at_rest_tells_small_torques_and_a_sign(panda, change, check, joint):
    robot = panda.setup.robot
    tau = pin.computeGeneralizedGravity(robot.model, robot.model.createData(), AT_REST)
    names, rest = tuple(robot.joint_names), np.zeros(len(AT_REST))
    checks = DataChecks(panda.setup, panda.config)
    rng = np.random.default_rng(3)
    for k in range(400):
        reading = JointReading(k * 10_000_000, names, AT_REST, rest, tau + rng.normal(0.0, 0.02, len(tau)))
        push(checks, "joint_states", change(reading))
    expected = [(check, joint)] if check else []
    assert [(r.check, r.subject) for r in checks.results() if r.failed] == expected


def change_of(change, joint):
    """Whether a change alters the readings of a joint."""
    reading = JointReading(0, (joint,), np.ones(1), np.ones(1), np.ones(1))
    changed = change(reading)
    return changed.effort[0] != 1.0 or changed.velocity[0] != 1.0


def test_positions_in_degrees_and_a_turn_are_told_apart(panda):
    in_degrees = panda.failed(scaled("position", DEGREES))
    assert any("degrees?" in r.remedy for r in in_degrees)
    assert not any(r.check.startswith("effort") for r in in_degrees), "positions are to be mended first"

    def turned(sample):
        return replace(sample, position=sample.position + 2.0 * np.pi * np.eye(1, 7, 3)[0])

    (result,) = panda.failed(turned)
    assert result.subject == "panda_joint4"
    assert "-6.2832" in result.remedy
    offsets = replace(panda.config.joint_offsets, joints=("panda_joint4",), values=(-2.0 * np.pi,))
    assert not panda.failed(turned, config=replace(panda.config, joint_offsets=offsets)), "as the remedy says"


def test_swapped_efforts_are_named(panda):
    def swap(sample):
        effort = sample.effort.copy()
        effort[[1, 3]] = effort[[3, 1]]
        return replace(sample, effort=effort)

    assert {(r.check, r.subject) for r in panda.failed(swap)} == {
        ("effort order", "panda_joint2"),
        ("effort order", "panda_joint4"),
    }


@pytest.mark.parametrize(
    ("change", "check", "said"),
    [
        (of_imu("specific_force_I", lambda f: f / 9.81), "accelerometer size", "in g?"),
        (of_imu("specific_force_I", lambda f: 0.0 * f), "accelerometer size", "silent"),
        (of_imu("specific_force_I", lambda f: 1.1 * f), "accelerometer size", "scale"),
        (of_imu("specific_force_I", lambda f: -f), "accelerometer direction", "(-x, -y, -z) would fit"),
        (of_imu("angular_rate_I", lambda w: w * DEGREES), "gyroscope", "deg/s?"),
        (of_imu("angular_rate_I", lambda w: -w), "gyroscope", "signs and axes"),
        (of_wrench(-1.0), "contact weight", "wrong sign?"),
        (of_wrench(1e-3), "contact weight", "unit"),
        (of_wrench(0.0), "contact weight", "driver"),
    ],
)
def test_errors_of_imu_and_wrenches_are_named(talos, change, check, said):
    (result,) = talos.failed(change)
    assert result.check == check
    assert said in result.remedy


@pytest.mark.parametrize("factor", [-1.0, 0.0, 1e-3, 1e3])
def test_the_contact_with_the_wrong_wrench_is_named(talos, factor):
    def change(sample, topic):
        return (
            replace(sample, wrench_F=factor * sample.wrench_F) if topic.startswith("/left_foot") else sample
        )

    checks = DataChecks(talos.setup, talos.config)
    for topic, sample in talos.entries:
        push(checks, topic, change(sample, topic))
    (result,) = [r for r in checks.results() if r.failed]
    assert (result.subject, result.verdict) == ("left_foot/wrench", Verdict.WRONG)


def test_exchanged_contacts_are_named_and_no_effort_is_blamed(talos):
    names = {"left_foot": "right_foot", "right_foot": "left_foot"}
    checks = DataChecks(talos.setup, talos.config)
    for topic, sample in talos.entries:
        if isinstance(sample, WrenchSample):
            contact = next(name for name in names if name in topic)
            checks.push_wrench(names[contact], sample)
        else:
            push(checks, topic, sample)
    (result,) = [r for r in checks.results() if r.failed]
    assert (result.check, result.subject) == ("contact names", "left_foot/wrench")
    assert "'left_foot' and 'right_foot' were exchanged" in result.sentence


@pytest.mark.parametrize(("joint", "share"), [("leg_left_4_joint", 0.1), ("leg_right_2_joint", -0.12)])
def test_a_constant_of_a_legs_effort_is_named_where_contact_forces_are_known(talos, joint, share):
    limit = talos.setup.robot.model.effortLimit[6 + talos.setup.robot.joint_index(joint)]

    def change(sample):
        if not isinstance(sample, JointReading):
            return sample
        constant = share * limit * np.array([name == joint for name in sample.names])
        return replace(sample, effort=sample.effort + constant)

    (result,) = talos.failed(change)
    assert (result.check, result.subject) == ("effort zero", joint)
    assert result.value == pytest.approx(share * limit, rel=0.3)


def test_a_missing_joint_is_named_at_once(panda):
    checks = DataChecks(panda.setup, panda.config)
    for _topic, sample in panda.entries[:30]:
        checks.push_joints(replace(sample, names=("other", *sample.names[1:])))
    health = health_of(checks.results())
    assert health.level is HealthLevel.ERROR
    assert "panda_joint1" in health.message


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300, -1e10, 0.0])
def test_no_reading_ends_a_check_and_half_a_second_of_nonsense_is_no_alarm(panda, talos, bad):
    for recorded in (panda, talos):
        first = recorded.entries[0][1].stamp_ns
        spell = range(first + 2_000_000_000, first + 2_300_000_000)

        def spoil(sample, spell=spell):
            if sample.stamp_ns not in spell:
                return sample
            if isinstance(sample, JointReading):
                return replace(sample, effort=sample.effort * 0.0 + bad)
            if isinstance(sample, ImuSample):
                return replace(sample, specific_force_I=sample.specific_force_I * 0.0 + bad)
            return (
                replace(sample, wrench_F=sample.wrench_F * 0.0 + bad)
                if isinstance(sample, WrenchSample)
                else sample
            )

        assert [str(r) for r in recorded.failed(spoil)] == []


def test_memory_is_bounded(panda):
    checks = DataChecks(panda.setup, panda.config)
    reading = panda.entries[0][1]
    for k in range(6500):
        checks.push_joints(replace(reading, stamp_ns=k * 20_000_000))
    assert MOST_WINDOWS <= len(checks._windows) <= 2 * MOST_WINDOWS + 1


def test_results_as_lines_and_json():
    def wrong(name):
        return CheckResult("effort sign", name, Verdict.WRONG, -1.0, "", f"{name} is opposed", "turn it")

    usual = CheckResult("rate", "imu/data", Verdict.WARN, 5.0, "Hz", "5 Hz", "raise it")
    fine = CheckResult("stamps", "imu/data", Verdict.OK, 500.0, "Hz", "500 Hz")
    assert in_words([fine]) == []
    lines = in_words([usual, fine, *map(wrong, "abcde")])
    assert len(lines) == 2
    assert lines[0].startswith("effort sign of a, b, c")
    assert lines[1] == "imu/data: 5 Hz; raise it"
    assert as_json([usual])[0]["verdict"] == "warn"


def test_exchanged_signals_form_a_cycle_and_one_that_resembles_another_does_not():
    likeness = np.array([[0.1, 0.95, 0.0], [0.95, 0.1, 0.0], [0.0, 0.0, 0.99]])
    assert best_assignment(likeness, 0.75, 0.4) == {0: 1, 1: 0}
    likeness[1, 1] = 0.9  # the second one is itself
    likeness[1, 0] = 0.2
    assert best_assignment(likeness, 0.75, 0.4) == {}


def found_in(steps_ms):
    statistics = StreamStatistics("joint_states", 0.1)
    for stamp in np.cumsum(np.round(np.array(steps_ms) * 1e6).astype(np.int64)).tolist():
        statistics.push(stamp)
    return [result.check for result in stamp_checks([statistics])]


def test_batches_longer_than_a_gap_are_bursts_and_gaps_are_gaps():
    assert found_in([17.0] * 400) == ["stamps"]
    assert found_in(([133.0] + [0.05] * 7) * 50) == ["bursts"]
    assert found_in(([17.0] * 100 + [500.0]) * 4) == ["gaps"]
    assert found_in(([73.0] + [1.0] * 7) * 50) == ["bursts"]


@pytest.mark.parametrize(
    ("name", "link", "mass"),
    [("panda", "panda_link6", 3.0), ("panda", "panda_link7", 3.0), ("talos", "arm_left_7_link", 9.0)],
)
def test_a_load_from_the_first_reading_on_is_a_warning_at_most(name, link, mass):
    spec = synthetic_robot(name)
    load = {"payload_time_s": 0.0, "payload_link": link, "payload_mass": mass}
    truth = synthetic_truth(name, Timing(6.0, 100.0), np.random.default_rng(1), **load)
    checks = DataChecks(robot_from_config(spec.config, read_urdf(spec.urdf)), spec.config)
    for entry in measure(truth, REALISTIC, np.random.default_rng(2), spec.config).messages:
        push(checks, entry.topic, entry.sample)
    assert [str(r) for r in checks.results() if r.verdict is Verdict.WRONG] == []
