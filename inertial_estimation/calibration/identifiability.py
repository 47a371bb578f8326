"""Identifiability of the offsets from the samples: individually, in combination, or not at all."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.calibration.problem import Unknowns
from inertial_estimation.calibration.solver import Solution
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

NAMED_SHARE = 0.25  # share of a combination below which a joint is not named


class OffsetIdentifiability(Enum):
    """Identifiability of one offset from the samples.

    IDENTIFIABLE: individually. COMBINATION: only in combination with others. NOT: not at all.
    """

    IDENTIFIABLE = "identifiable"
    COMBINATION = "in combination"
    NOT = "not identifiable"


@dataclass(frozen=True, slots=True, eq=False)
class OffsetKnowledge:
    """Identifiability of all offsets from the samples.

    Attributes:
        kinds: One for each joint.
        rank: Number of combinations of offsets known better than the limit.
        singular_values: Of the noise-weighted Jacobian in units of the limit, nuisances eliminated, largest
            first, shape (n,): a combination with the value s is known to limit / s.
        unknown_combinations: Combinations that are not determined, as text ("0.71 a - 0.71 b").
    """

    kinds: tuple[OffsetIdentifiability, ...]
    rank: int
    singular_values: Array
    unknown_combinations: tuple[str, ...]


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
    folded: Array = np.asarray(np.linalg.qr(stacked[:, order], mode="r"))
    corner = folded[unknowns.count - n :, unknowns.count - n :]
    scaled = corner * limit  # columns in units of the limit
    _, values, Vt = linear_algebra.svd(scaled)
    values = np.concatenate([values, np.zeros(n - len(values))])
    known = values >= 1.0
    alone = np.linalg.norm(solution.factor[:, :n], axis=0) * limit
    spread = np.sqrt(np.sum((Vt[known] / values[known, None]) ** 2, axis=0))  # in units of the limit
    null_share = np.sum(Vt[~known] ** 2, axis=0)
    kinds = []
    for j in range(n):
        if alone[j] < 1.0:
            kinds.append(OffsetIdentifiability.NOT)
        elif spread[j] <= 1.0 and null_share[j] < 1e-2:
            kinds.append(OffsetIdentifiability.IDENTIFIABLE)
        else:
            kinds.append(OffsetIdentifiability.COMBINATION)
    names = unknowns.names[:n]
    return OffsetKnowledge(tuple(kinds), int(known.sum()), values, _in_words(Vt[~known], names, kinds))


def _in_words(null: Array, names: tuple[str, ...], kinds: list[OffsetIdentifiability]) -> tuple[str, ...]:
    """Return a sparse basis of the null space, without the joints that have no effect on the residuals."""
    mixed = [j for j, kind in enumerate(kinds) if kind is OffsetIdentifiability.COMBINATION]
    words = []
    for row in null:
        large = [j for j in mixed if abs(row[j]) >= NAMED_SHARE]
        if large:
            row = row * np.sign(row[max(large, key=lambda j: abs(row[j]))])  # a direction has no sign
            words.append(" ".join(f"{row[j]:+.2f} {names[j]}" for j in large))
    return tuple(words)
