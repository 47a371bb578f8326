"""The biped is the paper's: twelve joints, 42.6 kg, standing above the middle of its feet."""

import numpy as np
import pytest

from inertial_estimation.experiments.pushed_biped import CONTACTS, biped_urdf
from inertial_estimation.models.robot_model import RobotModel

pin = pytest.importorskip("pinocchio")


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf(biped_urdf())


def test_twelve_joints_and_the_weight_of_the_paper(robot: RobotModel) -> None:
    assert robot.n_joints == 12
    assert robot.total_mass == pytest.approx(42.6, abs=1e-9)


def test_centre_of_mass_is_above_the_middle_of_the_soles(robot: RobotModel) -> None:
    model, data = robot.model, robot.model.createData()
    q = robot.configuration(np.zeros(12))
    com = pin.centerOfMass(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    soles = [data.oMf[robot.frame_id(name)] for name in CONTACTS]
    middle = np.mean([sole.translation for sole in soles], axis=0)
    np.testing.assert_allclose(com[:2], middle[:2], atol=1e-9)
    assert 0.6 < com[2] - middle[2] < 0.9
    for sole in soles:  # level, and as the frame says
        np.testing.assert_allclose(sole.rotation, np.eye(3), atol=1e-12)


def test_each_body_could_be_made(robot: RobotModel) -> None:
    for inertia in list(robot.model.inertias)[1:]:
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert moments.min() > 0.0
        assert moments.sum() >= 2.0 * moments.max()
