"""Standing experiments of the trunk's payload: what the loop passes on, and that the measures measure."""

import numpy as np
import pytest

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.errors import ModelError
from inertial_estimation.experiments.tournois_standing import (
    ROBOT,
    TRUNK,
    Scene,
    identification,
    perturbed,
    standing_loop,
    urdf_with_moved_com,
    urdf_with_moved_links,
)
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel

pytestmark = pytest.mark.experiment


@pytest.fixture(scope="module")
def robot() -> RobotLoop:
    return RobotLoop(ROBOT)


def test_load_and_believed_centre_are_found(robot: RobotLoop) -> None:
    """100 N on a robot wrong about its trunk: found to millimetres by the pipeline of the node."""
    loop = standing_loop(perturbed(robot), Scene(100.0), 0, quick=True)
    found = identification(loop, "contact_forces")
    assert found.converged
    assert np.hypot(*found.error_L[0, :2]) > 0.1
    assert found.error_xy < 3e-3
    assert found.mass_error < 0.01
    assert found.begins < found.settled(3e-3) < found.columns["time"][-1]


def test_moved_centre_and_moved_foot_are_where_they_are_said_to_be(robot: RobotLoop) -> None:
    move = np.array([0.01, -0.02, 0.03])
    before = RobotModel.from_urdf(robot.urdf)
    trunk = RobotModel.from_urdf(urdf_with_moved_com(robot.urdf, TRUNK, move))
    was, now = (BodyReference.of_link(model, TRUNK).nominal_J for model in (before, trunk))
    np.testing.assert_allclose(now.com_F - was.com_F, move, atol=1e-12)
    np.testing.assert_allclose(now.inertia_Fcm, was.inertia_Fcm, atol=1e-9)
    foot = RobotModel.from_urdf(urdf_with_moved_links(robot.urdf, {"lh_foot": move}))
    places = [model.fixed_transform("lh_lowerleg", "lh_foot").translation for model in (before, foot)]
    np.testing.assert_allclose(places[1] - places[0], move, atol=1e-12)
    with pytest.raises(ModelError, match="no_foot"):
        urdf_with_moved_links(robot.urdf, {"no_foot": move})
