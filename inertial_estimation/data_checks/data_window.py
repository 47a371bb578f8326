"""Short windows of raw readings, reduced to means and slopes that belong to one time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array, seconds

LARGEST = 1e9  # of any signal in any unit, a torque of 1000 Nm in uNm; squares of it stay finite
FEWEST_SAMPLES = 4  # of joint states in a window, for the parabola that gives velocity and acceleration


@dataclass(frozen=True, eq=False)
class RawWindow:
    """Readings of one window; the stamps of each stream increase.

    Attributes:
        stamps_ns: Of the joint states, shape (m,).
        joints: Positions, velocities and efforts in the model's order, NaN where not sent, shape (m, 3 n).
        imu_stamps_ns: Of the IMU readings, shape (i,).
        imu: Specific force and angular rate, shape (i, 6).
        wrenches: Wrenches of each contact, shape (j, 6) each, possibly empty.
    """

    stamps_ns: Sequence[int]
    joints: Array
    imu_stamps_ns: Sequence[int]
    imu: Array
    wrenches: Sequence[Array]


@dataclass(frozen=True, eq=False)
class DataWindow:
    """Signals at the middle of one window; NaN where a signal is missing.

    Velocities and accelerations of joints come from the positions alone, so that the velocities that were
    sent can be compared with them.

    Attributes:
        stamp_ns: First stamp of the joint states [ns].
        q: Joint positions [rad], shape (n,).
        dq: Their slope [rad/s], shape (n,).
        ddq: Their second derivative [rad/s^2], shape (n,).
        v: Joint velocities as sent [rad/s], shape (n,).
        tau: Joint efforts [Nm], shape (n,).
        f_I: Specific force [m/s^2], shape (3,).
        w_I: Angular rate [rad/s], shape (3,).
        wd_I: Its slope [rad/s^2], shape (3,).
        wrenches: Of each contact in its wrench frame [N, Nm], shape (k, 6).
    """

    stamp_ns: int
    q: Array
    dq: Array
    ddq: Array
    v: Array
    tau: Array
    f_I: Array
    w_I: Array
    wd_I: Array
    wrenches: Array


def reduced(raw: RawWindow, continuous: NDArray[np.int64]) -> DataWindow | None:
    """Reduce a window.

    Args:
        raw: Its readings.
        continuous: Indices of joints without limits, whose angles may jump by a turn, shape (c,).

    Returns:
        The means and slopes, or None with fewer than `FEWEST_SAMPLES` joint states of finite positions.
    """
    n = raw.joints.shape[1] // 3
    if not raw.stamps_ns:
        return None
    times = seconds(np.array(raw.stamps_ns, dtype=np.int64) - raw.stamps_ns[0])
    good = np.isfinite(raw.joints[:, :n]).all(axis=1) & (np.diff(times, prepend=-1.0) > 0.0)
    if good.sum() < FEWEST_SAMPLES:
        return None
    t, joints = times[good], raw.joints[good]
    q = joints[:, :n].copy()
    if len(continuous):
        q[:, continuous] = np.unwrap(q[:, continuous], axis=0)
    mean, slope, curvature = _parabola(t, q)
    f_I, w_I, wd_I = _imu(raw)
    wrenches = [w.mean(axis=0) if len(w) else np.full(6, np.nan) for w in raw.wrenches]
    return DataWindow(
        stamp_ns=int(raw.stamps_ns[0]),
        q=mean,
        dq=slope,
        ddq=curvature,
        v=_sane(joints[:, n : 2 * n].mean(axis=0)),
        tau=_sane(joints[:, 2 * n :].mean(axis=0)),
        f_I=_sane(f_I),
        w_I=_sane(w_I),
        wd_I=_sane(wd_I),
        wrenches=_sane(np.array(wrenches).reshape(-1, 6)),
    )


def _sane(values: Array) -> Array:
    """Replace numbers that no unit explains by NaN."""
    return np.where(np.abs(values) < LARGEST, values, np.nan)


def _parabola(t: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return mean, slope and second derivative of a least-squares parabola through columns of values."""
    p1 = t - t.mean()
    square = p1 * p1
    norm1 = float(p1 @ p1)
    p2 = square - (square @ p1) / norm1 * p1 - norm1 / len(t)
    mean = values.mean(axis=0)
    centred = values - mean
    return mean, p1 @ centred / norm1, 2.0 * (p2 @ centred) / float(p2 @ p2)


def _imu(raw: RawWindow) -> tuple[Array, Array, Array]:
    """Return means of specific force and rate, and the slope of the rate; zero where it has none."""
    if not len(raw.imu):
        return np.full(3, np.nan), np.full(3, np.nan), np.full(3, np.nan)
    mean = raw.imu.mean(axis=0)
    times = seconds(np.array(raw.imu_stamps_ns, dtype=np.int64) - raw.imu_stamps_ns[0])
    centred = times - times.mean()
    spread = float(centred @ centred)
    slope = centred @ (raw.imu[:, 3:] - mean[3:]) / spread if spread > 0.0 else np.zeros(3)
    return mean[:3], mean[3:], slope
