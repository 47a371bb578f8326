"""Readings that no sensor gives are dropped; sensors that repeat one reading are reported, and used."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.leg_robot import URDF

from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.rows import IMU, JointRow, imu_spec, joint_spec, wrench_spec
from inertial_estimation.inputs.config import InputConfig, RangeConfig
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.models.input_ranges import joint_range, wrench_range
from inertial_estimation.models.robot_config import RobotConfig
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
STUCK = {
    "accelerometer": (IMU, slice(0, 3), lambda x: FROZEN, "the accelerometer"),
    "gyroscope": (IMU, slice(3, 6), lambda x: 0.01 * FROZEN, "the gyroscope"),
    "gyroscope at zero": (IMU, slice(3, 6), lambda x: 0.0 * x, "the gyroscope"),
    "whole IMU": (IMU, slice(0, 6), lambda x: np.arange(6.0), "the accelerometer and the gyroscope"),
    "wrench": (FOOT, slice(0, 6), lambda x: np.arange(6.0), "the force sensor"),
}


@pytest.mark.parametrize("fault", STUCK)
def test_a_sensor_that_repeats_one_reading_is_reported_while_it_does_and_used(fault):
    name, columns, change, words = STUCK[fault]
    rig = Rig()
    assert rig.run(300) == {IMU: 300, JOINTS: 300, FOOT: 300}
    assert rig.health(name).level is HealthLevel.OK
    for _ in range(10):  # longer than the rows that are kept
        assert rig.run(300, assign(name, columns, change))[name] == 300
        entry = rig.health(name)
        assert entry.level is HealthLevel.WARN
        assert f"the readings of {words} repeat exactly" in entry.message
    rig.run(20)
    assert rig.health(name).level is HealthLevel.OK
    rig.run(200)
    rig.run(30, assign(name, columns, change))
    assert rig.health(name).level is HealthLevel.WARN, "a second time"


@pytest.mark.parametrize("unit", [0.119 * GRAVITY, 400.0], ids=["integers", "on/off"])
def test_a_foot_sensor_of_integers_or_a_switch_that_stands_still_is_no_fault(unit):
    rig = Rig()
    held = []

    def coarse(rows):
        force = 8.0 * math.sin(0.02 * rig.k) + 0.5 * rig.rng.standard_normal()
        rows[FOOT][:] = 0.0
        rows[FOOT][2] = unit * round(force) if unit < 2.0 else unit * (force > 0.0)

    rig.run(1000, coarse)
    rig.run(1, lambda rows: (coarse(rows), held.append(rows[FOOT].copy())))
    for _ in range(8):
        assert rig.run(300, assign(FOOT, slice(0, 6), lambda x: held[0]))[FOOT] == 300
        assert rig.health(FOOT).level is HealthLevel.OK


def test_an_accelerometer_of_exactly_zero_is_impossible_and_dropped():
    rig = Rig()
    rig.run(100)
    assert rig.run(50, assign(IMU, slice(0, 3), lambda x: 0.0 * x))[IMU] == 0
    assert "out of range: specific force is exactly zero" in rig.health(IMU).message
    assert rig.run(100)[IMU] >= 96


def test_a_robot_without_noise_at_rest_is_no_fault():
    rig = Rig(noise=0.0)
    assert rig.run(500) == {IMU: 500, JOINTS: 500, FOOT: 500}
    assert all(rig.health(name).level is HealthLevel.OK for name in (IMU, JOINTS, FOOT))


def test_a_robot_that_comes_to_rest_in_a_simulation_without_noise_is_no_fault():
    rig = Rig()
    rig.run(300)
    rig.noise = 0.0
    rig.run(100)
    assert all(rig.health(name).level is HealthLevel.OK for name in (IMU, JOINTS, FOOT))


def test_a_foot_that_swings_without_force_is_no_fault():
    rig = Rig(noise=0.0)
    rig.run(200)
    phases = np.linspace(1.0, 0.0, 20)
    for share in (*phases, *np.zeros(100), *phases[::-1]):
        assert rig.run(1, assign(FOOT, slice(0, 6), lambda x, share=share: share * x))[FOOT] == 1


def test_a_foot_in_the_air_whose_driver_sends_zeros_is_no_fault():
    rig = Rig()
    rig.run(200)
    for share in (*np.linspace(1.0, 0.05, 40), *np.zeros(60), *np.linspace(0.05, 1.0, 40)):
        assert rig.run(1, assign(FOOT, slice(0, 6), lambda x, share=share: share * x))[FOOT] == 1
        assert rig.health(FOOT).level is HealthLevel.OK


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
    plausible = joint_range(RangeConfig(), robot)
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
    plausible = wrench_range(RangeConfig(), ROBOT)
    weight = GRAVITY * ROBOT.total_mass
    assert plausible.fault(np.array([0.0, 0.0, 5.0 * weight, 0.0, 0.0, 0.0])) is None
    largest = max(8.1 * weight, 301.0)
    assert plausible.fault(np.array([0.0, 0.0, largest, 0.0, 0.0, 0.0]))[0] is DropReason.OUT_OF_RANGE
