"""Nodes fed by the messages of `ros2 bag play --clock`: clock first, 40 Hz, time jumping back in a loop."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")
pytest.importorskip("rosbags", reason="needs rosbags")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import QuaternionStamped, WrenchStamped
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import serialize_message
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.inputs.messages import (
    imu_to_msg,
    joints_to_msg,
    stamp_from_msg,
    wrench_to_msg,
)
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample

PLAYER = Path(__file__).resolve().parents[1] / "support" / "rosbag2_player.py"
START, RATE, DURATION = 1_700_000_000_000_000_000, 200, 3.0
WEIGHT = 98.0665
NEVER = QosTime(2147483647, 4294967295)
SENSOR = Qos(
    QosHistory.KEEP_LAST,
    10,
    QosReliability.BEST_EFFORT,
    QosDurability.VOLATILE,
    NEVER,
    NEVER,
    QosLiveliness.AUTOMATIC,
    NEVER,
    False,
)


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """The sensors of the robot of the world, standing, recorded best effort."""
    path = tmp_path_factory.mktemp("bag") / "standing"
    typestore = get_typestore(Stores.ROS2_JAZZY)
    types = {"imu/data": Imu, "joint_states": JointState, "foot/wrench": WrenchStamped}
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {
            topic: writer.add_connection(
                f"/{topic}",
                f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}",
                typestore=typestore,
                offered_qos_profiles=[SENSOR],
            )
            for topic, kind in types.items()
        }
        for k in range(int(RATE * DURATION)):
            stamp_ns = START + k * 1_000_000_000 // RATE
            messages = {
                "imu/data": imu_to_msg(ImuSample(stamp_ns, [0, 0, 9.80665], [0, 0, 0]), Imu(), "imu"),
                "joint_states": joints_to_msg(JointReading(stamp_ns, ("hip",), [0], [0], [0]), JointState()),
                "foot/wrench": wrench_to_msg(
                    WrenchSample(stamp_ns, [0, 0, WEIGHT, 0, 0, 0]), WrenchStamped(), "sole"
                ),
            }
            for topic, msg in messages.items():
                writer.write(connections[topic], stamp_ns + 1_000_000, serialize_message(msg))
    return path


class Listener:
    """Stamps of one topic, and where they go back."""

    def __init__(self, world, message_type, topic):
        self.stamps = []
        qos = QoSProfile(depth=200, reliability=QoSReliabilityPolicy.BEST_EFFORT)
        self.subscription = world.node.create_subscription(message_type, topic, self._on_message, qos)

    def _on_message(self, msg):
        self.stamps.append(stamp_from_msg(msg.header.stamp))

    @property
    def loops(self):
        """Indices of the first message of each loop but the first."""
        return [k for k in range(1, len(self.stamps)) if self.stamps[k] < self.stamps[k - 1]]


def healthy(array):
    """Whether all is well, apart from what a jump of the clock costs."""
    states = {status.name.partition(": ")[2]: status for status in array.status}
    reasons = {
        item.key for status in array.status for item in status.values if item.key.startswith("dropped:")
    }
    warned = {name for name, status in states.items() if status.level != DiagnosticStatus.OK}
    jumped = all("readings dropped" in states[name].message for name in warned)
    return states["estimator"].message == "estimating" and jumped and reasons <= {"dropped: clock jump"}


def test_estimates_come_and_come_again_after_each_loop(world, bag):
    patient = {"inputs.timeout": "0.5"}  # on a busy machine the player may pause
    node = world.start("tilt_observer", use_sim_time="true", **patient)
    orientations = Listener(world, QuaternionStamped, "base_orientation")
    imu = Listener(world, Imu, "imu/data")
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")
    publishers = orientations.subscription.get_publisher_count
    assert world.run(publishers, sensors=False), node.output
    environment = {**os.environ, "ROS_DOMAIN_ID": str(world.domain)}
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    command = [sys.executable, str(PLAYER), str(bag), "--clock", "40", "--rate", "1.0", "--loop"]
    player = subprocess.Popen(command, env=environment)
    try:
        assert world.run(lambda: orientations.stamps, sensors=False), node.output
        begun = len(imu.loops)  # on a busy machine the player is heard late, in its first loop or the next
        assert world.run(lambda: len(imu.loops) >= begun + 2, sensors=False), node.output
        back = world.run(lambda: len(orientations.loops) >= 2, sensors=False)
        assert back, node.output
        diagnostics.clear()
        loop = imu.loops[begun + 1]
        assert world.run(lambda: len(imu.stamps) > loop + RATE, sensors=False), node.output
        well = world.run(lambda: any(map(healthy, diagnostics)), sensors=False)
        assert well, [(status.name, status.message) for status in diagnostics[-1].status]
    finally:
        player.terminate()  # killed, it may leave a mutex of the middleware's shared memory locked
        try:
            player.wait(timeout=20.0)
        except subprocess.TimeoutExpired:
            player.kill()
            player.wait()
    world.run(lambda: False, sensors=False, timeout=0.5)  # what is still waiting, of both topics
    assert len(orientations.loops) >= 2
    # This listener may have heard the player first at the start of a loop.
    assert len(orientations.loops) <= len(imu.loops) + 1, "once a loop, and never back in between"
    assert all(len(orientations.stamps) - of_output > RATE / 2 for of_output in orientations.loops[:2])
    recorded = {START + k * 1_000_000_000 // RATE for k in range(int(RATE * DURATION))}
    assert set(orientations.stamps) <= recorded
    assert node.stop() == 0
    assert "Traceback" not in node.output
