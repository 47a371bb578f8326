import numpy as np
import pinocchio as pin
import pytest
from support.input_scenes import MS, START, imu, inputs, message, parameters, setup, wrench

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE, ContactSource, SensorAxes, contact_sources
from inertial_estimation.models.contacts import ContactFrames, WrenchAxes
from inertial_estimation.signals import ContactSample

FEET = ("l_foot", "r_foot")
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # by 90 degrees about z


def robot_with(source, config=None, robot=None):
    return inputs(config, sources=dict.fromkeys(FEET, ContactSource(source)), robot=robot)


def newest(robot, name):
    ring = robot.streams[name].ring
    return ring.rows[ring.end - 1]


def test_sources_are_one_for_all_or_one_for_each():
    assert contact_sources("switch", FEET) == dict.fromkeys(FEET, ContactSource.SWITCH)
    assert contact_sources(["wrench", "none"], FEET)["r_foot"] is ContactSource.NONE
    with pytest.raises(ConfigurationError, match="no contact source 'switsch', did you mean 'switch'"):
        contact_sources("switsch", FEET)


def test_forces_are_checked_and_switches_are_no_forces():
    robot = robot_with("force")
    robot.push("l_foot/wrench", ContactSample(0, 60.0), START)
    robot.push("l_foot/wrench", ContactSample(0, 1e6), START + MS)
    assert newest(robot, "l_foot/wrench") == [60.0]
    assert "vertical force is 1e+06 N" in robot.streams["l_foot/wrench"].drops.summary
    robot.push("r_foot/wrench", wrench(START, (1.0, 2.0, 30.0)), START)
    assert newest(robot, "r_foot/wrench") == [30.0]
    for value in range(5):  # that a node takes at once, at one time of a simulation
        robot.push("l_foot/wrench", ContactSample(0, value), START + 2 * MS)
    assert robot.streams["l_foot/wrench"].drops.total == 1
    robot = robot_with("switch")
    for value in (0.0, 1.0, 0.4, 2.0):
        robot.push("l_foot/wrench", ContactSample(0, value), START + round(value * 10) * MS)
    assert robot.streams["l_foot/wrench"].drops.total == 2  # 0.4 comes after 1, 2 is no probability


@pytest.mark.parametrize("lifted", [True, False])
def test_integers_that_grow_with_the_force_are_scaled_to_the_weight(lifted):
    robot, weight = robot_with("raw_force"), 9.80665 * 14.0
    for k in range(1000):
        share = 0.5 + 0.5 * np.sin(0.02 * k) if lifted else 0.7
        for foot, own in (("l_foot", share), ("r_foot", 1.0 - share)):
            robot.push(
                f"{foot}/wrench", ContactSample(0, round(20.0 * lifted + 400.0 * own)), START + 5 * MS * k
            )
    rings = [robot.streams[f"{foot}/wrench"].ring for foot in FEET]
    total = sum(ring.rows[ring.end - 600 : ring.end, 0] for ring in rings)
    np.testing.assert_allclose(total, weight, rtol=0.15)
    for wild in (1e9, -1e30):
        robot.push("l_foot/wrench", ContactSample(0, wild), START + 5000 * MS)
    robot.push("l_foot/wrench", ContactSample(0, 20.0 * lifted + 200.0), START + 5001 * MS)
    np.testing.assert_allclose(newest(robot, "l_foot/wrench"), 0.5 * weight, rtol=0.15)
    for k in range(1001, 1200):  # the robot hangs
        for foot in FEET:
            robot.push(f"{foot}/wrench", ContactSample(0, 20.0 * lifted), START + 5 * MS * k)
    assert abs(newest(robot, "l_foot/wrench")[0]) < 0.05 * weight


def test_a_stuck_wrench_is_reported_and_used():
    robot = robot_with("wrench")
    for k in range(100):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp, rate=[0.001 * (k % 7), 0.0, 0.0]), stamp)
        for name, changes in (("l_foot", k < 20), ("r_foot", True)):
            robot.push(f"{name}/wrench", wrench(stamp, (0.0, 0.0, 50.0 + 0.1 * (k % 5) * changes)), stamp)
        assert ("repeats exactly" in message(robot, "l_foot/wrench")) == (k >= 80), "for 0.3 s"
    assert "repeats" not in message(robot, "r_foot/wrench")
    assert len(robot.streams["l_foot/wrench"].ring) == 100


@pytest.mark.parametrize(
    ("wrench_frame", "frame_id", "axes"),
    [
        ("L_foot", "", "sensor"),
        ("L_foot", "base", "base"),
        ("L_foot", "r/odom", "world"),
        ("base", "L_foot", "base"),
        ("world", "odom", "world"),
    ],
)
def test_axes_are_those_of_the_parameters_unless_messages_say_others(wrench_frame, frame_id, axes):
    robot, by_parameters = setup(), WrenchAxes.named(wrench_frame, "base_link")
    object.__setattr__(
        robot, "contacts", (ContactFrames("l_foot", "L_foot", "L_foot", by_parameters), robot.contacts[1])
    )
    for use in ("use", "ignore"):
        made = robot_with("wrench", parameters(inputs__frame_ids=use), robot)
        made.push("l_foot/wrench", wrench(START, (1.0, 2.0, 3.0)), START, frame_id)
        assert made.contacts["l_foot"].axes is (WrenchAxes(axes) if use == "use" else by_parameters)
    np.testing.assert_array_equal(newest(made, "l_foot/wrench")[:3], [1.0, 2.0, 3.0])


def test_a_wrench_in_another_frame_of_its_body_is_moved_to_that_of_the_parameters():
    robot = robot_with("wrench")
    robot.push("l_foot/wrench", wrench(START, (1.0, 0.0, 50.0), (0.0, 2.0, 0.0)), START, "L_cell")
    force = TURN @ [1.0, 0.0, 50.0]
    moment = TURN @ [0.0, 2.0, 0.0] + np.cross([0.0, 0.0, 0.1], force)
    np.testing.assert_allclose(newest(robot, "l_foot/wrench"), [*force, *moment], atol=1e-12)
    assert "turned by 90.0 deg" in message(robot, "l_foot/wrench")
    robot.push("r_foot/wrench", wrench(START), START, "nowhere")
    assert "'nowhere' is no frame of the robot" in message(robot, "r_foot/wrench")


@pytest.mark.parametrize(
    ("frame_id", "angle"),
    [("", 0), ("imu_link", 0), ("turned", 90), ("tilted", 11.459), ("L_foot", 0), ("x", 0)],
)
def test_readings_of_the_imu_in_another_frame_are_turned(frame_id, angle):
    robot = inputs()
    robot.push(IMU, imu(START, [1.0, 0.0, 9.0], [0.0, 2.0, 0.0]), START, frame_id)
    R, row = pin.exp3(np.radians([0.0, 0.0, angle])), newest(robot, IMU)
    np.testing.assert_allclose(row[FORCE], R @ [1.0, 0.0, 9.0], atol=1e-5)
    np.testing.assert_allclose(row[RATE], R @ [0.0, 2.0, 0.0], atol=1e-5)
    said = {
        "turned": "turned by 90.0 deg",
        "tilted": "turned by 11.5 deg",
        "L_foot": "is on another body",
        "x": "is no frame of the robot",
    }
    assert said.get(frame_id, "arriving") in message(robot, IMU)


Q = np.array([0.4, -0.7, 0.2, -0.3])


def sent_in(frame_id):
    """The wrenches of both feet in a frame, as the axes turn them, and what is said of them."""
    robot = setup(wrench_frames=("L_cell", "R_cell"))
    sources = dict.fromkeys(robot.contact_names, ContactSource.WRENCH)
    taken = inputs(robot=robot, sources=sources)
    taken.push("l_foot/wrench", wrench(START), START, frame_id)
    taken.push("r_foot/wrench", wrench(START), START, "R_cell")
    axes = SensorAxes(robot, taken.contacts)
    rows = np.arange(12.0).reshape(2, 6)
    return robot.robot, rows, axes.turned(rows, Q), axes.note


def test_wrenches_in_the_axes_of_the_base_are_turned_by_the_joints_and_those_of_the_world_named():
    robot, rows, turned, note = sent_in("base")
    model, data = robot.model, robot.model.createData()
    pin.framesForwardKinematics(model, data, robot.configuration(Q))
    R_BF = data.oMf[robot.frame_id("L_cell")].rotation
    np.testing.assert_allclose(R_BF @ turned[0, :3], rows[0, :3], atol=1e-12)
    np.testing.assert_allclose(R_BF @ turned[0, 3:], rows[0, 3:], atol=1e-12)
    np.testing.assert_array_equal(turned[1], rows[1])
    assert note == ""
    assert "the wrenches of l_foot are in the axes of the world" in sent_in("odom")[3]
