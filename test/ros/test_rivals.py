"""A node that is started twice says so; one that shares its topics with nobody does not."""

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from std_msgs.msg import Bool

from inertial_estimation.configuration.config_file import find_config

OK, WARN = b"\x00", b"\x01"


def graph_of(diagnostics):
    """The newest status of the graph: level and message."""
    found = [s for array in diagnostics for s in array.status if s.name.endswith(": graph")]
    return (found[-1].level, found[-1].message) if found else (None, "")


def shows(world, diagnostics, level, text=""):
    """Whether the graph comes to this status; what the tilt observer publishes comes from it alone."""

    def shown():
        found = graph_of(diagnostics)
        return found[0] == level and text in found[1]

    return world.run(shown, leave_out=("base_state",))


def test_a_node_that_is_started_twice_says_so_until_one_ends(world):
    node = world.start("tilt_observer")
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")
    assert shows(world, diagnostics, OK)
    other = world.start("tilt_observer")
    assert shows(world, diagnostics, WARN, "another publisher sends /base_orientation, /base_state, /tilt")
    for one in (node, other):
        assert world.run(lambda one=one: "started twice?" in one.output, leave_out=("base_state",))
    assert other.stop() == 0, other.output
    assert shows(world, diagnostics, OK)
    assert world.run(lambda: "recovered: graph" in node.output, leave_out=("base_state",))
    assert node.stop() == 0, node.output


def test_a_command_that_others_may_send_is_no_rival(world):
    node = world.start("trunk_payload", "--params-file", str(find_config("hyq")), described=False, robot={})
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")
    world.node.create_publisher(Bool, "hold", 10)
    world.node.create_publisher(InertiaStamped, "payload", 10)
    assert shows(world, diagnostics, WARN, "another publisher sends /payload, too"), node.output
    assert node.stop() == 0, node.output
