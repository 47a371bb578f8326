"""From truth to a recording: noise, bias, delay and dropped samples from one seeded generator."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    POSE_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.models.friction import CoulombDirection, FrictionConfig, friction_model
from inertial_estimation.models.robot_config import RobotConfig, joint_corrections
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry, Sample
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, PoseSample, WrenchSample
from inertial_estimation.simulation.config import SensorNoise
from inertial_estimation.synthetic.synthetic_truth import Truth

GROUND_TRUTH_TOPIC = "/ground_truth/pose"


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
        config: Offsets of encoders, gains of drives and friction that the robot has; None: none of them.

    Returns:
        The recording, in the order of arrival.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If offsets, gains or friction do not fit the robot.
    """
    topics = {"/joint_states": JOINT_STATE_TYPE}
    given = config or RobotConfig()
    entries = _kept("/joint_states", _joints(truth, noise, rng, given), noise.dropped, rng)
    if truth.imu is not None:
        topics["/imu/data"] = IMU_TYPE
        entries += _kept("/imu/data", _imu(truth, noise, rng), noise.dropped, rng)
    for index, contact in enumerate(truth.contacts):
        topic = f"/{contact}/wrench"
        topics[topic] = WRENCH_TYPE
        entries += _kept(topic, _wrenches(truth, index, noise, rng), noise.dropped, rng)
    if truth.robot.floating_base:
        topics[GROUND_TRUTH_TOPIC] = POSE_TYPE
        entries += _kept(GROUND_TRUTH_TOPIC, _poses(truth), 0.0, rng)
    entries.sort(key=lambda entry: entry.log_ns)  # stable: same-stamp order is that of the topics above
    return MemoryRecording(tuple(entries), topics, "synthetic recording")


def _kept(
    topic: str, samples: Sequence[Sample], dropped: float, rng: np.random.Generator
) -> list[RecordingEntry]:
    kept = (rng.uniform(size=len(samples)) >= dropped).tolist()
    return [
        RecordingEntry(topic, sample.stamp_ns, sample)
        for sample, keep in zip(samples, kept, strict=True)
        if keep
    ]


def _stamps(truth: Truth, delay_s: float) -> list[int]:
    return [int(stamp) for stamp in truth.stamps_ns + round(delay_s * NANOSECONDS)]


def _imu(truth: Truth, noise: SensorNoise, rng: np.random.Generator) -> list[Sample]:
    f = np.array([reading.specific_force_I for reading in truth.readings])
    w = np.array([reading.angular_rate_I for reading in truth.readings])
    f = f + np.array(noise.specific_force_bias) + _white(f, noise.specific_force, rng)
    w = w + np.array(noise.angular_rate_bias) + _white(w, noise.angular_rate, rng)
    stamps = _stamps(truth, noise.imu_delay_s)
    return [ImuSample(*reading) for reading in zip(stamps, f, w, strict=True)]


def _joints(truth: Truth, noise: SensorNoise, rng: np.random.Generator, config: RobotConfig) -> list[Sample]:
    n = truth.robot.n_base
    q = np.array([truth.robot.joint_positions(state.q) for state in truth.states])
    v = np.array([state.v[n:] for state in truth.states])
    a = np.array([state.a[n:] for state in truth.states])
    tau = np.array([reading.tau for reading in truth.readings])
    _none, friction = friction_model(FrictionConfig(), truth.robot, config.nominal_friction)
    if friction is not None:
        sign = CoulombDirection(config.nominal_friction.law).along(
            v, float(truth.times_s[1] - truth.times_s[0])
        )
        tau = tau + friction.torques(q, v, a, sign, tau)
    corrections = joint_corrections(config.joint_offsets, config.drive_gains, truth.robot)
    q, tau = q - corrections.offset, tau / corrections.gain
    q = q + _white(q, noise.position, rng)
    v = v + _white(v, noise.velocity, rng)
    tau = tau + _white(tau, noise.effort, rng)
    names, stamps = truth.robot.joint_names, _stamps(truth, noise.joint_delay_s)
    return [JointReading(t, names, *values) for t, *values in zip(stamps, q, v, tau, strict=True)]


def _wrenches(truth: Truth, index: int, noise: SensorNoise, rng: np.random.Generator) -> list[Sample]:
    wrench = np.array([reading.wrenches_C[index] for reading in truth.readings])
    wrench[:, :3] += _white(wrench[:, :3], noise.force, rng)
    wrench[:, 3:] += _white(wrench[:, 3:], noise.torque, rng)
    return [WrenchSample(*w) for w in zip(_stamps(truth, noise.wrench_delay_s), wrench, strict=True)]


def _poses(truth: Truth) -> list[Sample]:
    stamps = truth.stamps_ns.tolist()
    return [PoseSample(t, s.q[3:7], s.q[:3]) for t, s in zip(stamps, truth.states, strict=True)]


def _white(like: Array, sigma: float, rng: np.random.Generator) -> Array:
    """White noise; the generator advances by the same amount whatever the sigma."""
    noise: Array = sigma * rng.standard_normal(like.shape)
    return noise
