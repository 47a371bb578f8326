"""Replay of a recording through the pipelines, with the steps of a live node but faster."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording, check_topic
from inertial_estimation.replay.replay_driver import ReplayDriver, ReplayReaders
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.replay.replay_watcher import ReplayWatcher
from inertial_estimation.signals import NANOSECONDS, seconds


def required_topics(recording: Recording, topics: RecordedTopics, *, use_base_state: bool) -> list[str]:
    """Check the topics against a recording and list those to read.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        use_base_state: Whether a recorded base state is wanted when there.

    Returns:
        The topics to read.

    Raises:
        RecordingError: If a required topic is missing or any is of the wrong type.
    """
    required = {topics.joints: JOINT_STATE_TYPE}
    if topics.imu:
        required[topics.imu] = IMU_TYPE
    required.update(dict.fromkeys(topics.wrenches.values(), WRENCH_TYPE))
    required.update(dict.fromkeys(topics.desired_wrenches.values(), WRENCH_TYPE))
    for topic, expected in required.items():
        check_topic(recording, topic, [expected])
    optional = {topics.yaw_reference: QUATERNION_TYPE}
    if use_base_state:
        optional[topics.base_state] = ODOMETRY_TYPE
    present = [topic for topic in optional if topic in recording.topics]
    for topic in present:
        check_topic(recording, topic, [optional[topic]])
    return [*required, *present]


def replay_recording(
    recording: Recording,
    topics: RecordedTopics,
    *,
    tilt: TiltPipeline | None = None,
    inertial: InertialPipeline | None = None,
    payload: TrunkPayloadPipeline | None = None,
    checks: DataChecks | None = None,
    start_s: float = 0.0,
    hold_out_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    watcher: ReplayWatcher | None = None,
) -> ReplayRun:
    """Push a recording's messages in the order they were logged, and tick after each, as a node does.

    Steps are driven by the stamps of the data and the order of the messages; the time of a tick only decides
    when an input is stale. The base estimate of the tilt pipeline is the base state of the others, as over
    DDS.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        tilt: Tilt pipeline, or None.
        inertial: Inertial pipeline, or None.
        payload: Trunk payload pipeline, or None.
        checks: Checks of the data, which read the same messages, or None.
        start_s: Where to begin, after the start of the recording [s].
        hold_out_s: Time from the start of the recording after which the inertial filter no longer learns
            [s]; None: never.
        progress: Called now and then with the seconds of data done.
        watcher: Looks on while the estimates are made; None: nobody.

    Returns:
        The estimates and how long they took.

    Raises:
        RecordingError: If a topic is missing or of the wrong type, or has no message after the start.
    """
    wanted = required_topics(
        recording, topics, use_base_state=tilt is None and (inertial or payload) is not None
    )
    _check_times(recording, start_s, hold_out_s)
    begin_ns = recording.start_ns + round(start_s * NANOSECONDS)
    driver = ReplayDriver(topics, ReplayReaders(tilt, inertial, payload, checks))
    if hold_out_s is not None:
        driver.hold_out_ns = recording.start_ns + round(hold_out_s * NANOSECONDS)
    if watcher is not None:
        driver.admit(watcher)
    started = time.perf_counter()
    with no_cycle_collection():
        for now_ns in driver.run(recording.unread(wanted, begin_ns)):
            if progress is not None:
                progress(seconds(now_ns - begin_ns))
    run = driver.run_record
    run.checks = checks.results() if checks is not None else []
    run.wall_s = time.perf_counter() - started
    run.data_s = seconds(recording.end_ns - begin_ns)
    times_ns = (recording.start_ns, begin_ns, recording.end_ns)
    run.start_ns, run.begin_ns, run.end_ns = (time_ns + run.clock_offset_ns for time_ns in times_ns)
    if driver.counts.keys() < set(wanted):
        silent = [topic for topic in wanted if topic not in driver.counts]
        raise RecordingError(f"no message on {listing(silent)} in '{recording.name}' after {start_s:g} s")
    return run


def _check_times(recording: Recording, start_s: float, hold_out_s: float | None) -> None:
    length_s = seconds(recording.end_ns - recording.start_ns)
    if not 0.0 <= start_s <= length_s:
        where = "past the end" if start_s > 0.0 else "before the start"
        raise RecordingError(f"--start {start_s:g} s is {where} of '{recording.name}' ({length_s:.1f} s)")
    if hold_out_s is not None and not start_s <= hold_out_s <= length_s:
        raise RecordingError(
            f"--hold-out is {hold_out_s:g} s, expected a time from the start ({start_s:g} s) to the end "
            f"({length_s:.1f} s) of '{recording.name}'"
        )


@contextmanager
def no_cycle_collection() -> Iterator[None]:
    """Pause the garbage collector, which would only traverse all stored estimates repeatedly.

    What has been stored then counts as old: the next collection of new objects does not traverse it, either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # else somebody has put objects aside, which are to stay there
                gc.freeze()
                gc.unfreeze()
            gc.enable()
