"""Expected precision of an identification from a motion: condition numbers, standard deviations, curves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.identification.excitation.design_rows import DesignRows
from inertial_estimation.identification.excitation.information import (
    OBJECTIVES,
    covariance,
    objective,
    plain_condition,
    scaled_condition,
)
from inertial_estimation.identification.identification_result import Identifiability
from inertial_estimation.signals import Array

States = tuple[Array, Array, Array]
"""Positions, velocities and accelerations of the moving joints, shape (k, n) each."""


@dataclass(frozen=True, slots=True)
class BaseDeviation:
    """Expected standard deviation of one base parameter.

    Attributes:
        name: The unknown after which the base parameter is named.
        unit: Its unit.
        sigma: Standard deviation from the noise of the rows; infinite where they do not determine it.
        grouped: Unknowns that are identifiable only in combination with it.
        shares: Coefficient of each of `grouped` in the base parameter.
    """

    name: str
    unit: str
    sigma: float
    grouped: tuple[str, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Expected precision of the unknowns from rows with white noise.

    Attributes:
        samples: Times at which rows are taken.
        rank: Number of base parameters.
        unknowns: Number of unknowns.
        condition: Condition number with all columns scaled to unit length, as identification reports it.
        condition_plain: Condition number of the base columns in SI units.
        objectives: Every objective by name (logarithms).
        deviations: Expected standard deviation of every base parameter.
        not_excited: Unknowns that no motion of this kind excites.
    """

    samples: int
    rank: int
    unknowns: int
    condition: float
    condition_plain: float
    objectives: dict[str, float]
    deviations: tuple[BaseDeviation, ...]
    not_excited: tuple[str, ...]

    @property
    def largest(self) -> float:
        """Largest standard deviation of a base parameter."""
        return max(deviation.sigma for deviation in self.deviations)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Precision as a function of one varied quantity.

    Attributes:
        x: The varied quantity: number of samples, or share of the speed, shape (k,).
        variance: Largest variance of a base parameter [SI units], infinite where singular, shape (k,).
        condition: Scaled condition number, shape (k,).
    """

    x: Array
    variance: Array
    condition: Array


def precision(rows: DesignRows, states: States, noise: float, repeat: float = 1.0) -> Precision:
    """Compute the expected precision from the rows at given states.

    Args:
        rows: Computes the rows of a state.
        states: The states.
        noise: Standard deviation of each row [Nm].
        repeat: How many samples each state stands for.
    """
    base, parameters = rows.base, rows.parameters
    A = rows.stacked(*states)
    M = repeat * A.T @ A
    sigma = np.sqrt(np.diag(covariance(M, base, noise)))
    units = dict(zip(parameters.names, parameters.units, strict=True))
    deviations = []
    for i, c in enumerate(base.columns.tolist()):
        others = base.grouped(i)
        names = tuple(parameters.unknowns[k] for k in others)
        shares = tuple(float(base.coupling[i, k]) for k in others)
        name = parameters.unknowns[c]
        deviations.append(BaseDeviation(name, units[name], float(sigma[i]), names, shares))
    lost = (
        name
        for name, what in zip(parameters.unknowns, base.identifiability, strict=True)
        if what is Identifiability.NOT
    )
    return Precision(
        round(repeat * len(states[0])),
        base.rank,
        A.shape[1],
        scaled_condition(M, base),
        plain_condition(M, base),
        {name: objective(name, M, base)[0] for name in OBJECTIVES},
        tuple(deviations),
        tuple(lost),
    )


def sample_curve(
    rows: DesignRows, states: States, noise: float, counts: Sequence[int], *, spread: bool = True
) -> Curve:
    """Return the precision as a function of the number of samples.

    Args:
        rows: What makes the rows.
        states: The states.
        noise: Standard deviation of each row [Nm].
        counts: Numbers of samples; where they exceed the number of states, each state counts several times.
        spread: Whether the samples are spread evenly over the states instead of being the first ones.
    """
    A = rows.rows(*states)
    informations = []
    for count in counts:
        used = min(count, len(A))
        last = len(A) - 1 if spread else used - 1
        picked = A[np.linspace(0, last, used).round().astype(int)].reshape(-1, A.shape[-1])
        informations.append(count / used * picked.T @ picked)
    return _curve(rows, counts, informations, noise)


def speed_curve(
    rows: DesignRows, states: States, noise: float, shares: Sequence[float], repeat: float = 1.0
) -> Curve:
    """Return the precision of the path at fractions of its speed, with the number of samples unchanged.

    Args:
        rows: What makes the rows.
        states: The states at full speed.
        noise: Standard deviation of each row [Nm].
        shares: Shares of the speed.
        repeat: How many samples each state stands for.
    """
    q, v, a = states
    slowed = [rows.stacked(q, share * v, share**2 * a) for share in shares]
    return _curve(rows, shares, [repeat * A.T @ A for A in slowed], noise)


def _curve(rows: DesignRows, x: Sequence[float], informations: Sequence[Array], noise: float) -> Curve:
    variance = [float(np.diag(covariance(M, rows.base, noise)).max()) for M in informations]
    condition = [scaled_condition(M, rows.base) for M in informations]
    return Curve(np.array(x, dtype=np.float64), np.array(variance), np.array(condition))
