"""Ranks known from the literature, verdicts known by construction, standard deviations that are true."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from inertial_estimation.identification.equations import ReducedEquation
from inertial_estimation.identification.identifiability import Identifiability, IdentifiableSpace


def verdict_of(report, name):
    return {p.name: p.identifiability for p in report.methods["consistent"].parameters}[name]


def test_an_arm_on_its_base(make_scene):
    """Of the first link only the moment about the axis acts; a serial arm of 7 joints has 43 combinations."""
    scene = make_scene("panda", friction__joints=[])
    identifier = scene.identifier()
    identifier.push(scene.recording(identifier, np.zeros(70), 1, seconds=2.0))
    report = identifier.report(["consistent"])
    assert report.rank == 43
    assert report.unknowns == 70
    for name in ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz"):
        assert verdict_of(report, f"panda_link1/{name}") is Identifiability.NOT
    assert verdict_of(report, "panda_link1/Izz") is Identifiability.COMBINATION
    assert verdict_of(report, "panda_link7/m") is Identifiability.COMBINATION
    for name in ("mcx", "mcy", "Ixy", "Ixz", "Iyz", "Izz"):
        assert verdict_of(report, f"panda_link7/{name}") is Identifiability.IDENTIFIABLE


def test_verdicts_by_construction():
    A = np.random.default_rng(0).normal(size=(50, 5)) * [1.0, 1e3, 1e-3, 1.0, 1.0]
    A[:, 3] = 2.0 * A[:, 4]
    A[:, 2] = 1e-12
    R = np.linalg.qr(A, mode="r")
    space = IdentifiableSpace.of(ReducedEquation(R, np.zeros(5), 0.0, 50), np.ones(5))
    assert space.rank == 3
    E = np.vstack((np.eye(5), [0.0, 0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0, -2.0]))
    is_, part, no = Identifiability.IDENTIFIABLE, Identifiability.COMBINATION, Identifiability.NOT
    assert space.verdicts(E) == (is_, is_, no, part, part, is_, part)
    sigma = space.deviations(E)
    assert np.isfinite(sigma).tolist() == [True, True, False, False, False, True, False]


@pytest.mark.monte_carlo
def test_standard_deviations_are_those_of_repeated_recordings(make_scene, random_deviation):
    """Seeded Monte Carlo with white torque noise: squared errors over variances follow chi-square.

    Rows overlap within the smoothing window, so this fails if their correlation is not accounted for.
    """
    scene = make_scene("panda", smoothing__window=0.06, smoothing__order=3, links=["panda_link7"])
    x = np.zeros(len(scene.identifier().parameters.unknowns))
    clean = scene.recording(scene.identifier(), x, 3, seconds=3.0, scale=0.6)
    exact = scene.identifier()
    exact.push(clean)
    truth = np.array([p.value for p in exact.report(["consistent"]).methods["consistent"].parameters])
    rng, squares, count = np.random.default_rng(11), 0.0, 0
    trials = 15
    for _ in range(trials):
        identifier = scene.identifier()
        tau = clean.tau + 0.2 * rng.normal(size=clean.tau.shape)
        identifier.push(replace(clean, tau=tau))
        found = identifier.report(["nullspace-prior"]).methods["nullspace-prior"].parameters
        error = np.array([p.value for p in found]) - truth
        sigma = np.array([p.sigma for p in found])
        chosen = [i for i, p in enumerate(found) if p.name.endswith(("offset", "mcx", "mcy", "Izz"))]
        assert np.isfinite(sigma[chosen]).all()
        squares += float(((error / sigma)[chosen] ** 2).sum())
        count += len(chosen)
    # errors of one trial are correlated with one another: bounds for a tenth of the number
    low, high = chi2.ppf([0.005, 0.995], count / 10) / (count / 10)
    assert low < squares / count < high
    assert 0.6 < squares / count < 1.6


def test_row_weights_find_the_noise_of_each_row(make_scene):
    scene = make_scene("panda", links=["panda_link7"], smoothing__window=0.05, smoothing__order=3)
    identifier = scene.identifier()
    x = np.zeros(len(identifier.parameters.unknowns))
    block = scene.recording(identifier, x, 3, seconds=3.0)
    levels = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.05])
    tau = block.tau + levels * np.random.default_rng(0).normal(size=block.tau.shape)
    identifier.push(replace(block, tau=tau))
    report = identifier.report(["least-squares"])
    share = report.row_sigma / levels
    assert share / share.mean() == pytest.approx(1.0, abs=0.25)
    alike = scene.identifier(weighting="none")
    alike.push(replace(block, tau=tau))
    assert np.ptp(alike.report(["least-squares"]).row_sigma) == 0.0
