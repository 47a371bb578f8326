"""Which loads vary, and when one that did has come to rest."""

from types import SimpleNamespace

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.located_changes import LocatedChanges

SIGMA, DT, MEMORY = 0.8, 0.01, 1.0


class OneBody:
    """A filter that estimates the mass it is told."""

    bodies = (SimpleNamespace(link="hand"),)

    def __init__(self, mass):
        self.x = np.array([mass])

    def masses_of(self, x):
        return x

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
