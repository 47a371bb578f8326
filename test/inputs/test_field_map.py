"""Fields of messages and their units: what is sent is read, what is wrong is named with what mends it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from support.input_scenes import JOINTS_OF, MS, START, TURN, imu, inputs, parameters, swing
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.inputs.field_map import FieldMap
from inertial_estimation.inputs.health import UnitDetector
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE, ContactSource
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import JointReading

MAPS = Path(__file__).resolve().parents[2] / "config" / "maps"
CONTENT = {
    "topic": "/state",
    "type": "vendor/msg/State",
    "stamp": "arrival",
    "imu": {"specific_force": "imu.acc", "angular_rate": "imu.gyro"},
    "joints": {"names": list(JOINTS_OF), "position": "motors[0:4].q", "velocity": "motors[0:4].dq"},
    "contacts": {"L_FOOT": "feet[0]", "r_foot": "feet[1]", "tail": "feet[2]"},
}


def state(t=0.0, motors=6, **more):
    given = [SimpleNamespace(q=0.1 * k + t, dq=1.0, tau=0.0) for k in range(motors)]
    sensor = SimpleNamespace(acc=[t, 0.0, 9.81], gyro=np.array([0.1, 0.2, 0.3], dtype=np.float32))
    return SimpleNamespace(imu=sensor, motors=given, feet=np.array([100, 200, 5], dtype=np.int16), **more)


def changed(**values):
    return FieldMap({**CONTENT, **values}, "m")


def mapped(folder):
    """Parameters of inputs by the map."""
    path = folder / "state.yaml"
    path.write_text(yaml.safe_dump(CONTENT))
    return parameters(inputs__map=[str(path)])


def test_a_message_becomes_readings_of_all_its_quantities(tmp_path):
    robot = inputs(
        sources={"l_foot": ContactSource.RAW_FORCE, "r_foot": ContactSource.RAW_FORCE},
        config=mapped(tmp_path),
    )
    assert set(robot.topics) == {"state"}
    push = robot.connect("state", "vendor/msg/State", lambda data: state(t=data[0]))
    for k in range(50):
        push(state(t=0.001 * k), START + 5 * MS * k)
    samples = robot.ready()
    assert len(samples) == 50
    assert not any(sample.missing for sample in samples[1:])
    row = samples[-1]
    np.testing.assert_allclose(row.driver[FORCE], [0.049, 0.0, 9.81])
    np.testing.assert_allclose(row.driver[RATE], [0.1, 0.2, 0.3], rtol=1e-6)
    np.testing.assert_allclose(row.rows[JOINTS], [0.049, 0.149, 0.249, 0.349, 1, 1, 1, 1], atol=1e-12)
    weight = 9.80665 * 14.0
    np.testing.assert_allclose(row.rows["l_foot/wrench"], weight / 3.0)
    np.testing.assert_allclose(row.rows["r_foot/wrench"], weight / 1.5)
    assert all(health.message == "arriving" for health in robot.health(START + 245 * MS))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"topic": "/other"}, "two maps of 'inputs.map' have the input 'l_foot/wrench'"),
        ({"topic": "/other", "contacts": {}}, "two maps of 'inputs.map' have the input 'imu/data'"),
        ({"imu": {}, "contacts": {}}, "has the topic 'state' of another input"),
        ({"topic": "r_foot/wrench", "imu": {}, "contacts": {}}, "has the topic 'r_foot/wrench'"),
    ],
)
def test_of_two_maps_none_replaces_an_input_of_the_other(tmp_path, second, said):
    for name, content in (("one", CONTENT | {"contacts": {"l_foot": "feet[0]"}}), ("two", CONTENT | second)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    both = parameters(inputs__map=[str(tmp_path / f"{name}.yaml") for name in ("one", "two")])
    with pytest.raises(ConfigurationError, match=said):
        inputs(both, sources=dict.fromkeys(("l_foot", "r_foot"), ContactSource.RAW_FORCE))


@pytest.mark.parametrize(("stamp", "field"), [("tick[ms]", 1700), ("header.stamp", None), ("time[s]", 1.7)])
def test_stamps_are_numbers_or_times(stamp, field):
    header = SimpleNamespace(stamp=SimpleNamespace(sec=1, nanosec=700_000_000))
    values = changed(stamp=stamp).values(state(tick=field, time=field, header=header), START)
    assert values["imu"].stamp_ns == values["joints"].stamp_ns == 1_700_000_000


def test_a_message_that_lacks_fields_is_counted_and_named(tmp_path):
    robot = inputs(mapped(tmp_path))
    push = robot.connect("state", "vendor/msg/State")
    push(state(motors=3), START)
    assert "3 elements, expected at least 4" in robot.streams[IMU].drops.summary
    with pytest.raises(MeasurementError, match="lacks what its map names"):
        changed(imu={"specific_force": "imu.x", "angular_rate": "imu.gyro"}).values(state(), START)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"imus": {}}, "has the key 'imus', did you mean 'imu'"),
        ({"imu": {"specific_force": "a"}}, "lacks angular_rate"),
        ({"joints": {"names": ["a"], "position": "a.[3]"}}, "is no path"),
    ],
)
def test_maps_with_mistakes_are_refused_with_one_line(values, said):
    with pytest.raises(ConfigurationError, match=said):
        changed(**values)


@pytest.mark.parametrize(
    ("name", "kind", "motors"),
    [("unitree_go", "unitree_go/msg/LowState", 12), ("unitree_g1", "unitree_hg/msg/LowState", 29)],
)
def test_maps_of_the_package_read_messages_as_the_vendor_lays_them_out(name, kind, motors):
    mapped = FieldMap.find(str(MAPS / f"{name}.yaml"))
    assert mapped.message_type == kind
    sensor = SimpleNamespace(accelerometer=np.arange(3), gyroscope=np.arange(3, 6), quaternion=np.zeros(4))
    given = [SimpleNamespace(q=k, dq=-k, tau_est=2 * k) for k in range(35 if motors == 29 else 20)]
    msg = SimpleNamespace(
        imu_state=sensor, motor_state=given, foot_force=np.array([1, 2, 3, 4], dtype=np.int16), tick=7
    )
    values = mapped.values(msg, START)
    assert len(values["joints"].names) == motors
    assert values["joints"].effort.tolist() == [2.0 * k for k in range(motors)]
    assert values["imu"].angular_rate_I.tolist() == [3.0, 4.0, 5.0]
    if motors == 12:
        by_name = dict(zip(values["joints"].names, values["joints"].position, strict=True))
        assert by_name["FL_calf_joint"] == 5.0
        assert by_name["RR_hip_joint"] == 6.0
        foot = SimpleNamespace(name="front_left", frame="fl_foot")
        assert mapped.contacts_of([foot]) == {"FL_foot": "front_left"}
        assert values["RL_foot"].value == 4.0


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
    assert play(position=DEGREES, seconds=0.7, hz=1000).units() == {}


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


@pytest.mark.parametrize(("factor", "said"), [(1.0, ""), (DEGREES, "positions in deg")])
def test_a_joint_whose_limits_are_a_turn_may_turn_further_and_is_in_degrees_by_its_speed(factor, said):
    swings, times = joint_xml("swing", "base", "arm", limit=TURN), START + 4 * MS * np.arange(500)
    robot = RobotModel.from_urdf(
        robot_xml(link_xml("base"), link_xml("arm", 1.0), swings), floating_base=False
    )
    q, v = swing(np.linspace(0.0, 2.0, 500))
    rows = np.column_stack((factor * (q + 40.0), v, np.zeros(500)))
    sentence = UnitDetector(robot, parameters()).joints(np.array([0]), times, rows)
    assert said in sentence
    assert bool(said) == bool(sentence)


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
