"""A small robot that talks to a node under test, each test in a ROS domain of its own."""

import importlib
import os
import time

import pytest
from support.arm_robot import HOPPER
from support.arm_robot import URDF as ARM
from support.forked_nodes import ForkedNode

import inertial_estimation as ie
from inertial_estimation.commands.ros_domains import claimed_domain
from inertial_estimation.inputs import messages as conversion

ROBOT = {"imu_frame": "imu", "contacts": "[foot]", "contact_frames": "[sole]"}
MASS, GRAVITY = 10.0, 9.80665
RATE = 200.0
NEVER_DELETED = []  # nodes of tests that have killed a peer, until the process ends
PATIENCE = 60.0  # [s] for what takes one on an idle machine: others may be at work on it


def arguments_from(parameters):
    return [text for name, value in parameters.items() for text in ("-p", f"{name}:={value}")]


class World:
    """The other end: publishes the sensors of a standing robot, and listens.

    Attributes:
        stamps: Those of the sensors, as they were published [ns].
        reports: The newest diagnostic status of every part of a node, by the name of the part.
        heard: How many messages with diagnostics have come.
    """

    def __init__(self, folder, domain):
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor

        self.domain, self.folder = domain, folder
        self.urdf = folder / "hopper.urdf"
        self.urdf.write_text(HOPPER)
        self.context = rclpy.Context()
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        rclpy.init(args=[], context=self.context, domain_id=self.domain)
        self.node = rclpy.create_node("world", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.processes, self.stamps, self._publishers, self._clients = [], [], {}, {}
        self.reports, self.heard = {}, 0
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._report, 50)
        self._next = time.monotonic()

    def _report(self, array):
        self.heard += 1
        self.reports.update({status.name.split(": ", 1)[1]: status for status in array.status})

    def said(self, part):
        """Message of the newest report of a part; empty before the first."""
        return self.reports[part].message if part in self.reports else ""

    def values(self, part):
        """Values of the newest report of a part."""
        return {item.key: item.value for item in self.reports[part].values} if part in self.reports else {}

    def start(self, name, *extra, described=True, robot=ROBOT, **parameters):
        """Start a node on the standing robot, or on another."""
        description = {"urdf": str(self.urdf)} if described else {}
        arguments = arguments_from({**description, **robot, **parameters})
        log = self.folder / f"{name}.{len(self.processes)}.log"
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "OMP_NUM_THREADS": "1"}
        environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        process = ForkedNode(name, ["--ros-args", *arguments, *extra], environment, log)
        self.processes.append(process)
        return process

    def listen(self, message_type, topic, qos=50):
        """Keep what arrives on a topic."""
        messages = []
        self.node.create_subscription(message_type, topic, messages.append, qos)
        return messages

    def publish(self, topic, msg, qos=50):
        """Publish one message."""
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(type(msg), topic, qos)
        self._publishers[topic].publish(msg)

    def connect(self, message_type, topic, qos=50):
        """Create a publisher and wait until a node has matched it: nothing published before arrives."""
        publisher = self._publishers.setdefault(topic, self.node.create_publisher(message_type, topic, qos))
        assert self.run(publisher.get_subscription_count, sensors=False), f"nobody subscribes to {topic}"

    def sense(self, stamp_ns, leave_out=(), **spoiled):
        """Publish one reading of every sensor."""
        from geometry_msgs.msg import WrenchStamped
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import Imu, JointState

        force = spoiled.get("force", [0.0, 0.0, GRAVITY])
        standing = ie.BaseState(stamp_ns, [0, 0, 0, 1], [0, 0, 0.4], [0, 0, 0], [0, 0, 0])
        wrench = ie.WrenchSample(stamp_ns, [0, 0, spoiled.get("mass", MASS) * GRAVITY, 0, 0, 0])
        joints = ie.JointReading(stamp_ns, ("hip",), [0.0], [0.0], [0.0])
        imu = ie.ImuSample(stamp_ns, force, [0, 0, 0])
        outgoing = {
            "imu/data": conversion.imu_to_msg(imu, Imu(), "imu"),
            "joint_states": conversion.joints_to_msg(joints, JointState()),
            "foot/wrench": conversion.wrench_to_msg(wrench, WrenchStamped(), "sole"),
            "base_state": conversion.base_state_to_msg(standing, Odometry(), "odom", "trunk"),
        }
        for topic, msg in outgoing.items():
            if topic not in leave_out:
                self.publish(topic, msg)

    def run(self, until, *, timeout=PATIENCE, sensors=True, leave_out=(), **spoiled):
        """Publish the sensors until something holds; False when time is up."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if until():
                return True
            if sensors and time.monotonic() >= self._next:
                self._next = max(self._next + 1.0 / RATE, time.monotonic() - 0.05)
                self.stamps.append(time.time_ns())
                self.sense(self.stamps[-1], leave_out, **spoiled)
            self.executor.spin_once(timeout_sec=0.001 if sensors else 0.02)
        return bool(until())

    def pause(self, duration_s, sensors=False):
        """Let time pass, in which messages are taken."""
        self.run(lambda: False, timeout=duration_s, sensors=sensors)

    def call(self, service_type, name, request=None, sensors=True):
        """Call a service while the sensors go on."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(service_type, name)
        client = self._clients[name]
        assert self.run(client.service_is_ready, sensors=sensors), f"no service {name}"
        future = client.call_async(request or service_type.Request())
        assert self.run(future.done, sensors=sensors), f"no answer from {name}"
        return future.result()

    def close(self):
        """End everything this test started.

        Fast DDS 2.14 can crash where a participant is deleted after a peer on shared memory has been killed
        (in SharedMemChannelResource::release(), about every tenth time with busy topics).
        """
        import rclpy

        self.executor.shutdown()
        if any(process.killed for process in self.processes):
            NEVER_DELETED.append(self.node)
        else:
            self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        for process in self.processes:
            process.kill()


@pytest.fixture
def domain():
    """A ROS domain of this test's own."""
    with claimed_domain() as number:
        yield number


@pytest.fixture
def context(domain):
    """A context of rclpy in the domain of this test."""
    import rclpy

    made = rclpy.Context()
    rclpy.init(args=[], context=made, domain_id=domain)
    yield made
    rclpy.shutdown(context=made)


@pytest.fixture
def build(context):
    """Builds nodes in this process, without spinning them; arguments as on the command line."""
    built = []

    def build_one(name, *arguments, **parameters):
        module = importlib.import_module(f"inertial_estimation.ros.{name}_node")
        node_class = getattr(module, f"{name.title().replace('_', '')}Node")
        given = ["--ros-args", *arguments, *arguments_from(parameters)]
        built.append(node_class(context=context, cli_args=given))
        return built[-1]

    yield build_one
    for node in built:
        node.destroy_node()


@pytest.fixture
def hopper(tmp_path):
    """Parameters of the small robot."""
    path = tmp_path / "hopper.urdf"
    path.write_text(HOPPER)
    return {"urdf": str(path), **ROBOT}


@pytest.fixture
def arm(tmp_path):
    """Parameters of an arm."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return {"urdf": str(path), "floating_base": "false"}


@pytest.fixture
def world(tmp_path, domain):
    """The other end of a node under test."""
    end = World(tmp_path, domain)
    yield end
    end.close()
