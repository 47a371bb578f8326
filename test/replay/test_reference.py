"""Errors against a reference are blind to what a constant misalignment hides, and to nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import RecordingError
from inertial_estimation.replay.metrics import FILTER_CUTOFF, low_pass_zero_phase, verticals
from inertial_estimation.replay.reference import ReplayReference, base_errors, read_trusted, tilt_errors
from inertial_estimation.signals import OrientationSample, PoseSample

N = 2000
STAMPS = 1_600_000_000_000_000_000 + 10_000_000 * np.arange(N, dtype=np.int64)
T = 1e-9 * (STAMPS - STAMPS[0])


ANGLES = np.stack([0.4 * T, 0.2 * np.sin(1.3 * T), 0.15 * np.sin(0.7 * T + 1.0)], axis=1)
TRUTH = Rotation.from_euler("ZYX", ANGLES)


def samples(rotations: Rotation) -> list[OrientationSample]:
    return [OrientationSample(int(t), q) for t, q in zip(STAMPS, rotations.as_quat(), strict=True)]


def test_constant_misalignment_and_any_yaw_are_no_error() -> None:
    rng = np.random.default_rng(0)
    world = Rotation.from_rotvec([0.02, -0.015, 0.3])
    base = Rotation.from_rotvec([0.5, -1.2, 2.0])  # as a sensor mounted anyhow
    yaw = Rotation.from_euler("Z", rng.uniform(-3, 3, N)[:, None])
    errors = tilt_errors(STAMPS, verticals((yaw * TRUTH).as_quat()), samples(world * TRUTH * base))
    assert errors.summary.max < 1e-8


def test_varying_error_is_measured() -> None:
    wobble = np.outer(np.radians(0.5) * np.sin(2 * np.pi * 3.0 * T), [1.0, 0.0, 0.0])
    estimate = TRUTH * Rotation.from_rotvec(wobble)
    errors = tilt_errors(STAMPS, verticals(estimate.as_quat()), samples(TRUTH))
    assert np.degrees(errors.summary.rms) == pytest.approx(0.5 / np.sqrt(2), rel=0.03)
    assert np.degrees(errors.summary.max) == pytest.approx(0.5, rel=0.05)


def test_untrusted_samples_have_no_influence() -> None:
    reference, trusted = samples(TRUTH), np.ones(N, dtype=bool)
    for k in range(300, 500):
        reference[k] = OrientationSample(int(STAMPS[k]), Rotation.from_rotvec([1.0, 1.0, 0.0]).as_quat())
        trusted[k] = False
    errors = tilt_errors(STAMPS, verticals(TRUTH.as_quat()), reference, trusted)
    assert errors.summary.max < 1e-8
    assert errors.errors.max() > 0.1


def test_where_there_are_no_estimates_there_are_no_errors() -> None:
    estimated = (T < 4.0) | (T > 6.0)
    errors = tilt_errors(STAMPS[estimated], verticals(TRUTH.as_quat())[estimated], samples(TRUTH))
    assert errors.summary.max < 1e-8
    assert len(errors.stamps_ns) == estimated.sum() - 1  # the first one after the gap


def test_mismatched_flags_and_stamps_are_refused() -> None:
    reference, tilts = samples(TRUTH), verticals(TRUTH.as_quat())
    with pytest.raises(RecordingError, match="3 trusted flags for 2000 reference samples"):
        tilt_errors(STAMPS, tilts, reference, np.ones(3, dtype=bool))
    with pytest.raises(RecordingError, match="only 0 trusted reference samples"):
        tilt_errors(STAMPS + 10**15, tilts, reference)


def walk() -> dict[str, Any]:
    """The table of a base that walks a curve, its yaw passing through pi."""
    yaw = 2.8 + 0.2 * T
    positions = np.stack([np.cos(0.3 * T), np.sin(0.3 * T), 0.05 * np.sin(2.0 * T)], axis=1)
    R = Rotation.from_euler("z", yaw[:, None])
    velocities_B = R.inv().apply(np.gradient(positions, T, axis=0))
    columns = [*positions.T, yaw, *velocities_B.T]
    names = ("x", "y", "z", "yaw", "vx", "vy", "vz")
    return {"stamp_ns": STAMPS, **dict(zip(names, columns, strict=True))}


def reference_of(state: dict[str, Any], angle: float, shift: tuple[float, ...]) -> list[PoseSample]:
    """The same motion in a world turned about the vertical and shifted."""
    turn = Rotation.from_euler("z", angle)
    quaternions = (turn * Rotation.from_euler("z", state["yaw"][:, None])).as_quat()
    positions = turn.apply(np.stack([state[axis] for axis in "xyz"], axis=1)) + shift
    return [PoseSample(int(t), q, p) for t, q, p in zip(STAMPS, quaternions, positions, strict=True)]


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.1, -2.0])
def test_the_origin_and_yaw_of_the_reference_do_not_count(angle: float) -> None:
    state = walk()
    errors = base_errors(state, ReplayReference(reference_of(state, angle, (3.0, -2.0, 0.7))))
    assert errors["yaw"].summary.max < 1e-8
    assert errors["position"].summary.max < 1e-9
    assert errors["velocity"].summary.max < 2e-3  # of the central differences


def test_an_error_of_the_estimate_is_found_where_it_is() -> None:
    state = walk()
    wrong = {**state, "z": state["z"] + np.where(T > 10.0, 0.1, 0.0), "vx": state["vx"] + 0.2}
    errors = base_errors(wrong, ReplayReference(reference_of(state, 0.4, (0.0, 0.0, 0.0))))
    jump = errors["position"].errors[-1] - errors["position"].errors[0]
    np.testing.assert_allclose(jump, [0.0, 0.0, 0.1], atol=1e-3)
    assert errors["velocity"].summary.rms == pytest.approx(0.2, abs=2e-3)


def test_orientations_alone_give_the_yaw_and_few_samples_nothing() -> None:
    state = walk()
    poses = reference_of(state, 1.0, (0.0, 0.0, 0.0))
    reference = ReplayReference([OrientationSample(s.stamp_ns, s.quaternion_xyzw) for s in poses])
    errors = base_errors(state, reference)
    assert set(errors) == {"yaw"}
    assert errors["yaw"].summary.max < 1e-8
    turned = {**state, "yaw": state["yaw"] + 2.0 * np.pi * (np.arange(N) > N // 3)}  # past the vertical
    assert base_errors(turned, reference)["yaw"].summary.max < 1e-8
    assert not base_errors(state, replace(reference, samples=reference.samples[:10]))
    assert set(base_errors(state, ReplayReference(poses[:60]))) == {"yaw", "position"}


def test_low_pass_keeps_slow_removes_fast_and_does_not_delay() -> None:
    t = np.arange(4000) * 1e-3
    slow, fast = np.sin(2 * np.pi * 2.0 * t), np.sin(2 * np.pi * 60.0 * t)
    filtered = low_pass_zero_phase((t * 1e9).astype(np.int64), (slow + fast)[:, None])[:, 0]
    assert np.abs(filtered[: len(slow)] - slow)[500:3500].max() < 5e-3
    coarse = np.round(np.arange(400) / (1.5 * FILTER_CUTOFF) * 1e9).astype(np.int64)  # nothing fast is in it
    np.testing.assert_allclose(low_pass_zero_phase(coarse, slow[:400, None])[:400, 0], slow[:400], atol=1e-6)


def test_trusted_flags_are_read_or_refused_with_their_line(tmp_path: Path) -> None:
    path, bad = (
        tmp_path / "t.csv",
        {"1\nyes\n": "line 2 of .* is 'yes', expected 0 or 1", "# nothing\n": "no flags"},
    )
    path.write_text("# trusted\n1\n0\n\n1  # good\n")
    np.testing.assert_array_equal(read_trusted(path), [True, False, True])
    for text, message in bad.items():
        path.write_text(text)
        with pytest.raises(RecordingError, match=message):
            read_trusted(path)
