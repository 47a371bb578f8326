"""Friction terms: what each column means."""

import numpy as np
import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.friction import FrictionModel, smooth_sign


def test_each_term_acts_on_its_own_joint_and_opposes_motion():
    model = FrictionModel((0, 2), ("a", "c"), ("viscous", "coulomb", "offset", "armature"), 3, 1e-3)
    v, a = np.array([2.0, 9.0, -3.0]), np.array([5.0, 9.0, 7.0])
    torque = {name: model.regressor(v, a)[:, i] for i, name in enumerate(model.names)}
    assert np.allclose(torque["a/viscous"], [2.0, 0.0, 0.0])
    assert np.allclose(torque["c/coulomb"], [0.0, 0.0, -1.0])
    assert np.allclose(torque["c/offset"], [0.0, 0.0, 1.0])
    assert np.allclose(torque["a/armature"], [5.0, 0.0, 0.0])
    assert len(torque) == model.size == 8


def test_smooth_sign_is_odd_bounded_and_saturates():
    v = np.linspace(-1, 1, 201)
    sign = smooth_sign(v, 0.02)
    assert np.allclose(sign, -sign[::-1])
    assert np.all(np.diff(sign) >= 0)
    assert sign[-1] == pytest.approx(1.0)


def test_averaged_sign_replaces_that_of_the_mean_velocity():
    model = FrictionModel((0,), ("a",), ("coulomb",), 1)
    assert model.regressor(np.array([5.0]), np.zeros(1), np.array([0.25]))[0, 0] == 0.25


def test_unknown_terms_are_named():
    with pytest.raises(ConfigurationError, match="no friction term stiction; there are coulomb"):
        FrictionModel((0,), ("a",), ("stiction",), 1)
