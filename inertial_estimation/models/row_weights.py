"""Weights of the rows of a measurement equation, as a user states them (the W of Foster et al., eq. 5)."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array


def noise_scale(entries: Sequence[str], names: Sequence[str]) -> Array | None:
    """Return the factors of a covariance that give every row its weight, 1 / sqrt(w_i w_j).

    A weight multiplies the information of its row: four is that of half the standard deviation.

    Args:
        entries: ``row=weight``, the row by name or shell pattern; of several that match the last one counts.
        names: Names of the rows.

    Returns:
        Shape (m, m); None where every weight is one.

    Raises:
        ConfigurationError: If an entry is none, its weight is not positive, or no row matches it.
    """
    weights = np.ones(len(names))
    for entry in entries:
        pattern, weight = _parsed(entry)
        matching = [fnmatchcase(name, pattern) for name in names]
        if not any(matching):
            raise ConfigurationError(f"row_weights: no row '{pattern}'; the measurement has {listing(names)}")
        weights[matching] = weight
    if (weights == 1.0).all():
        return None
    scale = 1.0 / np.sqrt(weights)
    factors: Array = scale[:, None] * scale
    return factors


def _parsed(entry: str) -> tuple[str, float]:
    pattern, _equals, text = entry.partition("=")
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not (pattern.strip() and np.isfinite(weight) and weight > 0.0):
        raise ConfigurationError(f"row_weights: '{entry}', expected row=weight with a positive weight")
    return pattern.strip(), weight
