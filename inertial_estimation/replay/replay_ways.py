"""Which messages of a recording go into a pipeline, and how."""

from functools import partial

from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.replay.replay_lane import MessageWay

Ways = dict[str, list[MessageWay]]
Pipeline = TiltPipeline | InertialPipeline | TrunkPayloadPipeline


def ways_into_tilt(topics: RecordedTopics, tilt: TiltPipeline) -> Ways:
    """Return the ways into the tilt pipeline by topic."""
    ways = _sensors(topics, tilt)
    _wrenches(topics, tilt, ways)
    ways.setdefault(topics.yaw_reference, []).append(MessageWay(tilt.push_yaw_reference))
    for contact, topic in topics.desired_wrenches.items():
        ways.setdefault(topic, []).append(MessageWay(partial(tilt.push_desired_wrench, contact)))
    return ways


def ways_into_fed(
    topics: RecordedTopics,
    pipeline: InertialPipeline | TrunkPayloadPipeline,
    *,
    wrenches: bool,
    base_state: bool,
) -> Ways:
    """Return the ways into a pipeline that takes base states.

    Args:
        topics: Topics of the inputs.
        pipeline: The pipeline.
        wrenches: Whether it takes wrenches.
        base_state: Whether it takes the base states of the recording.
    """
    ways = _sensors(topics, pipeline)
    if wrenches:
        _wrenches(topics, pipeline, ways)
    if base_state:
        ways[topics.base_state] = [MessageWay(pipeline.push_base_state)]
    return ways


def ways_into_checks(topics: RecordedTopics, checks: DataChecks) -> Ways:
    """Return the ways into the checks of the data by topic."""
    ways: Ways = {topics.joints: [MessageWay(checks.push_joints)]}
    if topics.imu:
        ways.setdefault(topics.imu, []).append(MessageWay(checks.push_imu))
    for contact, topic in topics.wrenches.items():
        ways.setdefault(topic, []).append(MessageWay(partial(checks.push_wrench, contact)))
    return ways


def _sensors(topics: RecordedTopics, pipeline: Pipeline) -> Ways:
    entries = pipeline.entries
    ways: Ways = {}
    if topics.imu and entries.imu is not None:
        ways[topics.imu] = [MessageWay(pipeline.push_imu, entries.imu)]
    ways.setdefault(topics.joints, []).append(MessageWay(pipeline.push_joints, entries.joints))
    return ways


def _wrenches(topics: RecordedTopics, pipeline: Pipeline, ways: Ways) -> None:
    for contact, topic in topics.wrenches.items():
        entry, push = pipeline.entries.wrenches.get(contact), partial(pipeline.push_wrench, contact)
        if entry is not None:
            ways.setdefault(topic, []).append(MessageWay(push, entry))
