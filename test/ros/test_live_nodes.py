"""Nodes as processes over DDS: start, publish, answer, report bad input, end; in namespaces and managed."""

import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped, QuaternionStamped, Vector3Stamped, Wrench
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

import inertial_estimation as ie
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.ros.parameters import from_ros_value
from inertial_estimation.spatial.inertial_parameters import covariance_from_upper

LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def test_tilt_observer_publishes_answers_and_ends(world):
    node = world.start("tilt_observer")
    orientations = world.listen(QuaternionStamped, "base_orientation")
    states = world.listen(Odometry, "base_state")
    tilts = world.listen(Vector3Stamped, "tilt")
    assert world.run(lambda: len(orientations) > 50 and states and tilts, leave_out=["base_state"])
    assert {stamp_from_msg(msg.header.stamp) for msg in orientations} <= set(world.stamps)
    assert (states[-1].header.frame_id, states[-1].child_frame_id) == ("odom", "trunk")
    assert abs(tilts[-1].vector.z - 1.0) < 1e-3
    assert world.run(lambda: world.said("data checks"), leave_out=["base_state"])
    assert {status.hardware_id for status in world.reports.values()} == {"hopper"}
    for service in ("calibrate_gyro", "check_data", "reset"):
        assert world.call(Trigger, f"tilt_observer/{service}").success
    node.ends_cleanly()


def test_a_calibration_that_is_asked_for_makes_the_bias_uncertain(build, hopper):
    node = build("tilt_observer", **hopper)
    variances = node.pipeline.estimator.observer.state.covariance.diagonal()[6:9]
    before = variances.copy()
    assert "keep the robot still" in node._calibrate_gyro()
    assert (variances > 1.5 * before).all()


def test_the_transform_is_sent_where_its_messages_are_and_missed_in_one_line(build, hopper, capfd):
    """With a stand-in for a publisher of tf2_msgs, of which there is no wheel."""
    node = build("tilt_observer", publish_tf="true", base_frame="trunk", world_frame="map", **hopper)
    assert "tf2_msgs is missing (ros-$ROS_DISTRO-tf2-msgs)" in capfd.readouterr().err
    sent = []
    node._transforms = SimpleNamespace(msg_type=lambda transforms: transforms[0], publish=sent.append)
    zero, up = np.zeros(3), np.array([0.0, 0.0, 1.0])
    state = ie.BaseState(7, [0.6, 0.0, 0.0, 0.8], [1.0, 2.0, 3.0], zero, zero)
    node._publish([ie.BaseEstimate(state, up, zero, (), zero, False, False, np.eye(3))])
    (msg,) = sent
    pose = msg.transform
    assert (msg.header.frame_id, msg.child_frame_id, stamp_from_msg(msg.header.stamp)) == ("map", "trunk", 7)
    assert (pose.rotation.x, pose.rotation.w, pose.translation.z) == (0.6, 0.8, 3.0)


def test_inertial_ekf_publishes_answers_and_ends(world, tmp_path):
    exported = tmp_path / "estimated.urdf"
    node = world.start("inertial_ekf", links="[leg]", export_path=str(exported))
    inertias = world.listen(InertiaStamped, "link_inertias/leg")
    payloads = world.listen(InertiaStamped, "payloads/leg")
    residuals = world.listen(JointState, "torque_residual")
    telemetry = world.listen(JointState, "inertial_ekf/telemetry")
    covariances = world.listen(JointState, "link_covariances/leg")
    markers = world.listen(MarkerArray, "inertial_ekf/markers")
    heard = (inertias, payloads, residuals, telemetry, covariances, markers)
    assert world.run(lambda: all(len(messages) > 3 for messages in heard))
    assert {stamp_from_msg(msg.header.stamp) for msg in inertias} <= set(world.stamps)
    assert inertias[-1].header.frame_id == "leg"
    assert inertias[-1].inertia.m > 0.0
    assert len(residuals[-1].name) == len(residuals[-1].effort) > 0
    values = dict(zip(telemetry[-1].name, telemetry[-1].position, strict=True))
    assert values["mass_nominal/leg [kg]"] == pytest.approx(2.0)
    P = covariance_from_upper(covariances[-1].position)
    assert np.linalg.eigvalsh(P).min() > 0.0
    assert np.sqrt(P[0, 0]) == pytest.approx(values["mass_sigma/leg [kg]"], rel=0.05)
    assert {marker.header.frame_id for marker in markers[-1].markers} == {"leg"}
    for service in ("calibrate", "check_data", "reset", "export_urdf"):
        assert world.call(Trigger, f"inertial_ekf/{service}").success
    assert "<robot" in exported.read_text()
    assert world.call(SetBool, "inertial_ekf/set_enabled", SetBool.Request(data=False)).success
    node.ends_cleanly(signal.SIGTERM)


def test_an_input_has_the_type_that_is_published(world):
    """A wrench without a stamp, whose publisher comes later than the node."""
    node = world.start("inertial_ekf", links="[leg]")
    inertias = world.listen(InertiaStamped, "link_inertias/leg")
    world.run(lambda: False, timeout=1.0, leave_out=("foot/wrench",))
    force = Wrench()
    force.force.z = 10.0 * 9.80665

    def taken():
        world.publish("foot/wrench", force)
        subscriptions = world.node.get_subscriptions_info_by_topic("/foot/wrench")
        return [one.topic_type for one in subscriptions] == ["geometry_msgs/msg/Wrench"]

    assert world.run(taken, leave_out=("foot/wrench",)), node.output
    inertias.clear()
    assert world.run(lambda: taken() and len(inertias) > 20, leave_out=("foot/wrench",)), node.output


def test_a_topic_of_another_type_is_named_with_what_mends_it(world):
    world.publish("foot/wrench", Bool(data=True))
    node = world.start("inertial_ekf", links="[leg]")
    said = "topic 'foot/wrench' has type std_msgs/msg/Bool, expected geometry_msgs/msg/WrenchStamped or"
    assert world.run(lambda: said in node.output, leave_out=("foot/wrench",)), node.output
    assert "contact.source: switch" in node.output


def test_says_which_topic_may_be_meant_by_one_that_nobody_sends(world):
    node = world.start("tilt_observer", "-r", "imu/data:=xsens/imu")
    assert world.run(lambda: "waiting for: /xsens/imu (topics of its type: /imu/data)" in node.output), (
        node.output
    )


def test_says_what_it_waits_for_and_takes_the_description_from_the_topic(world):
    node = world.start("tilt_observer", described=False)
    orientations = world.listen(QuaternionStamped, "base_orientation")
    assert world.run(lambda: "waiting for: /robot_description" in node.output, sensors=False)
    good = world.urdf.read_text()
    for bad, said in (
        (str(world.urdf), "expected the XML text of a URDF"),
        (good.replace('<mass value="', '<mass value="-'), "expected at least 0"),
    ):
        world.publish("robot_description", String(data=bad), LATCHED)
        assert world.run(lambda said=said: said in node.output, sensors=False)
    world.publish("robot_description", String(data=good), LATCHED)
    only_imu = "waiting for: /imu/data\n"
    assert world.run(lambda: only_imu in node.output.replace("\x1b[0m", ""), leave_out=["imu/data"])
    assert not orientations
    assert world.run(lambda: len(orientations) > 10)
    world.publish("robot_description", String(data=good.replace('<mass value="', '<mass value="1')), LATCHED)
    assert world.run(lambda: "has changed and is not used before the node is started again" in node.output)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tilt_observer: {ros__parameters: {inputs: {timeuot: 0.2}}}\n", "did you mean 'inputs.timeout'"),
        ("tilt_observer: [", "robot.yaml"),
    ],
)
def test_a_mistake_in_a_parameter_file_ends_with_one_line(world, tmp_path, text, said):
    (tmp_path / "robot.yaml").write_text(text)
    node = world.start("tilt_observer", "--params-file", str(tmp_path / "robot.yaml"))
    assert node.wait() == 2
    (error,) = [line for line in node.output.splitlines() if line.startswith("error: ")]
    assert said in error
    assert "Traceback" not in node.output


OVERRIDE = "qos_overrides./imu/data.subscription"
COMMANDS = {"command_joints": "[elbow, wrist, elbow]"}


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("tilt_observer", {"rate": "-5.0"}, "parameter 'rate' is -5.0, expected"),
        ("tilt_observer", {f"{OVERRIDE}.reliability": "relaible"}, "of 'imu/data': .*relaible"),
        ("tilt_observer", {f"{OVERRIDE}.depth": "ten"}, "qos_overrides.*imu/data"),
        ("inertial_ekf", {"export_path": "/tmp/robot.txt"}, "expected a path that ends in '.urdf'"),
        ("simulator", {"disturbances": '["{kind: ball, mass: 2}"]'}, "link missing in .kind: ball, mass: 2"),
        ("whole_body_controller", COMMANDS, "wrist, which the robot does not; it has elbow more"),
    ],
)
def test_a_wrong_configuration_is_named(build, hopper, arm, name, parameters, expected):
    robot = arm if name in ("simulator", "whole_body_controller") else hopper
    with pytest.raises(ie.InertialEstimationError, match=expected):
        build(name, **{**robot, **parameters})


CONFIG = Path(__file__).resolve().parents[2] / "config"
IN_ROBOT1 = ("-r", "__ns:=/robot1")


@pytest.mark.parametrize(
    ("robot", "name"),
    [("icub", "tilt_observer"), ("icub", "inertial_ekf"), ("hyq", "trunk_payload"), ("go2", "simulator")],
)
def test_the_parameters_of_a_robot_file_arrive_in_a_namespace(build, robot, name):
    """The robot description is not there yet: the parameters are declared all the same."""
    file = CONFIG / f"{robot}.yaml"
    expected = load_config_file(file).nodes[name]
    node = build(name, "--params-file", str(file), *IN_ROBOT1, urdf="''")
    assert node.get_namespace() == "/robot1"
    found = {key: from_ros_value(node.get_parameter(key).value) for key in expected}
    assert found == {key: value or [""] if value == [] else value for key, value in expected.items()}


@pytest.mark.parametrize("name", ["tilt_observer", "inertial_ekf", "trunk_payload"])
def test_a_node_in_a_namespace_publishes_and_reads_the_same_as_a_plain_one(build, name):
    def topics(*remapped):
        node = build(name, "--params-file", str(CONFIG / "hyq.yaml"), *remapped)
        ends = {*node.publishers, *node.subscriptions}
        return {(type(end), node.resolve_topic_name(end.topic_name), end.msg_type) for end in ends}

    common = ("/diagnostics", "/rosout", "/parameter_events", "/clock")  # of all robots
    plain = {(end, topic if topic in common else f"/robot1{topic}", kind) for end, topic, kind in topics()}
    assert len(plain) > 10
    assert topics(*IN_ROBOT1) == plain


MANAGED = {"managed": "true"}


def change(world, transition):
    request = ChangeState.Request(transition=Transition(id=transition))
    return world.call(ChangeState, "tilt_observer/change_state", request).success


def state(world):
    return world.call(GetState, "tilt_observer/get_state").current_state.label


def reports(world, word):
    return any(word in status.message for status in world.reports.values())


def test_through_all_states(world):
    node = world.start("tilt_observer", **MANAGED)
    heard = world.listen(QuaternionStamped, "base_orientation")
    assert state(world) == "unconfigured"
    assert not world.node.count_subscribers("imu/data")
    assert world.run(lambda: reports(world, "unconfigured"))

    assert change(world, Transition.TRANSITION_CONFIGURE)
    assert state(world) == "inactive"
    assert world.run(lambda: world.node.count_subscribers("imu/data") == 1)
    assert world.run(lambda: reports(world, "inactive"))
    assert not heard

    assert change(world, Transition.TRANSITION_ACTIVATE)
    assert world.run(lambda: len(heard) > 20)
    assert change(world, Transition.TRANSITION_DEACTIVATE)
    deactivated, before = world.stamps[-1], world.heard
    assert world.run(lambda: world.heard > before + 1), "it goes on reading"
    assert stamp_from_msg(heard[-1].header.stamp) <= deactivated

    assert change(world, Transition.TRANSITION_CLEANUP)
    assert state(world) == "unconfigured"
    assert world.run(lambda: not world.node.count_subscribers("imu/data"))
    assert change(world, Transition.TRANSITION_CONFIGURE), "again, from the beginning"
    assert change(world, Transition.TRANSITION_ACTIVATE)
    again = len(heard)
    assert world.run(lambda: len(heard) > again + 20)

    world.reports.clear()
    assert change(world, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state(world) == "finalized"
    assert world.run(lambda: reports(world, "finalized"))
    node.ends_cleanly()


def test_what_cannot_be_configured_is_said_and_refused(world):
    """A transition that does not exist, no description yet, and a wrong name in it."""
    wrong = {"imu_frame": "imo", "contacts": "[foot]"}
    node = world.start("tilt_observer", robot=wrong, described=False, **MANAGED)
    assert not change(world, Transition.TRANSITION_ACTIVATE)
    assert not change(world, Transition.TRANSITION_CONFIGURE)
    assert "no robot description on /robot_description yet" in node.output
    world.publish("robot_description", String(data=world.urdf.read_text()), LATCHED)

    def named():
        assert not change(world, Transition.TRANSITION_CONFIGURE)
        return "no frame 'imo'" in node.output

    assert world.run(named)
    assert state(world) == "unconfigured"
