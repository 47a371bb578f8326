"""Numbers that the nodes would have published in a replay, topic by topic, and a bag of them."""

import heapq
import itertools
from collections.abc import Callable, Collection, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.inertial.link_estimates import parameter_covariance
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
    wrench_to_msg,
)
from inertial_estimation.payload.estimate import PayloadTelemetry
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.recordings.bag_writer import BagWriter
from inertial_estimation.recordings.estimate_messages import (
    base_reference_to_msg,
    external_wrench_of,
    figures_to_msg,
    odometry_to_msg,
    tilt_to_msg,
    torque_residual_to_msg,
)
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.replay import ReplayRun
from inertial_estimation.signals import LinkInertia, StampedInertia
from inertial_estimation.spatial.parameter_covariance import COVARIANCE_NAMES, upper_triangle
from inertial_estimation.telemetry import InertialTelemetry, Telemetry, TiltTelemetry
from inertial_estimation.tilt.pipeline import TiltPipeline

Output = tuple[int, str, Any]
"""Stamp [ns], topic and message, which is valid until the next one of its topic is asked for."""
New = Callable[[str, str], Any]
"""Adds a topic of a type to the bag, and returns its message, which is filled again and again."""


def _figures(node: str, telemetry: Telemetry[Any], new: New) -> Callable[[Any], Output]:
    """Return what yields the figures of an estimate, as on the topic ``telemetry`` of a node."""
    topic = f"/{node}/telemetry"
    message = new(topic, JOINT_STATE_TYPE)
    message.name = list(telemetry.names)

    def figures(estimate: Any) -> Output:
        stamp_ns, values = estimate.stamp_ns, telemetry.values(estimate, 0.0)
        return stamp_ns, topic, figures_to_msg(stamp_ns, values, message)

    return figures


def _inertia(stamp_ns: int, topic: str, inertia: LinkInertia, message: Any) -> Output:
    return stamp_ns, topic, inertia_to_msg(StampedInertia(stamp_ns, inertia), message)


def _tilt_outputs(run: ReplayRun, pipelines: Pipelines, pipeline: TiltPipeline, new: New) -> Iterator[Output]:
    """Yield what the node tilt_observer publishes."""
    figures = _figures(TILT_NODE, TiltTelemetry(pipeline.contacts), new)
    orientation, tilt = (
        new("/base_orientation", QUATERNION_TYPE),
        new("/tilt", "geometry_msgs/msg/Vector3Stamped"),
    )
    state, world = new("/base_state", ODOMETRY_TYPE), pipelines.tilt_options.world_frame
    base = pipelines.tilt_options.base_frame or pipeline.robot.base_link
    for estimate in run.base:
        stamp_ns = estimate.stamp_ns
        yield stamp_ns, "/base_orientation", orientation_to_msg(estimate.state, orientation, world)
        yield stamp_ns, "/base_state", odometry_to_msg(estimate, state, world, base)
        yield stamp_ns, "/tilt", tilt_to_msg(estimate, tilt, base)
        yield figures(estimate)


def _inertial_outputs(run: ReplayRun, pipeline: InertialPipeline, new: New) -> Iterator[Output]:
    """Yield what the node inertial_ekf publishes."""
    links = [link.estimate.link for link in run.inertial[0].links] if run.inertial else []
    noise, model = pipeline.noise_parameters, pipeline.model
    figures = _figures(
        INERTIAL_NODE, InertialTelemetry(links, model.friction_names, noise, model.error_names), new
    )
    by_link = {}
    for link in links:
        topics = {kind: f"/{kind}/{topic_token(link)}" for kind in ("link_inertias", "payloads")}
        inertias = [(topic, new(topic, INERTIA_TYPE)) for topic in topics.values()]
        topic = f"/link_covariances/{topic_token(link)}"
        covariance = new(topic, JOINT_STATE_TYPE)
        covariance.name, covariance.header.frame_id = list(COVARIANCE_NAMES), link
        by_link[link] = inertias, topic, covariance
    residual, wrench = new("/torque_residual", JOINT_STATE_TYPE), new("/external_wrench", WRENCH_TYPE)
    for estimate in run.inertial:
        stamp_ns = estimate.stamp_ns
        for entry in estimate.links:
            inertias, topic, covariance = by_link[entry.estimate.link]
            for (name, message), inertia in zip(inertias, (entry.published, entry.payload), strict=True):
                yield _inertia(stamp_ns, name, inertia, message)
            upper = upper_triangle(parameter_covariance(entry)).tolist()
            yield stamp_ns, topic, figures_to_msg(stamp_ns, upper, covariance)
        if estimate.measured:
            yield stamp_ns, "/torque_residual", torque_residual_to_msg(estimate, residual)
        yield figures(estimate)
        push = external_wrench_of(estimate)
        if push is not None:
            yield stamp_ns, "/external_wrench", wrench_to_msg(push[0], wrench, push[1])


def _trunk_outputs(run: ReplayRun, pipeline: TrunkPayloadPipeline, new: New) -> Iterator[Output]:
    """Yield what the node trunk_payload publishes, requests only when they change."""
    figures = _figures(PAYLOAD_NODE, PayloadTelemetry(pipeline.trunk), new)
    trunk, payload = new("/trunk_inertia", INERTIA_TYPE), new("/payload", INERTIA_TYPE)
    posture, hold = new("/base_reference", POSE_TYPE), new("/hold", "std_msgs/msg/Bool")
    held, asked = None, None
    for estimate in run.payload:
        stamp_ns, reference = estimate.stamp_ns, estimate.reference
        yield _inertia(stamp_ns, "/trunk_inertia", estimate.trunk, trunk)
        yield _inertia(stamp_ns, "/payload", estimate.payload, payload)
        yield figures(estimate)
        if estimate.hold != held:
            held = hold.data = estimate.hold
            yield stamp_ns, "/hold", hold
        if reference is not None and reference != asked:
            yield stamp_ns, "/base_reference", base_reference_to_msg(reference, posture, stamp_ns)
        asked = reference


def write_estimates_bag(
    path: Path, recording: BagRecording, inputs: Collection[str], run: ReplayRun, pipelines: Pipelines
) -> None:
    """Write the estimates of a replay and its inputs as a rosbag2 folder (mcap, compressed).

    Topics and message types are those that the nodes publish in the root namespace, without markers and
    diagnostics. The log time of an estimate is its stamp, by the clock of the recording's log times.

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
    with BagWriter(path, {}, compressed=True) as writer:
        own: set[str] = set()

        def new(topic: str, kind: str) -> Any:
            own.add(topic)
            writer.add(topic, kind)
            return writer.new(kind)

        nodes: list[Iterator[Output]] = []
        if pipelines.tilt is not None:
            nodes.append(_tilt_outputs(run, pipelines, pipelines.tilt, new))
        if pipelines.inertial is not None:
            nodes.append(_inertial_outputs(run, pipelines.inertial, new))
        if pipelines.payload is not None:
            nodes.append(_trunk_outputs(run, pipelines.payload, new))
        outputs = heapq.merge(*nodes, key=itemgetter(0))
        offset_ns = run.clock_offset_ns
        made = ((stamp_ns - offset_ns, *output, writer.write) for stamp_ns, *output in outputs)
        first = list(itertools.islice(made, 1))  # the topics of all nodes are known then
        copied = [topic for topic in inputs if topic not in own]
        for topic in copied:
            writer.add(topic, recording.topics[topic])
        raw = recording.raw_messages(copied, run.begin_ns - offset_ns)
        again = ((log_ns, topic, data, writer.write_bytes) for topic, _kind, log_ns, data in raw)
        merged = heapq.merge(again, itertools.chain(first, made), key=itemgetter(0))
        for log_ns, topic, content, write in merged:
            write(topic, log_ns, content)
