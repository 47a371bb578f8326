"""Messages that the nodes would have published in a replay, topic by topic, and a bag of them."""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

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
DIAGNOSTICS = "/diagnostics"
STATUS_TYPE, KEY_VALUE_TYPE = "diagnostic_msgs/msg/DiagnosticStatus", "diagnostic_msgs/msg/KeyValue"

NewMessage = Callable[[str], Any]
"""Returns an empty message of a type."""
Output = tuple[int, str, Any]
"""Stamp [ns], topic and message, which is valid until the next one is asked for."""


class NodeOutputs(NamedTuple):
    """What one node publishes.

    Attributes:
        topics: Message type by topic, in the root namespace.
        outputs: Yields the messages in the order of their stamps, given what makes messages.
    """

    topics: Mapping[str, str]
    outputs: Callable[[NewMessage], Iterator[Output]]


class _Node:
    """The messages of one node, each filled again and again, and those that all nodes publish alike."""

    def __init__(self, node: str, topics: Mapping[str, str], telemetry: Telemetry[Any], new: NewMessage):
        self.messages = {topic: new(kind) for topic, kind in topics.items()}
        self.types = MarkerTypes(partial(new, MARKER_TYPE), partial(new, POINT_TYPE))
        self._node, self._figures, self._new = node, telemetry, new
        self._telemetry, self._markers = f"/{node}/telemetry", f"/{node}/markers"
        self.messages[self._telemetry].name = list(telemetry.names)

    def figures(self, estimate: Any) -> Output:
        stamp_ns, topic = estimate.stamp_ns, self._telemetry
        values = self._figures.values(estimate, 0.0)
        return stamp_ns, topic, figures_to_msg(stamp_ns, values, self.messages[topic])

    def markers(self, stamp_ns: int, markers: list[Any]) -> Output:
        self.messages[self._markers].markers = markers
        return stamp_ns, self._markers, self.messages[self._markers]

    def event(self, topic: str, event: Health, stamp_ns: int) -> Output:
        new = self._new
        status, key_value, array = (
            partial(new, STATUS_TYPE),
            partial(new, KEY_VALUE_TYPE),
            new(DIAGNOSTICS_TYPE),
        )
        return stamp_ns, topic, event_to_msg(event, stamp_ns, self._node, array, status, key_value)


def node_outputs(run: ReplayRun, pipelines: Pipelines) -> list[NodeOutputs]:
    """Return the outputs of the nodes whose estimators have run.

    Args:
        run: The replay.
        pipelines: What was replayed.
    """
    found = [NodeOutputs({DIAGNOSTICS: DIAGNOSTICS_TYPE}, partial(_diagnostics, run))] if run.reports else []
    if pipelines.tilt is not None:
        found.append(_tilt_outputs(run, pipelines, pipelines.tilt))
    if pipelines.inertial is not None:
        found.append(_inertial_outputs(run, pipelines.inertial))
    if pipelines.payload is not None:
        found.append(_trunk_outputs(run, pipelines.payload))
    return found


def _diagnostics(run: ReplayRun, new: NewMessage) -> Iterator[Output]:
    """Yield what all nodes publish about their health."""
    array, key_value = new(DIAGNOSTICS_TYPE), partial(new, KEY_VALUE_TYPE)
    for stamp_ns, node, parts in run.reports:
        set_stamp(array.header.stamp, stamp_ns)
        array.status = [health_to_msg(part, node, new(STATUS_TYPE), key_value) for part in parts]
        yield stamp_ns, DIAGNOSTICS, array


def _own_topics(node: str) -> dict[str, str]:
    return {f"/{node}/telemetry": JOINT_STATE_TYPE, f"/{node}/markers": MARKERS_TYPE}


def _tilt_outputs(run: ReplayRun, pipelines: Pipelines, pipeline: TiltPipeline) -> NodeOutputs:
    """Return what the node tilt_observer publishes."""
    topics = {
        "/base_orientation": QUATERNION_TYPE,
        "/base_state": ODOMETRY_TYPE,
        "/tilt": VECTOR_TYPE,
        **_own_topics(TILT_NODE),
    }
    world, contacts = pipelines.tilt_options.world_frame, dict(run.contact_loads)
    base = pipelines.tilt_options.base_frame or pipeline.robot.base_link

    def outputs(new: NewMessage) -> Iterator[Output]:
        node = _Node(TILT_NODE, topics, TiltTelemetry(pipeline.contacts), new)
        orientation, state, tilt = list(node.messages.values())[:3]
        for estimate in run.base:
            stamp_ns = estimate.stamp_ns
            yield stamp_ns, "/base_orientation", orientation_to_msg(estimate.state, orientation, world)
            yield stamp_ns, "/base_state", odometry_to_msg(estimate, state, world, base)
            yield stamp_ns, "/tilt", tilt_to_msg(estimate, tilt, base)
            yield node.figures(estimate)
            if stamp_ns in contacts:
                markers = tilt_markers(node.types, estimate, contacts[stamp_ns], base)
                yield node.markers(stamp_ns, markers)

    return NodeOutputs(topics, outputs)


def _inertial_outputs(run: ReplayRun, pipeline: InertialPipeline) -> NodeOutputs:
    """Return what the node inertial_ekf publishes."""
    links = [link.estimate.link for link in run.inertial[0].links] if run.inertial else []
    inertias, payloads, covariances = (
        {link: f"/{name}/{topic_token(link)}" for link in links}
        for name in ("link_inertias", "payloads", "link_covariances")
    )
    topics = {
        **dict.fromkeys((*inertias.values(), *payloads.values()), INERTIA_TYPE),
        **dict.fromkeys(covariances.values(), JOINT_STATE_TYPE),
        "/torque_residual": JOINT_STATE_TYPE,
        **_own_topics(INERTIAL_NODE),
        "/external_wrench": WRENCH_TYPE,
        "/load_location": DIAGNOSTICS_TYPE,
    }
    noise, model = pipeline.noise_parameters, pipeline.model
    telemetry = InertialTelemetry(links, model.friction_names, noise, model.error_names)

    def outputs(new: NewMessage) -> Iterator[Output]:
        node = _Node(INERTIAL_NODE, topics, telemetry, new)
        messages = node.messages
        for name, topic in covariances.items():
            messages[topic].name, messages[topic].header.frame_id = list(COVARIANCE_NAMES), name
        events, pace = LocatedEvents(), MarkerPace()
        for estimate in run.inertial:
            stamp_ns = estimate.stamp_ns
            for link in estimate.links:
                name = link.estimate.link
                for topic, inertia in ((inertias[name], link.published), (payloads[name], link.payload)):
                    yield stamp_ns, topic, inertia_to_msg(StampedInertia(stamp_ns, inertia), messages[topic])
                upper, topic = upper_triangle(parameter_covariance(link)), covariances[name]
                yield stamp_ns, topic, figures_to_msg(stamp_ns, upper.tolist(), messages[topic])
            if estimate.measured:
                residual = torque_residual_to_msg(estimate, messages["/torque_residual"])
                yield stamp_ns, "/torque_residual", residual
            yield node.figures(estimate)
            push = external_wrench_of(estimate)
            if push is not None:
                wrench = wrench_to_msg(push[0], messages["/external_wrench"], push[1])
                yield stamp_ns, "/external_wrench", wrench
            event = events.take(estimate)
            if event is not None:
                yield node.event("/load_location", event.health, stamp_ns)
            if pace.due(stamp_ns):
                yield node.markers(stamp_ns, inertial_markers(node.types, estimate))

    return NodeOutputs(topics, outputs)


def _trunk_outputs(run: ReplayRun, pipeline: TrunkPayloadPipeline) -> NodeOutputs:
    """Return what the node trunk_payload publishes, requests only when they change."""
    topics = {
        "/trunk_inertia": INERTIA_TYPE,
        "/payload": INERTIA_TYPE,
        "/base_reference": POSE_TYPE,
        "/hold": BOOL_TYPE,
        "/load_change": DIAGNOSTICS_TYPE,
        **_own_topics(PAYLOAD_NODE),
    }

    def outputs(new: NewMessage) -> Iterator[Output]:
        node = _Node(PAYLOAD_NODE, topics, PayloadTelemetry(pipeline.trunk), new)
        messages, events, pace = node.messages, PayloadEvents(), MarkerPace()
        held, asked = None, None
        for estimate in run.payload:
            stamp_ns = estimate.stamp_ns
            for topic, inertia in (("/trunk_inertia", estimate.trunk), ("/payload", estimate.payload)):
                yield stamp_ns, topic, inertia_to_msg(StampedInertia(stamp_ns, inertia), messages[topic])
            yield node.figures(estimate)
            if estimate.hold != held:
                held = messages["/hold"].data = estimate.hold
                yield stamp_ns, "/hold", messages["/hold"]
            reference, topic = estimate.reference, "/base_reference"
            if reference is not None and reference != asked:
                yield stamp_ns, topic, base_reference_to_msg(reference, messages[topic], stamp_ns)
            asked = reference
            for event in events.take(estimate):
                yield node.event("/load_change", event.health, stamp_ns)
            if pace.due(stamp_ns):
                bodies, com_sigma = (estimate.estimate, estimate.payload), estimate.com_sigma_B.tolist()
                drawn = link_markers(node.types, 0, stamp_ns, *bodies, estimate.mass_sigma, com_sigma)
                yield node.markers(stamp_ns, drawn)

    return NodeOutputs(topics, outputs)


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
    nodes = node_outputs(run, pipelines)
    made = {topic: kind for node in nodes for topic, kind in node.topics.items()}
    copied = {topic: recording.topics[topic] for topic in inputs if topic not in made}
    begin_ns = run.begin_ns - run.clock_offset_ns
    with BagWriter(path, {**copied, **made}, compressed=True) as writer:
        outputs = heapq.merge(*(node.outputs(writer.new) for node in nodes), key=itemgetter(0))
        estimates = ((stamp_ns - run.clock_offset_ns, *output) for stamp_ns, *output in outputs)
        raw = recording.raw_messages(copied, begin_ns)
        inputs_again = ((log_ns, topic, data) for topic, _kind, log_ns, data in raw)
        for log_ns, topic, content in heapq.merge(inputs_again, estimates, key=itemgetter(0)):
            if topic in made:
                writer.write(topic, log_ns, content)
            else:
                writer.write_bytes(topic, log_ns, content)
