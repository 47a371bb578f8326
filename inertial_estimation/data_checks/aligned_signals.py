"""Windows of signals that have one stamp a sample already."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.data_window import DataWindow, RawWindow, reduced
from inertial_estimation.data_checks.window_collector import WINDOW_NS
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class AlignedSignals:
    """Signals of m samples.

    Attributes:
        stamps_ns: Increasing stamps [ns], shape (m,).
        joints: Positions, velocities and efforts, NaN where not measured, shape (m, 3 n).
        imu: Specific force and angular rate, shape (m, 6), or (0, 6) without.
        wrenches: Of each contact, shape (m, k, 6), or (0, k, 6) without.
    """

    stamps_ns: NDArray[np.int64]
    joints: Array
    imu: Array
    wrenches: Array

    @classmethod
    def of(
        cls, stamps_ns: NDArray[np.int64], signals: Mapping[str, Array | None], contacts: int
    ) -> "AlignedSignals":
        """Arrange signals by name (q, v, tau, f_I, w_I, wrenches), None where not measured."""
        q = signals["q"]
        assert q is not None, "the joint positions are always measured"
        unknown = np.full_like(q, np.nan)
        joints = [values if (values := signals[name]) is not None else unknown for name in ("q", "v", "tau")]
        f_I, w_I, wrenches = signals["f_I"], signals["w_I"], signals["wrenches"]
        imu = np.hstack((f_I, w_I)) if f_I is not None and w_I is not None else np.zeros((0, 6))
        if wrenches is None or wrenches.shape[1] != contacts:
            wrenches = np.zeros((0, contacts, 6))
        return cls(stamps_ns, np.hstack(joints), imu, wrenches)

    def windows(self, period_ns: int, continuous: NDArray[np.int64]) -> Iterator[DataWindow]:
        """Yield windows at a period.

        Args:
            period_ns: Time from window to window [ns].
            continuous: Indices of joints without limits, shape (c,).
        """
        stamps = self.stamps_ns
        for begin_ns in range(int(stamps[0]), int(stamps[-1]) - WINDOW_NS + 2, period_ns):
            first, end = np.searchsorted(stamps, (begin_ns, begin_ns + WINDOW_NS)).tolist()
            imu = self.imu[first:end]
            raw = RawWindow(
                stamps_ns=stamps[first:end].tolist(),
                joints=self.joints[first:end],
                imu_stamps_ns=stamps[first:end].tolist() if len(imu) else [],
                imu=imu,
                wrenches=list(self.wrenches[first:end].transpose(1, 0, 2)),
            )
            window = reduced(raw, continuous)
            if window is not None:
                yield window
