"""Bank and supervisor on the equations of an arm: what is learned, held and called; scale of the noise."""

import re
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from support.inertial_scenes import ArmScene

from inertial_estimation.inertial.bank import OFFSET, Bank, BankBlock, CauseHypothesis, _Window
from inertial_estimation.inertial.cause_table import CauseKind
from inertial_estimation.inertial.filter import InformationFilter
from inertial_estimation.inertial.noise import EquationBlock, NoiseScale, row_groups, student_weights
from inertial_estimation.inertial.supervisor import DELAY, FoundCause, Phase, Supervisor

BEFORE, EVENT = 120, 12  # blocks


class Watched:
    """A filter that has learned the arm, under supervision."""

    def __init__(self, seed=0, links=("panda_link7",), noise=0.1, missing=()):
        self.scene = ArmScene(links=links, seed=seed)
        self.scene.sigma_torque = noise  # where 0.1 is stated
        self.known = np.ones(7)
        self.known[list(missing)] = 0.0  # rows without readings
        self.filter = InformationFilter(self.scene.unknowns(), self.scene.noise())
        table, bodies = self.scene.table()
        step = np.sqrt(np.diag([4.0] + 3 * [0.05] + 6 * [0.01]))
        self.bank = Bank(table)
        self.supervisor = Supervisor(self.filter, self.bank, bodies, lambda _body: step)
        self.index = table.candidates.links.index("panda_link7")
        for _ in range(BEFORE):
            self.feed()

    def feed(self, change=None):
        block, equation = self.scene.block()
        if change is not None:
            columns = self.supervisor.table.columns(equation, at_rest=False)
            block = replace(block, value=block.value + change(columns))
        A, value = self.known[:, None] * block.A, self.known * block.value
        block = replace(block, A=A, value=value, known=self.known)
        variance = self.filter.noise.scaled(block.noise).diagonal() + self.filter.predicted_variance(block)
        deviation = self.filter.innovation(block) / np.sqrt(variance)
        self.supervisor.feed(BankBlock(block, equation, deviation, self.supervisor.table))

    @property
    def mass(self):
        return float(self.filter.posterior.at.pi_C[0, 0])


@pytest.mark.parametrize("seed", range(2))
def test_data_that_agree_are_learned_with_a_delay_and_never_an_event(seed):
    watched = Watched(seed)
    assert watched.supervisor.progress.events == 0
    assert watched.supervisor.phase is Phase.LEARNING
    assert len(watched.supervisor.waiting) == DELAY
    assert watched.mass == pytest.approx(watched.scene.truth[0][0], rel=0.05)


@pytest.mark.parametrize("seed", range(2))
def test_a_load_on_an_estimated_body_is_learned_at_once(seed):
    watched = Watched(seed)
    watched.scene.add_payload(0, 2.0, (0.01, 0.02, 0.1))
    for _ in range(EVENT):
        watched.feed()
    assert watched.supervisor.loads.count == 1
    assert watched.mass == pytest.approx(watched.scene.truth[0][0], rel=0.05)
    assert watched.bank.expected.any()
    watched.supervisor.reset()
    assert not watched.bank.expected.any()


@pytest.mark.parametrize("seed", range(2))
def test_a_push_is_held_named_and_over_when_it_ends(seed):
    watched = Watched(seed)
    before = watched.mass
    wrench = np.array([1.0, -0.8, 0.5, 0.2, 0.0, 0.1])
    for _ in range(EVENT):
        watched.feed(lambda columns: columns.wrenches[watched.index] @ wrench)
    assert watched.supervisor.phase is Phase.HOLDING
    assert watched.supervisor.found.hypothesis.kind is CauseKind.PUSH
    assert watched.index in watched.supervisor.found.indices
    assert watched.mass == before
    other = deepcopy(watched.supervisor)
    other.conclude()  # as nothing more is learned
    assert (other.phase, other.found, len(other.waiting)) == (Phase.LEARNING, None, 0)
    for _ in range(DELAY):
        watched.feed()
    assert watched.supervisor.phase is Phase.LEARNING
    assert watched.supervisor.loads.count == 0
    for _ in range(3 * DELAY):
        watched.feed()
    assert watched.mass == pytest.approx(before, rel=0.02)


@pytest.mark.parametrize("size", [5.0, 50.0])
def test_a_faulty_effort_is_named_and_teaches_nothing(size):
    watched = Watched()
    before = watched.mass
    for k in range(EVENT):
        watched.feed(lambda _columns, k=k: np.eye(7)[3] * size * np.sin(1.7 * k + 1.0))
    found = watched.supervisor.found.hypothesis
    assert found.kind is CauseKind.INPUT
    assert "panda_joint4" in watched.supervisor.table.inputs[found.row.columns][found.index]
    for _ in range(3 * DELAY):
        watched.feed()
    assert watched.supervisor.loads.count == 0
    assert watched.mass == pytest.approx(before, rel=0.02)


def test_noise_that_becomes_larger_is_learned_as_noise():
    watched = Watched()
    before = watched.mass
    for _ in range(160):
        noise = watched.scene.rng.normal(0.0, 0.3, 7)
        watched.feed(lambda _columns, noise=noise: noise)
    assert watched.supervisor.loads.count == 0
    assert watched.filter.noise.factors()["noise.torque"] > 2.0
    assert "noise.torque is about" in watched.filter.noise.report(too_small=True)
    assert watched.mass == pytest.approx(before, rel=0.05)


@pytest.mark.parametrize(("seed", "size", "suspected"), [(0, 0.0, None), (0, 0.5, False), (1, 0.5, True)])
def test_at_the_end_what_waits_is_learned_unless_an_event_is_suspected(seed, size, suspected):
    watched = Watched(seed)
    watched.feed(lambda _columns: size * np.ones(7))
    supervisor, before = watched.supervisor, watched.filter.data.matrices.copy()
    assert (None if supervisor.verdict is None else supervisor.verdict.normal < 0.5) == suspected
    supervisor.conclude()
    assert np.array_equal(watched.filter.data.matrices, before) == bool(suspected)
    assert not supervisor.waiting


@pytest.mark.parametrize(("seed", "missing"), [(0, ()), (1, ()), (0, (0, 2, 4, 5, 6))])
def test_noise_stated_far_too_small_is_no_event(seed, missing):
    """The first blocks are learned by a noise that is not known; those after them do not contradict it.

    Rows without readings say nothing of it.
    """
    watched = Watched(seed, noise=1.0, missing=missing)
    assert watched.supervisor.progress.events == 0
    assert watched.mass == pytest.approx(watched.scene.truth[0][0], rel=0.1)


def test_one_bad_block_is_no_noise_and_no_load():
    watched = Watched()
    before, scale = watched.mass, watched.filter.noise.variance.copy()
    watched.feed(lambda _columns: 30.0 * watched.scene.rng.normal(size=7))
    for _ in range(2 * DELAY):
        watched.feed()
    assert watched.supervisor.loads.count == 0
    assert watched.mass == pytest.approx(before, rel=0.01)
    assert watched.filter.noise.variance == pytest.approx(scale, rel=0.3)


def test_first_data_that_later_ones_contradict_are_forgotten():
    watched = Watched()
    watched.supervisor.reset()
    watched.filter.reset()
    for _ in range(14):
        watched.feed(lambda _columns: 8.0 * np.eye(7)[3] * np.sign(watched.scene.rng.normal()))
    for _ in range(80):
        watched.feed()
    assert watched.supervisor.phase is Phase.LEARNING
    assert watched.mass == pytest.approx(watched.scene.truth[0][0], rel=0.05)


def test_an_event_that_no_cause_explains_does_not_last_for_ever():
    watched = Watched()
    learning = 0
    for _ in range(280):
        watched.feed(lambda columns: 0.5 * np.ones(7) * columns.upwards[2])
        learning += watched.supervisor.phase is Phase.LEARNING
    assert learning > 40
    assert watched.filter.noise.factors()["noise.torque"] > 5.0


def test_a_steady_press_is_the_wrench_that_has_the_effect_of_its_weight():
    watched, amplitudes = Watched(), np.random.default_rng(0).normal(size=4)
    table, (_block, equation) = watched.supervisor.table, watched.scene.block()
    columns = table.columns(equation, at_rest=True)
    for i, weights in enumerate(columns.weights):
        hypothesis = CauseHypothesis(CauseKind.PRESS, index=i, amplitudes=amplitudes)
        press = FoundCause(hypothesis, 1.0, (i,), 0.0, True, True, columns).press(table)
        pushed = columns.wrenches[i] @ (press / table.wrench_size)
        np.testing.assert_allclose(pushed, weights @ amplitudes, atol=1e-12)


ROWS = ("torque joint_1", "torque joint_2", "base_force_x", "base_force_y")
STATED = np.diag([0.25, 0.04, 4.0, 9.0])
DT = 0.05


def seen(innovations, *, scale=None, predicted=0.0, at_rest=False):
    """The scale after innovations in units of the stated deviation, shape (k, 4)."""
    scale = NoiseScale(*row_groups(ROWS)) if scale is None else scale
    sigma = np.sqrt(STATED.diagonal())
    for y in innovations:
        block = EquationBlock(np.zeros((4, 1)), np.zeros(4), STATED, DT, at_rest=at_rest)
        weights = scale.see(block, sigma * y, predicted * STATED.diagonal())
        assert weights.shape == (4,)
    return scale


def normal(count, size=1.0, seed=0):
    return size * np.random.default_rng(seed).normal(size=(count, 4))


@pytest.mark.parametrize("size", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("predicted", [0.0, 0.5])
def test_the_scale_is_that_of_the_innovations_beyond_what_was_predicted(size, predicted):
    y = normal(1500) * np.sqrt(size**2 + predicted)
    scale = seen(y, predicted=predicted)
    shown = list(scale.factors().values())
    assert shown == pytest.approx([size] * len(shown), rel=0.15)
    assert np.sqrt(scale.variance).tolist() == shown, "it is in use"


def test_outliers_hardly_count():
    y = normal(1500)
    y[::50] *= 100.0
    assert seen(y).factors()["noise.torque"] == pytest.approx(1.1, abs=0.15)
    assert student_weights(np.array([0.0, 1.0, 1e4])) == pytest.approx([1.0, 1.0, 5.0 / 10004.0])


def test_groups_differ_and_the_old_is_forgotten_in_ten_seconds():
    y = normal(1500)
    y[:, :2] *= 3.0
    scale = seen(y)
    assert scale.variance == pytest.approx([9.0, 1.0], rel=0.3)
    seen(normal(round(10.0 / DT), seed=1), scale=scale)
    middle = scale.variance[0]
    seen(normal(round(60.0 / DT), seed=2), scale=scale)
    assert 1.2 < middle < 6.0
    assert scale.variance[0] == pytest.approx(1.0, rel=0.3)


def test_rest_does_not_hide_the_noise_of_motion():
    scale = seen(normal(300, 3.0))
    seen(normal(300, 0.3, seed=1), scale=scale, at_rest=True)
    assert scale.factors()["noise.torque"] == pytest.approx(3.0, rel=0.2)
    for size, at_rest in ((3.0, False), (0.3, True)):  # what the NIS compares an innovation with
        block = EquationBlock(np.zeros((4, 1)), np.zeros(4), STATED, DT, at_rest=at_rest)
        assert scale.shown(block) == pytest.approx(size**2 * STATED, rel=0.4)


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_correlated_innovations_count_less_in_covariances(rho):
    y = normal(3000)
    for k in range(1, len(y)):
        y[k] = rho * y[k - 1] + np.sqrt(1.0 - rho**2) * y[k]
    scale = seen(y)
    assert scale.correlation == pytest.approx([rho, rho], abs=0.15)
    expected = np.sqrt((1.0 - scale.correlation) / (1.0 + scale.correlation)) * scale.weights
    assert scale.cautious_weights == pytest.approx(expected, rel=0.1)


def test_doubt_falls_with_the_data():
    scale = seen(normal(0))
    first = scale.uncertainty(at_rest=False)
    assert first == pytest.approx(3.0, rel=0.05)
    seen(normal(200), scale=scale)
    seconds = 200 * DT * 4 / 4.0  # of four rows, of which four seconds count as one
    assert scale.uncertainty(at_rest=False) == pytest.approx(np.exp((1.0 / 1.1**2 + seconds) ** -0.5))
    assert scale.uncertainty(at_rest=True) == first


@pytest.mark.parametrize(
    ("size", "too_small", "said"),
    [
        (3.0, True, "noise.torque is about 3.* times too small; noise.base_force is about"),
        (3.0, False, "^$"),
        (1.2, True, "^$"),
        (0.3, False, "^$"),
        (0.1, False, "noise.torque is about (9|10|11).* times too large"),
    ],
)
def test_a_wrong_stated_noise_is_reported_from_two_seconds_on(size, too_small, said):
    scale = seen(normal(30, size))
    assert scale.report(too_small=too_small) == ""
    seen(normal(1000, size, seed=1), scale=scale)
    assert re.search(said, scale.report(too_small=too_small))


def test_without_adaptation_the_stated_noise_is_used_and_the_other_one_shown():
    scale = NoiseScale(*row_groups(ROWS))
    scale.adapting = False
    seen(normal(600, 3.0), scale=scale)
    assert scale.factors()["noise.torque"] == pytest.approx(3.0, rel=0.2)
    assert scale.scaled(STATED) == pytest.approx(STATED)


@pytest.mark.parametrize(("rho", "since"), [(0.0, 0), (0.6, 0), (0.6, -1)])
def test_evidence_is_the_ratio_of_joint_densities_of_all_residuals(rho, since):
    """Of noise that is correlated from block to block, offsets of rows and the state of the filter."""
    watched = Watched(1)
    filter_, bank, blocks = watched.filter, watched.bank, list(watched.supervisor.waiting)[since:]
    filter_.noise._products = rho * filter_.noise._squares
    posterior, K = filter_.posterior, len(blocks)
    window, lags = _Window(blocks, posterior, filter_.noise, 9.0), range(K)
    L = [np.linalg.cholesky(filter_.noise.scaled(block.rows.noise)) for block in blocks]
    H = np.vstack([block.rows.A @ posterior.at.D for block in blocks])
    y = np.concatenate([filter_.innovation(block.rows) for block in blocks])

    def covariance(offset):
        noise = [[(rho ** abs(i - j) + offset) * L[i] @ L[j].T for j in lags] for i in lags]
        return H @ posterior.P @ H.T + np.block(noise)

    def log_density(S):
        return -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(S)[1])

    S, larger, (rest, log_det) = covariance(OFFSET**2), covariance(OFFSET**2 / 9.0), window.always(3.0)
    assert (window.r * window.rest).sum() == pytest.approx(y @ np.linalg.solve(S, y), rel=0.01)
    assert (window.r * rest).sum() == pytest.approx(y @ np.linalg.solve(larger, y), rel=0.01)
    assert log_det == pytest.approx(np.linalg.slogdet(larger)[1] - np.linalg.slogdet(S)[1], abs=0.05)
    density, size = window.log_density(window.rest, 1.0), window.r.size
    window.r *= 3.0
    assert window.log_density(3.0 * window.rest, 3.0, 3.0) == pytest.approx(density - size * np.log(3.0))
    window.r /= 3.0
    for row in [row for row in window.columns if row.kind in (CauseKind.PUSH, CauseKind.INPUT)]:
        place, _n, d = blocks[0].columns.places[row.columns]
        for onset in lags:
            parts = [(i >= onset) * block.columns.stacked[place][:d].T for i, block in enumerate(blocks)]
            whole = np.vstack(parts) if row.constant else block_diag(*parts)
            expected = log_density(S + whole @ whole.T) - log_density(S)
            columns = window.since(CauseHypothesis(row.kind, row, blocks=K - onset))[None]
            given = (row, columns, [0], window)
            log, c = bank._lasting(*given) if row.constant else bank._varying(columns, window)
            left = window.without((columns @ c)[..., 0])[0]
            assert log[0] + 0.5 * (window.r * (window.rest - left)).sum() == pytest.approx(expected, abs=0.05)
            if row.constant and not (rho and onset):  # of which the screening is exact, too
                assert bank._gain(row, window)[onset, 0] == pytest.approx(expected, abs=0.05)
