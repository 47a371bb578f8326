"""The bank of causes: which cause explains the innovations of the last blocks, by Bayesian model comparison.

Residuals r of K blocks, whitened by their noise and by the correlation of one block with the next, are

    r = Z z + B c + e,    z ~ N(0, 1), c ~ N(0, Q^-1)

with Z the nuisance parameters: H dx of the filter and an offset of each row; and B the columns of a cause
since its onset. With S = 1 + Z Z', G = B' S^-1 B and g = B' S^-1 r the log evidence of the cause over none,
for Gaussian noise, is

    1/2 g' (Q + G)^-1 g - 1/2 log det(Q + G) + 1/2 log det Q

for every cause and onset. S^-1 = 1 - F F' with F of few columns, so that G and B' F are sums over blocks from
the newest backwards. The best causes are then compared with none and with larger noise, with errors of
Student's t distribution that have one scale for each row in the window: -(nu + K) / 2 log(1 + rss / nu).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln, log_ndtr

from inertial_estimation.inertial.cause_table import (
    NOISE_FACTORS,
    TABLE,
    CauseColumns,
    CauseKind,
    CauseRow,
    CauseTable,
)
from inertial_estimation.inertial.noise import FREEDOM, EquationBlock, NoiseScale
from inertial_estimation.inertial.posterior import Posterior
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

COMPARED, WORTH = 12, 0.5  # most causes compared by Student's t; least log odds, over those of the best one
SKIPPED = -4.0  # log odds of the best cause against none, below which the causes are not compared
OFFSET = 1.5  # standard deviation of constant model errors of a row, in standard deviations of its noise
KNOWN = 0.01  # variance of a direction of the filter's state, over that of the noise, that is negligible
STRADDLING = 2  # first blocks after an onset, whose windows contain readings before it
PUSH_S, PUSH_DURATION_S = 3.5, 1.0  # duration of a push that is not improbable; decay time beyond it [s]
TOLERANCE = 0.1  # of an expected load: excess that may come off, and change that counts as none
OWN_MASS = 0.5  # share of the body's own mass that can be lost
OWN_LOST = 1e-4  # prior probability that a body loses own mass: a push upwards is far more frequent
SMALLEST_MASS = 0.02  # least mass of a load, in expected loads, in the prior of its position


@dataclass(eq=False)
class BankBlock:
    """A block of equations, with the columns of all causes.

    Attributes:
        rows: The equations.
        equation: The measurement from which they are.
        deviation: Normalised innovation of each row when it was measured, shape (m,).
        table: The causes.
    """

    rows: EquationBlock
    equation: LinearEquation
    deviation: Array
    table: CauseTable

    @cached_property
    def columns(self) -> CauseColumns:
        """Columns of all causes."""
        return self.table.columns(self.equation, at_rest=self.rows.at_rest)


@dataclass(frozen=True, eq=False)
class CauseHypothesis:
    """A cause with its onset, and how well it explains the data.

    Attributes:
        kind: Kind of the cause.
        row: Row of the table; None for no cause and for larger noise.
        index: Index of the body or input.
        blocks: Number of blocks since its onset.
        log_prior: Log prior probability that it begins in one block.
        log_odds: Log of prior times evidence, relative to that of no cause.
        amplitudes: In units of their expected size, of the last block if they vary, shape (d,).
        misfit: Mean square of the whitened residuals that it leaves since its onset.
        worst_row: The same of the row that it explains worst.
        noise_factor: Factor on the noise of each group of rows, if it has always been larger: one step of
            `NOISE_FACTORS` at a time, since a scale that is too large falls slowly.
    """

    kind: CauseKind
    row: CauseRow | None = None
    index: int = 0
    blocks: int = 0
    log_prior: float = 0.0
    log_odds: float = 0.0
    amplitudes: Array | None = None
    misfit: float = 1.0
    worst_row: float = 1.0
    noise_factor: Array | float = 1.0


@dataclass(frozen=True, eq=False)
class CauseProbabilities:
    """Posterior probabilities of the hypotheses about the last blocks.

    Attributes:
        hypotheses: The compared hypotheses, the most probable first.
        probabilities: Probability of each, shape (k,).
    """

    hypotheses: tuple[CauseHypothesis, ...]
    probabilities: Array

    @property
    def best(self) -> CauseHypothesis:
        """The most probable hypothesis."""
        return self.hypotheses[0]

    @property
    def normal(self) -> float:
        """Probability of no event."""
        return self.probability(CauseKind.NOMINAL, CauseKind.NOISE)

    def probability(self, *kinds: CauseKind) -> float:
        """Return the probability of some kinds of causes."""
        return float(
            sum(p for h, p in zip(self.hypotheses, self.probabilities, strict=True) if h.kind in kinds)
        )


class _Window:
    """Whitened residuals of some blocks, and their nuisance parameters.

    Rows whose readings are missing in all blocks are left out: they are zero and would suggest small noise.

    Attributes:
        r: Residuals, shape (K, m).
        rest: S^-1 r, the residuals after a fit of the nuisance parameters, shape (K, m).
        offset: Columns of F for the offsets of the rows, the nonzero entry of each row, shape (K, m).
        F: Its other columns, shape (K, m, k).
        H: Columns of Z without the offsets, shape (K, m, k).
        columns: Columns of each row of the table that is considered, shape (K, n, d, m).
    """

    def __init__(
        self, blocks: Sequence[BankBlock], posterior: Posterior, noise: NoiseScale, held_s: float
    ) -> None:
        self.noise_uncertainty = noise.uncertainty(at_rest=blocks[-1].rows.at_rest)
        self.noise_precision = noise.precision(blocks[-1].rows.dt)
        R = np.array([b.rows.with_friction(noise.scaled(b.rows.noise)) for b in blocks])
        W = linear_algebra.inv(linear_algebra.cholesky(R))
        parts = [np.concatenate((b.columns.stacked, b.rows.A.T, b.rows.value[None])) for b in blocks]
        there = np.any([b.rows.reached for b in blocks], axis=0)
        alone: Array = np.matmul(parts, W.swapaxes(1, 2))[:, :, there]
        groups = noise.groups[there]
        self.noise_step = np.where(np.isin(np.arange(len(noise.names)), groups), NOISE_FACTORS[0], 1.0)
        rho = np.tile(noise.correlation[groups], (len(blocks), 1))
        rho[0] = 0.0
        root = np.sqrt(1.0 - rho**2)[:, None]
        self._new = alone / root  # columns that begin in each block
        after = self._new.copy()
        after[1:] -= rho[1:, None] / root[1:] * alone[:-1]
        self._places = blocks[-1].columns.places
        self.columns: dict[CauseRow, Array] = {}
        for row in TABLE:
            place, n, d = self._places[row.columns]
            if n and row.after_s <= held_s:
                whole = (after if row.constant else self._new)[:, place]
                self.columns[row] = whole.reshape(len(blocks), n, d, -1)
        at = posterior.at
        A = after[:, -len(at.phi) - 1 : -1].swapaxes(1, 2)
        self.r = after[:, -1] - A @ at.phi
        K, m, n = A.shape
        constant = self._constant = (1.0 - rho) / root[:, 0]
        self.offset = OFFSET * constant / np.sqrt(1.0 + OFFSET**2 * (constant**2).sum(axis=0))
        H = A.reshape(K * m, n) @ at.D
        if K * m < n:
            P = H @ posterior.P @ H.T
            root = linear_algebra.cholesky(P + 1e-9 * np.eye(K * m) * max(P.trace(), 1.0))
        else:
            root = H @ linear_algebra.cholesky(posterior.P + 1e-12 * np.eye(n) * posterior.P.trace() / n)
        left = self._without_offsets(root.reshape(K, m, -1)).reshape(K * m, -1)
        size, turn = linear_algebra.eigh(root.T @ left)
        kept = size > KNOWN
        self.H = (root @ turn[:, kept]).reshape(K, m, -1)
        self.F = (left @ (turn[:, kept] / np.sqrt(1.0 + size[kept]))).reshape(K, m, -1)
        self.rest = self.projected(self.r[:, :, None])[:, :, 0]

    def _without_offsets(self, values: Array) -> Array:
        offset = self.offset[:, :, None]
        found: Array = values - offset * (offset * values).sum(axis=0)
        return found

    def projected(self, values: Array) -> Array:
        """Return S^-1 times values, shape (K, m, d)."""
        F = self.F.reshape(self.r.size, -1)
        flat = values.reshape(self.r.size, -1)
        found: Array = self._without_offsets(values) - (F @ (F.T @ flat)).reshape(values.shape)
        return found

    def since(self, h: CauseHypothesis) -> Array:
        """Return the whitened columns of a cause since its onset, zero before, shape (K, m, d)."""
        assert h.row is not None
        found, onset = self.columns[h.row][:, h.index].copy(), len(self.r) - h.blocks
        if h.row.constant:
            place, _n, d = self._places[h.row.columns]
            first = place.start + d * h.index
            found[onset] = self._new[onset, first : first + d]
        found[:onset] = 0.0
        return np.asarray(found.swapaxes(1, 2))

    def cross(self, columns: Array) -> Array:
        """Return the products of columns with the columns of F, shape (..., K, d, k + m).

        Args:
            columns: Shape (..., K, d, m).
        """
        return np.concatenate((columns * self.offset[:, None, :], np.matmul(columns, self.F)), axis=-1)

    def always(self, factor: float) -> tuple[Array, float]:
        """Return S^-1 r, shape (K, m), and log det S, whitened by noise that has always been larger.

        S = 1 + H H' + O O' / k^2: the state was learned from noisier data, the offsets O are unchanged. The
        determinant is relative to that for k = 1.

        Args:
            factor: k, on standard deviations.
        """
        Z, G, log_det = self._unknown
        share = np.where(np.arange(len(G)) < self.r.shape[1], 1.0 / factor, 1.0)  # offsets come first
        M = np.eye(len(G)) + share[:, None] * G * share
        rest = self.r.ravel() - Z @ (share * linear_algebra.solve(M, share * (self.r.ravel() @ Z)))
        return rest.reshape(self.r.shape), float(np.linalg.slogdet(M)[1]) - log_det

    @cached_property
    def _unknown(self) -> tuple[Array, Array, float]:
        """Z with the columns of offsets first, shape (K m, m + k), Z' Z, and log det S."""
        offsets = OFFSET * self._constant[:, :, None] * np.eye(self.r.shape[1])
        Z = np.concatenate((offsets, self.H), axis=2).reshape(self.r.size, -1)
        G = Z.T @ Z
        return Z, G, float(np.linalg.slogdet(np.eye(len(G)) + G)[1])

    def log_density(self, rest: Array, factor: float, known: float = 1.0) -> float:
        """Return the log density of the residuals with larger noise, up to a common constant.

        Args:
            rest: Residuals after the fit of the nuisance parameters, shape (K, m).
            factor: Factor on the standard deviations of the noise.
            known: Factor on the standard deviations of the nuisance parameters.
        """
        squares = rest**2
        explained = float((self.r * rest).sum() - squares.sum()) / known**2
        density = float(_log_density(squares[None] / factor**2)[0])
        return density - 0.5 * explained - squares.size * float(np.log(factor))

    def without(self, explained: Array) -> Array:
        """Return S^-1 (r - b), the residuals that n causes leave, shape (n, K, m).

        Args:
            explained: b, the residuals explained by each cause, shape (n, K, m).
        """
        return np.asarray(self.rest - self.projected(explained.transpose(1, 2, 0)).transpose(2, 0, 1))


class Bank:
    """Compares the causes of a table over windows of blocks.

    Attributes:
        table: The causes.
        expected: Log of the relative frequency of load changes on each candidate body, shape (n,).
        carried: Loads that the candidate bodies carry and can lose [kg], shape (n,).
    """

    def __init__(self, table: CauseTable) -> None:
        """Start without loads on the bodies of a table."""
        self.table = table
        self.carried: Array = np.zeros(len(table.candidates.links))
        self.expected: Array = np.zeros(len(table.candidates.links))

    def judge(
        self, blocks: Sequence[BankBlock], posterior: Posterior, noise: NoiseScale, held_s: float = 0.0
    ) -> CauseProbabilities:
        """Return the probabilities of the causes of the residuals of some blocks.

        Args:
            blocks: The last blocks, the newest last.
            posterior: State of the filter without them.
            noise: Present scale of the noise.
            held_s: Time that the event has lasted [s].
        """
        window, dt = _Window(blocks, posterior, noise, held_s), blocks[-1].rows.dt
        nominal, *larger = self._without_cause(window)
        worth = self._likely(window, dt, held_s)
        if not worth and max(h.log_odds for h in larger) - nominal.log_odds < SKIPPED:
            return CauseProbabilities((replace(nominal, log_odds=0.0),), np.ones(1))
        compared = [nominal, *larger]
        for row in dict.fromkeys(h.row for h in worth if h.row):
            compared += self._student(row, [h for h in worth if h.row is row], window)
        compared.sort(key=lambda h: -h.log_odds)
        if compared[0].row is not None:
            compared[0] = replace(compared[0], amplitudes=self._amplitudes(compared[0], window))
        logs = np.array([h.log_odds for h in compared])
        p = np.exp(logs - logs.max())
        return CauseProbabilities(tuple(compared), p / p.sum())

    def _log_prior(self, row: CauseRow, dt: float, held_s: float) -> Array:
        """Return the log probability that each cause of a row begins in one block, shape (n,) or ().

        At rest no data distinguish a steady press from a load: the longer an unknown force lasts, beyond
        `PUSH_S`, the more probable is a load.
        """
        log = np.log(dt / row.period_s)
        if row.kind in (CauseKind.PRESS, CauseKind.PUSH) and held_s > PUSH_S:
            log -= held_s / PUSH_DURATION_S
        return log + self.expected if row.kind is CauseKind.LOAD else np.asarray(log)

    def _gain(self, row: CauseRow, window: _Window) -> Array:
        """Return the Gaussian evidence of the causes of a row of the table for every onset, shape (K, n)."""
        columns = window.columns[row]
        K, n, d, m = columns.shape
        by_block = columns.reshape(K, n * d, m)
        cross = window.cross(by_block).reshape(K, n, d, -1)
        slope = np.matmul(by_block, window.rest[:, :, None]).reshape(K, n, d)
        own = np.matmul(columns, columns.swapaxes(-1, -2))
        if row.constant:
            own, cross, slope = map(_sums_since, (own, cross, slope))
        gain = self._evidence(row, own - np.matmul(cross, cross.swapaxes(-1, -2)), slope, slice(None))
        return gain if row.constant else _sums_since(gain)

    def _likely(self, window: _Window, dt: float, held_s: float) -> list[CauseHypothesis]:
        """Return the most probable causes, each with its best onset, for the comparison by Student's t.

        With a load, the steady press on its body is compared, too: at rest the data do not distinguish them,
        only their prior probabilities do.
        """
        found = []
        for row in window.columns:
            gain = self._gain(row, window)
            prior = np.broadcast_to(self._log_prior(row, dt, held_s), gain.shape[1:])
            odds = prior + np.logaddexp.reduce(gain, axis=0)
            for i in np.argsort(-odds, kind="stable")[:COMPARED].tolist():
                blocks = len(gain) - int(gain[:, i].argmax())
                found.append((float(odds[i]), row, i, blocks, float(prior[i])))
        found.sort(key=lambda one: -one[0])
        best = found[0][0] if found else SKIPPED
        least = max(SKIPPED, min(WORTH * best, best + SKIPPED))
        likely = [CauseHypothesis(row.kind, row, *one) for odds, row, *one in found if odds > least]
        loaded = {h.index for h in likely[:COMPARED] if h.kind is CauseKind.LOAD}
        pressed = [h for h in likely[COMPARED:] if h.kind is CauseKind.PRESS and h.index in loaded]
        return likely[:COMPARED] + pressed

    def _evidence(self, row: CauseRow, G: Array, g: Array, body: Indices | slice | int) -> Array:
        """Return the Gaussian evidence of amplitudes with the prior of the row, shape (...).

        Args:
            row: Row of the table.
            G: Shape (..., d, d).
            g: Shape (..., d).
            body: Indices of the candidate bodies along the last axis before those of the amplitudes.
        """
        Q, log_prior = self._precision(row, G, g, body), np.zeros(())
        square, log_det, mass, sigma = _eliminated(G + Q, g)
        if row.kind in (CauseKind.LOAD, CauseKind.PRESS):
            log_prior = self.table.log_det_inverse_place[body] + 3.0 * np.log(
                Q[..., 1, 1] / self.table.inverse_place_covariance[body][..., 0, 0]
            )
        if row.kind is CauseKind.LOAD:
            log_prior = log_prior + 2.0 * self._log_mass(mass, sigma, body)
        gain: Array = 0.5 * (square - log_det + log_prior)
        return gain

    def _precision(self, row: CauseRow, G: Array, g: Array, body: Indices | slice | int) -> Array:
        """Return the inverse covariance of the prior of the amplitudes; arguments as in `_evidence`.

        A load is on its body: the first moment of a load with mass m has the covariance m^2
        `place_covariance`.
        """
        unit: Array = np.eye(G.shape[-1])
        if row.kind not in (CauseKind.LOAD, CauseKind.PRESS):
            return unit
        mass = _eliminated(G + unit, g)[2]
        Q = np.zeros(G.shape)
        Q[..., 0, 0] = 1.0
        Q[..., 1:, 1:] = (
            self.table.inverse_place_covariance[body] / np.maximum(mass**2, SMALLEST_MASS**2)[..., None, None]
        )
        return Q

    def _log_mass(self, mass: Array, sigma: Array, body: Indices | slice | int) -> Array:
        """Return the log probability of the mass of loads, relative to a prior without a sign.

        A load has a positive mass, or a negative one of at most what the body carries; rarely the body loses
        some of its own mass.

        Args:
            mass: Mass in expected loads, shape (...,).
            sigma: Standard deviation of the mass, shape (...,).
            body: Indices of the candidate bodies along the last axis.
        """
        unit = self.table.load_size[0]
        lost = (1.0 + TOLERANCE) * self.carried[body] / unit
        own = lost + OWN_MASS * self.table.candidates.masses[body] / unit
        logs: Array = np.log(2.0) + np.logaddexp(
            log_ndtr((mass + lost) / sigma), np.log(OWN_LOST) + log_ndtr((mass + own) / sigma)
        )
        return logs

    def _student(
        self, row: CauseRow, causes: Sequence[CauseHypothesis], window: _Window
    ) -> list[CauseHypothesis]:
        """Return causes of one row of the table with their evidence for errors of Student's t."""
        B = np.array([window.since(h) for h in causes])
        if row.constant:
            log_p, c = self._lasting(row, B, np.array([h.index for h in causes]), window)
        else:
            log_p, c = self._varying(B, window)
        left = window.without(np.matmul(B, c)[..., 0])
        log_p += [h.log_prior for h in causes]
        squares = left**2
        log_p += _log_density(squares) - 0.5 * ((window.r * left) - squares).sum(axis=(1, 2))
        K, found = len(window.r), []
        for h, log, of_rows in zip(causes, log_p.tolist(), squares, strict=True):
            q = of_rows[min(K - h.blocks + STRADDLING, K - 1) :].mean(axis=0) / window.noise_uncertainty**2
            found.append(replace(h, log_odds=log, misfit=float(q.mean()), worst_row=float(q.max())))
        return found

    def _lasting(self, row: CauseRow, B: Array, body: Indices, window: _Window) -> tuple[Array, Array]:
        """Return the evidence of causes with constant amplitudes, without that of the fit, and amplitudes.

        Args:
            row: Row of the table.
            B: Columns of each cause, shape (n, K, m, d).
            body: Index of each, shape (n,).
            window: The residuals.

        Returns:
            Shapes (n,) and (n, 1, d, 1).
        """
        n, K, m, d = B.shape
        SB = window.projected(B.transpose(1, 2, 0, 3).reshape(K, m, n * d))
        SB = SB.reshape(K * m, n, d).swapaxes(0, 1)
        G, g = B.reshape(n, K * m, d).swapaxes(1, 2) @ SB, window.r.ravel() @ SB
        c = linear_algebra.solve(G + self._precision(row, G, g, body), g[:, :, None])
        return self._evidence(row, G, g, body) - 0.5 * (c[:, :, 0] * g).sum(axis=1), c[:, None]

    @staticmethod
    def _varying(B: Array, window: _Window) -> tuple[Array, Array]:
        """Return the same of causes with new amplitudes in every block, c = (1 + B' S^-1 B)^-1 B' S^-1 r.

        Args:
            B: Columns of each cause, of one block each, shape (n, K, m, d).
            window: The residuals.

        Returns:
            Shapes (n,) and (n, K, d, 1).
        """
        n, K, _m, d = B.shape
        columns, every = B.swapaxes(2, 3), np.arange(K)
        cross = window.cross(columns).reshape(n, K * d, -1)
        inner = np.eye(K * d) - cross @ cross.swapaxes(1, 2)
        inner.reshape(n, K, d, K, d)[:, every, :, every] += (columns @ B).swapaxes(0, 1)
        slope = (columns @ window.rest[:, :, None]).reshape(n, K * d, 1)
        c = linear_algebra.solve(inner, slope).reshape(n, K, d, 1)
        return -0.5 * np.linalg.slogdet(inner)[1], c

    def _amplitudes(self, h: CauseHypothesis, window: _Window) -> Array:
        """Return the amplitudes of a cause for messages.

        Constant amplitudes are fitted without offsets of rows, to windows without readings before the onset.
        """
        assert h.row is not None
        B = window.since(h)
        if not h.row.constant:
            return np.asarray(self._varying(B[None], window)[1][0, -1, :, 0])
        K, _m, d = B.shape
        first = min(K - h.blocks + STRADDLING, K - 1)
        B, r = B[first:].reshape(-1, d), window.r[first:].ravel()
        H = window.H[first:].reshape(len(r), -1)
        SB = B - H @ linear_algebra.solve(np.eye(H.shape[1]) + H.T @ H, H.T @ B)
        G, g = B.T @ SB, SB.T @ r
        return linear_algebra.solve(G + self._precision(h.row, G, g, h.index), g)

    @staticmethod
    def _without_cause(window: _Window) -> list[CauseHypothesis]:
        """Return the hypotheses of no cause, and of larger noise in all rows of the window.

        Noise that is not known well may be larger; known noise rarely grows. If the noise has always been
        larger, the covariance of the filter is larger by the same factor.
        """
        found = [CauseHypothesis(CauseKind.NOMINAL, log_odds=window.log_density(window.rest, 1.0))]
        for factor in NOISE_FACTORS:
            size = float(np.log(factor))
            other = -0.5 * (size / np.log(window.noise_uncertainty)) ** 2
            grown = max(-FREEDOM * size, other) + window.log_density(window.rest, factor)
            rest, log_det = window.always(factor)
            always = window.log_density(rest, factor, factor) - 0.5 * log_det
            always -= 0.5 * window.noise_precision * size**2
            step = window.noise_step if always > grown else 1.0
            found.append(CauseHypothesis(CauseKind.NOISE, log_odds=max(grown, always), noise_factor=step))
        return found


def _sums_since(of_blocks: Array) -> Array:
    """Return the sums over the blocks from each one to the newest, along the first axis."""
    K = len(of_blocks)
    sums: Array = np.triu(np.ones((K, K))) @ of_blocks.reshape(K, -1)
    return sums.reshape(of_blocks.shape)


def _log_density(squares: Array) -> Array:
    """Return the log densities of whitened residuals, up to a common constant, shape (n,).

    Student's t, with one scale for each row of the window or one for each block (impacts of feet), which are
    equally probable.

    Args:
        squares: Of the residuals, shape (n, K, m).
    """
    _n, K, m = squares.shape
    logs = [
        -0.5 * (FREEDOM + size) * np.log1p(squares.sum(axis=axis) / FREEDOM).sum(axis=1)
        + count * _student_constant(size)
        for axis, size, count in ((1, K, m), (2, m, K))
    ]
    found: Array = np.logaddexp(*logs)
    return found


def _student_constant(n: int) -> float:
    """Return the log of the normalisation of Student's t in n dimensions, over pi^(-n / 2)."""
    return float(gammaln(0.5 * (FREEDOM + n)) - gammaln(0.5 * FREEDOM) - 0.5 * n * np.log(FREEDOM))


def _eliminated(A: Array, g: Array) -> tuple[Array, Array, Array, Array]:
    """Solve A x = g by elimination of the unknowns, the first one last; A is positive definite.

    Args:
        A: Shape (..., d, d).
        g: Shape (..., d).

    Returns:
        g' A^-1 g, log det A, the first unknown, and its standard deviation for A^-1 as covariance, all (...).
    """
    # the axes of the unknowns come first, so that operations run along the others
    A, g = np.moveaxis(A, (-2, -1), (0, 1)).copy(), np.moveaxis(g, -1, 0).copy()
    square, determinant = np.zeros(g.shape[1:]), np.ones(g.shape[1:])
    for i in range(len(A) - 1, -1, -1):
        pivot, value = A[i, i], g[i]
        ratio = A[:i, i] / pivot
        square, determinant = square + value**2 / pivot, determinant * pivot
        A[:i, :i] -= ratio[:, None] * A[None, i, :i]
        g[:i] -= ratio * value
    return square, np.log(determinant), value / pivot, pivot**-0.5
