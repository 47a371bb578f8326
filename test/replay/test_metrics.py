"""The tilt error is blind to constant misalignment and to yaw, and to nothing else."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import RecordingError
from inertial_estimation.replay.metrics import (
    low_pass_zero_phase,
    tilt_errors,
    verticals,
)
from inertial_estimation.signals import OrientationSample

N = 2000
STAMPS = 1_600_000_000_000_000_000 + 10_000_000 * np.arange(N, dtype=np.int64)


def motion() -> Rotation:
    t = np.arange(N) * 0.01
    angles = np.stack([0.4 * t, 0.2 * np.sin(1.3 * t), 0.15 * np.sin(0.7 * t + 1.0)], axis=1)
    return Rotation.from_euler("ZYX", angles)


def samples(rotations: Rotation) -> list[OrientationSample]:
    return [OrientationSample(int(t), q) for t, q in zip(STAMPS, rotations.as_quat(), strict=True)]


def test_constant_misalignment_and_any_yaw_are_no_error() -> None:
    truth = motion()
    rng = np.random.default_rng(0)
    world = Rotation.from_rotvec([0.02, -0.015, 0.3])
    base = Rotation.from_rotvec([0.5, -1.2, 2.0])  # as a sensor mounted anyhow
    yaw = Rotation.from_euler("Z", rng.uniform(-3, 3, N)[:, None])
    reference = samples(world * truth * base)
    errors = tilt_errors(STAMPS, verticals((yaw * truth).as_quat()), reference)
    assert errors.summary.max < 1e-8


def test_varying_error_is_measured() -> None:
    truth = motion()
    wobble = np.zeros((N, 3))
    wobble[:, 0] = np.radians(0.5) * np.sin(2 * np.pi * 3.0 * np.arange(N) * 0.01)
    estimate = truth * Rotation.from_rotvec(wobble)
    errors = tilt_errors(STAMPS, verticals(estimate.as_quat()), samples(truth))
    assert np.degrees(errors.summary.rms) == pytest.approx(0.5 / np.sqrt(2), rel=0.03)
    assert np.degrees(errors.summary.max) == pytest.approx(0.5, rel=0.05)


def test_untrusted_samples_have_no_influence() -> None:
    truth = motion()
    reference = samples(truth)
    trusted = np.ones(N, dtype=bool)
    for k in range(300, 500):
        reference[k] = OrientationSample(int(STAMPS[k]), Rotation.from_rotvec([1.0, 1.0, 0.0]).as_quat())
        trusted[k] = False
    errors = tilt_errors(STAMPS, verticals(truth.as_quat()), reference, trusted)
    assert errors.summary.max < 1e-8
    assert errors.errors.max() > 0.1


def test_mismatched_flags_and_stamps_are_refused() -> None:
    reference, tilts = samples(motion()), verticals(motion().as_quat())
    with pytest.raises(RecordingError, match="3 trusted flags for 2000 reference samples"):
        tilt_errors(STAMPS, tilts, reference, np.ones(3, dtype=bool))
    with pytest.raises(RecordingError, match="only 0 trusted reference samples"):
        tilt_errors(STAMPS + 10**15, tilts, reference)


def test_low_pass_keeps_slow_removes_fast_and_does_not_delay() -> None:
    t = np.arange(4000) * 1e-3
    stamps = (t * 1e9).astype(np.int64)
    slow, fast = np.sin(2 * np.pi * 2.0 * t), np.sin(2 * np.pi * 60.0 * t)
    filtered = low_pass_zero_phase(stamps, (slow + fast)[:, None])[:, 0]
    inner = slice(500, 3500)
    assert np.abs(filtered[: len(slow)][inner] - slow[inner]).max() < 5e-3
