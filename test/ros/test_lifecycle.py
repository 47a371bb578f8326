"""A managed node: configured it checks and reads, active it publishes, deactivated it is silent."""

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")
lifecycle = pytest.importorskip("lifecycle_msgs.srv", reason="needs lifecycle_msgs")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import QuaternionStamped
from lifecycle_msgs.msg import Transition
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from std_msgs.msg import String

from inertial_estimation.inputs.messages import stamp_from_msg

MANAGED = {"managed": "true"}


def change(world, transition, node="tilt_observer"):
    request = lifecycle.ChangeState.Request(transition=Transition(id=transition))
    return world.call(lifecycle.ChangeState, f"{node}/change_state", request).success


def state(world, node="tilt_observer"):
    return world.call(lifecycle.GetState, f"{node}/get_state").current_state.label


def messages_of(diagnostics):
    return [status.message for status in diagnostics[-1].status] if diagnostics else []


def test_through_all_states(world):
    node = world.start("tilt_observer", **MANAGED)
    heard = world.listen(QuaternionStamped, "base_orientation")
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")
    assert state(world) == "unconfigured"
    assert not world.node.count_subscribers("imu/data")
    assert world.run(lambda: "unconfigured" in messages_of(diagnostics))

    assert change(world, Transition.TRANSITION_CONFIGURE)
    assert state(world) == "inactive"
    assert world.run(lambda: world.node.count_subscribers("imu/data") == 1)
    assert world.run(lambda: any("inactive" in text for text in messages_of(diagnostics)))
    assert not heard

    assert change(world, Transition.TRANSITION_ACTIVATE)
    assert world.run(lambda: len(heard) > 20)
    assert change(world, Transition.TRANSITION_DEACTIVATE)
    deactivated = world.stamps[-1]
    before = len(diagnostics)
    assert world.run(lambda: len(diagnostics) > before + 1), "it goes on reading"
    assert stamp_from_msg(heard[-1].header.stamp) <= deactivated

    assert change(world, Transition.TRANSITION_CLEANUP)
    assert state(world) == "unconfigured"
    assert world.run(lambda: not world.node.count_subscribers("imu/data"))
    assert change(world, Transition.TRANSITION_CONFIGURE), "again, from the beginning"
    assert change(world, Transition.TRANSITION_ACTIVATE)
    again = len(heard)
    assert world.run(lambda: len(heard) > again + 20)

    assert change(world, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state(world) == "finalized"
    assert world.run(lambda: any(text.startswith("finalized") for text in messages_of(diagnostics)))
    assert "unconfigured" not in messages_of(diagnostics)
    assert node.stop() == 0, node.output
    assert "Traceback" not in node.output


def test_what_cannot_be_configured_is_said_and_refused(world):
    """A transition that does not exist, no description yet, and a wrong name in it."""
    node = world.start(
        "tilt_observer", robot={"imu_frame": "imo", "contacts": "[foot]"}, described=False, **MANAGED
    )
    assert not change(world, Transition.TRANSITION_ACTIVATE)
    assert not change(world, Transition.TRANSITION_CONFIGURE)
    assert "no robot description on /robot_description yet" in node.output
    latched = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    world.publish("robot_description", String(data=world.urdf.read_text()), latched)

    def named():
        assert not change(world, Transition.TRANSITION_CONFIGURE)
        return "no frame 'imo'" in node.output

    assert world.run(named)
    assert state(world) == "unconfigured"
    assert node.stop() == 0, node.output
