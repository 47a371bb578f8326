"""Friction: what each column means, and the sign of Coulomb friction."""

import numpy as np
import pytest
from support.example_robots import panda

from inertial_estimation.models.friction import (
    FRICTION_TERMS,
    CoulombDirection,
    FrictionConfig,
    FrictionModel,
    NominalFriction,
    friction_deviations,
    friction_model,
)

DT = 1e-3
JOINTS = ("a", "b", "c")
PANDA = panda()
KNOWN = NominalFriction(
    ("panda_joint2", "panda_joint4"), ("coulomb", "viscous", "armature"), (1.0, 2.0, 0.3, 0.4, 0.1, 0.2)
)


def test_each_term_acts_on_its_own_joint_by_its_own_signal():
    """q = 3, v = -2, a = 5, middle 1, load -20 of joint c; friction opposes the motion."""
    expected = {
        "coulomb": -1.0,
        "viscous": -2.0,
        "offset": 1.0,
        "armature": 5.0,
        "coulomb_slope": -2.0,
        "coulomb_load": -20.0,
        "stiffness": 2.0,
        "balance_sin": np.sin(3.0),
        "balance_cos": np.cos(3.0),
    }
    assert tuple(expected) == FRICTION_TERMS
    middles = np.array([0.0, np.nan, 1.0])
    model = FrictionModel.of(("a", "c"), FRICTION_TERMS, JOINTS, 1e-3, middles=middles)
    signals = [np.array([9.0, 9.0, x]) for x in (3.0, -2.0, 5.0)]
    F = model.regressor(*signals, load=np.array([9.0, 9.0, -20.0]))
    torque = {name: F[:, i] for i, name in enumerate(model.names)}
    for term, value in expected.items():
        np.testing.assert_allclose(torque[f"c/{term}"], [0.0, 0.0, value], err_msg=term)
        assert not torque[f"a/{term}"][1:].any()
    many = model.regressor(*(np.array([x, -x]) for x in signals), load=np.array(2 * [[9.0, 9.0, -20.0]]))
    np.testing.assert_array_equal(many[0], F)
    assert model.regressor(*signals, sign=np.array([0.0, 0.0, 0.25]))[2, 1] == 0.25


@pytest.mark.parametrize("joints", [(), ("panda_joint2",), ("*",)])
@pytest.mark.parametrize(
    "terms", [("coulomb",), ("viscous", "offset"), ("armature", "coulomb_slope", "viscous")]
)
def test_what_is_estimated_begins_at_what_is_known_and_nothing_counts_twice(joints, terms):
    q, v, a = np.random.default_rng(0).normal(size=(3, PANDA.n_joints))
    _none, all_known = friction_model(FrictionConfig(), PANDA, KNOWN)
    estimated, known = friction_model(FrictionConfig(joints, terms), PANDA, KNOWN)
    torques = np.zeros(PANDA.n_joints) if known is None else known.torques(q, v, a)
    if estimated is not None:
        torques = torques + estimated.regressor(q, v, a) @ estimated.nominal_values
    np.testing.assert_allclose(torques, all_known.torques(q, v, a), atol=1e-14)
    assert np.flatnonzero(torques).tolist() == [1, 3]


def test_the_prior_is_a_share_of_the_limits_of_the_joint():
    friction, _known = friction_model(
        FrictionConfig(("panda_joint1", "panda_joint7"), ("coulomb", "viscous")), PANDA, NominalFriction()
    )
    found = friction_deviations(friction, PANDA, 0.1)
    assert found == pytest.approx([8.7, 1.2, 8.7 / 2.175, 1.2 / 2.61])  # limits in Nm, over those in rad/s


def there_and_back(steps=400):
    """Two joints that go one way at constant speed, then back; the second ten times slower."""
    v = np.concatenate((np.full(steps, 0.5), np.full(steps, -0.5)))
    return np.column_stack((v, 0.1 * v))


def test_after_a_reversal_friction_is_zero_at_the_travel_times_log_two_whatever_the_speed():
    law = NominalFriction(smoothing_speed=1e-4, presliding=2e-3)
    v = there_and_back()
    z = CoulombDirection(law).along(v, DT)
    assert np.abs(z).max() <= 1.0
    for joint in range(2):
        past = np.flatnonzero(z[400:, joint] < 0.0)[0]
        travel = abs(v[-1, joint]) * DT * (past + 1)
        assert travel == pytest.approx(law.presliding * np.log(2.0), abs=1.01 * abs(v[-1, joint]) * DT)


def test_how_a_motion_is_sampled_or_cut_does_not_change_it():
    law = NominalFriction(smoothing_speed=1e-4, presliding=2e-3)
    v = there_and_back()
    whole = CoulombDirection(law).along(v, DT)
    twice = CoulombDirection(law).along(np.repeat(v, 2, axis=0), DT / 2)[1::2]
    np.testing.assert_allclose(twice, whole, atol=1e-9)
    cut = CoulombDirection(law)
    np.testing.assert_array_equal(np.vstack([cut.along(part, DT) for part in np.split(v, 8)]), whole)


def test_a_robot_at_rest_keeps_its_direction_under_the_noise_of_a_sensor_until_it_begins_anew():
    direction = CoulombDirection(NominalFriction(smoothing_speed=0.02, presliding=1e-3))
    direction.along(np.full((500, 1), 0.3), DT)
    noise = 0.001 * np.random.default_rng(2).normal(size=(200, 1))
    assert direction.along(noise, DT)[-1, 0] > 0.7
    direction.reset()
    assert direction.after(np.array([-0.3]), DT)[0] == pytest.approx(-1.0, abs=1e-6)
