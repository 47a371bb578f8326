"""Segments of uniformly sampled measurements, in which a recording streams through the identification."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import NANOSECONDS, Array

SIGNALS = ("q", "v", "tau", "f_I", "w_I", "wrenches")


@dataclass(frozen=True, eq=False)
class SignalBlock:
    """Samples at a constant rate without a gap, in the model's joint order; arrays are not copied."""

    start_ns: int  # stamp of the first sample
    step_s: float  # between samples
    q: Array  # joint positions [rad], shape (k, n_joints)
    v: Array | None = (
        None  # joint velocities [rad/s], shape (k, n_joints); as the others None if not measured
    )
    tau: Array | None = None  # joint torques [Nm], shape (k, n_joints)
    f_I: Array | None = None  # specific force of the IMU [m/s^2], shape (k, 3)
    w_I: Array | None = None  # angular rate of the IMU [rad/s], shape (k, 3)
    wrenches: Array | None = None  # of each contact in its wrench frame [N, Nm], shape (k, n_contacts, 6)

    def part(self, first: int, end: int) -> "SignalBlock":
        """Return consecutive samples, from number `first` to before `end`, which is larger."""
        values = {name: getattr(self, name) for name in SIGNALS}
        cut = {name: array[first:end] for name, array in values.items() if array is not None}
        return replace(self, start_ns=int(self.stamps_ns[first]), **cut)

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.q)

    @property
    def stamps_ns(self) -> NDArray[np.int64]:
        """Stamp of each sample [ns], shape (k,)."""
        steps = np.round(np.arange(self.size) * (self.step_s * NANOSECONDS)).astype(np.int64)
        return self.start_ns + steps


def finite_runs(block: SignalBlock) -> Iterator[SignalBlock]:
    """Yield the segments of a block in which every signal is finite; the block itself if all samples are."""
    good = np.ones(block.size, dtype=bool)
    for name in SIGNALS:
        if (values := getattr(block, name)) is not None:
            good &= np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if block.size and good.all():
        yield block
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(int)))
    for first, end in edges.reshape(-1, 2).tolist():
        yield block.part(first, end)
