"""Which loads vary, and when one that did has come to rest."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.inertial.hand_over import HandOver
from inertial_estimation.estimators.inertial.located_changes import LocatedChanges

SIGMA, DT, MEMORY = 0.8, 0.01, 1.0


class OneBody:
    """A filter that estimates the mass it is told."""

    bodies = (SimpleNamespace(link="hand"),)

    def __init__(self, mass):
        self.x = np.array([mass])

    def masses_of(self, x):
        return x

    def body_coordinates(self, x):
        return x

    def parameters_at(self, x):
        return np.concatenate([x, np.zeros(9)])[None]

    def body_parameters(self):
        return np.array([[self.x[0]]]), np.array([[[SIGMA**2]]])


def varying_load(mass):
    filter_ = OneBody(mass)
    changes = LocatedChanges(filter_, MEMORY)
    changes.believe(np.array([mass - 2.0]), np.array([mass]))
    changes.locate((0,))
    assert changes.varying == ("hand",)
    return filter_, changes


def observed(filter_, changes, masses):
    for mass in masses:
        filter_.x = np.array([mass])
        changes.observe(DT)
    return changes.varying


@pytest.mark.parametrize("phase", np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False))
def test_a_load_that_swings_varies_wherever_in_its_swing_it_was_located(phase):
    """By +-3 kg, four standard deviations of its estimates, of which none is far from the middle."""
    t = np.arange(0.0, 5.0 * MEMORY, DT)
    masses = 4.5 + 3.0 * np.sin(2.0 * np.pi * t + phase)
    filter_, changes = varying_load(masses[0])
    assert observed(filter_, changes, masses) == ("hand",)


def test_a_load_that_keeps_still_but_for_noise_no_longer_varies():
    noise = np.random.default_rng(0).normal(size=int(1.5 * MEMORY / DT))
    filter_, changes = varying_load(4.5)
    assert observed(filter_, changes, 4.5 + 0.5 * SIGMA * noise) == ()


def test_a_load_far_from_its_body_is_handed_over_in_the_same_time_as_one_at_its_centre():
    """10 kg at 2.5 gyration radii change the second moments of a body of 60 kg by 62 kg."""
    filter_ = OneBody(60.0)
    filter_.parameters_at = lambda x: pin.Inertia(
        x[0], np.array([25.0 / x[0], 0.0, 0.0]) * (x[0] > 60.0), np.eye(3) * (60.0 + 62.5 * (x[0] > 60.0))
    ).toDynamicParameters()[None]
    changes = LocatedChanges(filter_, MEMORY)
    changes.believe(np.array([60.0]), np.array([70.0]))
    hand_over = HandOver(filter_.parameters_at(np.array([60.0])), changes.hand_over_rate(3.0, 0.3, 0.05))
    for _ in range(30):
        hand_over.advance(filter_.parameters_at(np.array([70.0])), 0.01)
    assert hand_over.published[0, 0] == pytest.approx(70.0)


def test_a_load_found_to_vary_while_on_trial_does_so_until_it_keeps_still():
    filter_ = OneBody(4.5)
    changes = LocatedChanges(filter_, MEMORY)
    changes.locate((0,))
    assert not changes.varies((0,), ())
    assert changes.varies((0,), (0,))
    assert changes.varies((0,), ()), "also at the moment at which its weight is the one before"
    assert not changes.varies((), ())
    assert observed(filter_, changes, np.full(round(0.5 * MEMORY / DT), 4.5)) == ("hand",)
    assert observed(filter_, changes, np.full(round(0.6 * MEMORY / DT), 4.5)) == ()
