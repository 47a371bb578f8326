"""The vertical by later readings: exact without noise, blind to nothing that gains can change."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.leg_robot import Stance, push_stance, tilt_pipeline

import inertial_estimation as ie
from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.tilt_trials import (
    WINDOW_S,
    Intervals,
    LaterReadings,
    later_verticals,
    verticals_of,
)

H = 0.002


@pytest.fixture(scope="module")
def moving():
    """Exact means over the steps of a body that swings in the world, and the vertical at their ends."""
    rng, ends, d = np.random.default_rng(3), H * np.arange(1, 2501), 1e-3
    size, frequency, phase = rng.normal(size=6), rng.uniform(1.0, 4.0, 6), rng.uniform(0.0, 6.28, 6)

    def pose(t):
        swing = [0.1, 0.1, 0.1, 0.5, 0.5, 0.5] * size * np.sin(np.multiply.outer(t, frequency) + phase)
        return swing[:, :3], Rotation.from_rotvec(swing[:, 3:])

    (p0, R0), (p, R), (p1, R1) = (pose(ends - 0.5 * H + s) for s in (-d, 0.0, d))
    w_I, v_I = (R0.inv() * R1).as_rotvec() / (2 * d), R.inv().apply(p1 - p0) / (2 * d)
    f_I = R.inv().apply((p1 - 2 * p + p0) / d**2 + [0.0, 0.0, 9.80665])
    return Intervals(np.full(len(ends), H), w_I, f_I, v_I), pose(ends)[1].as_matrix()[:, 2]


def angles_deg(a, b):
    return np.degrees(np.linalg.norm(np.cross(a, b), axis=1))


def test_without_noise_it_is_the_vertical(moving):
    readings, true = moving
    found = later_verticals(readings)
    known = np.isfinite(found[:, 0])
    assert angles_deg(found, true)[known].max() < 0.02
    assert known[: len(known) - round(WINDOW_S / H) - 2].all()
    assert not known[-round(WINDOW_S / H) + 1 :].any(), "readings that are not there determine nothing"


def test_readings_until_a_time_do_not_matter(moving):
    """What an estimate has used, it is not judged by."""
    readings, _true = moving
    spoilt = [getattr(readings, name).copy() for name in ("w_I", "f_I", "y_v")]
    for values in spoilt:
        values[:1000] += 1.0
    found = later_verticals(Intervals(readings.h, *spoilt))[1000:]
    expected = later_verticals(readings)[1000:]
    assert np.nanmax(np.abs(found - expected)) < 1e-9


def test_time_without_contact_is_left_out(moving):
    readings, true = moving
    y_v = readings.y_v.copy()
    y_v[600:800], y_v[1200:1900] = np.nan, np.nan
    found = later_verticals(Intervals(readings.h, readings.w_I, readings.f_I, y_v))
    known = np.isfinite(found[:, 0])
    assert known[300], "a short flight leaves enough"
    assert not known[1150], "a long one does not"
    assert angles_deg(found, true)[known].max() < 0.02


def test_what_a_pipeline_keeps_determines_the_vertical_on_both_sides_of_a_gap():
    stance, pipeline, period_ns = Stance(1, size=0.5, still_until=0.5), tilt_pipeline(), 5_000_000
    kept, estimated = [], []
    pipeline.estimator.on_step = kept.append
    for k in range(1, 1600):
        if 700 <= k < 800:  # longer than the largest gap
            continue
        push_stance(pipeline, stance, k * period_ns, 1e-9 * k * period_ns)
        estimated += [estimate.state.stamp_ns for estimate in pipeline.tick(k * period_ns)]
    assert sum(step.h == 0.0 for step in kept) == 2, "the start, and after the gap"
    stamps, found = verticals_of(kept, 0.0)
    true = np.array([stance.pose("base", 1e-9 * stamp).rotation[2] for stamp in stamps])
    assert (stamps < 700 * period_ns).sum() > 90
    assert (stamps > 800 * period_ns).sum() > 90
    judged = (stamps > 1_000_000_000) & np.isin(stamps, estimated)
    turned = np.degrees(np.cross(found, true))[judged]
    assert np.sqrt(np.sum(turned.var(axis=0))) < 0.05, "but for a constant"


@pytest.fixture(scope="module")
def run():
    """A biped whose base moves, and a parameter file of its robot."""
    rng = np.random.default_rng(0)
    truth = ie.synthetic_truth("talos", ie.Timing(duration_s=6.0, rate_hz=200.0), rng, payload_time_s=None)
    return RecordedRun(ie.measure(truth, ie.REALISTIC, rng), ie.load_configs(["talos"]))


def test_a_trial_is_a_replay_with_other_gains(run):
    """What the observer takes hardly depends on its gains, by the vertical along which contacts push."""
    gains = {"filter.velocity_drift": 0.05}
    built = run.pipelines([(TILT_NODE, name, value) for name, value in gains.items()], only=[TILT_NODE])
    replayed = ie.replay_recording(run.recording, run.topics(built), ie.ReplayReaders(tilt=built.tilt)).base
    trials = LaterReadings(run, Division.of(run.begin_ns, run.end_ns, 3))
    trials.tilts({"filter.freedom": 0.02}, run.end_ns)  # leaves nothing behind
    stamps, tilts = trials.tilts(gains, run.end_ns)
    np.testing.assert_array_equal(stamps, [estimate.state.stamp_ns for estimate in replayed])
    np.testing.assert_allclose(tilts, [estimate.tilt_B for estimate in replayed], rtol=0.0, atol=1e-5)
