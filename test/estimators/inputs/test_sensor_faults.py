"""Readings beyond their range, and sensors that are stuck, silent, or change unit or sign."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.leg_robot import URDF

from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.estimators.inputs.rows import IMU, JointRow, imu_spec, joint_spec, wrench_spec
from inertial_estimation.estimators.inputs.sensor_checks import Quantity
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.models.input_ranges import joint_range, wrench_range
from inertial_estimation.models.range_config import RangeConfig
from inertial_estimation.models.robot_config import InputConfig, RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import HealthLevel

MS = 1_000_000
ROBOT = RobotModel.from_urdf(URDF)
N = ROBOT.n_joints
ROWS = JointRow(N, effort=True)
JOINTS, FOOT = "joint_states", "left/wrench"
INPUTS = InputConfig()
CONFIG = RobotConfig(inputs=INPUTS, contacts=("left",), contact_frames=("left_sole",))
GRAVITY = 9.81
KNEE = (
    "<robot name='knee'><link name='base'/><link name='shank'><inertial><mass value='1'/>"
    "<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial></link><joint name='knee' "
    "type='revolute'><parent link='base'/><child link='shank'/><axis xyz='0 1 0'/>"
    "<limit lower='-3.0' upper='0.5' effort='10' velocity='5'/></joint></robot>"
)


class Alone:
    """One input of a robot, whatever its range."""

    def __init__(self, *quantities):
        self.aligner = SignalAligner(StreamSpec("input", 6, quantities=quantities), (), INPUTS)
        self.count = 0

    def fault(self, row):
        """Push a reading; return whether its sensor is at fault."""
        self.count += 1
        return not self.aligner.push("input", self.count * MS, np.resize(row, 6))


class Rig:
    """A robot at rest with noise (or none), whose rows a test alters."""

    def __init__(self, noise=1.0):
        others = (joint_spec(ROWS, INPUTS, ROBOT), wrench_spec("left", CONFIG, ROBOT))
        self.aligner = SignalAligner(imu_spec(INPUTS), others, INPUTS)
        self.rng, self.noise, self.k = np.random.default_rng(1), noise, 0

    def rows(self):
        weight = GRAVITY * ROBOT.total_mass

        def noisy(values, sigma):
            values = np.asarray(values, dtype=float)
            return values + self.noise * sigma * self.rng.standard_normal(values.shape)

        imu = (noisy([0.3, -0.5, 9.78], 0.05), noisy(np.zeros(3), 0.01))
        torques = 0.05 * weight * np.linspace(-1.0, 2.0, N)
        joints = (noisy(np.full(N, 0.1), 1e-4), noisy(np.zeros(N), 0.01), noisy(torques, 0.01))
        wrench = (noisy([0.0, 0.0, weight], 1.0), noisy(np.zeros(3), 0.1))
        return {IMU: np.concatenate(imu), JOINTS: np.concatenate(joints), FOOT: np.concatenate(wrench)}

    def run(self, readings, alter=lambda rows: None):
        """Push altered rows; return how many of each stream were taken."""
        taken = dict.fromkeys((IMU, JOINTS, FOOT), 0)
        for _ in range(readings):
            self.k += 1
            rows = self.rows()
            alter(rows)
            for name, row in rows.items():
                taken[name] += self.aligner.push(name, self.k * 2 * MS, row)
            self.aligner.pop_ready()
        return taken

    def health(self, name):
        return {h.name: h for h in self.aligner.health(self.k * 2 * MS)}[name]


def assign(name, columns, change):
    def alter(rows):
        rows[name][columns] = change(rows[name][columns])

    return alter


FROZEN = np.array([0.31, -0.52, 9.7])
FAULTS = {
    "accelerometer stuck": (IMU, slice(0, 3), lambda x: FROZEN, "stuck"),
    "gyroscope stuck": (IMU, slice(3, 6), lambda x: 0.01 * FROZEN, "stuck"),
    "gyroscope zero": (IMU, slice(3, 6), lambda x: 0.0 * x, "stuck"),
    "accelerometer zero": (IMU, slice(0, 3), lambda x: 0.0 * x, "silent"),
    "accelerometer in g": (IMU, slice(0, 3), lambda x: x / 9.80665, "unit"),
    "accelerometer flipped": (IMU, slice(0, 3), lambda x: -x, "sign"),
    "wrench stuck": (FOOT, slice(0, 6), lambda x: np.arange(6.0), "stuck"),
    "wrench flipped": (FOOT, slice(0, 6), lambda x: -x, "sign"),
    "wrench in kN": (FOOT, slice(0, 6), lambda x: 1e-3 * x, "unit"),
    "efforts zero": (JOINTS, ROWS.tau, lambda x: 0.0 * x, "silent"),
    "efforts in mNm": (JOINTS, ROWS.tau, lambda x: 1e3 * x, "out of range"),
    "efforts in kNm": (JOINTS, ROWS.tau, lambda x: 1e-3 * x, "unit"),
    "efforts flipped": (JOINTS, ROWS.tau, lambda x: -x, "sign"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_sensor_is_named_within_ten_readings_and_used_again_afterwards(fault):
    name, columns, change, word = FAULTS[fault]
    rig = Rig()
    assert rig.run(300) == {IMU: 300, JOINTS: 300, FOOT: 300}
    taken = rig.run(200, assign(name, columns, change))
    assert taken[name] <= 10
    assert sum(taken.values()) == taken[name] + 400
    entry = rig.health(name)
    assert entry.level is not HealthLevel.OK
    assert word in entry.message
    assert rig.run(200)[name] >= 196
    assert rig.health(name).level is HealthLevel.WARN


def test_a_robot_without_noise_at_rest_is_no_fault():
    rig = Rig(noise=0.0)
    assert rig.run(500) == {IMU: 500, JOINTS: 500, FOOT: 500}


def test_a_foot_that_swings_without_force_is_no_fault():
    rig = Rig(noise=0.0)
    rig.run(200)
    phases = np.linspace(1.0, 0.0, 20)
    for share in (*phases, *np.zeros(100), *phases[::-1]):
        assert rig.run(1, assign(FOOT, slice(0, 6), lambda x, share=share: share * x))[FOOT] == 1


def test_a_foot_in_the_air_whose_driver_sends_zeros_is_no_fault_and_a_cable_that_breaks_is_one():
    rig = Rig()
    rig.run(200)
    for share in (*np.linspace(1.0, 0.05, 40), *np.zeros(60), *np.linspace(0.05, 1.0, 40)):
        assert rig.run(1, assign(FOOT, slice(0, 6), lambda x, share=share: share * x))[FOOT] == 1
    rig.run(200)
    assert rig.run(100, assign(FOOT, slice(0, 6), lambda x: 0.0 * x))[FOOT] <= 10


def test_quantised_readings_of_a_robot_that_moves_and_stops_are_no_fault():
    rig = Rig()
    taken = rig.run(400, assign(JOINTS, ROWS.q, lambda x: np.round(x + 0.3 * math.sin(0.05 * rig.k), 3)))
    taken_at_rest = rig.run(200, assign(JOINTS, slice(0, 2 * N), lambda x: 0.0 * x))
    assert taken[JOINTS] == 400
    assert taken_at_rest[JOINTS] == 200


@given(
    value=st.sampled_from([1e5, 1e8, 1e30, 1e100, 1e150, 1e308, -1e308, math.inf, -math.inf, math.nan]),
    column=st.integers(0, 3 * N + 11),
)
@pytest.mark.filterwarnings("error")
def test_absurd_numbers_never_pass_and_never_overflow(value, column):
    rig = Rig()
    sizes = {IMU: 6, FOOT: 6, JOINTS: 3 * N}
    for name, size in sizes.items():
        if column < size:
            row = rig.rows()[name]
            row[column] = value
            assert not rig.aligner.push(name, MS, row)
            assert rig.aligner._streams[name].drops.total == 1
            return
        column -= size


def test_what_is_out_of_range_is_named_with_value_and_limit():
    rig = Rig()
    rig.run(1)
    rig.run(1, assign(IMU, slice(4, 5), lambda x: 0.0 * x + 100.0))
    message = rig.health(IMU).message
    assert "angular rate y is 100 rad/s, limit 40" in message
    rig.run(1, assign(JOINTS, slice(0, 1), lambda x: 0.0 * x + 1e6))
    assert f"position of {ROBOT.joint_names[0]} is 1e+06" in rig.health(JOINTS).message


@given(share=st.floats(0.0, 1.0), column=st.integers(0, 3 * N - 1), high=st.booleans())
def test_a_range_has_sharp_ends(share, column, high):
    plausible = joint_range(RangeConfig(), ROBOT, effort=True)
    lower, upper = plausible._lower, plausible._upper
    row = np.clip(lower + share * (upper - lower), lower, upper)
    assert plausible.fault(row) is None
    row[column] = upper[column] * 1.001 if high else lower[column] * 1.001
    reason, text = plausible.fault(row)
    assert reason is DropReason.OUT_OF_RANGE
    assert "limit" in text


def test_a_position_is_compared_with_the_end_it_is_beyond():
    robot = RobotModel.from_urdf(KNEE)
    plausible = joint_range(RangeConfig(position_margin=1.0), robot)
    assert plausible.fault(np.array([-3.9, 0.0])) is None
    assert plausible.fault(np.array([1.6, 0.0]))[0] is DropReason.OUT_OF_RANGE
    assert plausible.fault(np.array([-4.1, 0.0]))[1].endswith("limit -4")


def test_a_joint_that_may_turn_once_may_turn_further():
    """UR10 descriptions have limits of +-pi; the arm turns +-2 pi, and recordings show 4.27 rad."""
    robot = RobotModel.from_urdf(KNEE.replace("lower='-3.0' upper='0.5'", "lower='-3.14' upper='3.14'"))
    plausible = joint_range(RangeConfig(), robot)
    for position in (4.27, -6.28):
        assert plausible.fault(np.array([position, 0.0])) is None
    for position in (11.0, np.rad2deg(0.2)):
        assert plausible.fault(np.array([position, 0.0]))[0] is DropReason.OUT_OF_RANGE


def test_contact_forces_are_limited_by_the_weight():
    plausible = wrench_range(RangeConfig(force_factor=8.0), ROBOT)
    weight = GRAVITY * ROBOT.total_mass
    assert plausible.fault(np.array([0.0, 0.0, 5.0 * weight, 0.0, 0.0, 0.0])) is None
    largest = max(8.1 * weight, 301.0)
    assert plausible.fault(np.array([0.0, 0.0, largest, 0.0, 0.0, 0.0]))[0] is DropReason.OUT_OF_RANGE


def foot(share):
    return assign(FOOT, slice(0, 6), lambda x: share * x)


def test_a_force_that_turns_round_while_the_foot_is_in_the_air_is_named_on_landing_and_the_end_is_no_fault():
    rig = Rig()
    rig.run(300)
    rig.run(50, foot(0.0001))
    taken = rig.run(100, foot(-1.0))
    assert taken[FOOT] <= 1
    assert "of another sign" in rig.health(FOOT).message
    assert rig.run(200)[FOOT] >= 195


def test_the_end_of_a_change_of_sign_that_was_not_seen_to_begin_is_no_fault():
    rig = Rig()
    rig.run(300)
    for share in (*np.linspace(1.0, 0.11, 10), *np.linspace(0.09, -1.0, 12)):
        rig.run(1, foot(share))
    assert rig.run(200)[FOOT] >= 195


def test_a_force_that_pulled_from_the_first_reading_is_believed_at_once_when_it_pushes():
    rig = Rig()
    assert rig.run(300, foot(-1.0))[FOOT] == 300
    assert rig.run(200)[FOOT] == 200
    assert rig.run(100, foot(-1.0))[FOOT] <= 10
    assert "of another sign" in rig.health(FOOT).message


SINGLE = {
    "gyroscope y stuck": (IMU, slice(4, 5), lambda x: 0.0 * x + 0.01, "gyroscope y"),
    "accelerometer z saturated": (IMU, slice(2, 3), lambda x: np.minimum(x, 9.0), "accelerometer z"),
    "one position stuck": (JOINTS, slice(1, 2), lambda x: 0.0 * x + 0.1, f"position {ROBOT.joint_names[1]}"),
}


@pytest.mark.parametrize("fault", SINGLE)
def test_a_single_number_that_is_stuck_is_named(fault):
    name, columns, change, words = SINGLE[fault]
    rig = Rig()
    assert rig.run(300)[name] == 300
    assert rig.run(200, assign(name, columns, change))[name] <= 24
    assert words in rig.health(name).message
    assert rig.run(200)[name] == 200


def test_an_effort_at_a_limit_is_used_and_remarked_on_while_it_lasts():
    rig = Rig()
    rig.run(200)

    def clip(rows):
        torques = rows[JOINTS][ROWS.tau]
        torques[-1] = 0.8 * 0.05 * GRAVITY * ROBOT.total_mass

    assert rig.run(40, clip)[JOINTS] == 40
    joints = next(entry for entry in rig.aligner.health(rig.k * MS) if entry.name == JOINTS)
    assert joints.level is HealthLevel.WARN
    assert f"effort {ROBOT.joint_names[-1]} repeats exactly one value" in joints.message
    rig.run(10)
    assert all(entry.level is HealthLevel.OK for entry in rig.aligner.health(rig.k * MS))


@pytest.mark.parametrize("limit", [-0.3, 0.0])
def test_an_effort_whose_noise_leaves_a_limit_again_and_again_is_remarked_on(limit):
    rig = Rig()
    noise = np.random.default_rng(5)
    deviation = 0.05 * GRAVITY * ROBOT.total_mass

    def noisy(rows, most=np.inf):
        rows[JOINTS][ROWS.tau][-1] = deviation * min(noise.standard_normal(), most)

    rig.run(400, noisy)
    assert rig.health(JOINTS).level is HealthLevel.OK
    remarked = 0
    for _ in range(30):
        rig.run(10, lambda rows: noisy(rows, limit))
        remarked += "repeats exactly one value" in rig.health(JOINTS).message
    assert remarked >= 15
    rig.run(20, noisy)
    assert rig.health(JOINTS).level is HealthLevel.OK


def test_quantised_noise_that_repeats_and_a_joint_that_stops_are_no_fault():
    rig = Rig()

    def coarse(rows):
        rows[IMU] = np.round(rows[IMU], 2)
        moved = min(rig.k, 250) * np.linspace(1e-3, 2e-3, N)
        rows[JOINTS][ROWS.q] = np.round(moved, 4)

    assert rig.run(1000, coarse) == {IMU: 1000, JOINTS: 1000, FOOT: 1000}


@pytest.mark.parametrize("readings", [20, 80, 200])
def test_a_fault_at_the_start_does_not_condemn_the_readings_after_it(readings):
    rig = Rig()
    rig.run(readings, foot(-1.0))
    lost = 600 - rig.run(600)[FOOT]
    assert lost <= max(readings, 50) + 5


@pytest.mark.parametrize("end", ["outliers of both signs", "a unit that was not seen to change"])
def test_readings_that_are_usual_again_are_believed(end):
    """The last reading of an unseen fault is no reference for those after it."""
    rng = np.random.default_rng(3)
    outliers = end.startswith("outliers")
    quantity = Quantity("the sensor", slice(0, 3), floor=1.0, factors=(57.3,), sign=True)
    sensor = Alone(quantity)
    usual = np.array([0.1, 0.2, 9.8]) if outliers else np.array([0.1, -0.08, 0.05])
    for _ in range(400):
        assert not sensor.fault(usual + 0.01 * rng.standard_normal(3))
    for k in range(20):
        spike = np.array([0.0, 0.0, 129.0 * (-1) ** k])
        bad = usual + spike if outliers else usual * (1.0 + 2.8 * k)
        sensor.fault(bad)
    faults = [sensor.fault(usual + 0.001 * rng.standard_normal(3)) for _ in range(50)]
    assert not any(faults[5:])


def test_a_spike_in_the_force_of_a_walking_foot_is_over_when_it_is_over():
    """A foot is in the air for half of the time: its usual force is that of the other half."""
    spec = wrench_spec("left", CONFIG, ROBOT)
    sensor, rng = Alone(*spec.quantities), np.random.default_rng(3)
    weight = GRAVITY * ROBOT.total_mass

    def reading(force):
        return np.array([0.0, 0.0, force, 0.0, 0.0, 0.0]) + 1e-3 * weight * rng.standard_normal(6)

    for k in range(600):
        assert not sensor.fault(reading(weight * (k // 50 % 2)))
    for _ in range(3):  # the last reading that is believed is a spike, and no later one is like it
        sensor.fault(reading(5.0 * weight))
        assert sensor.fault(reading(-5.0 * weight))
    faults = [sensor.fault(reading(weight)) for _ in range(40)]
    assert not any(faults[5:])


@pytest.mark.parametrize(("before", "told"), [((0.0, 0.5, 1.0), True), ((1.0, 0.4, -0.3), False)])
def test_the_accelerometer_of_a_robot_that_lands_has_not_changed_its_unit(before, told):
    """A reading multiplied by 9.8 is a change of unit only where the one before was along gravity."""
    sensor = Alone(*imu_spec(INPUTS).quantities)
    rng, row = np.random.default_rng(2), np.zeros(6)
    for _ in range(200):
        row[:3] = np.array([0.3, 0.5, 9.7]) + 0.05 * rng.normal(size=3)
        row[3:] = 0.01 * rng.normal(size=3)
        assert not sensor.fault(row.copy())
    row[:3] = 5.0 * np.array(before) / np.linalg.norm(before)
    assert not sensor.fault(row.copy())
    row[:3] *= 9.8
    assert sensor.fault(row.copy()) is told
