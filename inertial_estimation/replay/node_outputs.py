"""Messages that the nodes would have published in a replay, topic by topic, and a bag of them."""

import heapq
import itertools
from collections.abc import Collection, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.inertial.link_estimates import parameter_covariance
from inertial_estimation.inertial.located_events import LocatedEvents
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.inputs.messages import (
    INERTIA_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
    inertia_to_msg,
    orientation_to_msg,
    set_stamp,
    wrench_to_msg,
)
from inertial_estimation.payload.estimate import PayloadTelemetry
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.payload.report import PayloadEvents
from inertial_estimation.recordings.bag_writer import BagWriter
from inertial_estimation.recordings.estimate_messages import (
    base_reference_to_msg,
    event_to_msg,
    external_wrench_of,
    figures_to_msg,
    health_to_msg,
    odometry_to_msg,
    tilt_to_msg,
    torque_residual_to_msg,
)
from inertial_estimation.recordings.marker_messages import (
    MarkerPace,
    MarkerTypes,
    inertial_markers,
    link_markers,
    tilt_markers,
)
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.signals import Health, StampedInertia
from inertial_estimation.spatial.parameter_covariance import COVARIANCE_NAMES, upper_triangle
from inertial_estimation.telemetry import InertialTelemetry, Telemetry, TiltTelemetry
from inertial_estimation.tilt.pipeline import TiltPipeline

VECTOR_TYPE = "geometry_msgs/msg/Vector3Stamped"
BOOL_TYPE = "std_msgs/msg/Bool"
DIAGNOSTICS_TYPE = "diagnostic_msgs/msg/DiagnosticArray"
MARKERS_TYPE = "visualization_msgs/msg/MarkerArray"
MARKER_TYPE, POINT_TYPE = "visualization_msgs/msg/Marker", "geometry_msgs/msg/Point"
STATUS_TYPE, KEY_VALUE_TYPE = "diagnostic_msgs/msg/DiagnosticStatus", "diagnostic_msgs/msg/KeyValue"

Output = tuple[int, str, Any]
"""Stamp [ns], topic and message, which is valid until the next one is asked for."""


class Messages:
    """One message of each topic, filled again and again.

    Attributes:
        topics: Their topics.
    """

    def __init__(self, writer: BagWriter) -> None:
        """Start without topics of a writer."""
        self.topics: set[str] = set()
        self.new, self._add = writer.new, writer.add

    def of(self, topic: str, kind: str) -> Any:
        """Return the message of a topic, which is added to the bag."""
        self._add(topic, kind)
        self.topics.add(topic)
        return self.new(kind)


class NodeTopics:
    """What every node publishes: figures, markers, and events where it has any."""

    def __init__(self, node: str, telemetry: Telemetry[Any], messages: Messages) -> None:
        """Add the topics of a node with its figures."""
        self._node, self._telemetry, self._new = node, telemetry, messages.new
        self._figures = messages.of(f"/{node}/telemetry", JOINT_STATE_TYPE)
        self._figures.name = list(telemetry.names)
        self._markers = messages.of(f"/{node}/markers", MARKERS_TYPE)
        self.types = MarkerTypes(partial(self._new, MARKER_TYPE), partial(self._new, POINT_TYPE))

    def figures(self, estimate: Any) -> Output:
        """Return the figures of an estimate."""
        stamp_ns, values = estimate.stamp_ns, self._telemetry.values(estimate, 0.0)
        return stamp_ns, f"/{self._node}/telemetry", figures_to_msg(stamp_ns, values, self._figures)

    def markers(self, stamp_ns: int, markers: list[Any]) -> Output:
        """Return an array of markers."""
        self._markers.markers = markers
        return stamp_ns, f"/{self._node}/markers", self._markers

    def event(self, topic: str, event: Health, stamp_ns: int) -> Output:
        """Return an event."""
        status, key_value = partial(self._new, STATUS_TYPE), partial(self._new, KEY_VALUE_TYPE)
        array = self._new(DIAGNOSTICS_TYPE)
        return stamp_ns, topic, event_to_msg(event, stamp_ns, self._node, array, status, key_value)


def _diagnostics(run: ReplayRun, messages: Messages) -> Iterator[Output]:
    """Yield what all nodes publish about their health."""
    topic, new = "/diagnostics", messages.new
    array, key_value = messages.of(topic, DIAGNOSTICS_TYPE), partial(new, KEY_VALUE_TYPE)
    for stamp_ns, node, parts in run.reports:
        set_stamp(array.header.stamp, stamp_ns)
        array.status = [health_to_msg(part, node, new(STATUS_TYPE), key_value) for part in parts]
        yield stamp_ns, topic, array


def _tilt_outputs(
    run: ReplayRun, pipelines: Pipelines, pipeline: TiltPipeline, messages: Messages
) -> Iterator[Output]:
    """Yield what the node tilt_observer publishes."""
    node = NodeTopics(TILT_NODE, TiltTelemetry(pipeline.contacts), messages)
    orientation = messages.of("/base_orientation", QUATERNION_TYPE)
    state, tilt = messages.of("/base_state", ODOMETRY_TYPE), messages.of("/tilt", VECTOR_TYPE)
    world, contacts = pipelines.tilt_options.world_frame, dict(run.contact_loads)
    base = pipelines.tilt_options.base_frame or pipeline.robot.base_link
    for estimate in run.base:
        stamp_ns = estimate.stamp_ns
        yield stamp_ns, "/base_orientation", orientation_to_msg(estimate.state, orientation, world)
        yield stamp_ns, "/base_state", odometry_to_msg(estimate, state, world, base)
        yield stamp_ns, "/tilt", tilt_to_msg(estimate, tilt, base)
        yield node.figures(estimate)
        if stamp_ns in contacts:
            yield node.markers(stamp_ns, tilt_markers(node.types, estimate, contacts[stamp_ns], base))


def _inertial_outputs(run: ReplayRun, pipeline: InertialPipeline, messages: Messages) -> Iterator[Output]:
    """Yield what the node inertial_ekf publishes."""
    links = [link.estimate.link for link in run.inertial[0].links] if run.inertial else []
    noise, model = pipeline.noise_parameters, pipeline.model
    telemetry = InertialTelemetry(links, model.friction_names, noise, model.error_names)
    node = NodeTopics(INERTIAL_NODE, telemetry, messages)
    by_link = {}
    for link in links:
        topics = [
            f"/{name}/{topic_token(link)}" for name in ("link_inertias", "payloads", "link_covariances")
        ]
        kinds = (INERTIA_TYPE, INERTIA_TYPE, JOINT_STATE_TYPE)
        by_link[link] = [(topic, messages.of(topic, kind)) for topic, kind in zip(topics, kinds, strict=True)]
        covariance = by_link[link][2][1]
        covariance.name, covariance.header.frame_id = list(COVARIANCE_NAMES), link
    residual = messages.of("/torque_residual", JOINT_STATE_TYPE)
    wrench = messages.of("/external_wrench", WRENCH_TYPE)
    messages.of("/load_location", DIAGNOSTICS_TYPE)
    events, pace = LocatedEvents(), MarkerPace()
    for estimate in run.inertial:
        stamp_ns = estimate.stamp_ns
        for entry in estimate.links:
            *outputs, (topic, covariance) = by_link[entry.estimate.link]
            for (name, message), inertia in zip(outputs, (entry.published, entry.payload), strict=True):
                yield stamp_ns, name, inertia_to_msg(StampedInertia(stamp_ns, inertia), message)
            upper = upper_triangle(parameter_covariance(entry)).tolist()
            yield stamp_ns, topic, figures_to_msg(stamp_ns, upper, covariance)
        if estimate.measured:
            yield stamp_ns, "/torque_residual", torque_residual_to_msg(estimate, residual)
        yield node.figures(estimate)
        push = external_wrench_of(estimate)
        if push is not None:
            yield stamp_ns, "/external_wrench", wrench_to_msg(push[0], wrench, push[1])
        event = events.take(estimate)
        if event is not None:
            yield node.event("/load_location", event.health, stamp_ns)
        if pace.due(stamp_ns):
            yield node.markers(stamp_ns, inertial_markers(node.types, estimate))


def _trunk_outputs(run: ReplayRun, pipeline: TrunkPayloadPipeline, messages: Messages) -> Iterator[Output]:
    """Yield what the node trunk_payload publishes, requests only when they change."""
    node = NodeTopics(PAYLOAD_NODE, PayloadTelemetry(pipeline.trunk), messages)
    trunk, payload = messages.of("/trunk_inertia", INERTIA_TYPE), messages.of("/payload", INERTIA_TYPE)
    posture, hold = messages.of("/base_reference", POSE_TYPE), messages.of("/hold", BOOL_TYPE)
    messages.of("/load_change", DIAGNOSTICS_TYPE)
    events, held, asked, pace = PayloadEvents(), None, None, MarkerPace()
    for estimate in run.payload:
        stamp_ns = estimate.stamp_ns
        yield stamp_ns, "/trunk_inertia", inertia_to_msg(StampedInertia(stamp_ns, estimate.trunk), trunk)
        yield stamp_ns, "/payload", inertia_to_msg(StampedInertia(stamp_ns, estimate.payload), payload)
        yield node.figures(estimate)
        if estimate.hold != held:
            held = hold.data = estimate.hold
            yield stamp_ns, "/hold", hold
        reference = estimate.reference
        if reference is not None and reference != asked:
            yield stamp_ns, "/base_reference", base_reference_to_msg(reference, posture, stamp_ns)
        asked = reference
        for event in events.take(estimate):
            yield node.event("/load_change", event.health, stamp_ns)
        if pace.due(stamp_ns):
            bodies, com_sigma = (estimate.estimate, estimate.payload), estimate.com_sigma_B.tolist()
            drawn = link_markers(node.types, 0, stamp_ns, *bodies, estimate.mass_sigma, com_sigma)
            yield node.markers(stamp_ns, drawn)


def write_estimates_bag(
    path: Path, recording: BagRecording, inputs: Collection[str], run: ReplayRun, pipelines: Pipelines
) -> None:
    """Write the estimates of a replay and its inputs as a rosbag2 folder (mcap, compressed).

    Topics and message types are those that the nodes publish in the root namespace. The log time of an
    estimate is its stamp, by the clock of the recording's log times.

    Args:
        path: Folder to make.
        recording: The recording.
        inputs: Topics of it that are copied, other than those of the estimates.
        run: The replay.
        pipelines: What was replayed.

    Raises:
        ~inertial_estimation.errors.RecordingError: If the recording is damaged.
        ~inertial_estimation.errors.MissingDependencyError: If `rosbags` is not installed.
    """
    begin_ns = run.begin_ns - run.clock_offset_ns
    with BagWriter(path, {}, compressed=True) as writer:
        messages = Messages(writer)
        nodes = [_diagnostics(run, messages)] if run.reports else []
        if pipelines.tilt is not None:
            nodes.append(_tilt_outputs(run, pipelines, pipelines.tilt, messages))
        if pipelines.inertial is not None:
            nodes.append(_inertial_outputs(run, pipelines.inertial, messages))
        if pipelines.payload is not None:
            nodes.append(_trunk_outputs(run, pipelines.payload, messages))
        outputs = heapq.merge(*nodes, key=itemgetter(0))
        estimates = ((stamp_ns - run.clock_offset_ns, *output) for stamp_ns, *output in outputs)
        first = list(itertools.islice(estimates, 1))  # the topics of all nodes are known then
        copied = [topic for topic in inputs if topic not in messages.topics]
        for topic in copied:
            writer.add(topic, recording.topics[topic])
        raw = recording.raw_messages(copied, begin_ns)
        again = ((log_ns, topic, data) for topic, _kind, log_ns, data in raw)
        for log_ns, topic, content in heapq.merge(
            again, itertools.chain(first, estimates), key=itemgetter(0)
        ):
            write = writer.write if topic in messages.topics else writer.write_bytes
            write(topic, log_ns, content)
