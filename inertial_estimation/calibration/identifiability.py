"""Identifiability of the offsets from the samples: individually, in combination, or not at all."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.calibration.problem import Unknowns
from inertial_estimation.calibration.solver import Solution
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

NAMED_SHARE = 0.25  # share of a combination below which a joint is not named
NULL_SHARE = 0.01  # square of an offset's share in the null space that is neglected


class OffsetIdentifiability(Enum):
    """Identifiability of one offset from the samples.

    IDENTIFIABLE: individually. COMBINATION: only in combination with others. NOT: not at all.
    """

    IDENTIFIABLE = "identifiable"
    COMBINATION = "in combination"
    NOT = "not identifiable"


@dataclass(frozen=True, eq=False)
class OffsetKnowledge:
    """Identifiability of all offsets from the samples."""

    kinds: tuple[OffsetIdentifiability, ...]  # one for each joint
    rank: int  # number of combinations of offsets known better than the limit
    unknown_combinations: tuple[str, ...]  # that are not determined ("0.71 a - 0.71 b")


def offset_knowledge(unknowns: Unknowns, solution: Solution, limit: float | Array) -> OffsetKnowledge:
    """Determine the identifiability from the samples, without the prior that offsets are near zero.

    With A the noise-weighted Jacobian by the offsets, projected off the local unknowns and the nuisances
    (which keep their priors), an offset is identifiable if with all others unknown its standard deviation is
    within the limit, which needs that it has no share in the null space; not identifiable if it is beyond
    the limit even with all others and the nuisances known; in combination (with offsets or nuisances)
    otherwise. Directions with singular values below 1 / limit count as null space.

    Args:
        unknowns: Unknowns of the problem.
        solution: Its solution.
        limit: Standard deviation up to which an offset counts as known [rad or m], one for all or for each.
    """
    n = unknowns.n_offsets
    stacked = np.vstack([solution.factor, np.diag(1.0 / unknowns.prior_sigma)[n:]])
    order = [*range(n, unknowns.count), *range(n)]
    folded = linear_algebra.triangular_factor(stacked[:, order])
    scaled = folded[unknowns.count - n :, unknowns.count - n :] * limit  # columns in units of the limit
    _, values, Vt = linear_algebra.svd(scaled)
    known = np.concatenate([values, np.zeros(n - len(values))]) >= 1.0
    alone = np.linalg.norm(solution.factor[:, :n], axis=0) * limit
    spread = np.linalg.norm(Vt[known] / values[known[: len(values)], None], axis=0)  # in units of the limit
    null_share = np.sum(Vt[~known] ** 2, axis=0)
    kinds = tuple(
        OffsetIdentifiability.NOT
        if alone[j] < 1.0
        else OffsetIdentifiability.IDENTIFIABLE
        if spread[j] <= 1.0 and null_share[j] < NULL_SHARE
        else OffsetIdentifiability.COMBINATION
        for j in range(n)
    )
    words = []
    for row in Vt[~known]:  # without the joints that have no effect on the residuals
        large = [
            j
            for j, kind in enumerate(kinds)
            if kind is OffsetIdentifiability.COMBINATION and abs(row[j]) >= NAMED_SHARE
        ]
        if large:
            sign = np.sign(row[max(large, key=lambda j: abs(row[j]))])  # a direction has no sign
            words.append(" ".join(f"{sign * row[j]:+.2f} {unknowns.names[j]}" for j in large))
    return OffsetKnowledge(kinds, int(known.sum()), tuple(words))
