"""What each method promises, on noisy recordings of an arm and of a humanoid's symmetric legs."""

import numpy as np
import pytest
from scipy.optimize import minimize

from inertial_estimation.errors import InconsistentInertiaError
from inertial_estimation.identification import methods
from inertial_estimation.identification.identifiability import Identifiability
from inertial_estimation.identification.methods import METHODS, prior_factor
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.spatial.inertial_parameters import parameters_from_pseudo_inertia, pseudo_inertia

NOISE = 2.0  # of the torques [Nm]: enough to break what is not protected
BOUNDED = ("coulomb", "viscous", "armature")


@pytest.fixture(scope="module")
def noisy(make_scene, random_deviation):
    """An arm, short and noisy data, and the report of all methods."""
    scene = make_scene("panda", smoothing__window=0.05, smoothing__order=3)
    identifier = scene.identifier()
    x = random_deviation(identifier, np.random.default_rng(3))
    block = scene.recording(identifier, x, 5, seconds=1.5, scale=0.5, torque_noise=NOISE)
    identifier.push(block)
    identifier.push(scene.recording(identifier, x, 6, seconds=1.0, torque_noise=NOISE), validation=True)
    return scene, identifier, identifier.report(list(METHODS)), block


def test_least_squares_is_free_to_give_impossible_bodies(noisy):
    _scene, identifier, report, _block = noisy
    result = report.methods["least-squares"]
    assert not result.consistent
    with pytest.raises(InconsistentInertiaError, match=r"panda_link\d \(.*use the method 'consistent'"):
        identifier.urdf(result)


def test_consistent_is_consistent_and_writes_a_urdf_that_reads_back(noisy):
    scene, identifier, report, _block = noisy
    result = report.methods["consistent"]
    assert result.consistent
    assert all(value >= -1e-9 for name, value in result.friction.items() if name.endswith(BOUNDED))
    robot = robot_from_config(scene.config.robot, identifier.urdf(result)).robot
    for body in result.bodies:
        joint = identifier.robot.link_body(body.link)
        T_LJ = joint.T_JL.inverse()
        again = T_LJ.act(robot.model.inertias[joint.joint_id]).toDynamicParameters()
        assert again == pytest.approx(body.inertia.vector, abs=1e-9)


def test_bounded_gradient_keeps_its_bounds(noisy, monkeypatch):
    scene, _identifier, report, block = noisy
    free = report.methods["least-squares"]
    for smallest in (0.01, 3.5):
        monkeypatch.setattr(methods, "SMALLEST_MASS", smallest)
        identifier = scene.identifier()
        identifier.push(block)
        result = identifier.report(["bounded-gradient"]).methods["bounded-gradient"]
        assert min(body.inertia.mass for body in result.bodies) >= smallest - 1e-12
        assert all(value >= -1e-12 for name, value in result.friction.items() if name.endswith(BOUNDED))
    assert sum(body.inertia.mass < smallest for body in free.bodies) > 1
    assert any(value < -1e-3 for name, value in free.friction.items() if name.endswith(BOUNDED))


def test_costs_are_ordered_as_the_freedom_of_the_methods_and_priors_predict_and_stay_nearer(noisy):
    _scene, identifier, report, _block = noisy
    free, near, possible = (report.methods[n] for n in ("least-squares", "nullspace-prior", "consistent"))
    assert free.cost <= possible.cost * (1 + 1e-9)
    assert free.cost == pytest.approx(near.cost, rel=1e-6)
    assert free.cost == pytest.approx(1.0, abs=0.2)
    assert all(result.cost < result.cost_nominal for result in report.methods.values())
    assert possible.cost_validation < free.cost_validation
    T = prior_factor(identifier.parameters, identifier._config.mass_deviation)
    assert np.linalg.norm(T @ near.x) < np.linalg.norm(T @ free.x)


def test_nothing_moves_what_the_data_do_not_see(noisy):
    for name in ("least-squares", "bounded-gradient"):
        for found in noisy[2].methods[name].parameters:
            if found.identifiability is Identifiability.NOT:
                assert found.value == pytest.approx(found.nominal, abs=1e-6)
                assert found.sigma == np.inf


def test_residuals_by_row_are_those_of_the_rows(noisy):
    _scene, identifier, report, block = noisy
    rows = identifier.rows(block)
    for result in report.methods.values():
        error = rows.measured - rows.predicted(result.x)
        expected = np.sqrt((error**2).mean(axis=0))
        assert [row.rms for row in result.direct] == pytest.approx(expected.tolist(), rel=1e-9)
        relative = np.linalg.norm(error) / np.linalg.norm(rows.measured)
        assert result.relative_error == pytest.approx(relative)


def test_no_possible_body_fits_better_than_consistent(noisy):
    """Against descent over factors of S = factor factor', which are possible whatever they are."""
    scene, _identifier, _report, block = noisy
    identifier = scene.identifier(links=["panda_link7"], friction__joints=[])
    identifier.push(block)
    report, given = identifier.report(["consistent"]), identifier.parameters
    stack, L = identifier._training.stack, np.linalg.cholesky(pseudo_inertia(given.nominal))
    equation = stack.reduced(report.row_sigma * np.sqrt(stack.correlation * report.inflation))
    weight, lower = 1.0 / (2.0 * identifier._config.mass_deviation) ** 2, np.tril_indices(4)

    def cost(x, S):
        divergence = np.trace(S) - np.linalg.slogdet(S)[1]
        return 0.5 * np.sum((equation.R @ x - equation.z) ** 2) + weight * divergence

    def of_factor(y):
        factor = np.zeros((4, 4))
        factor[lower] = y
        S = factor @ factor.T
        return cost(parameters_from_pseudo_inertia(L @ S @ L.T) - given.nominal, S)

    best = minimize(of_factor, np.eye(4)[lower]).fun
    x, L_inv = report.methods["consistent"].x, np.linalg.inv(L)
    reached = cost(x, L_inv @ pseudo_inertia(given.standard(x)) @ L_inv.T)
    assert reached == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(
    ("method", "limit", "steps", "said"),
    [
        ("bounded-gradient", "MOST_ITERATIONS", 20, "stopped before convergence"),
        ("consistent", "MOST_NEWTON_STEPS", 1, "above the least"),
    ],
)
def test_a_solver_cut_short_says_so(noisy, monkeypatch, method, limit, steps, said):
    scene, _identifier, report, block = noisy
    assert not report.methods[method].unfinished
    monkeypatch.setattr(methods, limit, steps)
    identifier = scene.identifier()
    identifier.push(block)
    short = identifier.report([method])
    assert said in short.methods[method].unfinished
    assert any(said in sentence for sentence in result_diagnostics(short))


def test_robots_drawn_from_the_posterior_differ_and_predict_the_same_torques(make_scene, random_deviation):
    """A draw differs from the optimum by about one sigma in every direction: one more square an unknown."""
    scene = make_scene("panda", smoothing__window=0.05, smoothing__order=3, friction__joints=[])
    identifier = scene.identifier()
    x = 0.3 * random_deviation(identifier, np.random.default_rng(3))
    block = scene.recording(identifier, x, 5, seconds=3.0, torque_noise=0.3)
    identifier.push(block)
    report = identifier.report(["consistent", "least-squares"])
    result, rows = report.methods["consistent"], identifier.rows(block)
    drawn = identifier.model(result).samples(12, np.random.default_rng(0))
    assert drawn[:, 0, 0].std() > 0.05 * drawn[:, 0, 0].mean(), "the first link's mass shows in no torque"

    def cost(x):
        residual = (rows.measured - rows.predicted(x)) / report.row_sigma
        return float(np.nanmean(residual**2))

    nominal = identifier.parameters.nominal
    unknowns = [np.linalg.lstsq(identifier.parameters.E, one.ravel() - nominal)[0] for one in drawn]
    excess = np.array([cost(one) for one in unknowns]) - cost(result.x)
    assert np.abs(excess).max() < 0.25 * (cost(np.zeros(len(x))) - cost(result.x))
    assert excess.mean() < 2.0 * len(x) / rows.measured.size * report.methods["least-squares"].cost
    assert report.methods["least-squares"].posterior is None
    for robot in drawn:
        assert np.linalg.eigvalsh(pseudo_inertia(robot)).min() > 0.0
