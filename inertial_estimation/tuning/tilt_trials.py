"""Trials of the tilt observer, scored by later readings or by a reference.

In a frame that turns with the gyroscope the integrated specific force F and the contact velocity y, both
turned into that frame, differ by a line,

    d(t) = F(t) - y(t) = -v0 + g0 t z,

whose slope is the vertical z. Fitted over the `WINDOW_S` after a time t, it determines z(t) by readings that
an estimate at t has not used. The noise of later readings is independent of that of earlier ones, so the mean
square of the angle between the two is the mean square error of the estimate plus that of the fit. The latter
is the same for every estimate, so the sum is least where the unknown error is least (the argument of Lehtinen
et al., Noise2Noise, ICML 2018, 2). Errors that both have in common are not detected: an offset of the
accelerometer, errors whose period is that of the window. A constant gyroscope bias rotates the two against
each other by more than the error of either: a constant difference therefore does not count.

The inputs of the observer are recorded once, in a replay with the present gains: mean readings over the
steps, and contacts and statistics at its looks, which hardly depend on its gains. A trial runs the observer
on these inputs.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.errors import RecordingError
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.replay.reference import FEWEST_TILTS, ReplayReference, tilt_errors
from inertial_estimation.signals import Array, seconds
from inertial_estimation.spatial.rotations import exp_so3, log_so3
from inertial_estimation.tilt.base_estimator import ObserverStep, tilt_observer
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.observer import ContactOdometry
from inertial_estimation.tilt.pipeline import TiltPipeline
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.trials import Objective, Trials, Values

WINDOW_S = 1.5  # window of the later readings that determine the vertical [s]
LEAST_SHARE = 0.5  # least contact time of a window and variance of these times, as shares of the window's


class TiltTrials(Trials):
    """Runs the observer on its recorded inputs at each of K steps; small when pickled.

    Attributes:
        radius: Radius of round feet [m].
    """

    def __init__(self, division: Division, pipeline: TiltPipeline, steps: Sequence[ObserverStep]) -> None:
        """Store the inputs of the observer of a pipeline at every step."""
        stamps, h, readings, looks, _verticals, _biases, R_BI = zip(*steps, strict=True)
        self.division, self.radius = division, pipeline.estimator.radius
        self._parameters, self._stamps_ns = parameter_values(pipeline.config), np.array(stamps)
        self._steps = (np.array(h), np.array(readings), looks, np.array(R_BI))

    def scores(self, values: Values, parts: int) -> Array:
        """Score the tilt with other gains; see `Trials.scores`."""
        until_ns = self.division.part_end_ns(parts - 1)
        return self.judged(*self.tilts(values, until_ns), until_ns)

    def tilts(self, gains: Values, until_ns: int) -> tuple[NDArray[np.int64], Array]:
        """Run the observer until a stamp [ns] with other gains.

        Returns:
            Stamps [ns], shape (n,), and verticals in the base frame, shape (n, 3), of its estimates.
        """
        config = build_config(TiltPipelineConfig, {**self._parameters, **gains})
        observer = tilt_observer(config, self.radius)
        count = int(np.searchsorted(self._stamps_ns, until_ns, side="right"))
        tilts = np.full((count, 3), np.nan)
        for h, reading, look, R_BI, tilt in zip(*self._steps, tilts, strict=False):
            if h <= 0.0:
                observer.restart()
            observer.level(reading[:3])
            if h > 0.0:
                observer.step(float(h), reading, look)
                if not observer.aligning:
                    tilt[:] = R_BI @ observer.state.vertical
        known = np.isfinite(tilts[:, 0])
        return self._stamps_ns[:count][known], tilts[known]

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


class Intervals(NamedTuple):
    """Measurements over each of K intervals, in the frame of the IMU in the middle of each interval."""

    h: Array  # durations [s], shape (K,)
    w_I: Array  # mean angular velocity of the IMU, bias removed [rad/s], shape (K, 3)
    f_I: Array  # mean specific force [m/s^2], shape (K, 3)
    # mean velocity of the IMU in its frame, from contacts [m/s], shape (K, 3); NaN without contact
    y_v: Array


def later_verticals(readings: Intervals, window_s: float = WINDOW_S) -> Array:
    """Return the vertical in the IMU frame at the end of each interval, by later readings alone.

    Args:
        readings: Intervals without a gap.
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


def _accumulated(readings: Intervals) -> Rotation:
    """Return the orientation after each interval relative to that before the first one."""
    turned = Rotation.from_rotvec(readings.h[:, None] * readings.w_I)
    reach = 1
    while reach < len(readings.h):  # the products span twice as many steps in every pass
        later = turned[:-reach] * turned[reach:]
        turned = Rotation.concatenate([turned[:reach], later])
        reach *= 2
    return turned


def _slopes(t: Array, line: Array, readings: Intervals, begins: Array, window_s: float) -> Array:
    """Return the slopes of a line in windows, divided by g0, by the samples in contact; NaN where unknown."""
    used = np.isfinite(readings.y_v[:, :1]).astype(float)
    t = t[:, None]
    columns = used * np.concatenate([np.ones_like(t), t, t * t, line, t * line, readings.h[:, None]], axis=1)
    sums = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)])
    first = np.searchsorted(t[:, 0], begins)
    last = np.searchsorted(t[:, 0], begins + window_s)
    n, s, ss, d, sd, contact = np.split(sums[last] - sums[first], (1, 2, 3, 6, 9), axis=1)
    complete = (begins + window_s <= t[-1, 0])[:, None] & (contact >= LEAST_SHARE * window_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = ss / n - (s / n) ** 2
        slopes = (sd / n - s / n * (d / n)) / spread / STANDARD_GRAVITY
    known = complete & (spread >= LEAST_SHARE * window_s**2 / 12.0)
    return np.where(known, slopes, np.nan)


class LaterReadings(TiltTrials):
    """Compares an estimate with the vertical by the readings that come after it."""

    objective = Objective(TILT_NODE, "tilt against later readings, rms", "deg", squared=True)

    def __init__(self, run: RecordedRun, division: Division) -> None:
        """Determine the verticals by later readings, once for all trials, and record the observer's inputs.

        Raises:
            RecordingError: If the readings determine no vertical: the recording is too short, without
                contact, or the readings never agree.
        """
        pipeline, steps = run.observer_steps()
        super().__init__(division, pipeline, steps)
        self._stamps, self._verticals = verticals_of(steps, self.radius)
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


def verticals_of(steps: Sequence[ObserverStep], radius: float) -> tuple[NDArray[np.int64], Array]:
    """Return the verticals by later readings in the base frame, shape (n, 3), and their stamps [ns].

    Args:
        steps: Inputs of the observer at every step; a step of zero duration is a restart.
        radius: Radius of round feet [m].
    """
    stamps, verticals = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    for a, b in pairwise([*(k for k, step in enumerate(steps) if step.h <= 0.0), len(steps)]):
        looks = [step for step in steps[a:b] if step.look is not None]
        z_I = later_verticals(intervals_of(steps[a:b], radius))
        stamps.append(np.array([step.stamp_ns for step in looks], dtype=np.int64))
        R_BI = np.array([step.R_BI for step in looks]).reshape(-1, 3, 3)
        verticals.append(np.einsum("kij,kj->ki", R_BI, z_I))
    found = np.concatenate(verticals)
    known = np.isfinite(found[:, 0])
    return np.concatenate(stamps)[known], found[known]


def intervals_of(steps: Sequence[ObserverStep], radius: float) -> Intervals:
    """Return the measurements from one look to the next; steps after the last look are left out."""
    odometry, rows = ContactOdometry(radius), list[tuple[float, Array, Array, Array]]()
    time, turned, pushed = 0.0, np.eye(3), np.zeros(3)
    for step in steps:
        h, rate = step.h, step.reading[3:] - step.bias
        pushed = pushed + h * (turned @ exp_so3(0.5 * h * rate) @ step.reading[:3])
        time, turned = time + h, turned @ exp_so3(h * rate)
        odometry.propagate(h, rate)
        if step.look is not None and time > 0.0:
            w = log_so3(turned) / time
            half = exp_so3(0.5 * time * w)  # middle from end
            feet, velocity = step.look.feet, None
            if feet is not None:
                velocity = odometry.velocity(feet) if odometry.time < 1.5 * time else None
                odometry.restart(feet, step.vertical)
            y_v = np.full(3, np.nan) if velocity is None else half @ velocity
            rows.append((time, w, half.T @ pushed / time, y_v))
            time, turned, pushed = 0.0, np.eye(3), np.zeros(3)
    vectors = [np.array([row[k] for row in rows]).reshape(-1, 3) for k in (1, 2, 3)]
    return Intervals(np.array([row[0] for row in rows]), *vectors)


class ReferenceTilt(TiltTrials):
    """Compares an estimate with a reference, after the best constant alignment of both."""

    objective = Objective(TILT_NODE, "tilt against the reference, rms", "deg", squared=True)

    def __init__(self, run: RecordedRun, division: Division, reference: ReplayReference) -> None:
        """Record the observer's inputs, and take the reference of the recording."""
        super().__init__(division, *run.observer_steps())
        self._samples, self._trusted = reference.samples, reference.trusted

    def judged(self, stamps_ns: NDArray[np.int64], tilts_B: Array, until_ns: int) -> Array:
        """Return the mean square error of each block [deg^2]."""
        at = np.array([sample.stamp_ns for sample in self._samples], dtype=np.int64)
        used = (self.division.blocks_at(at) >= 0) & (at <= until_ns)
        if self._trusted is not None:
            used &= self._trusted
        chosen = np.flatnonzero(used)
        if len(chosen) < FEWEST_TILTS:
            raise RecordingError(
                f"{len(chosen)} trusted samples of the reference lie within the recording's first "
                f"{seconds(until_ns - self.division.begin_ns):.1f} s, expected at least {FEWEST_TILTS}"
            )
        errors = tilt_errors(stamps_ns, tilts_B, [self._samples[k] for k in chosen.tolist()])
        return self.division.means(errors.stamps_ns, np.degrees(errors.errors) ** 2)
