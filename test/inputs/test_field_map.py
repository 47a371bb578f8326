"""Fields of messages: what is sent is read, what is wrong is named with what mends it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from support.input_scenes import JOINTS_OF, MS, START, inputs, parameters

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.inputs.field_map import FieldMap
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE, ContactSource

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
