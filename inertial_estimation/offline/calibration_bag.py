"""Postures for a flat-feet calibration from a recording: joint states and orientations at an interval."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.messages import (
    CONVERSIONS,
    IMU_TYPE,
    JOINT_STATE_TYPE,
    NO_ORIENTATION,
    ORIENTATION_TYPES,
)
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.calibration_csv import PostureTable, check_angles
from inertial_estimation.recordings.recording import BagRecording, Sample, check_topic
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, OrientationSample

WINDOW_S = 0.1  # time before and after a posture in which joints are read and an IMU is averaged
GRAVITY, REST_TOLERANCE = 9.81, 0.5  # [m/s^2]: an accelerometer farther off than this is not at rest


def read_bag_postures(
    recording: BagRecording,
    robot: RobotModel,
    *,
    joint_topic: str,
    imu_topics: Mapping[str, str],
    interval_s: float,
    held_out_interval_s: float | None,
    joints: tuple[str, ...],
) -> PostureTable:
    """Read postures at regular times.

    Args:
        recording: The bag.
        robot: The model.
        joint_topic: Topic of the joint states.
        imu_topics: Topic by link. An Imu with an orientation gives ``link/qx`` ..., one without gives the
            direction of its specific force at rest, ``link/up_x`` ...; a QuaternionStamped or PoseStamped
            gives the orientation.
        interval_s: Time between postures to fit.
        held_out_interval_s: Time between all postures, those not fitted held out; None: none are.
        joints: Joints that must be there.

    Returns:
        The table, with the columns `read_postures` would give. Incomplete or moving ones are dropped.

    Raises:
        RecordingError: If a topic is missing, or no posture is complete.
    """
    check_topic(recording, joint_topic, (JOINT_STATE_TYPE,))
    for topic in imu_topics.values():
        check_topic(recording, topic, (IMU_TYPE, *ORIENTATION_TYPES))
    step_ns = round((held_out_interval_s or interval_s) * NANOSECONDS)
    every = max(1, round(interval_s * NANOSECONDS / step_ns))
    positions, origin_ns = _positions(recording, robot, joint_topic, step_ns, joints)
    columns: dict[str, Array] = {}
    count = max(positions) + 1
    for link, topic in imu_topics.items():
        columns.update(_orientations(recording, topic, link, (origin_ns, step_ns, count)))
    q = np.full((count, robot.n_joints), np.nan)
    for k, row in positions.items():
        q[k] = row
    needed = [robot.joint_index(name) for name in joints]
    complete = np.isfinite(q[:, needed]).all(axis=1)
    for values in columns.values():
        complete &= np.isfinite(values)
    if not complete.any():
        raise RecordingError(
            f"no posture of '{recording.name}' has joint positions and all orientations at rest together"
        )
    held_out = np.arange(count) % every != 0
    dropped = {"incomplete or moving": int((~complete).sum())} if not complete.all() else {}
    check_angles(q[complete], robot, joints)
    kept = {name: values[complete] for name, values in columns.items()}
    return PostureTable(np.nan_to_num(q[complete]), held_out[complete], kept, dropped)


def _positions(
    recording: BagRecording, robot: RobotModel, topic: str, step_ns: int, joints: tuple[str, ...]
) -> tuple[dict[int, Array], int]:
    """The joint state nearest to each time of the grid, by its index; and the grid's origin."""
    found: dict[int, Array] = {}
    apart_ns: dict[int, int] = {}
    origin_ns: int | None = None
    window_ns = min(WINDOW_S * NANOSECONDS, 0.5 * step_ns)
    for entry in recording.entries([topic]):
        reading = entry.sample
        assert isinstance(reading, JointReading)
        origin_ns = reading.stamp_ns if origin_ns is None else origin_ns
        k = round((reading.stamp_ns - origin_ns) / step_ns)
        apart = abs(reading.stamp_ns - origin_ns - k * step_ns)
        if k < 0 or apart > window_ns or apart >= apart_ns.get(k, apart + 1):
            continue
        where = {name: i for i, name in enumerate(reading.names)}
        missing = [name for name in joints if name not in where]
        if missing:
            raise RecordingError(
                f"the joint states of '{recording.name}' miss {', '.join(missing)}; they have "
                f"{', '.join(reading.names)}"
            )
        named = [where.get(name) for name in robot.joint_names]
        found[k] = np.array([0.0 if i is None else float(reading.position[i]) for i in named])
        apart_ns[k] = apart
    if origin_ns is None:
        raise RecordingError(f"topic '{topic}' of '{recording.name}' has no usable joint state")
    return found, origin_ns


def _orientations(
    recording: BagRecording, topic: str, link: str, grid: tuple[int, int, int]
) -> dict[str, Array]:
    """Mean orientation, or mean direction of the specific force, near each time of the grid."""
    origin_ns, step_ns, count = grid
    window_ns = min(WINDOW_S * NANOSECONDS, 0.5 * step_ns)
    quaternions, forces = np.zeros((count, 4)), np.zeros((count, 3))
    n_quaternions, n_forces = np.zeros(count), np.zeros(count)
    for sample, quaternion in _readings(recording, topic):
        k = round((sample.stamp_ns - origin_ns) / step_ns)
        if not 0 <= k < count or abs(sample.stamp_ns - origin_ns - k * step_ns) > window_ns:
            continue
        if isinstance(sample, ImuSample):
            forces[k] += sample.specific_force_I
            n_forces[k] += 1.0
        if quaternion is not None:
            quaternions[k] += quaternion if quaternion @ quaternions[k] >= 0.0 else -quaternion
            n_quaternions[k] += 1.0
    if n_quaternions.any():
        mean_quaternion = quaternions / np.where(n_quaternions > 0.0, n_quaternions, np.nan)[:, None]
        return {f"{link}/{name}": mean_quaternion[:, i] for i, name in enumerate(("qx", "qy", "qz", "qw"))}
    with np.errstate(invalid="ignore"):
        mean = forces / np.where(n_forces > 0.0, n_forces, np.nan)[:, None]
    size = np.linalg.norm(mean, axis=1)
    mean[~(np.abs(size - GRAVITY) < REST_TOLERANCE)] = np.nan
    return {f"{link}/up_{axis}": mean[:, i] / size for i, axis in enumerate("xyz")}


def _readings(recording: BagRecording, topic: str) -> Iterator[tuple[Sample, Array | None]]:
    """Yield the samples of a topic, each with its orientation x y z w or None."""
    if recording.topics[topic] == IMU_TYPE:
        for message in recording.messages(topic):
            yield CONVERSIONS[IMU_TYPE].from_msg(message), imu_orientation_from_msg(message)
        return
    for entry in recording.entries([topic]):
        assert isinstance(entry.sample, OrientationSample)
        yield entry.sample, entry.sample.quaternion_xyzw


def imu_orientation_from_msg(msg: Any) -> Array | None:
    """Return the orientation x y z w of a sensor_msgs/Imu, shape (4,), or None where it has none.

    A sensor without orientation sets the first covariance to -1; many leave the quaternion at zero.
    """
    q = msg.orientation
    quaternion = np.array((q.x, q.y, q.z, q.w))
    marked = msg.orientation_covariance[0] == NO_ORIENTATION
    return None if marked or not abs(float(quaternion @ quaternion) - 1.0) < 1e-3 else quaternion
