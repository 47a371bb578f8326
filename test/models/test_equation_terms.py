"""The mass matrix of the bodies that are believed."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.dynamics_measurement import EquationTerms


@pytest.mark.parametrize("mass", [3.0, 0.0, -1.0, np.nan])
def test_the_mass_matrix_is_that_of_believed_bodies_and_of_nominal_ones_without_a_mass(talos, mass):
    bodies = estimated_bodies(talos, ("torso_2_link", "arm_left_5_link"))
    terms, model = EquationTerms(talos, bodies), talos.model.copy()
    q = talos.configuration(np.random.default_rng(0).uniform(-1.0, 1.0, talos.n_joints))
    ball = pin.Inertia(abs(mass) if mass else 1.0, np.array([0.1, -0.2, 0.3]), 0.1 * np.eye(3))
    pi = np.concatenate([body.nominal_J.vector for body in bodies])
    pi[:10] = ball.toDynamicParameters() if mass > 0.0 else 1.0
    pi[0] = mass
    nominal = pin.crba(model, model.createData(), q)
    if mass > 0.0:
        model.inertias[bodies[0].joint_id] = ball
    expected = pin.crba(model, model.createData(), q)
    np.testing.assert_allclose(terms.mass_matrix(q, pi), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(terms.mass_matrix(q), nominal, rtol=1e-12, atol=1e-12)
