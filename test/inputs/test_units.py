import numpy as np
import pytest
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, parameters, swing

from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import JointReading

DEGREES = 180.0 / np.pi


def play(
    force=1.0, rate=1.0, position=1.0, velocity=1.0, effort=1.0, config=None, seconds=2.0, still=False, hz=250
):
    """A base that rolls and joints that swing, with readings in other units by factors."""
    robot, rng = inputs(config, needs=JointNeeds(efforts=True)), np.random.default_rng(0)
    for k in range(int(hz * seconds)):
        t = k / hz
        roll, roll_rate = (0.0, 0.0) if still else swing(t, amplitude=0.2, frequency=5.0)
        f = np.array([0.0, np.sin(roll), np.cos(roll)]) * STANDARD_GRAVITY + 0.5 * rng.normal(size=3)
        w = np.array([roll_rate, 0.0, 0.0]) + 0.01 * rng.normal(size=3)
        q, v = np.array([swing(t, j) for j in range(4)]).T * (0.0 if still else 1.0)
        stamp = START + 1000 * MS // hz * k
        robot.push(IMU, imu(stamp, force * f, rate * w), stamp)
        robot.push(
            JOINTS,
            JointReading(stamp, JOINTS_OF, position * (q + 0.2), velocity * v, effort * (8.0 + v)),
            stamp,
        )
    return robot


def test_right_units_say_nothing():
    assert play().units() == {}
    assert play(still=True).units() == {}
    assert play(force=1 / STANDARD_GRAVITY, seconds=0.2).units() == {}  # too little is known


@pytest.mark.parametrize(
    ("factors", "said", "units"),
    [
        ({"force": 1 / STANDARD_GRAVITY}, ["specific force in g (|f| at rest 1.0"], "[g]"),
        ({"force": 1000 / STANDARD_GRAVITY}, ["specific force in mg"], "[mg]"),
        ({"rate": DEGREES}, ["angular rate in deg/s"], "[deg/s]"),
        ({"force": 1 / STANDARD_GRAVITY, "rate": DEGREES}, ["force in g", "rate in deg/s"], "[g, deg/s]"),
    ],
)
def test_units_of_the_imu_are_named_at_once_with_the_parameter_that_mends_them(factors, said, units):
    sentence = play(**factors).units()[IMU]
    assert all(part in sentence for part in said)
    assert sentence.endswith(f"set imu.units: {units}")
    mended = parameters(imu__units=units.strip("[]").split(", "))
    assert play(**factors, config=mended).units() == {}


def test_specific_force_without_gravity_is_named():
    assert "without gravity" in play(force=0.02).units()[IMU]


@pytest.mark.parametrize(
    ("factors", "said", "remedy"),
    [
        ({"position": DEGREES}, "positions in deg", "joint_states.units: [deg]"),
        (
            {"position": DEGREES, "velocity": DEGREES},
            "velocities in deg/s",
            "joint_states.units: [deg, deg/s]",
        ),
        ({"velocity": DEGREES}, "velocities in deg/s", "joint_states.units: [deg/s]"),
        ({"velocity": 60 / (2 * np.pi)}, "velocities in rpm", "joint_states.units: [rpm]"),
        ({"effort": 1000.0}, "times the limits of the joints (in mNm or mA?", "drive_gains"),
        ({"effort": 34.0}, "times the limits of the joints (in percent or of a current?", "drive_gains"),
    ],
)
@pytest.mark.parametrize("hz", [250, 1000])
def test_units_of_joint_states_are_named_with_what_mends_them(factors, said, remedy, hz):
    sentence = play(**factors, hz=hz).units()[JOINTS]
    assert said in sentence
    assert remedy in sentence
