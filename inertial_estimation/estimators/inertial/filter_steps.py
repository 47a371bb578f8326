"""Arithmetic of one update of an inertial filter: prediction, comparison with a measurement, correction.

They are the parts of the compiled call that is a usual update (`usual_update`), and of others.
Compiled functions write their results into arrays that their callers have made: an array that a compiled
function returns costs a microsecond of its own.
"""

import math

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    in_place_of,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.positive_definite import factor, normalised_square, solution

BODY = 10  # coordinates of a body


def decayed_covariance(P: Array, P_prior: Array, lost: Array, P_new: Array) -> None:
    """Write a covariance after a time in which it decays to the stationary one.

    Args:
        P: Before, shape (n, n).
        P_prior: Stationary covariance, shape (n, n).
        lost: 1 - exp(-dt / T) of each state, shape (n,): with time constants of days a step loses 1e-8, of
            which a difference of exponentials would leave half of the digits.
        P_new: Shape (n, n); written.
    """
    share = lost[:, None] + lost - lost[:, None] * lost
    P_new[:] = P + share * (P_prior - P)


@in_place_of(decayed_covariance)
def _decayed_covariance(P: Array, P_prior: Array, lost: Array, P_new: Array) -> None:
    n = len(lost)
    for i in range(n):
        own, row, prior, out = lost[i], P[i], P_prior[i], P_new[i]
        for j in range(n):
            share = own + lost[j] - own * lost[j]
            out[j] = row[j] + share * (prior[j] - row[j])


def linearised(A: Array, G: Array, curved: int, H: Array) -> None:
    """Write H = A G, with G block diagonal by bodies and one for the parameters that follow them.

    Args:
        A: Regressor, shape (m, n).
        G: dphi/dx, shape (n, n).
        curved: Number of coordinates of bodies, the first ones.
        H: Shape (m, n); written.
    """
    np.matmul(A[:, :curved], G[:curved, :curved], out=H[:, :curved])
    H[:, curved:] = A[:, curved:]


@in_place_of(linearised)
def _linearised(A: Array, G: Array, curved: int, H: Array) -> None:
    for first in range(0, curved, BODY):
        for i in range(len(A)):
            row, out = A[i, first : first + BODY], H[i, first : first + BODY]
            for j in range(BODY):
                out[j] = 0.0
            for k in range(BODY):
                share, slope = row[k], G[first + k, first : first + BODY]
                for j in range(BODY):
                    out[j] += share * slope[j]
    for i in range(len(A)):
        for j in range(curved, A.shape[1]):
            H[i, j] = A[i, j]


def symmetric_part(A: Array, out: Array) -> None:
    """Write (A + A') / 2, exactly symmetric, shape (n, n) both."""
    np.add(A, A.T, out=out)
    out *= 0.5


@in_place_of(symmetric_part)
def _symmetric_part(A: Array, out: Array) -> None:
    for i in range(len(A)):
        for j in range(i + 1):
            out[i, j] = out[j, i] = 0.5 * (A[i, j] + A[j, i])


@compiled
def largest_step(x: Column, x_at: Column, n: int) -> float:
    """Return the largest distance of the first n coordinates from those of another point."""
    return float(np.abs(x[:n] - x_at[:n]).max()) if n > 0 else 0.0


@compiled
def parameters_near(at: tuple[Table, Column, Column], x: Column, phi: MutableColumn) -> None:
    """Write the parameters of a state by a linearisation, phi_at + G (x - x_at).

    Args:
        at: Linearisation: dphi/dx, shape (n, n), the parameters, shape (n,), and the point, shape (n,).
        x: State, shape (n,).
        phi: Shape (n,); written.
    """
    phi[:] = at[1] + at[0] @ (x - at[2])


@compiled
def decayed(
    state: tuple[Column, Column, Table],
    nominal: tuple[Column, Table, Column],
    dt: float,
    after: tuple[MutableColumn, MutableColumn, MutableTable],
) -> None:
    """Write state, centre of the prior and covariance after a time in which they decay to nominal.

    Args:
        state: State, shape (n,), mean of the prior, shape (n,), and covariance of the state, shape (n, n).
        nominal: State to which both decay, shape (n,), stationary covariance, shape (n, n), and time
            constant of each state [s], shape (n,).
        dt: The time [s].
        after: Those after it; written.
    """
    x, centre, P = state
    x_nominal, P_prior, memories = nominal
    lost = -np.expm1(-dt / memories)
    after[0][:] = x + lost * (x_nominal - x)
    after[1][:] = centre + lost * (x_nominal - centre)
    decayed_covariance(P, P_prior, lost, after[2])


@compiled
def compared(
    at: tuple[Table, Column, Column],
    curved: int,
    state: tuple[Column, Table],
    measurement: tuple[Table, Column, Table],
    comparison: tuple[MutableTable, MutableTable, MutableColumn, MutableTable],
) -> tuple[float, float]:
    """Compare a measurement with the prediction of a state.

    Args:
        at: Linearisation, as for `parameters_near`.
        curved: Number of coordinates of bodies, the first ones; the others are parameters themselves.
        state: State, shape (n,), and its covariance P, shape (n, n).
        measurement: A, shape (m, n), its value z, shape (m,), and covariance R of its noise, shape (m, m).
        comparison: H = A G and H P, shape (m, n), the innovation y = z - A (phi + G (x - x_at)), shape (m,),
            and its covariance S = H P H' + R, shape (m, m); written.

    Returns:
        The NIS y' S^-1 y, infinite where floating point cannot factorise S, and log det S, NaN there.
    """
    G, phi, x_at = at
    x, P = state
    A, z, R = measurement
    H, HP, y, S = comparison
    linearised(A, G, curved, H)
    y[:] = z - A @ phi - H @ (x - x_at)
    np.dot(H, P, HP)
    np.dot(HP, H.T, S)
    S += R
    F, positive = factor(S)
    if not positive:
        return math.inf, math.nan
    return normalised_square(F, y), 2.0 * np.log(np.diag(F)).sum()


@compiled
def corrected(
    state: tuple[Column, Table],
    comparison: tuple[Table, Table, Column, Table],
    noise: Table,
    overlap: float,
    gained: Column,
    after: tuple[MutableColumn, MutableTable],
) -> bool:
    """Correct a state and its covariance with one measurement.

    P = (1 - K H) P (1 - K H)' + K R K' (Joseph), evaluated with the low rank of K, exactly symmetric.

    Args:
        state: State, shape (n,), and its covariance, shape (n, n).
        comparison: H and H P, shape (m, n), the innovation, shape (m,), and its covariance, shape (m, m).
        noise: Part of the measurement's noise in it, shape (m, m).
        overlap: Measurements that share their noise, which this one is corrected for: R = overlap noise.
        gained: One for states that are corrected, zero for those that are considered, shape (n,).
        after: State and covariance; written.

    Returns:
        Whether floating point suffices for them; else what is written has no meaning.
    """
    x, P = state
    H, HP, y, S = comparison
    x_new, P_new = after
    F, positive = factor(S + (overlap - 1.0) * noise)
    if not positive:
        return False
    Kt = solution(F, HP) * gained
    x_new[:] = x + y @ Kt
    if not math.isfinite(x_new.sum()):
        return False
    half, residual = np.empty(P.shape), np.empty((len(x), len(y)))
    np.dot(Kt.T, HP, half)
    half[:] = P - half
    np.dot(half, H.T, residual)
    residual -= overlap * np.dot(Kt.T, noise)
    half -= np.dot(residual, Kt)
    symmetric_part(half, P_new)
    return True
