"""Robots drawn from what a filter knows: as uncertain as its estimates say, and all of them possible."""

import numpy as np
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import link_parameters
from inertial_estimation.parameters import build_config
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

LINKS = ("panda_link4", "panda_link6")


def model_of(**changes):
    values = {
        "floating_base": False,
        "locked_joints": ("panda_finger_joint*",),
        "links": LINKS,
        "contact_wrenches": "none",
        **changes,
    }
    pipeline = InertialPipeline(
        build_config(InertialPipelineConfig, values), read_urdf("example-robot-data:panda")
    )
    return pipeline, pipeline.estimated_model()


def test_masses_scatter_as_the_covariance_of_the_filter_says():
    pipeline, model = model_of()
    pipeline.filter.P[:] *= 0.05**2
    drawn = pipeline.estimated_model().samples(3000, np.random.default_rng(0))
    _pi, covariances = pipeline.filter.parameters_of(pipeline.filter.x, pipeline.filter.P)
    np.testing.assert_allclose(drawn[:, :, 0].std(axis=0), np.sqrt(covariances[:, 0, 0]), rtol=0.1)
    np.testing.assert_allclose(drawn[:, :, 0].mean(axis=0), model.estimate[:, 0], rtol=0.01)


@pytest.mark.parametrize("name", ["log_cholesky", "linear"])
def test_every_robot_drawn_from_the_prior_is_possible(name):
    _pipeline, model = model_of(filter=name)
    drawn = EstimatedModel.from_values(model.values()).samples(20, np.random.default_rng(0))
    assert np.linalg.eigvalsh(pseudo_inertia(drawn)).min() > 0.0
    assert drawn[:, :, 0].std(axis=0).min() > 0.02


def test_a_drawn_description_has_the_drawn_bodies_and_every_link_keeps_a_mass():
    _pipeline, model = model_of(links=("panda_link7",))
    before = link_parameters(model.urdf)
    for parameters in model.samples(20, np.random.default_rng(1)):
        urdf = model.urdf_with(parameters)
        robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=("panda_finger_joint*",))
        body = robot.link_body("panda_link7")
        assert body.nominal_J.mass == pytest.approx(parameters[0, 0], rel=1e-9)
        after = link_parameters(urdf)
        assert all(after[link][0] > 0.0 for link in before if before[link][0] > 0.0)
