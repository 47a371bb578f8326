"""Time offsets between the streams, each from a relation that holds whatever the sign, unit and mounting.

The gyroscope is compared with the rotation of the base over standing feet. The sum of the singular values of
their correlation matrix is the agreement after the best rotation or reflection of the axes, and does not
depend on the units: the offset is known before signs, units and mounting are. Contact wrenches are shifted
until, at the points where the joints put the feet, they balance the robot best. Efforts are shifted until a
multiple of the predicted torque and friction explains them best; joint velocities until they fit the slopes
of the positions.
"""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.lag_search import LAGS, PARTS, Lag, best_lag, lagged
from inertial_estimation.bring_up.uniform_signals import UniformSignals
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

FEWEST = 100  # times at which both series are known, 2 s
TURNING = 0.02  # rms rotation of the base, less does not stand out from joint noise [rad/s]
MOVING = 0.05  # rms joint speed [rad/s]
SLOW = 0.05  # speed over which Coulomb friction changes its sign [rad/s]
LEVER = 0.3  # at which moments count as much as forces [m]
RIDGE = 1e-9


def gyroscope_lag(signals: UniformSignals, expected: Array) -> Lag | None:
    """Return how late the gyroscope is against the joint states; None where the base hardly turns."""
    measured = signals.table.w_I
    known = np.isfinite(expected).all(axis=1) & np.isfinite(measured).all(axis=1)
    if known.sum() < FEWEST:
        return None
    e = expected - np.median(expected[known], axis=0)
    w = measured - np.median(measured[known], axis=0)
    if float(np.sqrt(np.mean(e[known] ** 2) * 3.0)) < TURNING or not w[known].any():
        return None
    sums = np.zeros((PARTS, len(LAGS), 3, 5))
    for i, lag in enumerate(LAGS.tolist()):
        late = lagged(w, lag)
        for part, rows in enumerate(_parts(_known(e, late))):
            sums[part, i, :, :3] = e[rows].T @ late[rows]
            sums[part, i, 0, 3:] = float(np.sum(e[rows] ** 2)), float(np.sum(late[rows] ** 2))
    return best_lag(sums, _best_rotation)


def velocity_lag(signals: UniformSignals) -> Lag | None:
    """Return how late the joint velocities are against the slopes of the positions; None at rest."""
    dq, v = signals.table.dq, signals.table.v
    moving: NDArray[np.bool_] = np.asarray(np.sqrt(np.nanmean(dq**2, axis=0)) > MOVING)
    moving &= np.isfinite(v).mean(axis=0) > 0.5
    with np.errstate(invalid="ignore"):
        moving &= np.nanstd(np.nan_to_num(v), axis=0) > 0.0
    if not moving.any() or len(dq) < FEWEST:
        return None
    size = np.sqrt(np.nanmean(dq[:, moving] ** 2, axis=0))
    a, b = dq[:, moving] / size, v[:, moving]
    sums = np.zeros((PARTS, len(LAGS), 3, a.shape[1]))
    for i, lag in enumerate(LAGS.tolist()):
        late = lagged(b, lag)
        for part, rows in enumerate(_parts(_known(late))):
            x, y = a[rows], late[rows]
            sums[part, i] = (x * y).sum(axis=0), (x * x).sum(axis=0), (y * y).sum(axis=0)
    return best_lag(sums, _mean_correlation)


def effort_lag(signals: UniformSignals, telling: NDArray[np.bool_]) -> Lag | None:
    """Return how late the efforts are against the torques predicted from the positions.

    Args:
        signals: The signals.
        telling: Which joints' predicted torques stand out from friction, as a mask of shape (n,).
    """
    table = signals.table
    predicted = nominal_torques(table)
    known = _known(predicted)
    varied: NDArray[np.bool_] = telling & (np.sqrt(np.mean(table.dq**2, axis=0)) > MOVING)
    if not varied.any() or known.sum() < FEWEST:
        return None
    p, dq, tau = predicted[:, varied], table.dq[:, varied], table.tau[:, varied]
    p = np.where(known[:, None], p, np.nan)
    friction = (np.ones_like(p), np.tanh(dq / SLOW), dq)
    sums = np.zeros((PARTS, len(LAGS), p.shape[1], 5, 5))
    for i, lag in enumerate(LAGS.tolist()):
        columns = np.stack((lagged(tau, lag), p, *friction), axis=2)
        for part, rows in enumerate(_parts(_known(columns.reshape(len(tau), -1)))):
            sums[part, i] = np.einsum("nja,njb->jab", columns[rows], columns[rows])
    return best_lag(sums, _explained_share)


def wrench_lag(signals: UniformSignals, setup: RobotSetup) -> Lag | None:
    """Return how late the contact wrenches are against joints and IMU; None where they hardly change."""
    table = signals.table
    if not setup.robot.floating_base or not setup.contacts:
        return None
    expected = table.force[:, :6]
    J = table.jacobians[:, :, :, :6]
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3)
    sums = np.zeros((PARTS, len(LAGS), 4, 6))
    for i, lag in enumerate(LAGS.tolist()):
        late = np.stack([lagged(table.wrenches[:, k], lag) for k in range(J.shape[1])], axis=1)
        left = (expected - np.einsum("nkiv,nki->nv", J, late)) * scale
        for part, rows in enumerate(_parts(_known(left))):
            if not len(rows):
                continue
            r, w = left[rows], late[rows, 0]
            sums[part, i] = np.full(6, len(r)), r.sum(axis=0), (r**2).sum(axis=0), w.var(axis=0) * len(r)
    if sums[:, len(LAGS) // 2, 0, 0].sum() < FEWEST:
        return None
    return best_lag(sums, _balance)


def _parts(known: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return the indices of known times of each part of the recording."""
    return [part[known[part]] for part in np.array_split(np.arange(len(known)), PARTS)]


def _known(*series: Array) -> NDArray[np.bool_]:
    """Return at which times all of some series are known, shape (N,)."""
    known: NDArray[np.bool_] = np.isfinite(np.concatenate(series, axis=1)).all(axis=1).astype(bool)
    return known


def _best_rotation(sums: Array) -> Array:
    values = np.array([linear_algebra.singular_values(matrix[:, :3]).sum() for matrix in sums])
    size: Array = np.sqrt(sums[:, 0, 3] * sums[:, 0, 4])
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement: Array = values / size
    return agreement


def _mean_correlation(sums: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.abs(sums[:, 0]) / np.sqrt(sums[:, 1] * sums[:, 2])
    mean: Array = np.nan_to_num(each).mean(axis=1)
    return mean


def _explained_share(sums: Array) -> Array:
    """Share of the variance of the efforts that prediction and friction explain, mean over the joints."""
    A, b, power = sums[..., 1:, 1:], sums[..., 1:, 0], sums[..., 0, 0]
    mean = sums[..., 0, 2] ** 2 / np.maximum(sums[..., 2, 2], 1.0)
    size = np.maximum(np.trace(A, axis1=-2, axis2=-1), RIDGE)[..., None, None]
    x = np.empty_like(b)
    for index in np.ndindex(b.shape[:2]):
        x[index] = linear_algebra.solve(A[index] + RIDGE * size[index] * np.eye(4), b[index])
    left = power - np.einsum("...a,...a->...", b, x)
    varied = np.maximum(power - mean, RIDGE * power + 1e-12)
    share: Array = (1.0 - left / varied).mean(axis=1)
    return share


def _balance(sums: Array) -> Array:
    """One minus the variance of what does not balance, over that of the load of the first contact."""
    count = np.maximum(sums[:, 0], 1.0)
    left = sums[:, 2] - sums[:, 1] ** 2 / count
    load = sums[:, 3].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        balance: Array = 1.0 - left.sum(axis=1) / load
    return balance
