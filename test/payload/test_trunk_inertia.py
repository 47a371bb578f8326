"""The loaded trunk is always a body that can exist, and the one of nominal trunk and point load together."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.standing_robot import HYQ, LOAD_POINT, Standing

from inertial_estimation.errors import InconsistentInertiaError
from inertial_estimation.payload.trunk import payload_inertia, trunk_inertia

NOMINAL = Standing(HYQ).nominal.made_consistent("trunk")
COMPONENT = st.floats(-2.0, 2.0)


@given(mass=st.floats(1e-3, 1e3), com=st.tuples(COMPONENT, COMPONENT, COMPONENT))
@settings(max_examples=100, deadline=None)
def test_any_mass_and_centre_make_a_consistent_body(mass, com) -> None:
    body = trunk_inertia(NOMINAL, mass, np.array(com))
    assert body.violations() == []
    assert body.mass == mass
    np.testing.assert_allclose(body.com_F, com)


def test_point_load_within_reach_is_found_again() -> None:
    point = pin.Inertia(10.0, LOAD_POINT, np.zeros((3, 3)))
    whole = pin.Inertia.FromDynamicParameters(NOMINAL.vector) + point
    body = trunk_inertia(NOMINAL, whole.mass, np.array(whole.lever))
    np.testing.assert_allclose(body.inertia_Fcm, whole.inertia, atol=1e-9)
    load = payload_inertia("trunk", NOMINAL, body)
    assert load.mass == pytest.approx(10.0)
    np.testing.assert_allclose(load.com_L, LOAD_POINT, atol=1e-9)
    np.testing.assert_allclose(load.inertia_Lcm, 0.0, atol=1e-8)


@given(mass=st.floats(50.0, 75.0), shift=st.tuples(*3 * [st.floats(-0.2, 0.2)]))
@settings(max_examples=100, deadline=None)
def test_small_changes_of_the_mass_make_small_changes_of_the_inertia(mass, shift) -> None:
    """Also through the nominal mass, where the place of the load is not defined."""
    com = NOMINAL.com_F + np.array(shift)
    step = 1e-6
    for m in (mass, NOMINAL.mass):
        below, above = (trunk_inertia(NOMINAL, m + s * step, com).inertia_Fcm for s in (-1.0, 1.0))
        assert np.abs(above - below).max() < 20.0 * step  # [kg m^2]: a radius of gyration of some metres


def test_lighter_trunk_keeps_its_radii() -> None:
    body = trunk_inertia(NOMINAL, 0.5 * NOMINAL.mass, np.array([0.3, 0.0, 0.0]))
    radii = [np.linalg.eigvalsh(b.inertia_Fcm) / b.mass for b in (NOMINAL, body)]
    np.testing.assert_allclose(radii[1], radii[0], rtol=1e-12)
    assert payload_inertia("trunk", NOMINAL, body).mass == pytest.approx(-0.5 * NOMINAL.mass)


def test_no_load_is_no_number_that_is_not_finite() -> None:
    load = payload_inertia("trunk", NOMINAL, trunk_inertia(NOMINAL, NOMINAL.mass, NOMINAL.com_F + 0.1))
    assert load.mass == 0.0
    assert np.isfinite(load.com_L).all()
    assert np.isfinite(load.inertia_Lcm).all()


@pytest.mark.parametrize("mass", [0.0, -3.0, np.nan, np.inf])
def test_impossible_mass_is_refused(mass) -> None:
    with pytest.raises(InconsistentInertiaError, match="expected a positive mass"):
        trunk_inertia(NOMINAL, mass, np.zeros(3))
