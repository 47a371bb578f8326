"""The streams of a recording at common, uniform times, smoothed and differentiated without phase."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from inertial_estimation.bring_up.streams import RobotStreams, Stream
from inertial_estimation.data_checks.data_table import DataTable, WindowPredictor
from inertial_estimation.data_checks.data_window import LARGEST, DataWindow
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.zero_phase import ZeroPhaseSmoother
from inertial_estimation.signals import NANOSECONDS, Array

Indices = NDArray[np.int64]
STEP_S = 0.02  # between two times; smoothed signals hold nothing above 10 Hz
WINDOW_S = 0.1  # of the means and parabolas
ORDER = 2
APART = 5  # times from one window of the checks to the next; smoothed, they hardly vary in between
GAP_S = 0.1  # between two readings of a stream, beyond which nothing is known
SPARSE_S = 0.5  # longest gap that is bridged in a slow stream: the motion between single postures is unknown
BURST = 0.2  # of the mean step, a shorter one is of a message that waited
BURSTS = 0.1  # share of such steps from which stamps are times of arrival


@dataclass(frozen=True, eq=False)
class UniformSignals:
    """Signals at N times `STEP_S` apart; NaN where unknown.

    Attributes:
        times_s: Since the first joint state [s], shape (N,).
        table: Signals and what the description predicts from them, at all times.
        windows: The same at every fifth time.
        ddq: Joint accelerations of the windows [rad/s^2], shape (W, n).
        wd_I: Angular acceleration of the IMU of the windows [rad/s^2], shape (W, 3).
        dtau: Slopes of the efforts of the windows [Nm/s], shape (W, n).
    """

    times_s: Array
    table: DataTable
    windows: DataTable
    ddq: Array
    wd_I: Array
    dtau: Array


def uniform_signals(streams: RobotStreams, setup: RobotSetup) -> UniformSignals:
    """Bring streams to common times, and predict.

    Args:
        streams: The inputs.
        setup: The robot, from whose description the predictions are.

    Returns:
        The signals; none of them known where a stream has a gap.
    """
    joints, n = streams.joints, streams.n_joints
    first, last = int(joints.stamps_ns.min()), int(joints.stamps_ns.max())
    first, last = _sane_span(joints.stamps_ns, first, last)
    times = np.arange(WINDOW_S, (last - first) / NANOSECONDS - WINDOW_S, STEP_S)
    values, slopes, curvatures = _smoothed(joints, first, times, setup.robot.continuous_joints)
    imu, imu_slope = np.full((len(times), 6), np.nan), np.full((len(times), 6), np.nan)
    if streams.imu is not None:
        imu, imu_slope, _ = _smoothed(streams.imu, first, times)
    wrenches = np.full((len(times), len(setup.contacts), 6), np.nan)
    for k, contact in enumerate(setup.contact_names):
        if contact in streams.wrenches:
            wrenches[:, k] = _smoothed(streams.wrenches[contact], first, times)[0]
    predictor = WindowPredictor(setup)
    known = np.isfinite(values[:, :n]).all(axis=1)
    kept = np.flatnonzero(known)
    windows = []
    with np.errstate(all="ignore"):  # numbers out of range are judged
        for i in kept.tolist():
            window = DataWindow(
                stamp_ns=first + round(times[i] * NANOSECONDS),
                q=values[i, :n],
                dq=slopes[i, :n],
                ddq=curvatures[i, :n],
                v=values[i, n : 2 * n],
                tau=values[i, 2 * n :],
                f_I=imu[i, :3],
                w_I=imu[i, 3:],
                wd_I=imu_slope[i, 3:],
                wrenches=wrenches[i],
            )
            windows.append(predictor.predicted(window))
    apart = kept % APART == 0
    return UniformSignals(
        times[kept],
        DataTable.of(windows, setup.robot),
        DataTable.of([windows[i] for i in np.flatnonzero(apart)], setup.robot),
        curvatures[kept[apart], :n],
        imu_slope[kept[apart], 3:],
        slopes[kept[apart], 2 * n :],
    )


def regular_stamps(stream: Stream) -> tuple[Indices, Indices]:
    """Return increasing stamps, arrival times made regular, and which readings they belong to.

    Args:
        stream: The readings.

    Returns:
        Stamps [ns] and indices of the readings, shape (k,) each.
    """
    stamps = stream.stamps_ns
    order = np.argsort(stamps, kind="stable")
    order = order[np.diff(stamps[order], prepend=stamps[order[0]] - 1) > 0]
    increasing = stamps[order]
    steps = np.diff(increasing)
    if len(steps) < 10 or float(np.mean(steps < BURST * steps.mean())) < BURSTS:
        return increasing, order
    index = np.arange(len(increasing))
    slope, start = np.polyfit(index, (increasing - increasing[0]).astype(np.float64), 1)
    lowest = float(np.quantile(increasing - increasing[0] - (slope * index + start), 0.05))
    return increasing[0] + np.round(slope * index + start + lowest).astype(np.int64), order


def _sane_span(stamps: Indices, first: int, last: int) -> tuple[int, int]:
    """Leave out single stamps far from all others, as of another clock."""
    middle = np.median(stamps)
    spread = 1.5 * float(np.quantile(np.abs(stamps - middle), 0.95)) + NANOSECONDS
    return max(first, int(middle - spread)), min(last, int(middle + spread))


def _smoothed(
    stream: Stream, first_ns: int, times_s: Array, continuous: Indices | None = None
) -> tuple[Array, Array, Array]:
    """Return value, slope and second derivative of a stream at some times, shape (N, c) each."""
    stamps, order = regular_stamps(stream)
    if len(stamps) < 2 or not len(times_s):  # not set, or too short: nothing is known
        unknown_values = np.full((len(times_s), stream.values.shape[1]), np.nan)
        return unknown_values, unknown_values.copy(), unknown_values.copy()
    t = (stamps - first_ns) / NANOSECONDS
    values = stream.values[order]
    values = np.where(np.abs(values) < LARGEST, values, np.nan)
    if continuous is not None and len(continuous):
        values = values.copy()
        values[:, continuous] = np.unwrap(np.nan_to_num(values[:, continuous]), axis=0)
    parts = max(1, round(STEP_S / max(float(np.median(np.diff(t))), 5e-4)))
    fine_s = STEP_S / parts
    half = max(1, round(0.5 * WINDOW_S / fine_s))
    reach = 3 * half
    fine = times_s[0] + fine_s * np.arange(-reach, (len(times_s) - 1) * parts + reach + 1)
    windows = sliding_window_view(_interpolated(t, values, fine), 2 * reach + 1, axis=0)[::parts]
    found = [windows @ _weights(fine_s, half, k) for k in range(3)]
    unknown = _near_gap(t, times_s)
    for array in found:
        array[unknown] = np.nan
    return found[0], found[1], found[2]


def _interpolated(t: Array, values: Array, at: Array) -> Array:
    right = np.clip(np.searchsorted(t, at), 1, len(t) - 1)
    share = np.clip((at - t[right - 1]) / (t[right] - t[right - 1]), 0.0, 1.0)[:, None]
    between: Array = (1.0 - share) * values[right - 1] + share * values[right]
    return between


def _weights(step_s: float, half: int, derivative: int) -> Array:
    """Return the weights of a parabola through means of means, shape (6 half + 1,).

    Means over WINDOW_S, twice, leave next to nothing of what is faster than 1 / WINDOW_S, as of set points
    sent at 10 Hz, for which the value and the second derivative of a parabola would not belong together.
    """
    mean = np.full(2 * half + 1, 1.0 / (2 * half + 1))
    parabola = ZeroPhaseSmoother(step_s, half, ORDER).weights(derivative)
    weights: Array = np.convolve(np.convolve(parabola, mean), mean)
    return weights


def _near_gap(t: Array, times_s: Array) -> NDArray[np.bool_]:
    """Return at which times a window reaches into a gap, or beyond the data, shape (N,)."""
    half = 1.5 * WINDOW_S  # of the weights
    unknown: NDArray[np.bool_] = (times_s < t[0] + half) | (times_s > t[-1] - half)
    usual = 3.0 * float(np.median(np.diff(t)))
    for i in np.flatnonzero(np.diff(t) > max(GAP_S, min(usual, SPARSE_S))).tolist():
        unknown |= (times_s > t[i] - half) & (times_s < t[i + 1] + half)
    return unknown
