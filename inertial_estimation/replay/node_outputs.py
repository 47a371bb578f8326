"""Messages that the nodes would have published in a replay, topic by topic, and a bag of them."""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.inertial.link_estimates import parameter_covariance
from inertial_estimation.inertial.located_events import LocatedEvents
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
from inertial_estimation.payload.estimate import PayloadEstimate, PayloadTelemetry
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
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.signals import Health, InertialEstimate, StampedInertia
from inertial_estimation.spatial.parameter_covariance import COVARIANCE_NAMES, upper_triangle
from inertial_estimation.telemetry import InertialTelemetry, TiltTelemetry

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


class NodeOutputs(ABC):
    """What one node publishes.

    Attributes:
        topics: Message type by topic, in the root namespace.
    """

    topics: Mapping[str, str]

    @abstractmethod
    def outputs(self, new: NewMessage) -> Iterator[Output]:
        """Yield the messages in the order of their stamps.

        Args:
            new: Makes messages.
        """


def node_outputs(run: ReplayRun, pipelines: Pipelines) -> list[NodeOutputs]:
    """Return the outputs of the nodes whose estimators have run.

    Args:
        run: The replay.
        pipelines: What was replayed.
    """
    found: list[NodeOutputs] = []
    if run.reports:
        found.append(_Diagnostics(run.reports))
    if pipelines.tilt is not None:
        found.append(_TiltOutputs(run, pipelines))
    if pipelines.inertial is not None:
        found.append(_InertialOutputs(run.inertial, pipelines))
    if pipelines.payload is not None:
        found.append(_TrunkOutputs(run.payload, pipelines))
    return found


class _TiltOutputs(NodeOutputs):
    """What the node tilt_observer publishes."""

    def __init__(self, run: ReplayRun, pipelines: Pipelines) -> None:
        assert pipelines.tilt is not None
        self._estimates, self._loads = run.base, dict(run.contact_loads)
        self._telemetry = TiltTelemetry(pipelines.tilt.contacts)
        self._world = pipelines.tilt_options.world_frame
        self._base = pipelines.tilt_options.base_frame or pipelines.tilt.robot.base_link
        self._figures, self._markers = f"/{TILT_NODE}/telemetry", f"/{TILT_NODE}/markers"
        self.topics = {
            "/base_orientation": QUATERNION_TYPE,
            "/base_state": ODOMETRY_TYPE,
            "/tilt": VECTOR_TYPE,
            self._figures: JOINT_STATE_TYPE,
            self._markers: MARKERS_TYPE,
        }

    def outputs(self, new: NewMessage) -> Iterator[Output]:
        """Yield the messages; see `NodeOutputs`."""
        messages = {topic: new(kind) for topic, kind in self.topics.items()}
        messages[self._figures].name = list(self._telemetry.names)
        world, base = self._world, self._base
        for estimate in self._estimates:
            stamp_ns = estimate.state.stamp_ns
            orientation = orientation_to_msg(estimate.state, messages["/base_orientation"], world)
            yield stamp_ns, "/base_orientation", orientation
            yield stamp_ns, "/base_state", odometry_to_msg(estimate, messages["/base_state"], world, base)
            yield stamp_ns, "/tilt", tilt_to_msg(estimate, messages["/tilt"], base)
            figures = self._telemetry.values(estimate, 0.0)
            yield stamp_ns, self._figures, figures_to_msg(stamp_ns, figures, messages[self._figures])
            loads = self._loads.get(stamp_ns)
            if loads is not None:
                array = messages[self._markers]
                array.markers = tilt_markers(_marker_types(new), estimate, loads, base)
                yield stamp_ns, self._markers, array


class _InertialOutputs(NodeOutputs):
    """What the node inertial_ekf publishes."""

    def __init__(self, estimates: Sequence[InertialEstimate], pipelines: Pipelines) -> None:
        assert pipelines.inertial is not None
        self._estimates = estimates
        links = [link.estimate.link for link in estimates[0].links] if estimates else []
        model, noise = pipelines.inertial.model, pipelines.inertial.noise_parameters
        self._telemetry = InertialTelemetry(links, model.friction_names, noise, model.error_names)
        self._figures, self._markers = f"/{INERTIAL_NODE}/telemetry", f"/{INERTIAL_NODE}/markers"
        self._inertias, self._payloads, self._covariances = (
            {link: f"/{name}/{topic_token(link)}" for link in links}
            for name in ("link_inertias", "payloads", "link_covariances")
        )
        self.topics = {
            **dict.fromkeys((*self._inertias.values(), *self._payloads.values()), INERTIA_TYPE),
            **dict.fromkeys(self._covariances.values(), JOINT_STATE_TYPE),
            "/torque_residual": JOINT_STATE_TYPE,
            self._figures: JOINT_STATE_TYPE,
            self._markers: MARKERS_TYPE,
            "/external_wrench": WRENCH_TYPE,
            "/load_location": DIAGNOSTICS_TYPE,
        }

    def outputs(self, new: NewMessage) -> Iterator[Output]:
        """Yield the messages; see `NodeOutputs`."""
        messages = {topic: new(kind) for topic, kind in self.topics.items()}
        messages[self._figures].name = list(self._telemetry.names)
        for link, topic in self._covariances.items():
            messages[topic].name, messages[topic].header.frame_id = list(COVARIANCE_NAMES), link
        events, drawn = LocatedEvents(), MarkerPace()
        for estimate in self._estimates:
            stamp_ns = estimate.stamp_ns
            yield from self._links(estimate, messages)
            if estimate.measured:
                residual = torque_residual_to_msg(estimate, messages["/torque_residual"])
                yield stamp_ns, "/torque_residual", residual
            figures = self._telemetry.values(estimate, 0.0)
            yield stamp_ns, self._figures, figures_to_msg(stamp_ns, figures, messages[self._figures])
            push = external_wrench_of(estimate)
            if push is not None:
                wrench = wrench_to_msg(push[0], messages["/external_wrench"], push[1])
                yield stamp_ns, "/external_wrench", wrench
            event = events.take(estimate)
            if event is not None:
                yield stamp_ns, "/load_location", _event(event.health, stamp_ns, INERTIAL_NODE, new)
            if drawn.due(stamp_ns):
                array = messages[self._markers]
                array.markers = inertial_markers(_marker_types(new), estimate)
                yield stamp_ns, self._markers, array

    def _links(self, estimate: InertialEstimate, messages: Mapping[str, Any]) -> Iterator[Output]:
        stamp_ns = estimate.stamp_ns
        for link in estimate.links:
            name = link.estimate.link
            for topic, inertia in (
                (self._inertias[name], link.published),
                (self._payloads[name], link.payload),
            ):
                stamped = StampedInertia(stamp_ns, inertia)
                yield stamp_ns, topic, inertia_to_msg(stamped, messages[topic])
            upper, topic = upper_triangle(parameter_covariance(link)), self._covariances[name]
            yield stamp_ns, topic, figures_to_msg(stamp_ns, upper.tolist(), messages[topic])


class _TrunkOutputs(NodeOutputs):
    """What the node trunk_payload publishes."""

    def __init__(self, estimates: Sequence[PayloadEstimate], pipelines: Pipelines) -> None:
        assert pipelines.payload is not None
        self._estimates = estimates
        self._telemetry = PayloadTelemetry(pipelines.payload.trunk)
        self._figures, self._markers = f"/{PAYLOAD_NODE}/telemetry", f"/{PAYLOAD_NODE}/markers"
        self.topics = {
            "/trunk_inertia": INERTIA_TYPE,
            "/payload": INERTIA_TYPE,
            self._figures: JOINT_STATE_TYPE,
            self._markers: MARKERS_TYPE,
            "/base_reference": POSE_TYPE,
            "/hold": BOOL_TYPE,
            "/load_change": DIAGNOSTICS_TYPE,
        }

    def outputs(self, new: NewMessage) -> Iterator[Output]:
        """Yield the messages, requests only when they change; see `NodeOutputs`."""
        messages = {topic: new(kind) for topic, kind in self.topics.items()}
        messages[self._figures].name = list(self._telemetry.names)
        events, held, asked, drawn = PayloadEvents(), None, None, MarkerPace()
        for estimate in self._estimates:
            stamp_ns = estimate.stamp_ns
            for topic, inertia in (("/trunk_inertia", estimate.trunk), ("/payload", estimate.payload)):
                stamped = StampedInertia(stamp_ns, inertia)
                yield stamp_ns, topic, inertia_to_msg(stamped, messages[topic])
            figures = self._telemetry.values(estimate, 0.0)
            yield stamp_ns, self._figures, figures_to_msg(stamp_ns, figures, messages[self._figures])
            if estimate.hold != held:
                held = messages["/hold"].data = estimate.hold
                yield stamp_ns, "/hold", messages["/hold"]
            reference = estimate.reference
            if reference is not None and reference != asked:
                topic = "/base_reference"
                yield stamp_ns, topic, base_reference_to_msg(reference, messages[topic], stamp_ns)
            asked = reference
            for event in events.take(estimate):
                yield stamp_ns, "/load_change", _event(event.health, stamp_ns, PAYLOAD_NODE, new)
            if drawn.due(stamp_ns):
                array = messages[self._markers]
                array.markers = _of_trunk(_marker_types(new), estimate)
                yield stamp_ns, self._markers, array


class _Diagnostics(NodeOutputs):
    """What all nodes publish about their health."""

    topics: Mapping[str, str] = {DIAGNOSTICS: DIAGNOSTICS_TYPE}

    def __init__(self, reports: Sequence[tuple[int, str, Sequence[Health]]]) -> None:
        self._reports = reports

    def outputs(self, new: NewMessage) -> Iterator[Output]:
        """Yield the reports; see `NodeOutputs`."""
        array, key_value = new(DIAGNOSTICS_TYPE), partial(new, KEY_VALUE_TYPE)
        for stamp_ns, node, parts in self._reports:
            set_stamp(array.header.stamp, stamp_ns)
            array.status = [health_to_msg(part, node, new(STATUS_TYPE), key_value) for part in parts]
            yield stamp_ns, DIAGNOSTICS, array


def _of_trunk(new: MarkerTypes, estimate: PayloadEstimate) -> list[Any]:
    trunk, payload, com = estimate.estimate, estimate.payload, estimate.com_sigma_B.tolist()
    return link_markers(new, 0, estimate.stamp_ns, trunk, payload, estimate.mass_sigma, com)


def _marker_types(new: NewMessage) -> MarkerTypes:
    return MarkerTypes(partial(new, MARKER_TYPE), partial(new, POINT_TYPE))


def _event(event: Health, stamp_ns: int, node: str, new: NewMessage) -> Any:
    status, key_value = partial(new, STATUS_TYPE), partial(new, KEY_VALUE_TYPE)
    return event_to_msg(event, stamp_ns, node, new(DIAGNOSTICS_TYPE), status, key_value)


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
        inputs_again = _copied(recording, copied, begin_ns)
        for log_ns, topic, content in heapq.merge(inputs_again, estimates, key=itemgetter(0)):
            if topic in made:
                writer.write(topic, log_ns, content)
            else:
                writer.write_bytes(topic, log_ns, content)


def _copied(
    recording: BagRecording, topics: Collection[str], begin_ns: int
) -> Iterator[tuple[int, str, Any]]:
    for topic, _kind, log_ns, data in recording.raw_messages(topics, begin_ns):
        yield log_ns, topic, data
