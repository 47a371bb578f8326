"""Blocks of uniformly sampled measurements, in which a recording streams through the identification."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import NANOSECONDS, Array

SIGNALS = ("q", "v", "tau", "f_I", "w_I", "wrenches")


@dataclass(frozen=True, eq=False)
class SignalBlock:
    """Samples at a constant rate, in the model's joint order; arrays are not copied.

    Consecutive blocks of one stretch follow each other without overlap; after a gap in the recording, or
    where samples were dropped (NaN), a block is marked as not continuing the last one.

    Attributes:
        start_ns: Stamp of the first sample [ns].
        step_s: Time between samples [s].
        continues: Whether the first sample is one step after the last sample of the block before.
        q: Joint positions [rad], shape (k, n_joints).
        v: Joint velocities [rad/s], shape (k, n_joints), or None where not measured.
        tau: Joint torques [Nm], shape (k, n_joints), or None where not measured.
        f_I: Specific force of the IMU [m/s^2], shape (k, 3), or None (fixed base).
        w_I: Angular rate of the IMU [rad/s], shape (k, 3), or None (fixed base).
        wrenches: Wrench of each contact in its wrench frame [N, Nm], shape (k, n_contacts, 6), or None.
    """

    start_ns: int
    step_s: float
    continues: bool
    q: Array
    v: Array | None = None
    tau: Array | None = None
    f_I: Array | None = None
    w_I: Array | None = None
    wrenches: Array | None = None

    def part(self, first: int, end: int, *, continues: bool) -> "SignalBlock":
        """Return some consecutive samples.

        Args:
            first: Number of the first sample.
            end: Number after that of the last sample; larger than `first`.
            continues: Whether the samples continue the block before.
        """
        values = {name: getattr(self, name) for name in SIGNALS}
        cut = {name: array[first:end] for name, array in values.items() if array is not None}
        return replace(self, start_ns=int(self.stamps_ns[first]), continues=continues, **cut)

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
    """Yield the stretches of a block in which every signal is finite.

    Args:
        block: Samples, which may contain NaN.

    Yields:
        The block itself if all samples are finite, otherwise its finite parts; all but the first are marked
            as not continuing.
    """
    signals = [values for name in SIGNALS if (values := getattr(block, name)) is not None]
    good = np.ones(block.size, dtype=bool)
    for values in signals:
        good &= np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if good.all():
        yield block
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(int)))
    for first, end in edges.reshape(-1, 2).tolist():
        yield block.part(first, end, continues=block.continues and first == 0)
