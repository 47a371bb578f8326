"""The bank of causes: which one explains the innovations of the last blocks, by evidence.

Residuals r of K blocks, whitened by their noise and by the correlation of one block with the next, are

    r = Z z + B c + e,    z ~ N(0, 1), c ~ N(0, Q^-1)

with Z what is not known: H dx of the filter, and an offset of each row; and B the columns of a cause since
onset. With S = 1 + Z Z', G = B' S^-1 B and g = B' S^-1 r the evidence of the cause over none is, for Gaussian
noise,

    1/2 g' (Q + G)^-1 g - 1/2 log det(Q + G) + 1/2 log det Q

for every cause and onset. S^-1 = 1 - F F' with F of few columns, so that G and B' F are sums over blocks from
the newest backwards. The best causes are then compared with none and with larger noise by errors of each row
that have Student's t with one scale in the window: - (nu + K) / 2 log(1 + rss / nu) a row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

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
from inertial_estimation.inertial.noise import FREEDOM, NoiseScale, RowBlock
from inertial_estimation.inertial.posterior import Posterior
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

COMPARED, WORTH = 12, 0.5  # causes that are compared by Student's t, and share of the best one's log odds
SKIPPED = -4.0  # log odds of the best cause against none, below which none is taken
OFFSET = 1.5  # of each row, of model errors that outlast a window, in its standard deviation
KNOWN = 0.01  # variance of what the filter does not know, over that of the noise, which is nothing
STRADDLING = 2  # first blocks since an onset, whose windows contain readings before it
PUSH_S, PUSH_DURATION_S = 3.5, 1.0  # for which any push may last, and its mean duration [s]
LOST = 0.1  # share of a load that may come off in addition to it
OWN_MASS = 0.5  # share of the body's own mass that can come off
OWN_LOST = 1e-4  # prior probability that a body loses some of it: a push upwards is far more frequent
SMALLEST_MASS = 0.02  # of a load, in expected loads, for the prior of its place


class WhiteBlock(NamedTuple):
    """A block in units of its noise, for one state of the filter."""

    posterior: Posterior
    residual: Array  # shape (m,)
    H: Array  # of what the filter does not know, shape (m, n)
    columns: Array  # of all causes, shape (k, m)


@dataclass(eq=False)
class BankBlock:
    """A block of equations with the columns of its causes.

    What depends on the state of the filter alone is kept: in an event, which is judged block by block, the
    state stays.

    Attributes:
        rows: The equations.
        causes: Computes the columns of all causes, where the bank looks at them.
        equation: The measurement that the rows are of.
        deviation: Innovation of each row over its standard deviation when it came, shape (m,).
    """

    rows: RowBlock
    causes: Callable[[], CauseColumns]
    equation: LinearEquation
    deviation: Array

    @cached_property
    def columns(self) -> CauseColumns:
        """Columns of all causes."""
        return self.causes()

    def __post_init__(self) -> None:
        self._white: WhiteBlock | None = None
        self._since: tuple[WhiteBlock, Array] | None = None

    def white(self, posterior: Posterior, noise: NoiseScale) -> WhiteBlock:
        """Return the block in units of its noise, which changes with the state of the filter only."""
        if self._white is None or self._white.posterior is not posterior:
            W, at = linear_algebra.inv(linear_algebra.cholesky(noise.scaled(self.rows.noise))), posterior.at
            residual = W @ (self.rows.value - self.rows.A @ at.phi)
            columns = self.columns.stacked @ W.T
            self._white = WhiteBlock(posterior, residual, W @ (self.rows.A @ at.D), columns)
        return self._white

    def since(self, before: WhiteBlock, rho: Array, root: Array) -> Array:
        """Return the columns less what the block before explains by the correlation of rows, (k, m)."""
        assert self._white is not None
        if self._since is None or self._since[0] is not before:
            self._since = before, (self._white.columns - rho * before.columns) / root
        return self._since[1]


@dataclass(frozen=True, eq=False)
class CauseHypothesis:
    """A cause, when it has begun, and how well it explains the data.

    Attributes:
        kind: What it says.
        row: Its row of the table; None for none and for larger noise.
        index: Number of the body or input.
        blocks: Number of blocks since its onset.
        log_prior: Logarithm of the probability that it begins in one block.
        log_odds: Logarithm of prior times evidence, relative to that of no cause.
        amplitudes: In units of their expected size; those of the last block where they vary, shape (d,).
        misfit: Mean square of the whitened residuals that it leaves, since its onset.
        worst_row: The same of the row that it explains worst.
        factor: Of the noise; one for others.
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
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class CauseProbabilities:
    """What the bank finds of the last blocks.

    Attributes:
        hypotheses: The compared ones, the most probable first.
        probabilities: Of each, shape (k,).
    """

    hypotheses: tuple[CauseHypothesis, ...]
    probabilities: Array

    @property
    def best(self) -> CauseHypothesis:
        """The most probable one."""
        return self.hypotheses[0]

    def probability(self, *kinds: CauseKind) -> float:
        """Return the probability of some kinds of causes."""
        return float(
            sum(p for h, p in zip(self.hypotheses, self.probabilities, strict=True) if h.kind in kinds)
        )


class _Window:
    """Whitened residuals of some blocks, and what is not known of them.

    Attributes:
        r: Residuals, shape (K, m).
        rest: S^-1 r, which is left of them when what is not known explains what it can, shape (K, m).
        offset: Columns of F for the offsets of the rows, the nonzero entry of each row, shape (K, m).
        F: Its other columns, shape (K, m, k).
        H: Columns of Z but for the offsets, shape (K, m, k).
        log_det: log det S.
    """

    def __init__(self, blocks: Sequence[BankBlock], posterior: Posterior, noise: NoiseScale) -> None:
        self.rho = noise.correlation[noise.groups]
        self.root = np.sqrt(1.0 - self.rho**2)
        self.noise_uncertainty = noise.uncertainty(at_rest=blocks[-1].rows.at_rest)
        white = [block.white(posterior, noise) for block in blocks]
        self.r = self._uncorrelated(np.array([one.residual for one in white]))
        H = self._uncorrelated(np.array([one.H.T for one in white])).swapaxes(1, 2)
        K, m, n = H.shape
        self._places = blocks[-1].columns.places
        self._white = [one.columns for one in white]
        later = zip(blocks[1:], white[:-1], strict=True)
        self._lasting = [
            white[0].columns,
            *(block.since(before, self.rho, self.root) for block, before in later),
        ]
        constant = self._uncorrelated(np.ones((K, m)))
        surplus = 1.0 + OFFSET**2 * (constant**2).sum(axis=0)
        self.offset = OFFSET * constant / np.sqrt(surplus)
        H = H.reshape(K * m, n)
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
        self.log_det = float(np.log(surplus).sum() + np.log1p(size[kept]).sum())
        self.rest = self.projected(self.r[:, :, None])[:, :, 0]

    def _uncorrelated(self, values: Array) -> Array:
        """Return (v_k - rho v_k-1) / sqrt(1 - rho^2) along the first axis, rows on the last."""
        found: Array = values.copy()
        found[1:] = (values[1:] - self.rho * values[:-1]) / self.root
        return found

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

    def of_row(self, row: CauseRow) -> Array:
        """Return the whitened columns of a row of the table, shape (K, n, d, m)."""
        place, n, d = self._places[row.columns]
        found = np.array([columns[place] for columns in (self._lasting if row.constant else self._white)])
        if not row.constant:
            found /= self.root
        return found.reshape(len(found), n, d, len(self.root))

    def since(self, h: "CauseHypothesis") -> Array:
        """Return the whitened columns of a cause since its onset, zero before, shape (K, m, d)."""
        assert h.row is not None
        place, _n, d = self._places[h.row.columns]
        own = slice(place.start + d * h.index, place.start + d * (h.index + 1))
        onset = len(self.r) - h.blocks
        new = np.array([columns[own] for columns in self._white]) / self.root
        found: Array = np.array([columns[own] for columns in self._lasting]) if h.row.constant else new
        found[:onset] = 0.0
        if onset:
            found[onset] = new[onset]
        columns: Array = found.swapaxes(1, 2)
        return columns

    def explained(self, B: Array) -> tuple[Array, float]:
        """Return what is left of the residuals by amplitudes that are new in every block.

        (S + B B')^-1 r, with S + B B' = 1 + B B' + Z Z': the first two are of one block each.

        Args:
            B: Columns of the cause, shape (K, m, d).

        Returns:
            Shape (K, m), and log det(S + B B') - log det S.
        """
        K, m, d = B.shape
        inner = np.eye(d) + np.matmul(B.swapaxes(1, 2), B)
        gain = np.matmul(B, linear_algebra.inv(inner))
        Z = np.concatenate((self._offsets(), self.H), axis=2)
        together = np.concatenate((self.r[:, :, None], Z), axis=2)
        left = (together - np.matmul(gain, np.matmul(B.swapaxes(1, 2), together))).reshape(K * m, -1)
        unknown = np.eye(Z.shape[2]) + Z.reshape(K * m, -1).T @ left[:, 1:]
        rest = left[:, 0] - left[:, 1:] @ linear_algebra.solve(unknown, Z.reshape(K * m, -1).T @ left[:, 0])
        log_det = float(np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(unknown)[1])
        return rest.reshape(K, m), log_det - self.log_det

    def _offsets(self) -> Array:
        """Return the columns of Z for the offsets, shape (K, m, m)."""
        constant = self._uncorrelated(np.full(self.r.shape, OFFSET))
        found: Array = constant[:, :, None] * np.eye(self.r.shape[1])
        return found


class Bank:
    """Compares the causes of a table over windows of blocks.

    Attributes:
        table: The causes.
        expected: Log of how much more often than others loads on the candidate bodies change, shape (n,).
        carried: Loads that the candidate bodies carry and can lose [kg], shape (n,).
    """

    def __init__(self, table: CauseTable) -> None:
        """Take the table of the robot."""
        self.table = table
        self.carried: Array = np.zeros(len(table.candidates.links))
        self.expected: Array = np.zeros(len(table.candidates.links))

    def judge(
        self, blocks: Sequence[BankBlock], posterior: Posterior, noise: NoiseScale, held_s: float = 0.0
    ) -> CauseProbabilities:
        """Return what explains the residuals of some blocks.

        Args:
            blocks: The last ones, the newest last.
            posterior: What the filter knows without them.
            noise: Noise as known now.
            held_s: Time that the event has lasted [s].
        """
        window, dt = _Window(blocks, posterior, noise), blocks[-1].rows.dt
        rows = [row for row in TABLE if row.after_s <= held_s]
        found = [h for row in rows for h in self._gaussian(row, window, self._log_prior(row, dt, held_s))]
        found.sort(key=lambda h: -h.log_odds)
        nominal = self._student(CauseHypothesis(CauseKind.NOMINAL), window)
        larger = [self._larger_noise(factor, window) for factor in NOISE_FACTORS]
        best = found[0].log_odds if found else SKIPPED
        least = max(SKIPPED, min(WORTH * best, best + SKIPPED))
        worth = [h for h in found[:COMPARED] if h.log_odds > least]
        if not worth and max(h.log_odds for h in larger) - nominal.log_odds < SKIPPED:
            return CauseProbabilities((replace(nominal, log_odds=0.0),), np.ones(1))
        compared = [nominal, *larger, *(self._student(h, window) for h in worth)]
        compared.sort(key=lambda h: -h.log_odds)
        if compared[0].row is not None:
            compared[0] = replace(compared[0], amplitudes=self._amplitudes(compared[0], window))
        logs = np.array([h.log_odds for h in compared])
        p = np.exp(logs - logs.max())
        return CauseProbabilities(tuple(compared), p / p.sum())

    def _log_prior(self, row: CauseRow, dt: float, held_s: float) -> Array:
        """Return the log probability that each cause of a row begins in one block, shape (n,) or ().

        At rest no data tell a steady press from a load: the longer an unknown force lasts, beyond the time
        for which any push may, the likelier a load.
        """
        log = np.log(dt / row.period_s)
        if row.kind in (CauseKind.PRESS, CauseKind.PUSH) and held_s > PUSH_S:
            log -= held_s / PUSH_DURATION_S
        return log + self.expected if row.kind is CauseKind.LOAD else np.asarray(log)

    def _gaussian(self, row: CauseRow, window: _Window, log_prior: Array) -> list[CauseHypothesis]:
        """Return the hypotheses of a row of the table, each with its best onset, by Gaussian evidence."""
        columns = window.of_row(row)
        K, n, d, m = columns.shape
        if not n:
            return []
        by_block = columns.reshape(K, n * d, m)
        cross = np.concatenate(
            (by_block * window.offset[:, None, :], np.matmul(by_block, window.F)), axis=2
        ).reshape(K, n, d, -1)
        slope = np.matmul(by_block, window.rest[:, :, None]).reshape(K, n, d)
        own = np.matmul(columns, columns.swapaxes(-1, -2))
        if row.constant:
            own, cross, slope = map(_since, (own, cross, slope))
        gain = self._evidence(row, own - np.matmul(cross, cross.swapaxes(-1, -2)), slope)
        gain = log_prior + (gain if row.constant else _since(gain))
        blocks, best = K - gain.argmax(axis=0), np.logaddexp.reduce(gain, axis=0)
        priors = np.broadcast_to(log_prior, n).tolist()
        found = enumerate(zip(blocks.tolist(), priors, best.tolist(), strict=True))
        return [CauseHypothesis(row.kind, row, i, *one) for i, one in found]

    def _evidence(self, row: CauseRow, G: Array, g: Array, body: int | slice = slice(None)) -> Array:
        """Return the Gaussian evidence of amplitudes with the prior of the row, shape (...).

        Args:
            row: Row of the table.
            G: Shape (..., d, d).
            g: Shape (..., d).
            body: Bodies that the last axis but those stands for.
        """
        inner, log_prior = G + np.eye(G.shape[-1]), np.zeros(())
        if row.kind in (CauseKind.LOAD, CauseKind.PRESS):
            Q = self._load_precision(_eliminated(inner, g)[2], body)
            inner = G + Q
            log_prior = self.table.log_det_spread[body] + 3.0 * np.log(
                Q[..., 1, 1] / self.table.inverse_spread[body][..., 0, 0]
            )
        square, log_det, mass, sigma = _eliminated(inner, g)
        if row.kind is CauseKind.LOAD:
            log_prior = log_prior + 2.0 * self._log_mass(mass, sigma, body)
        gain: Array = 0.5 * (square - log_det + log_prior)
        return gain

    def _log_mass(self, mass: Array, sigma: Array, body: int | slice) -> Array:
        """Return the log probability of the mass of loads, relative to either sign alike.

        A load has a positive mass, and one that comes off at most what the body carries; rarely the body
        loses some of its own.

        Args:
            mass: In expected loads, shape (...,).
            sigma: Its standard deviation, shape (...,).
            body: Bodies that the last axis stands for.
        """
        unit = self.table.load_size[0]
        lost = (1.0 + LOST) * self.carried[body] / unit
        own = lost + OWN_MASS * self.table.candidates.masses[body] / unit
        logs: Array = np.log(2.0) + np.logaddexp(
            log_ndtr((mass + lost) / sigma), np.log(OWN_LOST) + log_ndtr((mass + own) / sigma)
        )
        return logs

    def _load_precision(self, mass: Array, body: int | slice) -> Array:
        """Return the inverse covariance of mass and first moment of loads of about some mass, (..., 4, 4).

        A load sits on its body: its first moment has the covariance m^2 `spread`.
        """
        Q = np.zeros((*np.shape(mass), 4, 4))
        Q[..., 0, 0] = 1.0
        Q[..., 1:, 1:] = (
            self.table.inverse_spread[body] / np.maximum(mass**2, SMALLEST_MASS**2)[..., None, None]
        )
        return Q

    def _precision(self, h: CauseHypothesis, G: Array, g: Array) -> Array:
        """Return the inverse covariance of the prior of the amplitudes of a lasting cause, shape (d, d)."""
        Q: Array = np.eye(len(g))
        if h.kind in (CauseKind.LOAD, CauseKind.PRESS):
            Q = self._load_precision(_eliminated(G + Q, g)[2], h.index)
        return Q

    def _student(self, h: CauseHypothesis, window: _Window) -> CauseHypothesis:
        """Return a hypothesis with its evidence by Student's t of each row."""
        K, m = window.r.shape
        rest, log_odds, row = window.rest, h.log_prior, h.row
        if row is not None:
            B = window.since(h)
            if row.constant:
                flat, SB = B.reshape(K * m, -1), window.projected(B)
                projected = SB.reshape(K * m, -1)
                G, g = flat.T @ projected, projected.T @ window.r.ravel()
                inner = G + self._precision(h, G, g)
                log_odds += float(self._evidence(row, G, g, h.index) - 0.5 * _eliminated(inner, g)[0])
                rest = rest - SB @ linear_algebra.solve(inner, g)
            else:
                rest, log_det = window.explained(B)
                log_odds -= 0.5 * log_det
        squares = rest**2
        log_odds += _log_density(squares) - 0.5 * float((window.r * rest).sum() - squares.sum())
        since = squares[min(K - h.blocks + STRADDLING, K - 1) :] if h.blocks else squares
        since = since / window.noise_uncertainty**2
        misfit, worst = float(since.mean()), float(since.mean(axis=0).max())
        return replace(h, log_odds=float(log_odds), misfit=misfit, worst_row=worst)

    def _amplitudes(self, h: CauseHypothesis, window: _Window) -> Array:
        """Return the amplitudes of a cause for messages.

        Those that last are without model errors, from rows whose windows hold no onset.
        """
        assert h.row is not None
        B = window.since(h)
        if not h.row.constant:
            found: Array = B[-1].T @ window.explained(B)[0][-1]
            return found
        K, m, d = B.shape
        flat, projected = B.reshape(K * m, d), window.projected(B).reshape(K * m, d)
        Q = self._precision(h, flat.T @ projected, projected.T @ window.r.ravel())
        first = min(K - h.blocks + STRADDLING, K - 1)
        B, r = B[first:].reshape(-1, d), window.r[first:].ravel()
        H = window.H[first:].reshape(len(r), -1)
        SB = B - H @ linear_algebra.solve(np.eye(H.shape[1]) + H.T @ H, H.T @ B)
        return linear_algebra.solve(B.T @ SB + Q, SB.T @ r)

    @staticmethod
    def _larger_noise(factor: float, window: _Window) -> CauseHypothesis:
        """Return the hypothesis of larger noise in all rows of the window.

        Noise that is not known yet may well be larger; known noise grows rarely.
        """
        K, m = window.r.shape
        squares = window.rest**2
        known = float((window.r * window.rest).sum() - squares.sum())
        squares = squares / factor**2
        size = float(np.log(factor))
        prior = max(-FREEDOM * size, -0.5 * (size / np.log(window.noise_uncertainty)) ** 2)
        log_p = _log_density(squares) - 0.5 * known - K * m * size + prior
        return CauseHypothesis(
            CauseKind.NOISE,
            log_odds=log_p,
            factor=factor,
            misfit=float(squares.mean()),
            worst_row=float(squares.mean(axis=0).max()),
        )


def _since(of_blocks: Array) -> Array:
    """Return the sums over the blocks from each one to the newest, along the first axis."""
    K = len(of_blocks)
    sums: Array = np.triu(np.ones((K, K))) @ of_blocks.reshape(K, -1)
    return sums.reshape(of_blocks.shape)


def _log_density(squares: Array) -> float:
    """Return the logarithm of the density of whitened residuals, over that of a common constant.

    Student's t, with one scale of each row in the window or one of each block (impacts of feet), either of
    them as likely.

    Args:
        squares: Of the residuals, shape (K, m).
    """
    K, m = squares.shape
    rows = -0.5 * (FREEDOM + K) * float(
        np.log1p(squares.sum(axis=0) / FREEDOM).sum()
    ) + m * _student_constant(K)
    blocks = -0.5 * (FREEDOM + m) * float(
        np.log1p(squares.sum(axis=1) / FREEDOM).sum()
    ) + K * _student_constant(m)
    return float(np.logaddexp(rows, blocks))


def _student_constant(n: int) -> float:
    """Return the logarithm of the constant of Student's t of n dimensions, over pi^(-n / 2)."""
    return float(gammaln(0.5 * (FREEDOM + n)) - gammaln(0.5 * FREEDOM) - 0.5 * n * np.log(FREEDOM))


def _eliminated(A: Array, g: Array) -> tuple[Array, Array, Array, Array]:
    """Eliminate the unknowns of A x = g, the first one last; A positive definite.

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
