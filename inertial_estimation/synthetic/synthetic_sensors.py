"""From truth to a recording: noise, bias, delay and lost samples from one seeded generator."""

from collections.abc import Iterable, Sequence

import numpy as np

from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE, POSE_TYPE, WRENCH_TYPE
from inertial_estimation.models.friction import CoulombDirection, FrictionConfig, friction_model
from inertial_estimation.models.robot_config import joint_corrections
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, PoseSample, WrenchSample
from inertial_estimation.simulation.config import SensorNoise
from inertial_estimation.simulation.sensors import SensorErrors
from inertial_estimation.synthetic.synthetic_truth import Truth

IMU_TOPIC, JOINTS_TOPIC, GROUND_TRUTH_TOPIC = "/imu/data", "/joint_states", "/ground_truth/pose"
TYPES: dict[type, str] = {
    ImuSample: IMU_TYPE,
    JointReading: JOINT_STATE_TYPE,
    WrenchSample: WRENCH_TYPE,
    PoseSample: POSE_TYPE,
}


def wrench_topic(contact: str) -> str:
    """Return the topic of a contact's wrench."""
    return f"/{contact}/wrench"


def recorded(samples: Iterable[tuple[str, Sample]], name: str) -> MemoryRecording:
    """Return samples with their topics as a recording, sorted by stamp; the order of equal stamps is kept.

    Raises:
        ~inertial_estimation.errors.RecordingError: If there are no samples.
    """
    entries = [RecordingEntry(topic, sample.stamp_ns, sample) for topic, sample in samples]
    topics = {entry.topic: TYPES[type(entry.sample)] for entry in entries}
    return MemoryRecording(tuple(sorted(entries, key=lambda entry: entry.log_ns)), topics, name)


def measure(
    truth: Truth, noise: SensorNoise, rng: np.random.Generator, config: RobotConfig | None = None
) -> MemoryRecording:
    """Record a truth with imperfect sensors.

    The topics are the nodes' own: /imu/data, /joint_states, /<contact>/wrench, and /ground_truth/pose
    with the true pose of the base.

    Args:
        truth: Motion and ideal readings.
        noise: Imperfections of the sensors.
        rng: Source of the noise.
        config: Offsets of encoders, gains of drives and friction of the robot; None: none of them.

    Returns:
        The recording, in the order of arrival.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If offsets, gains or friction do not fit the robot.
    """
    config = config or RobotConfig()
    errors = SensorErrors(
        noise, joint_corrections(config.joint_offsets, config.drive_gains, truth.robot), rng
    )
    samples: list[tuple[str, Sample]] = []

    def record(topic: str, found: Sequence[Sample]) -> None:
        kept = errors.arrive(len(found))
        samples.extend((topic, sample) for sample, keep in zip(found, kept, strict=True) if keep)

    names, stamps = truth.robot.joint_names, _stamps(truth, noise.joint_delay_s)
    read = errors.joints(*_joints(truth, config))
    record(JOINTS_TOPIC, [JointReading(t, names, *row) for t, *row in zip(stamps, *read, strict=True)])
    if truth.imu is not None:
        f = np.array([reading.specific_force_I for reading in truth.readings])
        w = np.array([reading.angular_rate_I for reading in truth.readings])
        stamps = _stamps(truth, noise.imu_delay_s)
        record(IMU_TOPIC, [ImuSample(*row) for row in zip(stamps, *errors.imu(f, w), strict=True)])
    for index, contact in enumerate(truth.contacts):
        wrenches = errors.wrench(np.array([reading.wrenches_C[index] for reading in truth.readings]))
        stamps = _stamps(truth, noise.wrench_delay_s)
        record(wrench_topic(contact), [WrenchSample(*row) for row in zip(stamps, wrenches, strict=True)])
    if truth.robot.floating_base:
        rows = zip(_stamps(truth, 0.0), truth.states, strict=True)
        samples += [(GROUND_TRUTH_TOPIC, PoseSample(t, state.q[3:7], state.q[:3])) for t, state in rows]
    return recorded(samples, "synthetic recording")


def _stamps(truth: Truth, delay_s: float) -> list[int]:
    stamps: list[int] = (truth.stamps_ns + round(delay_s * NANOSECONDS)).tolist()
    return stamps


def _joints(truth: Truth, config: RobotConfig) -> tuple[Array, Array, Array]:
    """Return positions, velocities and torques of the motors of a robot with its friction."""
    n, known = truth.robot.n_base, config.nominal_friction
    q = np.array([truth.robot.joint_positions(state.q) for state in truth.states])
    v = np.array([state.v[n:] for state in truth.states])
    a = np.array([state.a[n:] for state in truth.states])
    tau = np.array([reading.tau for reading in truth.readings])
    _none, friction = friction_model(FrictionConfig(), truth.robot, known)
    if friction is not None:
        sign = CoulombDirection(known).along(v, float(truth.times_s[1] - truth.times_s[0]))
        tau = tau + friction.torques(q, v, a, sign, tau)
    return q, v, tau
