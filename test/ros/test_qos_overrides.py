"""Quality of service by parameters: taken over by publishers and subscriptions, refused where it is wrong."""

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

import yaml
from geometry_msgs.msg import QuaternionStamped
from rclpy.qos import QoSDurabilityPolicy, QoSReliabilityPolicy

BEST_EFFORT, RELIABLE = QoSReliabilityPolicy.BEST_EFFORT, QoSReliabilityPolicy.RELIABLE
VOLATILE = QoSDurabilityPolicy.VOLATILE


def parameter_file(folder, overrides, **parameters):
    """Write overrides (entity.policy by topic) and other parameters as users do."""
    path = folder / "qos.yaml"
    values = {**parameters, "qos_overrides": overrides}
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}))
    return ["--params-file", str(path)]


def policies(infos):
    """Return reliability and durability of all; a killed node of the test before is one for some seconds."""
    return {(info.qos_profile.reliability, info.qos_profile.durability) for info in infos}


def test_a_node_takes_overrides_of_inputs_and_outputs(world, tmp_path):
    given = parameter_file(
        tmp_path,
        {
            "/imu/data": {"subscription": {"reliability": "reliable", "depth": 321}},
            "/tilt": {"publisher": {"reliability": "best_effort", "durability": "transient_local"}},
        },
    )
    node = world.start("tilt_observer", *given)
    orientations = world.listen(QuaternionStamped, "base_orientation")
    assert world.run(lambda: len(orientations) > 20, leave_out=["base_state"]), node.output
    subscribed, published = (
        world.node.get_subscriptions_info_by_topic,
        world.node.get_publishers_info_by_topic,
    )
    assert (RELIABLE, VOLATILE) in policies(subscribed("/imu/data"))
    assert (BEST_EFFORT, VOLATILE) in policies(subscribed("/joint_states"))
    assert (BEST_EFFORT, QoSDurabilityPolicy.TRANSIENT_LOCAL) in policies(published("/tilt"))
    assert (RELIABLE, VOLATILE) in policies(published("/base_orientation"))
    assert node.stop() == 0, node.output


@pytest.mark.parametrize(
    ("policy", "value"), [("reliability", "relaible"), ("durability", True), ("depth", "ten")]
)
def test_a_bad_override_ends_the_node_with_one_line(world, tmp_path, policy, value):
    given = parameter_file(tmp_path, {"/imu/data": {"subscription": {policy: value}}})
    node = world.start("tilt_observer", *given)
    assert node.wait() == 1
    (line,) = [line for line in node.output.splitlines() if line.startswith("error: ")]
    assert "qos_overrides" in line
    assert "imu/data" in line
    assert policy in line
