"""Evidence of each cause for the residual of the equation of motion, and its amplitude with sigma.

Bayesian comparison of linear models. With noise of known size and Gaussian priors the evidence of a cause
with columns H and prior covariance P, after the nuisance columns (friction, zeros) have been marginalised
(Schur complement S, g of the normal equations), is

    ln p(y | H) - ln p(y | no cause) = 1/2 g' (S + P^-1)^-1 g - 1/2 ln det(I + P S)

(MacKay, Neural Computation 4, 1992); the second term penalises a cause that could explain any residual. The
size of the noise is that of the residual when all causes act at once, inflated by its correlation in time.
The tolerances of every description and sensor are marginalised, too, lest many small errors seem a large one.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.causes import INERTIA, LINK, Cause, Estimate, causes_of, nuisance
from inertial_estimation.diagnosis.evidence import gained, independent
from inertial_estimation.diagnosis.forces import ForceRows
from inertial_estimation.diagnosis.table import Indices, Robot
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

CRUDE = np.geomspace(1.0, 9.0, 3)  # factors of all tolerances: as manufactured, made by hand, crude
NOISE_FLOOR, BASE_FLOOR = 0.005, 0.002  # least noise, share of the rms of its own row and of the largest row
KEPT = 6.0  # standard deviations beyond which a residual is an outlier
WORSE = 1.05  # most that a cause may multiply the rms of the residuals of base or joints by


@dataclass(frozen=True, eq=False)
class ForceFit:
    """Result of the comparison of all causes."""

    causes: tuple[Cause, ...]  # with their estimates, the most probable first
    unexplained: float  # rms of the whitened residual without any cause; 1 if the description is right
    mass_sigma: dict[str, float]  # standard deviation of each link's mass if only it is wrong [kg], by link
    log: float  # log evidence of the readings without any cause


class Problem(NamedTuple):
    """Normal equations of all columns: those of friction and zeros first, then those of the causes."""

    rows: ForceRows  # residuals of the equation of motion with all columns
    A: Array  # all columns, shape (N, m, c)
    G: Array  # information matrix of all columns, A' A whitened, shape (c, c)
    b: Array  # right-hand side, A' r whitened, shape (c,)
    power: float  # sum of squares of the whitened residuals
    weight: Array  # one over the standard deviation of the noise, zero of outliers, shape (N, m)
    readings: float  # number of independent residuals
    causes: list[Cause]  # each with the indices of its columns
    nuisance: Array  # deviations of the priors of friction and zeros

    def marginalised(self, wrong: Collection[Cause] = (), crude: float = 1.0) -> tuple[Indices, Array]:
        """Return the columns that are always marginalised, with their prior deviations.

        These are nuisance, causes with tolerances (times `crude`, of one as manufactured) and those `wrong`.
        """
        columns, deviations = [np.arange(len(self.nuisance))], [self.nuisance]
        for cause in self.causes:
            deviation = cause.prior if cause in wrong else cause.tolerance
            if deviation is not None:
                deviation = np.minimum(crude * deviation, cause.prior)
                columns.append(np.array(cause.place))
                deviations.append(deviation)
        return np.concatenate(columns), np.concatenate(deviations)


def problem(rows: ForceRows, robot: Robot) -> Problem:
    """Return the normal equations of some rows, whitened and without outliers."""
    friction, friction_prior = nuisance(rows, robot)
    causes, every, end = list[Cause](), [friction], len(friction_prior)
    for cause, columns in causes_of(rows, robot):
        causes.append(replace(cause, place=range(end, end := end + columns.shape[2])))
        every.append(columns)
    A, r = np.concatenate(every, axis=2), rows.left
    noise, inflation, kept = _noise(A, rows, np.concatenate((friction_prior, *(c.prior for c in causes))))
    weight = kept / noise
    X, y = (A * weight[:, :, None]).reshape(r.size, -1), (r * weight).ravel()
    G, b, power = X.T @ X / inflation, X.T @ y / inflation, float(y @ y) / inflation
    heights, levels = rows.foot_heights
    c = A.shape[2] - levels.shape[1]  # the geometry comes last
    G[c:, c:] += levels.T @ levels
    b[c:] += levels.T @ heights
    count = max(float(kept.sum()) / inflation, 1.0)
    return Problem(rows, A, G, b, power + float(heights @ heights), weight, count, causes, friction_prior)


def fit_forces(system: Problem, crude: float = 1.0) -> ForceFit:
    """Compare all causes; tolerances are `crude` times those of a description as manufactured."""
    rows, A, G, b, power, weight, count, blocks, _nuisance = system
    known, prior = system.marginalised(crude=crude)
    inner = G[np.ix_(known, known)] + np.diag(prior**-2.0)
    solved = linear_algebra.solve(inner, np.column_stack((G[known], b[known])))
    S, g = G - G[:, known] @ solved[:, :-1], b - G[:, known] @ solved[:, -1]
    explained = float(b[known] @ solved[:, -1])
    log_det = float(np.linalg.slogdet(inner)[1]) + 2.0 * float(np.log(prior).sum())
    left = max(power - explained, 1e-12)
    tried = [[_judged(one, S, g, left, count) for one in cause.variants()] for cause in blocks]
    causes = sorted(map(_most_probable, tried), key=lambda one: one.estimate.evidence, reverse=True)
    changes = np.zeros((A.shape[2], len(causes)))  # of all columns, by each cause
    for i, cause in enumerate(causes):
        changes[cause.place, i] = cause.estimate.amplitude
    changes[known] -= solved[:, :-1] @ changes
    before = ((rows.left - A[:, :, known] @ solved[:, -1]) * weight)[..., None]
    after = before - (A @ changes) * weight[..., None]
    worsens = _worsens(before, after, rows.n_base)
    count_left = independent(after[..., 0], float((weight > 0.0).sum()))
    causes = [_tempered(*one, count_left, left / count) for one in zip(causes, worsens, strict=True)]
    causes.sort(key=lambda one: one.estimate.evidence, reverse=True)
    links = [every[1] for every in tried if every[0].kind is LINK]  # mass with first moments
    return ForceFit(
        causes=tuple(causes),
        unexplained=math.sqrt(left / count),
        mass_sigma={c.subject: c.sigma * math.sqrt(_left_noise(c, left / count)) for c in links},
        log=0.5 * (explained - log_det),
    )


def net_evidence(cause: Cause, fit: ForceFit, system: Problem) -> float:
    """Return the log evidence of a cause against a description with the most probable size of tolerances.

    `fit` is the comparison with tolerances as manufactured.
    """
    fits = [fit, *(fit_forces(system, crude) for crude in CRUDE[1:].tolist())]
    own = cause.kind.check, cause.subject
    logs = [f.log + c.estimate.evidence for f in fits for c in f.causes if (c.kind.check, c.subject) == own]
    return max(logs) - max(fit.log for fit in fits)


def _worsens(before: Array, after: Array, n_base: int) -> list[bool]:
    """Return, for each cause, whether it enlarges the residuals of base forces, moments or joints."""
    parts = np.split(np.arange(before.shape[1]), [3, n_base] if n_base else [])
    was, now = (np.array([np.linalg.norm(x[:, p], axis=(0, 1)) for p in parts]) for x in (before, after))
    worse: list[bool] = (now > WORSE * np.maximum(was, 1e-9)).any(axis=0).tolist()
    return worse


def _noise(A: Array, rows: ForceRows, priors: Array) -> tuple[Array, float, Array]:
    """Return each row's noise, the inflation by correlation in time, and which residuals are no outliers.

    The residual is that of all causes at once, each with its prior. Its degrees of freedom are the readings
    less their leverages, h = x' (X'X + P^-1)^-1 x: the fit follows readings of high leverage anyway.
    """
    r = rows.left
    N, m = r.shape
    size = np.sqrt(np.mean(rows.measured**2, axis=0))
    floor = NOISE_FLOOR * size + BASE_FLOOR * float(size.max()) + 1e-9
    noise, kept, residual = np.maximum(np.sqrt(np.mean(r**2, axis=0)), floor), np.ones((N, m)), r
    for _pass in range(2):
        weight = kept / noise
        X = (A * weight[:, :, None]).reshape(N * m, -1)
        covariance = linear_algebra.inv(X.T @ X + np.diag(priors**-2.0))
        residual = r - A @ (covariance @ X.T @ (r * weight).ravel())
        leverage = np.sum((X @ covariance) * X, axis=1).reshape(N, m)
        rms = np.sqrt(np.sum(kept * residual**2, axis=0) / np.maximum((kept - leverage).sum(axis=0), 1.0))
        kept = (np.abs(residual) < KEPT * np.maximum(rms, floor)).astype(float)
        noise = np.maximum(rms, floor)
    white = residual * kept / noise
    count = float(kept.sum())
    return noise, count / independent(white, count, max(count, 1.0)), kept


def _tempered(cause: Cause, worsens: bool, count: float, left: float) -> Cause:
    """Bound the evidence of a cause by that of a fit whose noise is the residual after this cause.

    -n/2 ln(1 - explained) - k/2 ln n (Schwarz 1978), with n independent residuals: if no cause explains most
    of the residual, the equation of motion does not hold, and small differences of residuals mean nothing.
    """
    seen, noise = cause.estimate, _left_noise(cause, left)
    price = 0.5 * np.count_nonzero(seen.sigmas) * math.log(count)
    bound = -0.5 * count * math.log(max(1.0 - seen.explained, 1e-6)) - price
    evidence, sigmas = min(seen.evidence, bound), seen.sigmas * math.sqrt(noise)
    return replace(cause, estimate=seen._replace(evidence=evidence, sigmas=sigmas, worsens=worsens))


def _left_noise(cause: Cause, left: float) -> float:
    """Return the variance of the residual after a cause over that of the noise, at least one."""
    return max(1.0, left * (1.0 - cause.estimate.explained))


def _most_probable(variants: list[Cause]) -> Cause:
    """Return the most probable variant; one with rotational inertia must explain much more than the mass."""
    without, rest = variants[:2], variants[2:]
    explained = {LINK: without[-1].estimate.explained, INERTIA: 0.0}
    spread = [one for one in rest if one.estimate.explained > explained[one.kind] + INERTIA.explains]
    return max([*without, *spread], key=lambda one: one.estimate.evidence)


def _judged(cause: Cause, S: Array, g: Array, left: float, noise: float) -> Cause:
    amplitude, covariance, odds = gained(S[np.ix_(cause.place, cause.place)], g[cause.place], cause.prior)
    power = min(float(g[cause.place] @ amplitude), left)
    sigmas, share = np.sqrt(np.maximum(np.diag(covariance), 0.0)), power / max(left - noise, power, 1e-12)
    return replace(cause, estimate=Estimate(amplitude, sigmas, float(odds), power / left, share))
