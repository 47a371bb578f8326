"""Parameters of the tilt observer."""

from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.parameters import build_config


def test_gains_of_an_observer_that_is_not_in_use_are_named():
    assert TiltPipelineConfig().without_effect == []
    values = {"two_stage.gamma": 3.0, "adaptation.memory": 3.0, "kalman.window": 1.0, "gravity.gain": 1.0}
    found = build_config(TiltPipelineConfig, {"observer": "kalman", **values}).without_effect
    said = "tilt_observer.{} has no effect: it is of the observer two_stage, and kalman is in use"
    assert found == [said.format("two_stage.gamma"), said.format("adaptation.memory")]
    (found,) = build_config(TiltPipelineConfig, {"observer": "two_stage", **values}).without_effect
    assert found.startswith("tilt_observer.kalman.window has no effect")
