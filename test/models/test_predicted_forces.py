"""Slopes of predicted forces are those of the description."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.predicted_forces import PredictedForces, gravity_columns
from inertial_estimation.models.robot_model import RobotModel


@pytest.mark.parametrize("j", [0, 3, 6])
def test_levers_are_slopes_of_the_torque_of_a_joint_by_the_centre_of_mass_it_moves(j):
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:panda"), floating_base=False)
    rng, still = np.random.default_rng(j), np.zeros(robot.n_joints)
    q, shift = rng.standard_normal(robot.n_joints), 1e-3 * rng.standard_normal(3)
    data, moved = robot.model.createData(), robot.model.copy()
    pin.computeSubtreeMasses(robot.model, data)
    own = moved.inertias[j + 1]
    moved.inertias[j + 1] = pin.Inertia(
        own.mass, own.lever + data.mass[j + 1] / own.mass * shift, own.inertia
    )
    before, after = (
        pin.rnea(m, m.createData(), robot.configuration(q), still, still) for m in (robot.model, moved)
    )
    forces = PredictedForces(robot)
    forces.at(q, still, still, None)
    assert (after - before)[j] == pytest.approx(forces.levers()[j] @ shift, abs=1e-12)


def test_torques_of_gravity_of_any_direction_are_those_of_inverse_dynamics():
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:panda"), floating_base=False)
    rng, model = np.random.default_rng(1), robot.model.copy()
    q, model.gravity.linear = rng.standard_normal(robot.n_joints), rng.standard_normal(3)
    torques = pin.computeGeneralizedGravity(model, model.createData(), robot.configuration(q))
    np.testing.assert_allclose(gravity_columns(robot, q) @ model.gravity.linear, torques, atol=1e-12)
