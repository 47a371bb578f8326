"""Kept steps, observed again: the estimates of a pipeline with these gains."""

import numpy as np
import pytest
from support.leg_robot import Stance, push_stance, tilt_pipeline

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.tilt.kept_steps import KeptObserverSteps
from inertial_estimation.estimators.tilt.recorded_observer import RecordedObserver
from inertial_estimation.parameters import replace_value

STEP_NS = 10_000_000
# What is learnt through the estimates, and so by other gains: gyro bias, scale of the accelerometer.
NOT_LEARNT = {"bias.at_rest": False, "bias.online": False, "check_readings": False}


def run(*, flight=(), **values):
    values = {"observer": "two_stage", **NOT_LEARNT, **values}
    pipeline, stance = tilt_pipeline(**values), Stance(3, still_until=0.5)
    kept, estimates = pipeline.keep_steps(), []
    rng = np.random.default_rng(0)
    for k in range(1, 250):
        stamp = k * STEP_NS
        load = (0.0, 0.0) if k in flight else (400.0, 0.0)
        bias = 0.01 * rng.normal(size=3)
        push_stance(pipeline, stance, stamp, 1e-9 * stamp, load=load, bias=bias)
        estimates += pipeline.tick(stamp)
    return pipeline, kept, estimates


@pytest.fixture(scope="module")
def recorded():
    pipeline, kept, _estimates = run(flight=range(150, 158))
    return RecordedObserver(kept, pipeline.config), pipeline.config


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"kalman.window": 0.1, "kalman.memory": 1.0},
        {"kalman.offset_drift": 0.02, "kalman.velocity_drift": 0.3, "gravity.gain": 3.0},
    ],
)
@pytest.mark.parametrize("flight", [range(150, 158), range(150, 200)])
def test_the_kalman_observer_with_other_parameters(values, flight):
    """Its contact velocities are weighed by its own prediction: exact where one contact is in use."""
    pipeline, kept, _estimates = run(observer="kalman", flight=flight)
    config, again = pipeline.config, RecordedObserver(kept, pipeline.config)
    for name, value in values.items():
        config = replace_value(config, name, value)
    _pipeline, _kept, estimates = run(observer="kalman", flight=flight, **values)
    stamps, tilts = again.tilts(config)
    assert stamps.tolist() == [estimate.state.stamp_ns for estimate in estimates]
    expected = np.array([estimate.tilt_B for estimate in estimates])
    np.testing.assert_allclose(tilts, expected, rtol=0.0, atol=1e-4 if values else 1e-12)
    if values:
        _stamps, present = again.tilts(pipeline.config)
        assert np.abs(tilts - expected).max() < 0.1 * np.abs(present - expected).max()
    with pytest.raises(ConfigurationError, match=r"kalman\.accelerometer_offset"):
        again.tilts(replace_value(config, "kalman.accelerometer_offset", 0.1))


@pytest.mark.parametrize(
    "gains",
    [
        {},
        {"two_stage.gamma": 5.0, "two_stage.alpha1": 40.0},
        {"adaptation.enabled": False, "two_stage.alpha2": 30.0, "gravity.gain": 3.0},
        {"adaptation.slowest": 2.0},
    ],
)
def test_other_gains_give_the_estimates_of_a_pipeline_with_them(recorded, gains):
    again, config = recorded
    for name, value in gains.items():
        config = replace_value(config, name, value)
    _pipeline, _kept, estimates = run(flight=range(150, 158), **gains)
    stamps, tilts = again.tilts(config)
    assert stamps.tolist() == [estimate.state.stamp_ns for estimate in estimates]
    expected = np.array([estimate.tilt_B for estimate in estimates])
    np.testing.assert_allclose(tilts, expected, rtol=0.0, atol=1e-12)


def test_gains_make_a_difference(recorded):
    again, config = recorded
    _stamps, tilts = again.tilts(config)
    _stamps, others = again.tilts(replace_value(config, "two_stage.alpha2", 30.0))
    assert np.abs(tilts - others).max() > 1e-5


def test_a_break_begins_a_new_stretch(recorded):
    """A correction from outside: steps before it say nothing about those after it."""
    again, config = recorded
    assert len(again.stretches) == 1
    pipeline, kept, _estimates = run()
    pipeline.reset()
    stance = Stance(3, still_until=0.5)
    for k in range(250, 400):
        push_stance(pipeline, stance, k * STEP_NS, 1e-9 * k * STEP_NS)
        pipeline.tick(k * STEP_NS)
    broken = RecordedObserver(kept, config)
    assert broken.stretches[0].stamps_ns[-1] < 250 * STEP_NS
    assert broken.stretches[1].stamps_ns[0] > 250 * STEP_NS


def test_what_the_steps_depend_on_is_refused(recorded):
    again, config = recorded
    for name, value in (("contact.force_on", 60.0), ("adaptation.memory", 3.0), ("observer", "r3s2")):
        other = replace_value(config, name, value)
        assert again.dependent(other) == [name.partition(".")[0] if name[0] != "a" else name]
        with pytest.raises(ConfigurationError, match="kept steps depend on"):
            again.tilts(other)
    with pytest.raises(ConfigurationError, match="kept no steps"):
        RecordedObserver(KeptObserverSteps(), config)
