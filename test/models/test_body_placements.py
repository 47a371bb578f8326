"""Centre of mass of the whole robot against Pinocchio's, and as a load moves it."""

import numpy as np
import pinocchio as pin
import pytest
from support.leg_robot import MODEL, NAMES, URDF

from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import LinkInertia

ROBOT = RobotModel.from_urdf(URDF)
Q = np.random.default_rng(3).uniform(-1.0, 1.0, len(NAMES))


def test_nominal_centre_is_pinocchios() -> None:
    bodies = BodyPlacements(ROBOT)
    bodies.update(Q)
    expected = pin.centerOfMass(MODEL, MODEL.createData(), ROBOT.configuration(Q))
    np.testing.assert_allclose(bodies.com_B(), expected, atol=1e-12)


def test_a_heavier_link_pulls_the_centre_towards_itself() -> None:
    bodies = BodyPlacements(ROBOT)
    bodies.update(Q)
    data = MODEL.createData()
    pin.framesForwardKinematics(MODEL, data, ROBOT.configuration(Q))
    com_L = np.array([0.1, 0.2, 0.3])
    loaded = bodies.com_B([LinkInertia("arm", 1e9, com_L, np.eye(3))])
    np.testing.assert_allclose(loaded, data.oMf[MODEL.getFrameId("arm")].act(com_L), atol=1e-5)


def test_extent_is_the_farthest_joint() -> None:
    assert BodyPlacements(ROBOT).extent == pytest.approx(np.hypot(0.1, 0.9))
