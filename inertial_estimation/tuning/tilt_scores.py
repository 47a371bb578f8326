"""How wrong verticals are, block by block: by later readings, or by a reference."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import RecordingError
from inertial_estimation.replay.metrics import tilt_errors
from inertial_estimation.signals import NANOSECONDS, Array, OrientationSample
from inertial_estimation.tilt.base_estimator import StepReadings
from inertial_estimation.tilt.contact_velocity import LONGEST_INTERVAL
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.later_vertical import ObserverReadings, later_verticals

MOST_SAMPLES = 3000  # of a reference that a trial is compared with; neighbouring ones tell the same


class TiltScore(ABC):
    """Scores estimated verticals over the blocks of a recording.

    Attributes:
        division: The blocks.
    """

    def __init__(self, division: Division) -> None:
        self.division = division

    @abstractmethod
    def of(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square error of each block [deg^2], shape (parts * blocks,).

        Args:
            stamps_ns: Stamps of the estimates [ns], shape (n,).
            tilts_B: Estimated vertical in the base frame, shape (n, 3).
            until_ns: Stamp after which nothing is compared [ns].

        Returns:
            NaN in blocks that have too few samples or are not compared.
        """


class LaterReadings(TiltScore):
    """Compares an estimate with the vertical by the readings that come after it."""

    def __init__(self, division: Division, steps: Sequence[StepReadings], radius: float) -> None:
        """Determine the verticals by later readings, once for all estimates.

        Args:
            division: The blocks.
            steps: What the observer takes at every step.
            radius: Of round feet [m].

        Raises:
            RecordingError: If the readings determine none: too short, without contact, or without a
                stretch in which they agree.
        """
        super().__init__(division)
        breaks = [k for k, step in enumerate(steps) if not 0.0 < step.h <= LONGEST_INTERVAL]
        verticals = [np.zeros((0, 3))]
        for a, b in pairwise([*breaks, len(steps)]):
            R_BI = np.array([step.R_BI for step in steps[a:b]])
            z_I = later_verticals(ObserverReadings.of(steps[a:b], radius))
            verticals.append(np.einsum("kij,kj->ki", R_BI, z_I))
        self._verticals = np.concatenate(verticals)
        self._stamps = np.array([step.stamp_ns for step in steps], dtype=np.int64)
        known = np.isfinite(self._verticals[:, 0])
        self._stamps, self._verticals = self._stamps[known], self._verticals[known]
        if not (division.blocks_at(self._stamps) >= 0).any():
            raise RecordingError(
                "the recording does not determine a vertical by later readings, expected seconds of motion "
                "or rest with a foot in contact and readings that agree"
            )

    def of(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square difference of each block, without its constant part [deg^2]."""
        _common, own, theirs = np.intersect1d(
            self._stamps, stamps_ns, assume_unique=True, return_indices=True
        )
        stamps = self._stamps[own]
        used = (stamps <= until_ns) & (self.division.blocks_at(stamps) >= 0)
        turned = np.degrees(np.cross(tilts_B[theirs[used]], self._verticals[own[used]]))
        turned -= turned.mean(axis=0) if len(turned) else 0.0
        return self.division.means(stamps[used], np.sum(turned**2, axis=1))


@dataclass(frozen=True, eq=False)
class ReferenceTilt(TiltScore):
    """Compares an estimate with a reference, after the best constant alignment of both.

    Attributes:
        division: The blocks.
        samples: Reference orientations.
        trusted: Whether each is trusted, shape (n,); None: all are.
    """

    division: Division
    samples: Sequence[OrientationSample]
    trusted: NDArray[np.bool_] | None = None

    def of(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square error of each block [deg^2]."""
        at = np.array([sample.stamp_ns for sample in self.samples], dtype=np.int64)
        used = (self.division.blocks_at(at) >= 0) & (at <= until_ns)
        if self.trusted is not None:
            used &= self.trusted
        chosen = np.flatnonzero(used)[:: max(1, int(used.sum()) // MOST_SAMPLES)]
        if len(chosen) < 10:
            raise RecordingError(
                f"{len(chosen)} trusted samples of the reference lie within the recording's first "
                f"{(until_ns - self.division.begin_ns) / NANOSECONDS:.1f} s, expected at least 10"
            )
        errors = tilt_errors(stamps_ns, tilts_B, [self.samples[k] for k in chosen.tolist()])
        return self.division.means(errors.stamps_ns, np.degrees(errors.errors) ** 2)
