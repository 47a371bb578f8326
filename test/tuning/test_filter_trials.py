"""Trials of the inertial filter are replays with other parameters."""

import numpy as np
import pytest

from inertial_estimation.configuration.config_file import load_configs
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.signals import Decision
from inertial_estimation.simulation.config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.filter_trials import LikelihoodTrials, TorqueTrials
from inertial_estimation.tuning.recorded_run import RecordedRun


@pytest.fixture(scope="module")
def run():
    """A Panda whose last link is estimated."""
    rng = np.random.default_rng(0)
    truth = synthetic_truth("panda", Timing(duration_s=8.0, rate_hz=200.0), rng, payload_time_s=None)
    config = load_configs(["panda"]).overridden([(INERTIAL_NODE, "links", ["panda_link7"])])
    return RecordedRun(measure(truth, REALISTIC, rng), config)


def test_updates_are_those_of_a_replay_with_other_parameters(run):
    other = [(INERTIAL_NODE, "noise.torque", 0.3)]
    built = run.pipelines(other)
    run_once = replay_recording(run.recording, run.topics(built), inertial=built.inertial)
    estimates = [estimate for estimate in run_once.inertial if estimate.measured]
    updates = list(run.updates(other))
    assert [step.stamp_ns for step, _update in updates] == [e.stamp_ns for e in estimates]
    for (_step, update), estimate in zip(updates, estimates, strict=True):
        np.testing.assert_array_equal(update.innovation, estimate.innovation)


def test_nothing_is_learned_from_the_time_given_on(run):
    until_ns = run.begin_ns + 2_000_000_000
    updates = list(run.updates(learn_until_ns=until_ns))
    decisions = [(step.stamp_ns >= until_ns, update.decision) for step, update in updates]
    assert len({late for late, _decision in decisions}) == 2
    assert all((decision is Decision.DISABLED) == late for late, decision in decisions)
    assert {update.decision for _step, update in run.updates(learn_until_ns=0)} == {Decision.DISABLED}


def test_an_update_gives_the_likelihood_of_its_innovation(run):
    """Noise of twice the size quarters the NIS where the parameters are certain."""
    certain = {"prior.mass": 1e-6, "prior.com": 1e-6, "prior.radii": 1e-6, "adapt_noise": False}
    certain |= {"friction.share": 1e-9}
    noise = run.configs[INERTIAL_NODE].noise
    doubled = {f"noise.{name}": 2.0 * value for name, value in vars(noise).items()}
    (_step, one), (_again, two) = (
        next(run.updates([(INERTIAL_NODE, name, value) for name, value in (certain | change).items()]))
        for change in ({}, doubled)
    )
    assert two.nis == pytest.approx(one.nis / 4.0, rel=1e-4)
    assert two.log_det == pytest.approx(one.log_det + 2.0 * len(one.innovation) * np.log(2.0), rel=1e-6)


def test_noise_that_is_far_off_is_less_likely_and_bodies_that_were_learned_predict(run):
    division = Division.of(run.begin_ns, run.end_ns, 2)
    trials = LikelihoodTrials(run, division, adapting=False)
    reported = []
    shipped = trials.scores({}, 2, lambda block, score: reported.append(block))
    assert reported == list(range(len(shipped) - 1))
    assert np.nanmean(trials.scores({"noise.torque": 10.0}, 2)) > np.nanmean(shipped)
    torque = TorqueTrials(run, division).scores({}, 2)
    assert np.isnan(torque[division.part_of_block == 0]).all()
    assert np.nanmean(torque) < 2.0
