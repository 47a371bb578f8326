"""An unknown height of the load on a tilted trunk: the deviations of the centre of mass cover it."""

import numpy as np
import pytest
from support.standing_robot import HYQ, Standing

from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import BASE_JOINT
from inertial_estimation.payload.com_methods import ContactForceRecursion
from inertial_estimation.payload.trunk import IdentifiedTrunk, TrunkValue, deviation_with_height
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

NOISE = np.array([1e-4, 2e-4, np.inf])
STEP = 0.05


def identified(load, point, tilt, rng, torque_noise=0.3):
    """Identify the trunk of a standing HyQ from noisy torques; return the value and its error."""
    scene = Standing(HYQ, load, point)
    size = BodyReference.of_link(scene.robot, scene.trunk).length
    nominal = TrunkValue(scene.nominal.mass, np.array(scene.nominal.com_F))
    method = ContactForceRecursion(1.0, scene.nominal.com_F, scene.mass)
    R_WB, read = scene.readings(tilt)
    statics = scene.statics()
    for _ in range(round(3.0 / STEP)):
        tau = read.tau + torque_noise * rng.standard_normal(scene.robot.n_joints)
        step = method.update(statics.measure(R_WB, scene.q, tau), STEP)
    weighed = TrunkValue(scene.mass, nominal.com_B, 0.02)
    value = IdentifiedTrunk(nominal, size, weighed, nominal).found(step, R_WB[2])
    return value, value.com_B - scene.com


def test_deviations_cover_the_errors_of_random_loads_on_random_tilts():
    """Shares within one and two sigma of 200 trials: 68 and 95 %, give or take three sigma of a binomial."""
    rng = np.random.default_rng(4)
    size = BodyReference.of_link(Standing().robot, "trunk").length
    height = Standing().robot.model.inertias[BASE_JOINT].lever[2]
    scores = []
    for _ in range(200):
        point = np.array([*rng.uniform(-0.3, 0.3, 2), height + size * rng.standard_normal()])
        value, error = identified(rng.uniform(3.0, 20.0), point, rng.uniform(-0.3, 0.3, 2), rng)
        scores.append(error[:2] / value.com_sigma_B[:2])
    within = np.abs(scores)
    assert (((within < 1.0).mean(axis=0) > 0.58) & ((within < 1.0).mean(axis=0) < 0.80)).all()
    assert ((within < 2.0).mean(axis=0) > 0.90).all()


def test_a_level_base_adds_nothing_and_a_tilted_one_height_times_tangent():
    level = deviation_with_height(NOISE, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.1)
    np.testing.assert_allclose(level[:2], NOISE[:2])
    up_B = rotation_from_roll_pitch_yaw(0.0, 0.2, 0.0)[2]
    tilted = deviation_with_height(NOISE, np.zeros(3), up_B, 0.1)
    assert tilted[0] == pytest.approx(0.1 * np.tan(0.2), rel=1e-4)
    assert tilted[1] == pytest.approx(NOISE[1])
    assert np.isinf(tilted[2])
