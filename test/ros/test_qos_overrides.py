"""Quality of service by parameters: taken over by publishers and subscriptions, refused where it is wrong."""

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")

import yaml
from rclpy.qos import QoSDurabilityPolicy, QoSReliabilityPolicy

BEST_EFFORT, RELIABLE = QoSReliabilityPolicy.BEST_EFFORT, QoSReliabilityPolicy.RELIABLE
VOLATILE = QoSDurabilityPolicy.VOLATILE


def policies(infos):
    """Return reliability and durability of all."""
    return {(info.qos_profile.reliability, info.qos_profile.durability) for info in infos}


def test_a_node_takes_overrides_of_inputs_and_outputs(build, hopper, tmp_path):
    overrides = {
        "/imu/data": {"subscription": {"reliability": "reliable", "depth": 321}},
        "/tilt": {"publisher": {"reliability": "best_effort", "durability": "transient_local"}},
    }
    path = tmp_path / "qos.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"qos_overrides": overrides}}}))
    node = build("tilt_observer", "--params-file", str(path), **hopper)
    subscribed, published = node.get_subscriptions_info_by_topic, node.get_publishers_info_by_topic
    assert (RELIABLE, VOLATILE) in policies(subscribed("/imu/data"))
    assert (BEST_EFFORT, VOLATILE) in policies(subscribed("/joint_states"))
    assert (BEST_EFFORT, QoSDurabilityPolicy.TRANSIENT_LOCAL) in policies(published("/tilt"))
    assert (RELIABLE, VOLATILE) in policies(published("/base_orientation"))
