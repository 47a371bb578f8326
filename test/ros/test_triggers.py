"""Timer, arrival and replay give the same estimates, bit by bit, however the messages come."""

import functools
import time
from collections import deque
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

import inertial_estimation as ie
from inertial_estimation.inputs.messages import imu_to_msg, joints_to_msg, stamp_from_msg, wrench_to_msg
from inertial_estimation.replay.tables import TELEMETRY_FILES, TimeAxis, estimate_tables
from inertial_estimation.ros.inertial_ekf_node import InertialEkfNode
from inertial_estimation.ros.tilt_observer_node import TiltObserverNode
from inertial_estimation.telemetry import AGE

NODES = {"tilt_observer": TiltObserverNode, "inertial_ekf": InertialEkfNode}
LATE = {"/joint_states": (0.9, 0.98), "/imu/data": (1.2, 1.27), "/left_foot/wrench": (1.5, 1.58)}  # [s]
PATIENCE = 10.0  # [s]


@pytest.fixture(scope="module")
def recording():
    """TALOS in motion; for longer than steps wait nothing of one input arrives, then all of it at once."""
    rng = np.random.default_rng(4)
    truth = ie.synthetic_truth("talos", ie.Timing(duration_s=1.75, rate_hz=250.0), rng, payload_time_s=1.0)
    measured = ie.measure(truth, ie.REALISTIC, rng)
    topics = {
        topic: kind
        for topic, kind in measured.topics.items()
        if topic in ("/imu/data", "/joint_states") or topic.endswith("/wrench")
    }
    entries = []
    for entry in measured.entries(topics):
        begin, end = (measured.start_ns + round(t * 1e9) for t in LATE.get(entry.topic, (-2, -1)))
        entries.append(replace(entry, log_ns=end) if begin < entry.log_ns < end else entry)
    entries.sort(key=lambda entry: entry.log_ns)
    return ie.MemoryRecording(tuple(entries), topics)


@pytest.fixture(scope="module")
def replayed(recording):
    """The pipelines of a replay and what it gives, by the name of the node."""

    @functools.cache
    def run_of(name):
        built = ie.build_pipelines(ie.load_config_file(ie.find_config("talos")), only=[name])
        topics = ie.replay_topics(built.values, {})
        run = ie.replay_recording(
            recording, topics, ie.ReplayReaders(tilt=built.tilt, inertial=built.inertial)
        )
        (estimator,) = (
            one for one in (built.tilt or built.inertial).health(recording.end_ns) if one.name == "estimator"
        )
        missing = estimator.values.get("steps with an input missing")
        assert missing is None or int(missing) > 3, "steps give up waiting, at the same message"
        return built, run

    return run_of


class LiveNode:
    """A node in this process that is sent a recording; its estimates are kept."""

    def __init__(self, name, trigger, recording, domain, *more):
        estimates = self.estimates = []

        class Recorded(NODES[name]):
            def _publish(self, results):
                estimates.extend(results)

        self.context = rclpy.Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        given = ["--params-file", str(ie.find_config("talos")), "-p", f"{name}:trigger:={trigger}", *more]
        self.node = Recorded(context=self.context, cli_args=["--ros-args", *given])
        self.now_ns = 0
        self.node._now = lambda: self.now_ns  # the clock of the recording
        self.node._inputs.arrival = lambda _received_ns: self.now_ns
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        sender = rclpy.create_node("sender", context=self.context)
        types = {"/imu/data": Imu, "/joint_states": JointState}
        self.publishers = {
            topic: sender.create_publisher(types.get(topic, WrenchStamped), topic, 100)
            for topic in recording.topics
        }
        self.wait(lambda: all(p.get_subscription_count() for p in self.publishers.values()))

    @property
    def received(self):
        return sum(node_input.counter.received for node_input in self.node._inputs)

    def send(self, entry):
        self.publishers[entry.topic].publish(serialize_message(message(entry)))
        self.now_ns = entry.log_ns

    def wait(self, until, meanwhile=lambda: time.sleep(0.002)):
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < deadline, "nothing comes"
            meanwhile()

    def slow_down(self, cost_ns):
        """Let every message take some time."""
        read = self.node._on_message

        def slow():
            self.now_ns += cost_ns()
            read()

        self.node._on_message = slow

    def queued(self):
        """Replace what the inputs read from by queues; return these by topic."""
        queues = {f"/{one.counter.topic}": Arrivals(self) for one in self.node._inputs}
        for one in self.node._inputs:
            one._take_message = queues[f"/{one.counter.topic}"].take
        return queues

    def close(self):
        self.executor.shutdown()
        rclpy.shutdown(context=self.context)


class Arrivals:
    """A queue whose messages arrive in the course of the time of a node."""

    def __init__(self, live):
        self.coming = deque()
        self._live = live

    def take(self, _type, _raw):
        if not self.coming or self.coming[0][1] > self._live.now_ns:
            return None
        content, received_ns = self.coming.popleft()
        return content, {"received_timestamp": received_ns}


@pytest.fixture
def live_node(recording, domain):
    """Builds a node, which is closed at the end of the test."""
    built = []

    def build(name, trigger, *more):
        built.append(LiveNode(name, trigger, recording, domain, *more))
        return built[-1]

    yield build
    built[-1].close()


def message(entry):
    sample = entry.sample
    if isinstance(sample, ie.ImuSample):
        return imu_to_msg(sample, Imu(), "imu_link")
    if isinstance(sample, ie.JointReading):
        return joints_to_msg(sample, JointState())
    return wrench_to_msg(sample, WrenchStamped(), "sole")


def numbers(estimates):
    if hasattr(estimates[0], "links"):
        return np.array([[e.stamp_ns, e.nis, *(x.estimate.mass for x in e.links)] for e in estimates])
    return np.array([[e.state.stamp_ns, *e.state.quaternion_xyzw, *e.gyro_bias_I] for e in estimates])


def send_all(live, recording, trigger, at_once):
    """Send a recording; the node reads at once, or so many messages at a time."""
    for sent, entry in enumerate(recording.entries(recording.topics), start=1):
        live.send(entry)
        if trigger == "arrival":
            live.executor.spin_once(timeout_sec=0.0)
        elif sent % at_once == 0:
            live.node._take_inputs()  # what a poll does
    read = partial(live.executor.spin_once, 0.01) if trigger == "arrival" else live.node._take_inputs
    live.wait(lambda: live.received >= sent, read)
    live.node._take_inputs()


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize(("trigger", "at_once"), [("timer", 1), ("timer", 37), ("arrival", 1)])
def test_estimates_are_those_of_a_replay(recording, replayed, live_node, name, trigger, at_once):
    live, (_built, run) = live_node(name, trigger), replayed(name)
    expected = numbers(run.base or run.inertial)
    send_all(live, recording, trigger, at_once)
    assert len(expected) > 300
    np.testing.assert_array_equal(numbers(live.estimates), expected)


class Listener:
    """Stands in for the publisher of figures that somebody listens to."""

    def __init__(self):
        self.rows = []

    def get_subscription_count(self):
        return 1

    def publish(self, msg):
        figures = dict(zip(msg.name, msg.position, strict=True))
        self.rows.append({"stamp_ns": stamp_from_msg(msg.header.stamp), **figures})


def test_the_telemetry_of_a_node_is_that_of_a_replay(recording, replayed, live_node):
    live, listener = live_node("tilt_observer", "timer"), Listener()
    live.node._telemetry._output._publisher = listener
    live.node._publish = partial(TiltObserverNode._publish, live.node)
    send_all(live, recording, "timer", 37)
    built, run = replayed("tilt_observer")
    time = TimeAxis(run.start_ns, run.start_ns, run.end_ns, None)
    table = estimate_tables(run, {}, built, time)[TELEMETRY_FILES["tilt_observer"]]
    assert len(listener.rows) == len(table["stamp_ns"]) > 300
    assert listener.rows[0].keys() - {AGE} == table.keys() - {"time_s"}
    for name in table.keys() - {"time_s"}:
        np.testing.assert_array_equal([row[name] for row in listener.rows], table[name], name)


def test_nothing_stale_is_published_of_a_backlog_that_takes_long_to_read(recording, live_node):
    """The machine is busy: half a second of readings waits, and each takes 20 ms to process."""
    live = live_node("tilt_observer", "timer")
    node, ages_ns, cost_ns = live.node, [], 20_000_000
    live.slow_down(lambda: cost_ns)
    node._publish = lambda results: ages_ns.extend(live.now_ns - r.state.stamp_ns for r in results)
    entries = iter(recording.entries(recording.topics))
    for entry in islice(entries, 500):
        live.send(entry)
    live.wait(lambda: live.received >= 500, node._take_inputs)
    cost_ns = 0
    live.now_ns = entry.log_ns
    for sent, entry in enumerate(entries, start=501):
        live.send(entry)
        live.wait(lambda sent=sent: live.received >= sent, node._take_inputs)
        if len(ages_ns) > 20:
            break
    assert len(ages_ns) > 20
    assert max(ages_ns) < 200_000_000


def test_an_overloaded_node_goes_on_with_fresh_readings(recording, live_node, monkeypatch):
    """Every message costs 3 ms, and 1000 a second arrive: the node never catches up."""
    live = live_node("inertial_ekf", "timer")
    node, ages_ns = live.node, {}
    entries = [(e.sample.stamp_ns + 1_000_000, e) for e in recording.entries(recording.topics)]
    entries.sort(key=lambda arrived: arrived[0])
    begin_ns = live.now_ns = entries[0][0]
    monkeypatch.setattr(time, "time_ns", lambda: live.now_ns)
    live.slow_down(lambda: 3_000_000)
    node._publish = lambda results: ages_ns.update({r.stamp_ns: live.now_ns - r.stamp_ns for r in results})
    queues = live.queued()
    for received_ns, entry in entries:
        queues[entry.topic].coming.append((serialize_message(message(entry)), received_ns))
    while live.now_ns < entries[-1][0]:
        live.now_ns += 1_000_000
        node._take_inputs()
    reading = node._inputs.delay.health()
    late = [stamp_ns for stamp_ns in ages_ns if stamp_ns > begin_ns + 1_000_000_000]
    assert len(late) > 20, "it gives estimates also when it has been overloaded for a second"
    assert max(ages_ns.values()) < 220_000_000, "timeout, wait, half a window, and the reading of a message"
    assert reading.level is ie.HealthLevel.WARN
    assert "dropped unread" in reading.message
    assert int(reading.values["dropped unread"]) > 100
    (result,) = node.set_parameters([Parameter("inputs.timeout", value=0.4)])
    assert not result.successful, "windows, clocks and velocities of joints go by it from the start"
    assert node._inputs.delay.timeout == 0.1


@pytest.mark.parametrize(("trigger", "dropping"), [("arrival", False), ("timer", True)])
def test_with_simulated_time_and_on_arrival_every_reading_is_read(
    recording, live_node, monkeypatch, trigger, dropping
):
    """A simulation in lockstep that is slower than real time waits for the answer to every reading."""
    live = live_node("tilt_observer", trigger, "-p", "use_sim_time:=true")
    live.now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: live.now_ns)
    queues, received_ns = live.queued(), live.now_ns - 500_000_000
    entries = list(recording.entries(recording.topics))[:40]
    for half in (entries[:20], entries[20:]):
        for entry in half:
            queues[entry.topic].coming.append((serialize_message(message(entry)), received_ns))
        live.node._take_inputs()
        live.now_ns += 700_000_000
    assert (live.node._inputs.delay.dropped > 0) is dropping
