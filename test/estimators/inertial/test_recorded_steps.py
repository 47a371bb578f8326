"""Steps filtered again with other parameters give the estimates of a pipeline with these parameters."""

import numpy as np
import pytest
from support.pipeline_inputs import push

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.inertial.recorded_steps import RecordedSteps
from inertial_estimation.parameters import build_config
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

VALUES = {
    "imu_frame": "imu_link",
    "contacts": ("left_foot", "right_foot"),
    "contact_frames": ("left_sole_link", "right_sole_link"),
    "links": ("arm_left_5_link", "auto"),  # the body that takes the weight is switched on
    "locator.candidates": ("arm_*_5_link",),
    "rate": 125.0,
}
OTHERS = {"noise.torque": 0.2, "noise.contact_force": 3.0, "prior.mass": 0.5, "gate.quantile": 0.99}


class Scene:
    """A TALOS whose right forearm takes a weight."""

    def __init__(self):
        truth = synthetic_truth(
            "talos",
            Timing(duration_s=2.6, rate_hz=250.0),
            np.random.default_rng(0),
            payload_time_s=1.2,
            payload_link="arm_right_5_link",
        )
        recording = measure(truth, REALISTIC, np.random.default_rng(1))
        wanted = [topic for topic in recording.topics if "ground" not in topic]
        self.entries = list(recording.entries(wanted, 0))

    def run(self, *, keep=False, **changes):
        pipeline, estimates = InertialPipeline(self.config(**changes), self.urdf), []
        if keep:
            pipeline.kept_steps = []
        for entry in self.entries:
            push(pipeline, entry.topic, entry.sample)
            estimates += pipeline.tick(entry.sample.stamp_ns)
        return pipeline, estimates

    urdf = read_urdf("example-robot-data:talos_reduced")

    @staticmethod
    def config(**changes):
        return build_config(InertialPipelineConfig, {**VALUES, **changes})


@pytest.fixture(scope="module")
def scene():
    return Scene()


@pytest.fixture(scope="module")
def recorded(scene):
    pipeline, estimates = scene.run(keep=True)
    return RecordedSteps(pipeline), estimates


def masses(estimates):
    return np.array([[link.estimate.mass for link in estimate.links] for estimate in estimates])


def same(some, others):
    assert [e.stamp_ns for e in some] == [e.stamp_ns for e in others]
    assert [e.decision for e in some] == [e.decision for e in others]
    assert np.array_equal(masses(some), masses(others))
    assert all(np.array_equal(a.innovation, b.innovation) for a, b in zip(some, others, strict=True))


def test_the_same_parameters_give_the_same_estimates(scene, recorded):
    steps, estimates = recorded
    assert len(masses(estimates)[0]) == 2
    assert masses(estimates)[-1, 1] > masses(estimates)[0, 1] + 2.0, "a body was switched on in the middle"
    same(list(steps.estimates(scene.config())), estimates)


def test_noise_is_stated_for_the_robot_as_it_is_estimated(recorded):
    """The weight makes errors of accelerations count more in the rows of the right arm, and in no others."""
    steps, _estimates = recorded
    model, equation = steps._recorded_with, steps.steps[-1].equation
    nominal = model.measurement.restated(equation).noise
    more = np.diag(equation.noise) / np.diag(nominal)
    rows = [name.startswith("arm_right") for name in model.measurement.row_names]
    assert more[rows].max() > 1.2
    others = [name.startswith(("arm_left", "leg", "head")) for name in model.measurement.row_names]
    np.testing.assert_allclose(more[others], 1.0, atol=0.05)


def test_other_parameters_give_the_estimates_of_a_pipeline_with_them(scene, recorded):
    steps, estimates = recorded
    _pipeline, expected = scene.run(**OTHERS)
    assert not np.array_equal(masses(expected), masses(estimates))
    same(list(steps.estimates(scene.config(**OTHERS))), expected)


def test_an_update_gives_the_likelihood_of_its_innovation(scene, recorded):
    """Noise of twice the size in every input quarters the NIS where the parameters are certain."""
    steps, _estimates = recorded
    certain = {"prior.mass": 1e-6, "prior.com": 1e-6, "prior.radii": 1e-6, "noise_adaptation.enabled": False}
    noise = scene.config().noise.for_robot(steps._recorded_with.robot)
    doubled = {f"noise.{name}": 2.0 * value for name, value in vars(noise).items()}
    (_step, one), (_again, two) = (
        next(steps.updates(scene.config(**certain, **change))) for change in ({}, doubled)
    )
    assert two.nis == pytest.approx(one.nis / 4.0, rel=1e-4)
    assert two.log_det == pytest.approx(one.log_det + 2.0 * len(one.innovation) * np.log(2.0), rel=1e-6)


def test_parameters_that_the_equations_depend_on_are_refused(scene, recorded):
    steps, _estimates = recorded
    with pytest.raises(ConfigurationError, match="depend on window,"):
        next(steps.updates(scene.config(window=0.05)))


def test_a_pipeline_that_kept_no_steps_is_refused(scene):
    with pytest.raises(ConfigurationError, match="kept no steps"):
        RecordedSteps(InertialPipeline(scene.config(), scene.urdf))
