"""Trials are replays with other parameters, judged by likelihood and by later readings."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.leg_robot import Stance, push_stance, tilt_pipeline

import inertial_estimation as ie
from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.replay.reference import ReplayReference
from inertial_estimation.signals import Decision
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.tilt_trials import (
    WINDOW_S,
    Intervals,
    LaterReadings,
    ReferenceTilt,
    later_verticals,
    verticals_of,
)
from inertial_estimation.tuning.trials import LikelihoodTrials, negative_log_likelihood

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


def test_later_readings_without_noise_show_the_vertical(moving):
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
def biped_run():
    """A biped whose base moves, and a parameter file of its robot."""
    rng = np.random.default_rng(0)
    truth = ie.synthetic_truth("talos", ie.Timing(duration_s=4.5, rate_hz=200.0), rng, payload_time_s=None)
    return RecordedRun(ie.measure(truth, ie.REALISTIC, rng), ie.load_configs(["talos"]))


def test_a_trial_is_a_replay_with_other_gains(biped_run):
    """What the observer takes hardly depends on its gains, by the vertical along which contacts push."""
    gains = {"filter.velocity_drift": 0.05}
    built = biped_run.pipelines([(TILT_NODE, name, value) for name, value in gains.items()], only=[TILT_NODE])
    replayed = ie.replay_recording(
        biped_run.recording, biped_run.topics(built), ie.ReplayReaders(tilt=built.tilt)
    ).base
    trials = LaterReadings(biped_run, Division.of(biped_run.begin_ns, biped_run.end_ns, 3))
    trials.tilts({"filter.freedom": 0.02}, biped_run.end_ns)  # leaves nothing behind
    stamps, tilts = trials.tilts(gains, biped_run.end_ns)
    np.testing.assert_array_equal(stamps, [estimate.state.stamp_ns for estimate in replayed])
    np.testing.assert_allclose(tilts, [estimate.tilt_B for estimate in replayed], rtol=0.0, atol=1e-5)


def test_against_a_reference_every_block_until_a_time_is_judged_but_for_a_constant_alignment(biped_run):
    begin, end = biped_run.begin_ns, biped_run.end_ns
    stamps = np.arange(begin, end, 10_000_000)
    truth = Rotation.from_rotvec(np.outer(np.sin(3e-9 * (stamps - begin)), [0.2, -0.1, 0.3]))
    mounted = (truth * Rotation.from_rotvec([0.5, 1.0, -0.3])).as_quat()
    samples = [ie.OrientationSample(t, q) for t, q in zip(stamps.tolist(), mounted, strict=True)]
    trials = ReferenceTilt(biped_run, Division.of(begin, end, 3), ReplayReference(samples))
    tilts = truth.as_matrix()[:, 2]
    np.testing.assert_allclose(trials.judged(stamps, tilts, end), np.zeros(15), atol=1e-9)
    half = trials.judged(stamps, tilts, trials.division.part_end_ns(0))
    assert np.isfinite(half).tolist() == 5 * [True] + 10 * [False]


@pytest.fixture(scope="module")
def arm_run():
    """A Panda whose last link is estimated."""
    rng = np.random.default_rng(0)
    truth = ie.synthetic_truth("panda", ie.Timing(duration_s=5.0, rate_hz=200.0), rng, payload_time_s=None)
    config = ie.load_configs(["panda"]).overridden([(INERTIAL_NODE, "links", ["panda_link7"])])
    return RecordedRun(ie.measure(truth, ie.REALISTIC, rng), config)


def test_updates_are_those_of_a_replay_with_other_parameters(arm_run):
    other = [(INERTIAL_NODE, "noise.torque", 0.3)]
    built = arm_run.pipelines(other)
    run_once = ie.replay_recording(
        arm_run.recording, arm_run.topics(built), ie.ReplayReaders(inertial=built.inertial)
    )
    estimates = [estimate for estimate in run_once.inertial if estimate.measured]
    updates = list(arm_run.updates(other))
    assert [stamp_ns for stamp_ns, _update in updates] == [e.stamp_ns for e in estimates]
    for (_stamp, update), estimate in zip(updates, estimates, strict=True):
        np.testing.assert_array_equal(update.innovation, estimate.innovation)


def test_an_update_gives_the_likelihood_of_its_innovation(arm_run):
    """Noise of twice the size quarters the NIS where the parameters are certain."""
    certain = {"prior.mass": 1e-6, "prior.com": 1e-6, "prior.radii": 1e-6}
    certain |= {"prior.load": 0.0, "friction.share": 1e-9}
    noise = arm_run.configs[INERTIAL_NODE].noise
    doubled = {f"noise.{name}": 2.0 * value for name, value in vars(noise).items()}
    (_stamp, one), (_again, two) = (
        next(arm_run.updates([(INERTIAL_NODE, *one) for one in (certain | change).items()], adapting=False))
        for change in ({}, doubled)
    )
    assert two.nis == pytest.approx(one.nis / 4.0, rel=1e-4)
    assert two.log_det == pytest.approx(one.log_det + 2.0 * len(one.innovation) * np.log(2.0), rel=1e-6)


def test_noise_that_is_far_off_is_less_likely(arm_run):
    trials = LikelihoodTrials(arm_run, Division.of(arm_run.begin_ns, arm_run.end_ns, 2), adapting=False)
    assert np.nanmean(trials.scores({"noise.torque": 10.0}, 2)) > np.nanmean(trials.scores({}, 2))


ROWS = 6


def update(y, sigma, decision=Decision.ACCEPTED):
    variance = np.full(ROWS, sigma**2)
    nis = float(y @ (y / variance))
    return StepOutcome(y, nis, decision, variance, float(np.log(variance).sum()))


def mean_score(innovations, sigma):
    return np.mean([negative_log_likelihood(update(y, sigma)) for y in innovations])


@pytest.mark.parametrize("outliers", [0, 3])
def test_the_likelihood_is_largest_at_the_noise_there_is(outliers):
    innovations = 0.7 * np.random.default_rng(0).normal(size=(800, ROWS))
    innovations[:outliers] *= 50.0
    sigmas = np.geomspace(0.35, 1.4, 41)
    best = sigmas[np.argmin([mean_score(innovations, sigma) for sigma in sigmas])]
    assert best == pytest.approx(0.7, rel=0.05)


def test_a_score_is_the_density_of_a_normal_distribution_but_for_outliers():
    y = np.array([0.1, -0.2, 0.3, 0.0, 0.5, -0.4])
    expected = (0.5 * np.sum(y**2) / 0.25 + ROWS * np.log(0.5 * np.sqrt(2.0 * np.pi))) / ROWS
    assert negative_log_likelihood(update(y, 0.5)) == pytest.approx(expected - np.log(0.99) / ROWS, abs=1e-6)
    assert np.isnan(negative_log_likelihood(update(y, 0.5, Decision.CALIBRATING))), "it was not compared"
