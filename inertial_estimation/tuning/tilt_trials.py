"""Trials of the tilt observer, judged by the readings that come later, or by a reference.

In a frame that turns with the gyroscope the integrated specific force F and the contact velocity y, both
turned into that frame, differ by a line,

    d(t) = F(t) - y(t) = -v0 + g0 t z,

whose slope is the vertical z. Fitted over the `WINDOW_S` after a time t, it determines z(t) by readings that
an estimate at t has not used. The noise of later readings is not that of earlier ones, so the mean square of
the angle between the two is the mean square error of the estimate plus that of the fit, which is the same for
every estimate: it is least where the unknown error is (the argument of Lehtinen et al., Noise2Noise, ICML
2018, 2). What both have in common cannot be seen: an offset of the accelerometer, errors that repeat in step
with the window. A constant gyroscope bias turns the two apart, by more than either is wrong: a constant
difference therefore does not count.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.sensors import ContactSource
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.replay.reference import tilt_errors
from inertial_estimation.signals import NANOSECONDS, Array, OrientationSample
from inertial_estimation.tilt.base_estimator import StepReadings
from inertial_estimation.tilt.config import OBSERVERS, TiltPipelineConfig
from inertial_estimation.tilt.contact_velocity import LONGEST_INTERVAL, ContactVelocity
from inertial_estimation.tilt.pipeline import TiltPipeline
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.trials import Report, Trials, Values

WINDOW_S = 1.5  # of readings that determine the vertical [s]
LEAST_CONTACT = 0.5  # share of the window in contact
LEAST_SPREAD = 0.5  # of the times in contact, variance over that of the whole window
MOST_SAMPLES = 3000  # of a reference that a trial is compared with; neighbouring ones tell the same
OF_THE_OBSERVER = ("observer", "contact.radius", *(f"{observer}." for observer in OBSERVERS))


class TiltTrials(Trials):
    """Runs a recording through the tilt pipeline again and again.

    Where parameters of the observer alone are varied, readings are aligned once in each process.
    """

    def __init__(self, run: RecordedRun, division: Division) -> None:
        """Take the recording, and its parts and blocks."""
        self._run, self.division = run, division
        self._aligned: tuple[TiltPipeline, list[AlignedSample]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what other processes need; they align the readings again."""
        return {**vars(self), "_aligned": None}

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the tilt with other parameters; see `Trials.scores`."""
        until_ns = self.division.part_end_ns(parts - 1)
        return self.checked(self.judged(*self.tilts(values, until_ns), until_ns), parts)

    @abstractmethod
    def judged(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square error of each block [deg^2], shape (parts * blocks,).

        Args:
            stamps_ns: Stamps of the estimates [ns], shape (n,).
            tilts_B: Estimated vertical in the base frame, shape (n, 3).
            until_ns: Stamp after which nothing is compared [ns].

        Returns:
            NaN in blocks that have too few samples or are not compared.
        """

    def tilts(self, values: Values, until_ns: int) -> tuple[NDArray[np.int64], Array]:
        """Return stamps [ns] and verticals in the base frame, shapes (n,) and (n, 3), of a trial.

        Args:
            values: The parameters that differ, by dotted name.
            until_ns: Stamp after which nothing is estimated [ns].
        """
        if all(name.startswith(OF_THE_OBSERVER) for name in values) and not self._planned:
            samples: Iterable[AlignedSample]
            pipeline, samples = self.aligned()
            given = {**parameter_values(self._run.configs[TILT_NODE]), **values}
            config = build_config(TiltPipelineConfig, given)
        else:
            pipeline, samples = self.as_aligned(values)
            config = pipeline.config
        begun = takewhile(lambda sample: sample.stamp_ns <= until_ns, samples)
        found = [(one.state.stamp_ns, one.tilt_B) for one in pipeline.estimates_of(begun, config)]
        stamps, tilts = zip(*found, strict=True) if found else ((), ())
        return np.array(stamps, dtype=np.int64), np.array(tilts).reshape(-1, 3)

    def aligned(self) -> tuple[TiltPipeline, list[AlignedSample]]:
        """Return a pipeline with the parameters in effect, and what its inputs align."""
        if self._aligned is None:
            pipeline, samples = self.as_aligned()
            self._aligned = pipeline, list(samples)
        return self._aligned

    def as_aligned(self, values: Values | None = None) -> tuple[TiltPipeline, Iterable[AlignedSample]]:
        """Return a pipeline with parameters that differ, and what its inputs align, as they align it."""
        changed = [(TILT_NODE, name, value) for name, value in (values or {}).items()]
        pipelines = self._run.pipelines(changed, only=[TILT_NODE])
        assert pipelines.tilt is not None
        return pipelines.tilt, self._run.tilt_samples(pipelines)

    @property
    def _planned(self) -> bool:
        """Whether a planner's wishes are used, which are not aligned but read as they are at a step."""
        return ContactSource.DESIRED.value in self._run.configs[TILT_NODE].contact.source


class ObserverReadings(NamedTuple):
    """What the observer takes at each of K steps.

    Attributes:
        h: Durations of the steps [s], shape (K,).
        w_I: Angular velocity of the IMU, bias removed, mean over each step [rad/s], shape (K, 3).
        f_I: Specific force, mean over each step [m/s^2], shape (K, 3).
        y_v: Velocity of the IMU in its frame from contacts [m/s], shape (K, 3); NaN without contact.
    """

    h: Array
    w_I: Array
    f_I: Array
    y_v: Array

    @classmethod
    def of(cls, steps: Sequence[StepReadings], radius: float = 0.0) -> "ObserverReadings":
        """Collect those of single steps; feet may be round [m]."""
        contacts = ContactVelocity(radius)
        velocities = []
        for step in steps:
            contacts.turn(step.h, step.rate)
            seen = None if step.feet is None else contacts.look(step.feet, step.vertical)
            velocities.append((np.nan,) * 3 if seen is None or seen[0] > 1.5 * step.h else seen[1])
        return cls(
            np.array([step.h for step in steps]),
            np.array([step.rate for step in steps]),
            np.array([step.force for step in steps]),
            np.array(velocities).reshape(-1, 3),
        )


def later_verticals(readings: ObserverReadings, window_s: float = WINDOW_S) -> Array:
    """Return the vertical in the IMU frame at the end of each step, by later readings alone.

    Args:
        readings: Readings without a break; K steps.
        window_s: Length of the window that determines the vertical [s].

    Returns:
        Unit vectors, shape (K, 3); NaN where the window ends after the readings or has too little contact.
    """
    ends = np.cumsum(readings.h)
    turned = _accumulated(readings)
    middle = turned * Rotation.from_rotvec(-0.5 * readings.h[:, None] * readings.w_I)
    added = middle.apply(readings.f_I) * readings.h[:, None]
    line = np.cumsum(added, axis=0) - 0.5 * added - middle.apply(np.nan_to_num(readings.y_v))
    slopes = _slopes(ends - 0.5 * readings.h, line, readings, ends, window_s)
    verticals: Array = turned.inv().apply(slopes)
    verticals /= np.linalg.norm(verticals, axis=1, keepdims=True)
    return verticals


def _accumulated(readings: ObserverReadings) -> Rotation:
    """Return the orientation after each step relative to that before the first one."""
    turned = Rotation.from_rotvec(readings.h[:, None] * readings.w_I)
    reach = 1
    while reach < len(readings.h):  # products over twice as many steps each time
        later = turned[:-reach] * turned[reach:]
        turned = Rotation.concatenate([turned[:reach], later])
        reach *= 2
    return turned


def _slopes(t: Array, line: Array, readings: ObserverReadings, begins: Array, window_s: float) -> Array:
    """Return the slopes of a line over windows, over g0, from the samples in contact; NaN where unknown."""
    used = np.isfinite(readings.y_v[:, :1]).astype(float)
    t = t[:, None]
    columns = used * np.concatenate([np.ones_like(t), t, t * t, line, t * line, readings.h[:, None]], axis=1)
    sums = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)])
    first = np.searchsorted(t[:, 0], begins)
    last = np.searchsorted(t[:, 0], begins + window_s)
    n, s, ss, d, sd, contact = np.split(sums[last] - sums[first], (1, 2, 3, 6, 9), axis=1)
    complete = (begins + window_s <= t[-1, 0])[:, None] & (contact >= LEAST_CONTACT * window_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = ss / n - (s / n) ** 2
        slopes = (sd / n - s / n * (d / n)) / spread / STANDARD_GRAVITY
    known = complete & (spread >= LEAST_SPREAD * window_s**2 / 12.0)
    found: Array = np.where(known, slopes, np.nan)
    return found


class LaterReadings(TiltTrials):
    """Compares an estimate with the vertical by the readings that come after it."""

    def __init__(self, run: RecordedRun, division: Division) -> None:
        """Determine the verticals by later readings, once for all trials.

        Raises:
            RecordingError: If the readings determine none: too short, without contact, or without seconds
                in which they agree.
        """
        super().__init__(run, division)
        pipeline, samples = self.as_aligned() if self._planned else self.aligned()
        estimates = pipeline.estimates_of(samples, pipeline.config)
        steps: list[StepReadings] = []
        pipeline.estimator.on_step = steps.append
        deque(estimates, maxlen=0)
        self._stamps, self._verticals = verticals_of(steps, pipeline.estimator.radius)
        if not (division.blocks_at(self._stamps) >= 0).any():
            raise RecordingError(
                "the recording does not determine a vertical by later readings, expected seconds of motion "
                "or rest with a foot in contact and readings that agree"
            )

    def judged(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square difference of each block, without its constant part [deg^2]."""
        _common, own, theirs = np.intersect1d(
            self._stamps, stamps_ns, assume_unique=True, return_indices=True
        )
        stamps = self._stamps[own]
        used = (stamps <= until_ns) & (self.division.blocks_at(stamps) >= 0)
        turned = np.degrees(np.cross(tilts_B[theirs[used]], self._verticals[own[used]]))
        turned -= turned.mean(axis=0) if len(turned) else 0.0
        return self.division.means(stamps[used], np.sum(turned**2, axis=1))


def verticals_of(steps: Sequence[StepReadings], radius: float) -> tuple[NDArray[np.int64], Array]:
    """Return the verticals by later readings in the base frame, shape (n, 3), and their stamps [ns].

    Args:
        steps: What the observer takes at every step; a step of no or of a long time begins anew.
        radius: Of round feet [m].
    """
    breaks = [k for k, step in enumerate(steps) if not 0.0 < step.h <= LONGEST_INTERVAL]
    verticals = [np.zeros((0, 3))]
    for a, b in pairwise([*breaks, len(steps)]):
        R_BI = np.array([step.R_BI for step in steps[a:b]])
        z_I = later_verticals(ObserverReadings.of(steps[a:b], radius))
        verticals.append(np.einsum("kij,kj->ki", R_BI, z_I))
    found, stamps = np.concatenate(verticals), np.array([step.stamp_ns for step in steps], dtype=np.int64)
    known = np.isfinite(found[:, 0])
    return stamps[known], found[known]


class ReferenceTilt(TiltTrials):
    """Compares an estimate with a reference, after the best constant alignment of both."""

    def __init__(
        self,
        run: RecordedRun,
        division: Division,
        samples: Sequence[OrientationSample],
        trusted: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take the recording and its reference.

        Args:
            run: The recording.
            division: Its parts and blocks.
            samples: Reference orientations.
            trusted: Whether each is trusted, shape (n,); None: all are.
        """
        super().__init__(run, division)
        self._samples, self._trusted = samples, trusted

    def judged(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square error of each block [deg^2]."""
        at = np.array([sample.stamp_ns for sample in self._samples], dtype=np.int64)
        used = (self.division.blocks_at(at) >= 0) & (at <= until_ns)
        if self._trusted is not None:
            used &= self._trusted
        chosen = np.flatnonzero(used)[:: max(1, int(used.sum()) // MOST_SAMPLES)]
        if len(chosen) < 10:
            raise RecordingError(
                f"{len(chosen)} trusted samples of the reference lie within the recording's first "
                f"{(until_ns - self.division.begin_ns) / NANOSECONDS:.1f} s, expected at least 10"
            )
        errors = tilt_errors(stamps_ns, tilts_B, [self._samples[k] for k in chosen.tolist()])
        return self.division.means(errors.stamps_ns, np.degrees(errors.errors) ** 2)
