"""Which single cause explains best what the forces leave unexplained: mass, sensor, geometry or nothing.

Bayesian comparison of linear models. With noise of known size and Gaussian priors the evidence of a cause
with columns H and prior covariance P, after friction and its like have been marginalised (Schur complement
S, g of the normal equations), is

    ln p(y | H) - ln p(y | nothing) = 1/2 g' (S + P^-1)^-1 g - 1/2 ln det(I + P S)

(MacKay, Neural Computation 4, 1992); the second term is the price of a cause that could explain anything. The
size of the noise is that of the residual when all causes act at once, inflated by its correlation in time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.cause import Cause, CauseKind
from inertial_estimation.bring_up.cause_columns import Block, cause_columns, nuisance_columns
from inertial_estimation.bring_up.force_rows import ForceRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

NOISE_FLOOR = 0.005  # of the rms of the measured row
BASE_FLOOR = 0.002
MOST_CORRELATION = 0.95  # of neighbouring windows
KEPT = 6.0  # standard deviations of a residual beyond which it is not trusted


@dataclass(frozen=True, eq=False)
class ForceFit:
    """Result of the comparison.

    Attributes:
        causes: The most probable first.
        unexplained: Rms of the whitened residual without any cause; 1 where the description is right.
        mass_sigma: Standard deviation of each link's mass if only it were wrong [kg], by link.
        masses: Nominal mass [kg], by link.
        friction: Offset, Coulomb, viscous and rotor inertia of each joint, by its name, shape (4,).
        friction_sigma: Their standard deviations.
    """

    causes: tuple[Cause, ...]
    unexplained: float
    mass_sigma: dict[str, float]
    masses: dict[str, float]
    friction: dict[str, Array]
    friction_sigma: dict[str, Array]


def fit_forces(rows: ForceRows, robot: RobotModel, assumed: Sequence[Cause] = ()) -> ForceFit:
    """Compare all causes.

    Args:
        rows: What is unexplained, and the columns.
        robot: The robot, for its mass and effort limits.
        assumed: Causes that were found before; the others are compared on what these do not explain.
    """
    nuisance, nuisance_prior = nuisance_columns(rows, robot)
    columns, blocks = cause_columns(rows, robot)
    r = rows.left
    N, m = r.shape
    A = np.concatenate((nuisance, columns), axis=2)
    priors = np.concatenate((nuisance_prior, *[block.prior for block in blocks]))
    noise, inflation, kept = _noise(A, r, rows, priors)
    weight = kept / noise
    X = (A * weight[:, :, None]).reshape(N * m, -1)
    y = (r * weight).ravel()
    G, b, power = X.T @ X / inflation, X.T @ y / inflation, float(y @ y) / inflation
    first, known, known_prior = nuisance.shape[2], *_marginalised(nuisance_prior, blocks, assumed)
    inner = G[np.ix_(known, known)] + np.diag(known_prior**-2.0)
    solved = linear_algebra.solve(inner, np.column_stack((G[known, first:], b[known])))
    S = G[first:, first:] - G[np.ix_(known, np.arange(first, len(b)))].T @ solved[:, :-1]
    g = b[first:] - G[first:, known] @ solved[:, -1]
    left = max(power - float(b[known] @ solved[:, -1]), 1e-12)
    full = [_judged(block, S, g, left) for block in blocks]
    causes = [_simpler(cause, block, S, g, left) for cause, block in zip(full, blocks, strict=True)]
    best = max(causes, key=lambda cause: cause.evidence)
    columns_of_best = next(b.columns for b in blocks if (b.kind, b.subject) == (best.kind, best.subject))
    others = solved[:, -1] - solved[:, :-1][:, columns_of_best] @ best.amplitude
    rest = (r - A[:, :, known] @ others - columns[:, :, columns_of_best] @ best.amplitude) * weight
    independent = _independent(rest, kept)
    count = max(float(kept.sum()) / inflation, 1.0)
    causes = [_tempered(cause, independent, left / count) for cause in causes]
    causes.sort(key=lambda cause: -cause.evidence)
    covariance = linear_algebra.inv(inner)
    sigma = np.sqrt(np.diag(covariance))
    joints = {name: slice(4 * j, 4 * j + 4) for j, name in enumerate(rows.joints)}
    return ForceFit(
        causes=tuple(causes),
        unexplained=math.sqrt(left / count),
        mass_sigma={c.subject: _left_sigma(c, left / count) for c in full if c.kind is CauseKind.LINK},
        masses=dict(zip(rows.links, rows.masses.tolist(), strict=True)),
        friction={name: solved[part, -1] for name, part in joints.items()},
        friction_sigma={name: sigma[part] for name, part in joints.items()},
    )


def _marginalised(
    nuisance: Array, blocks: Sequence[Block], assumed: Sequence[Cause]
) -> tuple[NDArray[np.int64], Array]:
    """Return the columns that act in any case, and the standard deviations of their priors.

    These are friction and zeros, the tolerances of all links and sensors, and the causes that were found
    before. Without the tolerances the errors of many links, small as in every description, would count as one
    large error of that link by which they are imitated best.
    """
    columns, deviations = [np.arange(len(nuisance))], [nuisance]
    found = {(cause.kind, cause.subject) for cause in assumed}
    for block in blocks:
        if (block.kind, block.subject) in found:
            deviation = block.prior
        elif block.tolerance is not None:
            deviation = block.tolerance
        else:
            continue
        columns.append(len(nuisance) + np.arange(block.columns.start, block.columns.stop))
        deviations.append(deviation)
    return np.concatenate(columns), np.concatenate(deviations)


def _noise(A: Array, r: Array, rows: ForceRows, priors: Array) -> tuple[Array, float, Array]:
    """Return each row's noise, the inflation by correlation in time, and which residuals are trusted.

    The residual is that of all causes at once, each with its prior.
    """
    N, m = r.shape
    size = np.sqrt(np.mean(rows.measured**2, axis=0))
    floor = NOISE_FLOOR * size + BASE_FLOOR * float(size.max()) + 1e-9
    noise = np.maximum(np.sqrt(np.mean(r**2, axis=0)), floor)
    kept = np.ones((N, m))
    for _ in range(3):
        weight = kept / noise
        X = (A * weight[:, :, None]).reshape(N * m, -1)
        information = X.T @ X + np.diag(priors**-2.0)
        x = linear_algebra.solve(information, X.T @ (r * weight).ravel())
        residual = r - A @ x
        rms = np.sqrt(np.sum(kept * residual**2, axis=0) / np.maximum(kept.sum(axis=0), 1.0))
        kept = (np.abs(residual) < KEPT * np.maximum(rms, floor)).astype(float)
        noise = np.maximum(rms, floor)
    white = residual * kept / noise
    neighbours = float(np.sum(white[1:] * white[:-1]) / max(float(kept.sum()), 1.0))
    correlation = min(max(neighbours, 0.0), MOST_CORRELATION)
    return noise, (1.0 + correlation) / (1.0 - correlation), kept


def _independent(rest: Array, kept: Array) -> float:
    """Return how many of the residuals count as independent: theirs over (1 + rho) / (1 - rho)."""
    power = max(float(np.sum(rest**2)), 1e-12)
    rho = min(max(float(np.sum(rest[1:] * rest[:-1])) / power, 0.0), MOST_CORRELATION)
    return max(float(kept.sum()) * (1.0 - rho) / (1.0 + rho), 2.0)


def _tempered(cause: Cause, independent: float, left: float) -> Cause:
    """Limit the evidence to that of a fit whose noise is what the cause itself does not explain.

    -n/2 ln(1 - explained) - k/2 ln n (Schwarz 1978), with n independent residuals: where no cause explains
    most of what is left, the equation itself does not hold, and small differences mean nothing.
    """
    price = 0.5 * np.count_nonzero(cause.sigmas) * math.log(independent)
    bound = -0.5 * independent * math.log(max(1.0 - cause.explained, 1e-6)) - price
    noise = _left_noise(cause, left)
    return replace(cause, evidence=min(cause.evidence, bound), sigmas=cause.sigmas * math.sqrt(noise))


def _left_noise(cause: Cause, left: float) -> float:
    """Return the variance of what a cause does not explain, over that of the noise, at least one."""
    return max(1.0, left * (1.0 - cause.explained))


def _left_sigma(cause: Cause, left: float) -> float:
    return cause.sigma * math.sqrt(_left_noise(cause, left))


def _simpler(cause: Cause, block: Block, S: Array, g: Array, left: float) -> Cause:
    """Return a link with another mass at the described centre of mass, where that is more probable."""
    if block.kind is not CauseKind.LINK:
        return cause
    first = block.columns.start
    alone = _judged(replace(block, columns=slice(first, first + 1), prior=block.prior[:1]), S, g, left)
    if alone.evidence < cause.evidence:
        return cause
    rest = np.zeros(len(cause.amplitude) - 1)
    return replace(
        alone,
        amplitude=np.concatenate((alone.amplitude, rest)),
        sigmas=np.concatenate((alone.sigmas, rest)),
    )


def _judged(block: Block, S: Array, g: Array, left: float) -> Cause:
    part = S[block.columns, block.columns]
    gradient = g[block.columns]
    information = part + np.diag(block.prior**-2.0)
    covariance = linear_algebra.inv(information)
    amplitude = covariance @ gradient
    scaled = block.prior[:, None] * part * block.prior
    values = np.maximum(linear_algebra.eigvalsh(scaled), 0.0)
    gain = 0.5 * float(gradient @ amplitude)
    return Cause(
        kind=block.kind,
        subject=block.subject,
        amplitude=amplitude,
        sigmas=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
        evidence=gain - 0.5 * float(np.sum(np.log1p(values))),
        explained=min(2.0 * gain / left, 1.0),
        matters=block.matters,
        wrong=block.wrong,
    )
