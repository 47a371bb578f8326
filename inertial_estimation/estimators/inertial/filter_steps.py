"""Arithmetic of one update of an inertial filter: prediction, comparison with a measurement, correction."""

import math

import numpy as np

from inertial_estimation.compilation import Column, Table, compiled
from inertial_estimation.signals import Array
from inertial_estimation.spatial.positive_definite import factor, normalised_square, solution

__all__ = ["compared", "corrected", "decayed", "largest_step"]


@compiled
def decayed(
    x: Column,
    centre: Column,
    P: Table,
    x_nominal: Column,
    P_prior: Table,
    decay: Column,
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
    kept = decay.reshape(-1, 1) * decay
    return (
        x_nominal + decay * (x - x_nominal),
        x_nominal + decay * (centre - x_nominal),
        kept * P + (1.0 - kept) * P_prior,
    )


@compiled
def largest_step(x: Column, x_at: Column, n: int) -> float:
    """Return the largest distance of the first n coordinates from those of another point."""
    return float(np.abs(x[:n] - x_at[:n]).max())


@compiled
def compared(
    G: Table,
    curved: int,
    phi: Column,
    x_at: Column,
    x: Column,
    P: Table,
    regressor: Table,
    value: Column,
    noise: Table,
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
    H = regressor.copy()
    H[:, :curved] = np.ascontiguousarray(H[:, :curved]) @ np.ascontiguousarray(G[:curved, :curved])
    y = value - regressor @ phi - H @ (x - x_at)
    HP = H @ P
    S = HP @ H.T + noise
    F, positive = factor(S)
    if not positive:
        return H, HP, y, S, math.inf, math.nan
    return H, HP, y, S, normalised_square(F, y), 2.0 * np.log(np.diag(F)).sum()


@compiled
def corrected(
    x: Column,
    P: Table,
    H: Table,
    HP: Table,
    y: Column,
    S: Table,
    noise: Table,
    overlap: float,
    gained: Column,
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
    F, positive = factor(S + (overlap - 1.0) * noise)
    if not positive:
        return x, P, False
    Kt = solution(F, HP) * gained
    corrected_x = x + y @ Kt
    if not math.isfinite(corrected_x.sum()):
        return x, P, False
    half = P - Kt.T @ HP
    half = half - (half @ H.T - overlap * (Kt.T @ noise)) @ Kt
    return corrected_x, 0.5 * (half + half.T), True
