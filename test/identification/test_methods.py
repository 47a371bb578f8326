"""What each method promises, on noisy recordings of an arm and of legs; what factors say of rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from inertial_estimation.errors import InconsistentInertiaError
from inertial_estimation.identification import equations, methods
from inertial_estimation.identification.equations import EquationStack, ReducedEquation
from inertial_estimation.identification.methods import METHODS, prior_factor
from inertial_estimation.identification.rows import RowBlock
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.signals import Identifiability
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
    monkeypatch.setattr(methods, "SMALLEST_MASS", 3.5)
    identifier = scene.identifier()
    identifier.push(block)
    for smallest, made in ((0.01, report), (3.5, identifier.report(["bounded-gradient"]))):
        result = made.methods["bounded-gradient"]
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


def random_rows(rng, k, m, n):
    A, value, measured = rng.normal(size=(k, m, n)), rng.normal(size=(k, m)), rng.normal(size=(k, m))
    A[:, :, ::2] += 2.0  # columns of gravity have means, those of motion have none
    return RowBlock(np.arange(k), A, value, measured, 0.5 * k)


@pytest.fixture(scope="module")
def folded():
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 900, 3, 8)
    stack = EquationStack(("a", "b", "c"), 8)
    for first in range(0, 900, 71):
        part = slice(first, first + 71)
        names = ("stamps_ns", "regressor", "value", "measured")
        arrays = {name: getattr(rows, name)[part] for name in names}
        stack.add(replace(rows, **arrays, independent=0.5 * len(arrays["value"])))
    return rows, stack, rng


def test_reduced_system_has_the_weighted_least_squares_solution_and_cost(folded):
    rows, stack, _rng = folded
    sigma = np.array([0.5, 2.0, 1.0])
    A = (rows.regressor / sigma[:, None]).reshape(-1, 8)
    b = (rows.value / sigma).ravel()
    expected, cost = np.linalg.lstsq(A, b, rcond=None)[:2]
    reduced = stack.reduced(sigma)
    x = np.linalg.solve(reduced.R, reduced.z)
    assert x == pytest.approx(expected, abs=1e-10)
    assert reduced.rest == pytest.approx(cost[0], rel=1e-10)
    assert reduced.rows == stack.rows == rows.value.size
    assert stack.correlation == pytest.approx(2.0)


def test_truncation_leaves_what_is_above_the_limit():
    U, V = (np.linalg.qr(np.random.default_rng(k).standard_normal((4, 4)))[0] for k in (0, 1))
    equation = ReducedEquation((U * [100.0, 20.0, 0.9, 0.01]) @ V.T, np.zeros(4), 0.0, 4)
    cut = equation.truncated(1e2).R
    np.testing.assert_allclose(np.linalg.svd(cut, compute_uv=False), [100.0, 20.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(cut @ V[:, :2], equation.R @ V[:, :2], atol=1e-12)
    np.testing.assert_allclose(equation.truncated(np.inf).R, equation.R, atol=1e-12)


ARM = "ur10_joint_limited_robot"
DEFAULT = {"smoothing__window": 0.12, "smoothing__order": 3, "smoothing__row_rate": 100.0}
SECONDS = 5.0


def reports(make_scene, friction, noise, seeds):
    """Reports of an arm whose joints rub, without friction terms, and errors of its parameters in sigma."""
    scene = make_scene(ARM)
    truth = scene.identifier(friction__terms=["coulomb", "viscous"], **DEFAULT)
    given = truth.parameters
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x = np.zeros(len(given.unknowns))
        for i in range(len(given.bodies)):
            x[10 * i : 10 * i + 10] = rng.uniform(-0.1, 0.1) * given.body(given.nominal, i)
        x[10 * len(given.bodies) :] = friction * rng.uniform(0.5, 1.5, len(x) - 10 * len(given.bodies))
        identifier = scene.identifier(friction__joints=[], **DEFAULT)
        identifier.push(scene.recording(truth, x, 100 + seed, seconds=SECONDS, torque_noise=noise))
        report = identifier.report(["least-squares"])
        phi = given.standard(x)
        scores = [
            (p.value - true) / p.sigma
            for p, true in zip(report.methods["least-squares"].parameters, phi, strict=False)
            if np.isfinite(p.sigma)
        ]
        found.append((report, np.array(scores)))
    return found


def rms(scores):
    return float(np.sqrt(np.mean(np.concatenate(scores) ** 2)))


@pytest.mark.monte_carlo
def test_deviations_cover_the_errors_where_friction_is_not_modelled(make_scene):
    """Errors in sigma are of the order of one; without the blocks they are more than twice that."""
    found = reports(make_scene, 5.0, 5.0, range(8))
    white = [scores * np.sqrt(report.inflation) for report, scores in found]
    assert rms(white) > 2.0
    assert 0.6 < rms([scores for _report, scores in found]) < 1.4
    assert any("correlated" in text for text in result_diagnostics(found[0][0]))


@pytest.mark.monte_carlo
def test_white_noise_leaves_them_as_they_are(make_scene):
    found = reports(make_scene, 0.0, 5.0, range(8))
    assert np.mean([np.sqrt(report.inflation) for report, _scores in found]) < 1.1
    assert 0.75 < rms([scores for _report, scores in found]) < 1.35
    assert not any("correlated" in text for text in result_diagnostics(found[0][0]))


def block(rng, times, rows=2, unknowns=3, correlated_s=0.0, start_s=0.0):
    """Rows of a random equation with zero solution at 100 Hz; noise of a correlation time, or white."""
    A = rng.standard_normal((times, rows, unknowns)) + 2.0
    noise = rng.standard_normal((times, rows))
    if correlated_s:
        rho = np.exp(-0.01 / correlated_s)
        for k in range(1, times):
            noise[k] = rho * noise[k - 1] + np.sqrt(1.0 - rho**2) * noise[k]
    stamps = np.round((start_s + 0.01 * np.arange(times)) * 1e9).astype(np.int64)
    return RowBlock(stamps, A, noise, noise, times)


def inflation(blocks, *, pooled=False, rows=2, unknowns=3):
    stack = EquationStack(tuple("ab"[:rows]), unknowns, pooled=pooled)
    for one in blocks:
        stack.add(one)
    sigma = np.ones(rows)
    return stack.scatter.inflation(sigma, stack.reduced(sigma), 1e-6 * np.eye(unknowns)), stack.scatter


def test_it_is_the_number_of_rows_in_an_independent_one():
    """A constant regressor sums noise whose correlation falls as rho^k: (1 + rho) / (1 - rho) times white."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(4):
        rows = block(rng, 20_000, unknowns=1, correlated_s=0.05)
        found.append(inflation([replace(rows, regressor=np.ones_like(rows.regressor))], unknowns=1)[0])
    rho = np.exp(-0.01 / 0.05)
    assert np.mean(found) == pytest.approx((1.0 + rho) / (1.0 - rho), rel=0.15)


@pytest.mark.parametrize("pooled", [False, True])
def test_the_division_of_the_data_and_the_memory_do_not_matter(monkeypatch, pooled):
    rng = np.random.default_rng(3)
    whole = block(rng, 12_000, correlated_s=0.1)
    arrays = ("stamps_ns", "regressor", "value", "measured")
    parts = [
        replace(whole, independent=700, **{name: getattr(whole, name)[i : i + 700] for name in arrays})
        for i in range(0, 12_000, 700)
    ]
    one, _ = inflation([whole], pooled=pooled)
    many, _ = inflation(parts, pooled=pooled)
    assert many == pytest.approx(one, rel=1e-9)
    monkeypatch.setattr(equations, "MEMORY", 40 * 8 * (1 if pooled else 2) * 16)
    tight, scatter = inflation([whole], pooled=pooled)
    assert len(scatter._blocks) <= 40
    rho = np.exp(-0.01 / 0.1)
    expected = (2.0 + (1.0 + rho) / (1.0 - rho)) / 3.0  # the mean regressor is slow, two directions are white
    assert 0.5 * expected < one < 1.7 * expected
    assert 0.5 * expected < tight < 1.7 * expected


def test_too_little_data_or_no_noise_tell_nothing():
    rng = np.random.default_rng(2)
    assert inflation([block(rng, 300, correlated_s=1.0)])[0] == 1.0  # 6 blocks
    exact = block(rng, 3000)
    x = np.array([1.0, 2.0, 3.0])
    value = exact.regressor @ x
    clean = RowBlock(exact.stamps_ns, exact.regressor, value, value, 3000)
    assert inflation([clean])[0] == 1.0
