"""Pairs of loads from normal equations, against a regression on all data at once."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.cause_model import WhiteCauses
from inertial_estimation.estimators.inertial.load_prior import LoadPrior
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.estimators.inertial.pair_locator import PairLocator

LINKS, ROWS, WINDOW, UNIT = ("trunk", "left", "right", "head"), 12, 0.1, 4.0
SIZE = UNIT * np.array([1.0, 0.2, 0.2, 0.2])
ROUND = {"left": np.array([2.0, 0.05, 0.0, -0.1]), "right": np.array([1.5, 0.0, 0.06, 0.0])}  # kg, kg m


class Candidates:
    links = LINKS

    def load_in_link(self, index, amplitude):
        return float(amplitude[0]), amplitude[1:] / amplitude[0]


class Model:
    """What the locator asks of a `CauseModel`."""

    candidates, load_size = Candidates(), SIZE

    def load_prior(self, carried):
        loads = np.array([carried.get(link, 0.0) for link in LINKS])
        return LoadPrior(np.full(4, 3.0), loads, np.tile(0.1 * np.eye(3), (4, 1, 1)), UNIT)


def fed(loads, *, still=False, steps=12, carried=None):
    """A locator that has seen the loads for some measurements, and the stacked columns and residuals."""
    rng = np.random.default_rng(0)
    locator = PairLocator(Model(), LocatorConfig(), WINDOW)
    locator.begin(1.0, carried or {})
    columns, residuals = [], []
    for k in range(steps):
        B = 30.0 * rng.normal(size=(4, ROWS, 4))
        r = rng.normal(size=ROWS)
        for link, load in loads.items():
            r = r + B[LINKS.index(link)] @ (load / SIZE)
        weights = B if still else 30.0 * rng.normal(size=B.shape)
        empty = np.zeros((0, ROWS, 6))
        causes = WhiteCauses(r, B, weights, empty, empty, (), np.zeros((4, 3, 3)), np.zeros(3))
        locator.add(causes, 1.0, WINDOW + 0.01 * k)
        columns.append(B)
        residuals.append(r)
    return locator, np.array(columns), np.array(residuals)


def test_two_loads_are_those_of_regularised_least_squares_on_all_data():
    locator, columns, residuals = fed(ROUND)
    found = locator.located(0.3)
    assert [load.links for load in found.loads] == [("left",), ("right",)]
    assert found.decided
    B = np.concatenate([columns[:, 1], columns[:, 2]], axis=2).reshape(-1, 8)
    amplitudes = np.linalg.solve(B.T @ B + np.eye(8), B.T @ residuals.ravel())
    masses = [UNIT * amplitudes[0], UNIT * amplitudes[4]]
    assert [load.mass for load in found.loads] == pytest.approx(masses, rel=1e-9)
    assert found.loads[0].com_L == pytest.approx(ROUND["left"][1:] / 2.0, abs=0.02)


def test_a_single_load_is_no_pair_and_too_few_data_are_none():
    assert fed({"left": ROUND["left"]})[0].located(0.3) is None
    assert fed(ROUND)[0].located(0.15) is None


@pytest.mark.parametrize("second", [np.array([0.4, 0.0, 0.0, 0.0]), np.array([-1.2, 0.0, 0.0, 0.0])])
def test_what_a_heavy_load_leaves_as_errors_of_the_equation_is_no_second_load(second):
    """A small share of the readings, however certain, and a loss of mass that the body did not carry."""
    locator = fed({"trunk": np.array([20.0, 1.0, 0.0, 0.0]), "left": second}, steps=40)[0]
    assert locator.located(0.3) is None


def test_a_load_passed_from_one_hand_to_the_other_is_a_loss_and_a_load():
    moved = {"left": -ROUND["left"], "right": ROUND["right"]}
    found = fed(moved, carried={"left": 2.0})[0].located(0.3)
    assert [np.sign(load.mass) for load in found.loads] == [-1.0, 1.0]
    assert "the loss of a load of" in found.sentence
    assert "and a load of" in found.sentence


def test_at_rest_two_loads_may_be_pushes_until_they_have_lasted():
    locator = fed(ROUND, still=True)[0]
    early, late = locator.located(0.3), locator.located(5.0)
    assert early.is_open
    assert not early.decided
    assert early.as_push > 0.05
    assert late.decided
    assert "of load 2" in " ".join(late.figures())
