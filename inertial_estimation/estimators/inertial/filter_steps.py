"""Arithmetic of one update of an inertial filter: prediction, comparison with a measurement, correction.

Compiled functions write their results into arrays that their callers have made: an array that a compiled
function returns costs a microsecond of its own.
"""

import math

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled
from inertial_estimation.signals import Array
from inertial_estimation.spatial.positive_definite import factor, normalised_square, solution

__all__ = ["compared", "corrected", "decayed", "largest_step", "predicted"]


def decayed(
    x: Array, centre: Array, P: Array, x_nominal: Array, P_prior: Array, decay: Array
) -> tuple[Array, Array, Array]:
    """Return state, centre of the prior and covariance after a time in which they decay to nominal.

    Args:
        x: State, shape (n,).
        centre: Mean of the prior, shape (n,).
        P: Covariance of the state, shape (n, n).
        x_nominal: State to which both decay, shape (n,).
        P_prior: Stationary covariance, shape (n, n).
        decay: exp(-dt / T) of each state, 0 to 1, shape (n,).
    """
    out = np.empty_like(x), np.empty_like(x), np.empty_like(P)
    _decayed(x, centre, P, x_nominal, P_prior, decay, *out)
    return out


def predicted(
    state: tuple[Array, Array, Array],
    nominal: tuple[Array, Array, Array],
    at: tuple[Array, int, Array, Array],
    measurement: tuple[Array, Array, Array],
) -> tuple[tuple[Array, Array, Array], float, tuple[Array, Array, Array, Array, float, float]]:
    """Let a state decay to nominal and compare a measurement with it, as `decayed` and `compared` do.

    Args:
        state: State, centre of the prior and covariance.
        nominal: Nominal state, stationary covariance, and exp(-dt / T) of each state.
        at: Linearisation: dphi/dx, number of coordinates of bodies, the parameters phi, and the point.
        measurement: A, z and R.

    Returns:
        Results of `decayed`, the distance of the coordinates of bodies from the point (`largest_step`), and
        results of `compared`.
    """
    x, _centre, P = state
    G, curved, phi, x_at = at
    regressor, value, noise = measurement
    after = np.empty_like(x), np.empty_like(x), np.empty_like(P)
    H, HP = regressor.copy(), np.empty_like(regressor)
    y, S = np.empty_like(value), np.empty_like(noise)
    out = (*after, H, HP, y, S)
    distance, nis, log_det = _predicted(*state, *nominal, G, curved, phi, x_at, *measurement, *out)
    return after, distance, (H, HP, y, S, nis, log_det)


@compiled
def largest_step(x: Column, x_at: Column, n: int) -> float:
    """Return the largest distance of the first n coordinates from those of another point."""
    return float(np.abs(x[:n] - x_at[:n]).max())


def compared(
    G: Array,
    curved: int,
    phi: Array,
    x_at: Array,
    x: Array,
    P: Array,
    regressor: Array,
    value: Array,
    noise: Array,
) -> tuple[Array, Array, Array, Array, float, float]:
    """Compare a measurement with the prediction of a state.

    Args:
        G: dphi/dx at the point of linearisation, shape (n, n).
        curved: Number of coordinates of bodies, the first ones; the others are parameters themselves.
        phi: Parameters there, shape (n,).
        x_at: The point, shape (n,).
        x: State, shape (n,).
        P: Its covariance, shape (n, n).
        regressor: A of the measurement, shape (m, n).
        value: Its value z, shape (m,).
        noise: Covariance R of its noise, shape (m, m).

    Returns:
        H = A G, H P, the innovation y = z - A (phi + G (x - x_at)), its covariance S = H P H' + R,
        the NIS y' S^-1 y, infinite where floating point cannot factorise S, and log det S, NaN there.
    """
    H, HP = regressor.copy(), np.empty_like(regressor)
    y, S = np.empty_like(value), np.empty_like(noise)
    nis, log_det = _compared(G, curved, phi, x_at, x, P, regressor, value, noise, H, HP, y, S)
    return H, HP, y, S, nis, log_det


def corrected(
    x: Array,
    P: Array,
    H: Array,
    HP: Array,
    y: Array,
    S: Array,
    noise: Array,
    overlap: float,
    gained: Array,
) -> tuple[Array, Array, bool]:
    """Correct a state and its covariance with one measurement.

    P = (1 - K H) P (1 - K H)' + K R K' (Joseph), evaluated with the low rank of K, exactly symmetric.

    Args:
        x: State, shape (n,).
        P: Its covariance, shape (n, n).
        H: Jacobian of the measurement, shape (m, n).
        HP: H P, shape (m, n).
        y: Innovation, shape (m,).
        S: Its covariance, shape (m, m).
        noise: Part of the measurement's noise in it, shape (m, m).
        overlap: Measurements that share their noise, which this one is corrected for: R = overlap noise.
        gained: One for states that are corrected, zero for those that are considered, shape (n,).

    Returns:
        State, covariance, and whether floating point suffices for them; else they are as before.
    """
    x_new, P_new = np.empty_like(x), np.empty_like(P)
    if not _corrected(x, P, H, HP, y, S, noise, overlap, gained, x_new, P_new):
        return x, P, False
    return x_new, P_new, True


@compiled
def _decayed(
    x: Column,
    centre: Column,
    P: Table,
    x_nominal: Column,
    P_prior: Table,
    decay: Column,
    x_new: MutableColumn,
    centre_new: MutableColumn,
    P_new: MutableTable,
) -> None:
    kept = decay.reshape(-1, 1) * decay
    x_new[:] = x_nominal + decay * (x - x_nominal)
    centre_new[:] = x_nominal + decay * (centre - x_nominal)
    P_new[:] = kept * P + (1.0 - kept) * P_prior


@compiled
def _compared(
    G: Table,
    curved: int,
    phi: Column,
    x_at: Column,
    x: Column,
    P: Table,
    regressor: Table,
    value: Column,
    noise: Table,
    H: MutableTable,
    HP: MutableTable,
    y: MutableColumn,
    S: MutableTable,
) -> tuple[float, float]:
    """Write the results of `compared`, H the regressor at first; return NIS and log det S."""
    H[:, :curved] = np.ascontiguousarray(H[:, :curved]) @ np.ascontiguousarray(G[:curved, :curved])
    y[:] = value - regressor @ phi - H @ (x - x_at)
    HP[:] = H @ P
    S[:] = HP @ H.T + noise
    F, positive = factor(S)
    if not positive:
        return math.inf, math.nan
    return normalised_square(F, y), 2.0 * np.log(np.diag(F)).sum()


@compiled
def _predicted(
    x: Column,
    centre: Column,
    P: Table,
    x_nominal: Column,
    P_prior: Table,
    decay: Column,
    G: Table,
    curved: int,
    phi: Column,
    x_at: Column,
    regressor: Table,
    value: Column,
    noise: Table,
    x_new: MutableColumn,
    centre_new: MutableColumn,
    P_new: MutableTable,
    H: MutableTable,
    HP: MutableTable,
    y: MutableColumn,
    S: MutableTable,
) -> tuple[float, float, float]:
    """Write the results of `decayed` and `compared`; return the distance from x_at, NIS and log det S."""
    _decayed(x, centre, P, x_nominal, P_prior, decay, x_new, centre_new, P_new)
    nis, log_det = _compared(G, curved, phi, x_at, x_new, P_new, regressor, value, noise, H, HP, y, S)
    return largest_step(x_new, x_at, curved) if curved > 0 else 0.0, nis, log_det


@compiled
def _corrected(
    x: Column,
    P: Table,
    H: Table,
    HP: Table,
    y: Column,
    S: Table,
    noise: Table,
    overlap: float,
    gained: Column,
    x_new: MutableColumn,
    P_new: MutableTable,
) -> bool:
    F, positive = factor(S + (overlap - 1.0) * noise)
    if not positive:
        return False
    Kt = solution(F, HP) * gained
    x_new[:] = x + y @ Kt
    if not math.isfinite(x_new.sum()):
        return False
    half = P - Kt.T @ HP
    half = half - (half @ H.T - overlap * (Kt.T @ noise)) @ Kt
    P_new[:] = 0.5 * (half + half.T)
    return True
