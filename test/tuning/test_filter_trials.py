"""Trials of the inertial filter are replays with other parameters."""

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.signals import Decision
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.trials import LikelihoodTrials, negative_log_likelihood


@pytest.fixture(scope="module")
def run():
    """A Panda whose last link is estimated."""
    rng = np.random.default_rng(0)
    truth = ie.synthetic_truth("panda", ie.Timing(duration_s=8.0, rate_hz=200.0), rng, payload_time_s=None)
    config = ie.load_configs(["panda"]).overridden([(INERTIAL_NODE, "links", ["panda_link7"])])
    return RecordedRun(ie.measure(truth, ie.REALISTIC, rng), config)


def test_updates_are_those_of_a_replay_with_other_parameters(run):
    other = [(INERTIAL_NODE, "noise.torque", 0.3)]
    built = run.pipelines(other)
    run_once = ie.replay_recording(
        run.recording, run.topics(built), ie.ReplayReaders(inertial=built.inertial)
    )
    estimates = [estimate for estimate in run_once.inertial if estimate.measured]
    updates = list(run.updates(other))
    assert [stamp_ns for stamp_ns, _update in updates] == [e.stamp_ns for e in estimates]
    for (_stamp, update), estimate in zip(updates, estimates, strict=True):
        np.testing.assert_array_equal(update.innovation, estimate.innovation)


def test_an_update_gives_the_likelihood_of_its_innovation(run):
    """Noise of twice the size quarters the NIS where the parameters are certain."""
    certain = {"prior.mass": 1e-6, "prior.com": 1e-6, "prior.radii": 1e-6}
    certain |= {"friction.share": 1e-9}
    noise = run.configs[INERTIAL_NODE].noise
    doubled = {f"noise.{name}": 2.0 * value for name, value in vars(noise).items()}
    (_stamp, one), (_again, two) = (
        next(run.updates([(INERTIAL_NODE, *one) for one in (certain | change).items()], adapting=False))
        for change in ({}, doubled)
    )
    assert two.nis == pytest.approx(one.nis / 4.0, rel=1e-4)
    assert two.log_det == pytest.approx(one.log_det + 2.0 * len(one.innovation) * np.log(2.0), rel=1e-6)


def test_noise_that_is_far_off_is_less_likely(run):
    trials = LikelihoodTrials(run, Division.of(run.begin_ns, run.end_ns, 2), adapting=False)
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
    innovations = 0.7 * np.random.default_rng(0).normal(size=(2000, ROWS))
    innovations[:outliers] *= 50.0
    sigmas = np.geomspace(0.35, 1.4, 41)
    best = sigmas[np.argmin([mean_score(innovations, sigma) for sigma in sigmas])]
    assert best == pytest.approx(0.7, rel=0.05)


def test_it_is_the_density_of_a_normal_distribution_but_for_outliers():
    y = np.array([0.1, -0.2, 0.3, 0.0, 0.5, -0.4])
    expected = (0.5 * np.sum(y**2) / 0.25 + ROWS * np.log(0.5 * np.sqrt(2.0 * np.pi))) / ROWS
    assert negative_log_likelihood(update(y, 0.5)) == pytest.approx(expected - np.log(0.99) / ROWS, abs=1e-6)


def test_what_was_not_compared_has_no_score():
    y = np.ones(ROWS)
    assert np.isnan(negative_log_likelihood(update(y, 1.0, Decision.CALIBRATING)))
