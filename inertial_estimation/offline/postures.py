"""Postures for a calibration, from a CSV table, or from a recording at regular times."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import MeasurementError, RecordingError, listing
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.messages import IMU_TYPE, NO_ORIENTATION, ORIENTATION_TYPES
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_config import JointOffsets, RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.signal_blocks import BlockStream
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import BagRecording, Sample, check_topic
from inertial_estimation.recordings.tables import number, read_table
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, OrientationSample

HELD_OUT_WORDS = frozenset({"validation", "valid", "test", "held_out", "held-out"})
FARTHEST_BEYOND_LIMITS, BEYOND_SHARE = 0.5, 0.1  # [rad], share of postures; beyond, units may be degrees
QUATERNION, VERTICAL = ("qx", "qy", "qz", "qw"), ("up_x", "up_y", "up_z")  # columns of an orientation
WINDOW_S = 0.1  # time before and after a posture in which joints are read and an IMU is averaged
REST_TOLERANCE = 0.5  # largest difference of specific force and standard gravity at rest [m/s^2]


@dataclass(frozen=True, eq=False)
class PostureTable:
    """Postures and measurements."""

    q: Array  # positions in the model's order [rad or m], (K, n_joints); joints not requested may be zero
    held_out: NDArray[np.bool_]  # whether each row is held out of the fit, shape (K,)
    columns: Mapping[str, Array] = field(default_factory=dict)  # other numeric columns, shape (K,) each
    dropped: Mapping[str, int] = field(default_factory=dict)  # number of rows left out, by reason

    def stacked(self, names: Sequence[str], source: str) -> Array:
        """Return some columns side by side, shape (K, len(names)).

        Raises:
            RecordingError: If one is missing.
        """
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise RecordingError(
                f"'{source}' misses columns {listing(missing)}; besides joints it has {listing(self.columns)}"
            )
        return np.stack([self.columns[name] for name in names], axis=1)


def read_postures(
    path: Path, robot: RobotModel, joints: Collection[str], *, measured: Collection[str] = ()
) -> PostureTable:
    """Read a table of postures: a header line, one posture a row.

    Columns named after joints are positions [rad or m]. The column ``split`` marks the held-out rows
    (``validation``, ``test``). Columns of text are ignored.

    Args:
        path: CSV file.
        robot: The model.
        joints: Names of required joints.
        measured: Names of required columns of measurements; a row without one of their values is left out.

    Returns:
        The table, rows with missing numbers left out and counted.

    Raises:
        RecordingError: If the file cannot be read, misses columns or has no complete row.
        MeasurementError: If positions are far beyond the joints' limits, as degrees are.
    """
    columns = {name: column.cells for name, column in read_table(path).whole().columns.items()}
    missing = [name for name in joints if name not in columns]
    if missing:
        raise RecordingError(f"'{path}' misses the joints {listing(missing)}; it has {listing(columns)}")
    table = {name: np.array([number(c) for c in cells], dtype=np.float64) for name, cells in columns.items()}
    rows = next(iter(columns.values()))
    wanted = {*joints, *measured}
    numbers = {n: v for n, v in table.items() if n in wanted or 2 * np.isfinite(v).sum() > len(rows)}
    extra = [name for name in numbers if name not in robot.joint_names]
    complete = np.isfinite([values for name, values in numbers.items() if name in wanted]).all(axis=0)
    if not complete.any():
        raise RecordingError(f"no row of '{path}' is complete: each has a missing number or NaN")
    q = np.zeros((len(rows), robot.n_joints))
    for name in set(numbers) - set(extra):
        q[:, robot.joint_index(name)] = np.nan_to_num(numbers[name])
    check_angles(q[complete], robot, joints)
    dropped = {"missing number or NaN": int((~complete).sum())} if not complete.all() else {}
    held_out = np.array([word.lower() in HELD_OUT_WORDS for word in columns.get("split", len(rows) * [""])])
    return PostureTable(
        q[complete], held_out[complete], {name: numbers[name][complete] for name in extra}, dropped
    )


def check_angles(q: Array, robot: RobotModel, joints: Collection[str]) -> None:
    """Check that positions are not far beyond the limits of their joints.

    Raises:
        MeasurementError: If many are; the message names the joints and their limits.
    """
    limits, wrong = urdf_limits(robot), []
    lower = np.where(np.isfinite(limits.lower), limits.lower, -2.0 * np.pi)
    upper = np.where(np.isfinite(limits.upper), limits.upper, 2.0 * np.pi)
    beyond = (q < lower - FARTHEST_BEYOND_LIMITS) | (q > upper + FARTHEST_BEYOND_LIMITS)
    for name in joints:
        j = robot.joint_index(name)
        if beyond[:, j].mean() > BEYOND_SHARE:
            worst = float(q[np.abs(q[:, j]).argmax(), j])
            wrong.append(f"{name} (up to {worst:.4g}, limits {lower[j]:.3g} to {upper[j]:.3g})")
    if wrong:
        raise MeasurementError(
            f"positions are far beyond the limits, expected radians: {listing(wrong, limit=5)}"
        )


def read_bag_postures(
    recording: BagRecording,
    robot: RobotModel,
    config: RobotConfig,
    *,
    joint_topic: str,
    imu_topics: Mapping[str, str],
    interval_s: float,
    held_out_interval_s: float | None,
    joints: tuple[str, ...],
) -> PostureTable:
    """Read postures at regular times; joint states are processed as online (`BlockStream`).

    Args:
        recording: The bag.
        robot: The model.
        config: Parameters of the robot; its joint offsets are not applied.
        joint_topic: Topic of the joint states.
        imu_topics: Topic by link. An Imu with an orientation gives ``link/qx`` ..., one without gives the
            direction of its specific force at rest, ``link/up_x`` ...; a QuaternionStamped or PoseStamped
            gives the orientation.
        interval_s: Time between fitted postures [s].
        held_out_interval_s: Time between all postures [s], of which those not fitted are held out; None: no
            posture is held out.
        joints: Names of required joints.

    Returns:
        The table, with columns as of `read_postures`; postures that are incomplete or moving are dropped.

    Raises:
        RecordingError: If a topic is missing, or no posture is complete.
    """
    for topic in imu_topics.values():
        check_topic(recording, topic, (IMU_TYPE, *ORIENTATION_TYPES))
    step_ns = round((held_out_interval_s or interval_s) * NANOSECONDS)
    every = max(1, round(interval_s * NANOSECONDS / step_ns))
    stream = BlockStream(
        recording,
        RecordedTopics(renamed={JOINTS: joint_topic}),
        RobotSetup(robot, (), None),
        replace(config, joint_offsets=JointOffsets()),
        needs=JointNeeds(velocities=False, partial=True),
    )
    positions, origin_ns = _positions(stream, step_ns)
    columns: dict[str, Array] = {}
    q = np.full((max(positions, default=-1) + 1, robot.n_joints), np.nan)
    q[list(positions)] = list(positions.values())
    for link, topic in imu_topics.items():
        columns |= _orientations(recording, topic, link, (origin_ns, step_ns, len(q)))
    needed = q[:, [robot.joint_index(name) for name in joints]]
    complete = np.isfinite(np.column_stack((needed, *columns.values()))).all(axis=1)
    if not complete.any():
        absent = [
            name for name, seen in zip(joints, np.isfinite(needed).any(axis=0), strict=True) if not seen
        ]
        reason = f"; its joint states miss {listing(absent)}" if absent else ""
        raise RecordingError(
            f"no posture of '{recording.name}' has joint positions and all orientations at rest "
            f"together{reason}"
        )
    held_out = np.arange(len(q)) % every != 0
    dropped = {"incomplete or moving": int((~complete).sum())} if not complete.all() else {}
    check_angles(q[complete], robot, joints)
    kept = {name: values[complete] for name, values in columns.items()}
    return PostureTable(np.nan_to_num(q[complete]), held_out[complete], kept, dropped)


def _positions(stream: BlockStream, step_ns: int) -> tuple[dict[int, Array], int]:
    """Return the positions nearest to each time of the grid, by its index, and the grid's origin [ns]."""
    found: dict[int, Array] = {}
    origin_ns: int | None = None
    window_ns = min(WINDOW_S * NANOSECONDS, 0.5 * step_ns)
    for block in stream.blocks():
        origin_ns = block.start_ns if origin_ns is None else origin_ns
        since_ns = block.stamps_ns - origin_ns
        numbers = np.round(since_ns / step_ns).astype(int)
        apart_ns = np.abs(since_ns - numbers * step_ns)
        for k in np.unique(numbers[(numbers >= 0) & (apart_ns <= window_ns)]).tolist():
            nearest = int(np.where(numbers == k, apart_ns, np.inf).argmin())
            found.setdefault(k, block.q[nearest])
    return found, origin_ns or 0


def _orientations(
    recording: BagRecording, topic: str, link: str, grid: tuple[int, int, int]
) -> dict[str, Array]:
    """Return the mean orientation, or the mean direction of specific force, near each time of the grid."""
    origin_ns, step_ns, count = grid
    window_ns = min(WINDOW_S * NANOSECONDS, 0.5 * step_ns)
    quaternions, forces = np.zeros((count, 5)), np.zeros((count, 4))  # sums, and number of readings
    for sample, quaternion in _readings(recording, topic):
        k = round((sample.stamp_ns - origin_ns) / step_ns)
        if not 0 <= k < count or abs(sample.stamp_ns - origin_ns - k * step_ns) > window_ns:
            continue
        if isinstance(sample, ImuSample):
            forces[k] += (*sample.specific_force_I, 1.0)
        if quaternion is not None:
            sign = 1.0 if quaternion @ quaternions[k, :4] >= 0.0 else -1.0
            quaternions[k] += (*(sign * quaternion), 1.0)
    with np.errstate(invalid="ignore"):
        if quaternions[:, 4].any():
            mean = quaternions[:, :4] / quaternions[:, 4:]
            return {f"{link}/{name}": mean[:, i] for i, name in enumerate(QUATERNION)}
        mean = forces[:, :3] / forces[:, 3:]
    size = np.linalg.norm(mean, axis=1)
    mean[~(np.abs(size - STANDARD_GRAVITY) < REST_TOLERANCE)] = np.nan
    return {f"{link}/{name}": mean[:, i] / size for i, name in enumerate(VERTICAL)}


def _readings(recording: BagRecording, topic: str) -> Iterator[tuple[Sample, Array | None]]:
    """Yield the samples of a topic, each with its orientation x y z w or None."""
    if recording.topics[topic] == IMU_TYPE:
        orientations: Iterator[Any] = recording.entries([topic], convert=imu_orientation_from_msg)
        for entry, orientation in zip(recording.entries([topic]), orientations, strict=True):
            yield entry.sample, orientation.sample
        return
    for entry in recording.entries([topic]):
        assert isinstance(entry.sample, OrientationSample)
        yield entry.sample, entry.sample.quaternion_xyzw


def imu_orientation_from_msg(msg: Any) -> Array | None:
    """Return the orientation x y z w of a sensor_msgs/Imu, shape (4,), or None if it has none.

    A driver without orientation sets the first covariance to -1; many leave the quaternion zero.
    """
    q = msg.orientation
    quaternion = np.array((q.x, q.y, q.z, q.w))
    marked = msg.orientation_covariance[0] == NO_ORIENTATION
    return None if marked or not abs(float(quaternion @ quaternion) - 1.0) < 1e-3 else quaternion
