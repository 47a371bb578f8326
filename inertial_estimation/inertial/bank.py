"""The bank of causes: which one explains the innovations of the last blocks, by evidence.

Residuals r of K blocks, whitened by their noise and by the correlation of one block with the next, are

    r = H dx + B c + e,    dx ~ N(0, P), c ~ N(0, 1)

with H = A dphi/dx the sensitivity to what the filter knows, and B the columns of a cause since onset. With
S = 1 + H P H', G = B' S^-1 B and g = B' S^-1 r the evidence of the cause over none is, for Gaussian noise,

    1/2 g' (1 + G)^-1 g - 1/2 log det(1 + G)

for every cause and onset. The best are then compared with none and with larger noise by errors of each
row that have Student's t with one scale in the window: - (nu + K) / 2 log(1 + rss / nu) a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from inertial_estimation.inertial.hypotheses import (
    NOISE_FACTORS,
    NOISE_POWER,
    TABLE,
    CauseColumns,
    CauseTable,
    Kind,
    Row,
    stacked,
)
from inertial_estimation.inertial.information import RowBlock
from inertial_estimation.inertial.noise import FREEDOM, NoiseScale
from inertial_estimation.inertial.posterior import Posterior
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

COMPARED = 12  # causes that are compared by Student's t
SKIPPED = -4.0  # log odds of the best cause against none, below which none is taken
OFFSET = 1.5  # of each row, of model errors that outlast a window, in its standard deviation
STRADDLING = 2  # first blocks since an onset, whose windows contain readings before it
PUSH_S, PUSH_DURATION_S = 3.5, 1.0  # for which any push may last, and its mean duration [s]
LOST = 0.1  # share of a load that may come off in addition to it
OWN_MASS = 0.5  # share of the body's own mass that can come off
OWN_LOST = 1e-4  # prior probability that a body loses some of it: a push upwards is far more frequent
SMALLEST_MASS = 0.02  # of a load, in expected loads, for the prior of its place


@dataclass(frozen=True, eq=False)
class BankBlock:
    """A block of equations with the columns of its causes.

    Attributes:
        rows: The equations.
        columns: Of all causes.
        equation: The measurement that the rows are of; None where no further body is estimated later.
    """

    rows: RowBlock
    columns: CauseColumns
    equation: LinearEquation | None = None


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A cause, when it has begun, and how well it explains the data.

    Attributes:
        kind: What it says.
        row: Its row of the table; None for none and for larger noise.
        index: Number of the body or input.
        blocks: Number of blocks since its onset.
        log_odds: Logarithm of prior times evidence, relative to that of no cause.
        amplitudes: In units of their expected size; those of the last block where they vary, shape (d,).
        misfit: Mean square of the whitened residuals that it leaves, since its onset.
        worst_row: The same of the row that it explains worst.
        factor: Of the noise; one for others.
    """

    kind: Kind
    row: Row | None = None
    index: int = 0
    blocks: int = 0
    log_odds: float = 0.0
    amplitudes: Array | None = None
    misfit: float = 1.0
    worst_row: float = 1.0
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the bank finds of the last blocks.

    Attributes:
        hypotheses: The compared ones, the most probable first.
        probabilities: Of each, shape (k,).
    """

    hypotheses: tuple[Hypothesis, ...]
    probabilities: Array

    @property
    def best(self) -> Hypothesis:
        """The most probable one."""
        return self.hypotheses[0]

    def probability(self, *kinds: Kind) -> float:
        """Return the probability of some kinds of causes."""
        return float(
            sum(p for h, p in zip(self.hypotheses, self.probabilities, strict=True) if h.kind in kinds)
        )


class _Window:
    """Whitened residuals and sensitivities of some blocks, what the filter does not know projected out."""

    def __init__(self, blocks: Sequence[BankBlock], posterior: Posterior, noise: NoiseScale) -> None:
        at, rho = posterior.at, noise.correlation[noise.groups]
        root = np.sqrt(1.0 - rho**2)
        self.whiteners = linear_algebra.inv(
            linear_algebra.cholesky(np.array([noise.doubted(b.rows.noise) for b in blocks]))
        )
        A, value = np.array([b.rows.A for b in blocks]), np.array([b.rows.value for b in blocks])
        raw = np.matmul(self.whiteners, (value - A @ at.phi)[:, :, None])[:, :, 0]
        slopes = np.matmul(self.whiteners, A @ at.D)
        self._rho, self._root = rho, root
        self.r, self.H = self.uncorrelated(raw), self.uncorrelated(slopes)
        K, m, n = self.H.shape
        L = linear_algebra.cholesky(posterior.P + 1e-12 * np.eye(n) * np.trace(posterior.P) / n)
        sigmas = np.array([np.sqrt(noise.doubted(b.rows.noise).diagonal()) for b in blocks])
        offsets = self.whiteners * (OFFSET * sigmas[:, None, :])
        HL = np.concatenate((self.H @ L, self.uncorrelated(offsets)), axis=2)
        self.HL = HL.reshape(K * m, -1)
        self.M = linear_algebra.inv(np.eye(n + m) + self.HL.T @ self.HL)
        self.Sr = self.projected(self.r.ravel()).reshape(K, m)

    def uncorrelated(self, values: Array) -> Array:
        """Return (v_k - rho v_k-1) / sqrt(1 - rho^2) along the first axis, rows on the second."""
        shape = (-1, *(1,) * (values.ndim - 2))
        rho, root = self._rho.reshape(shape), self._root.reshape(shape)
        found: Array = values.copy()
        found[1:] = (values[1:] - rho * values[:-1]) / root
        return found

    def projected(self, flat: Array) -> Array:
        """Return S^-1 times values, (K m,) or (K m, d)."""
        found: Array = flat - self.HL @ (self.M @ (self.HL.T @ flat))
        return found

    def whitened(self, columns: Array, onset: int, *, constant: bool) -> Array:
        """Return the columns of one cause since an onset, (K m, d), or d for each block where it varies.

        Args:
            columns: Not whitened, shape (K, m, d).
            onset: First block of it.
            constant: Whether the amplitudes stay the same.
        """
        K, m, d = columns.shape
        white = np.matmul(self.whiteners, columns)
        white[:onset] = 0.0
        if constant:
            return self.uncorrelated(white).reshape(K * m, d)
        wide = np.zeros((K, m, K - onset, d))
        for k in range(onset, K):
            wide[k, :, k - onset] = white[k]
        return self.uncorrelated(wide.reshape(K, m, -1)).reshape(K * m, -1)


def lasting(h: Hypothesis, held_s: float) -> float:
    """Return the loss of log odds of a push that has lasted, beyond the time for which any push may.

    At rest no data tell a steady press from a load: the longer an unknown force lasts, the likelier a load.

    Args:
        h: The hypothesis.
        held_s: Time that the event has lasted [s].
    """
    return held_s / PUSH_DURATION_S if h.kind in (Kind.PRESS, Kind.PUSH) else 0.0


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
    ) -> Verdict:
        """Return what explains the residuals of some blocks.

        Args:
            blocks: The last ones, the newest last.
            posterior: What the filter knows without them.
            noise: Noise as known now.
            held_s: Time that the event has lasted [s].
        """
        window = _Window(blocks, posterior, noise)
        dt = blocks[-1].rows.dt
        found = [
            h
            for row in TABLE
            if row.after_s <= held_s or (row.kind is Kind.VARYING and self.expected.any())
            for h in self._gaussian(row, blocks, window, dt)
            if row.after_s <= held_s or self.expected[h.index]
        ]
        if held_s > PUSH_S:
            found = [replace(h, log_odds=h.log_odds - lasting(h, held_s)) for h in found]
        found.sort(key=lambda h: -h.log_odds)
        nominal = self._student(Hypothesis(Kind.NOMINAL), blocks, window, 0.0)
        larger = [self._larger_noise(factor, window) for factor in NOISE_FACTORS]
        worth = [h for h in found if h.log_odds > SKIPPED][:COMPARED]
        if not worth and max(h.log_odds for h in larger) - nominal.log_odds < SKIPPED:
            return Verdict(
                (Hypothesis(Kind.NOMINAL, misfit=nominal.misfit, worst_row=nominal.worst_row),), np.ones(1)
            )
        compared = [nominal, *larger, *(self._student(h, blocks, window, dt) for h in worth)]
        if held_s > PUSH_S:
            compared = [replace(h, log_odds=h.log_odds - lasting(h, held_s)) for h in compared]
        compared.sort(key=lambda h: -h.log_odds)
        logs = np.array([h.log_odds for h in compared])
        p = np.exp(logs - logs.max())
        return Verdict(tuple(compared), p / p.sum())

    def _gaussian(
        self, row: Row, blocks: Sequence[BankBlock], window: _Window, dt: float
    ) -> list[Hypothesis]:
        """Return the hypotheses of a row of the table, each with its best onset, by Gaussian evidence."""
        columns = stacked([block.columns for block in blocks], row)
        K, n, m, d = columns.shape
        if not n:
            return []
        white = np.matmul(window.whiteners, columns.transpose(0, 2, 1, 3).reshape(K, m, n * d))
        if row.constant:
            white = window.uncorrelated(white)
        turned = np.ascontiguousarray(white.transpose(0, 2, 1))
        cross = np.matmul(turned, window.HL.reshape(K, m, -1)).reshape(K, n, d, -1)
        slope = np.matmul(turned, window.Sr[:, :, None]).reshape(K, n, d)
        parts = turned.reshape(K, n, d, m)
        own = np.matmul(parts, parts.transpose(0, 1, 3, 2))
        prior = np.log(dt / row.period_s)
        if row.constant:
            own, cross, slope = (np.cumsum(part[::-1], axis=0)[::-1] for part in (own, cross, slope))
        states = cross.shape[-1]
        known = np.matmul(cross.reshape(-1, states), window.M).reshape(cross.shape)
        G = own - np.matmul(known, cross.transpose(0, 1, 3, 2))
        gain = self._evidence(row, G, slope)
        if not row.constant:
            gain = np.cumsum(gain[::-1], axis=0)[::-1]
        gain = gain + prior
        if row.columns == "loads":
            gain = gain + self.expected
        onsets = gain.argmax(axis=0)
        best = gain[onsets, np.arange(n)] + np.log(np.exp(gain - gain.max(axis=0)).sum(axis=0))
        return [Hypothesis(row.kind, row, i, K - int(onsets[i]), float(best[i])) for i in range(n)]

    def _evidence(self, row: Row, G: Array, g: Array) -> Array:
        """Return the Gaussian evidence of amplitudes with the prior of the row, shape (K, n)."""
        d = G.shape[-1]
        inner = G + np.eye(d)
        c = linear_algebra.solve(inner, g[..., None])[..., 0]
        if row.kind in (Kind.LOAD, Kind.PRESS):
            Q = self._load_precision(c[..., 0])
            inner = G + Q
            c = linear_algebra.solve(inner, g[..., None])[..., 0]
            log_prior = np.linalg.slogdet(Q)[1]
            if row.kind is Kind.LOAD:
                log_prior = log_prior + 2.0 * self._log_mass(c[..., 0], inner)
        else:
            log_prior = 0.0
        gain: Array = 0.5 * (g * c).sum(axis=-1) - 0.5 * (np.linalg.slogdet(inner)[1] - log_prior)
        return gain

    def _log_mass(self, mass: Array, inner: Array, body: int | slice = slice(None)) -> Array:
        """Return the log probability of the mass of loads, relative to either sign alike.

        A load has a positive mass, and one that comes off at most what the body carries; rarely the body
        loses some of its own.

        Args:
            mass: In expected loads, shape (...,).
            inner: Inverse covariance of the amplitudes, shape (..., 4, 4).
            body: Bodies that the last axis stands for.
        """
        sigma = np.sqrt(linear_algebra.inv(inner)[..., 0, 0])
        unit = self.table.load_size[0]
        lost = (1.0 + LOST) * self.carried[body] / unit
        own = lost + OWN_MASS * self.table.candidates.masses[body] / unit
        logs: Array = np.log(2.0) + np.logaddexp(
            log_ndtr((mass + lost) / sigma), np.log(OWN_LOST) + log_ndtr((mass + own) / sigma)
        )
        return logs

    def _load_precision(self, mass: Array, body: int | None = None) -> Array:
        """Return the inverse covariance of mass and first moment of loads of about some mass, (..., 4, 4).

        A load sits on its body: its first moment has the covariance m^2 `spread`.
        """
        spread = self.table.spread if body is None else self.table.spread[body]
        m2 = np.maximum(mass**2, SMALLEST_MASS**2)[..., None, None]
        Q = np.zeros((*mass.shape, 4, 4))
        Q[..., 0, 0] = 1.0
        Q[..., 1:, 1:] = linear_algebra.inv(m2 * spread)
        return Q

    def _student(self, h: Hypothesis, blocks: Sequence[BankBlock], window: _Window, dt: float) -> Hypothesis:
        """Return a hypothesis with its evidence by Student's t of each row."""
        K, m = window.r.shape
        r, penalty, log_det, amplitudes = window.r.ravel(), 0.0, 0.0, None
        row = h.row
        if row is not None:
            columns = np.array([getattr(block.columns, row.columns)[h.index] for block in blocks])
            B = window.whitened(columns, K - h.blocks, constant=row.constant)
            SB = window.projected(B)
            G, g = B.T @ SB, SB.T @ r
            Q = np.eye(len(G))
            c = linear_algebra.solve(G + Q, g)
            if h.kind in (Kind.LOAD, Kind.PRESS):
                Q = self._load_precision(c[:1], h.index)[0]
                c = linear_algebra.solve(G + Q, g)
            expected = self.expected[h.index] if row.columns == "loads" else 0.0
            penalty = float(c @ Q @ c) - 2.0 * (np.log(dt / row.period_s) + expected)
            log_det = float(np.linalg.slogdet(G + Q)[1] - np.linalg.slogdet(Q)[1])
            if h.kind is Kind.LOAD:
                log_det -= 2.0 * float(self._log_mass(c[0], G + Q, h.index))
            amplitudes = (
                self._reported(window, B, Q, m * min(K - h.blocks + STRADDLING, K - 1))
                if row.constant
                else c[-columns.shape[2] :]
            )
            r = r - B @ c
        dx = window.M @ (window.HL.T @ r)
        penalty += float(dx @ dx)
        rest = (r - window.HL @ dx).reshape(K, m) ** 2
        log_p = -0.5 * (FREEDOM + K) * np.log1p(rest.sum(axis=0) / FREEDOM).sum() - 0.5 * (penalty + log_det)
        since = rest[min(K - h.blocks + STRADDLING, K - 1) :] if h.blocks else rest
        misfit, worst = float(since.mean()), float(since.mean(axis=0).max())
        return Hypothesis(h.kind, row, h.index, h.blocks, float(log_p), amplitudes, misfit, worst)

    @staticmethod
    def _reported(window: _Window, B: Array, Q: Array, first: int) -> Array:
        """Return the amplitudes for messages: without model errors, from rows whose windows hold no onset.

        Args:
            window: The residuals.
            B: Whitened columns, shape (K m, d).
            Q: Inverse covariance of the amplitudes' prior, shape (d, d).
            first: First of these rows.
        """
        B, r, known = B[first:], window.r.ravel()[first:], window.HL[first:, : window.H.shape[2]]
        M = linear_algebra.inv(np.eye(known.shape[1]) + known.T @ known)
        SB = B - known @ (M @ (known.T @ B))
        return linear_algebra.solve(B.T @ SB + Q, SB.T @ r)

    @staticmethod
    def _larger_noise(factor: float, window: _Window) -> Hypothesis:
        """Return the hypothesis of larger noise in all rows of the window."""
        K, m = window.r.shape
        r = window.r.ravel()
        dx = window.M @ (window.HL.T @ r)
        rest = (r - window.HL @ dx).reshape(K, m) ** 2 / factor**2
        log_p = -0.5 * (FREEDOM + K) * np.log1p(rest.sum(axis=0) / FREEDOM).sum()
        log_p += -0.5 * float(dx @ dx) - K * m * np.log(factor) - NOISE_POWER * np.log(factor)
        return Hypothesis(
            Kind.NOISE,
            log_odds=float(log_p),
            factor=factor,
            misfit=float(rest.mean()),
            worst_row=float(rest.mean(axis=0).max()),
        )
