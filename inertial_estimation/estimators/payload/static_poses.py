"""Centre of mass of the trunk by least squares over static poses (T III-A)."""

import math

import numpy as np

from inertial_estimation.estimators.payload.com_method import ComStep, not_carried
from inertial_estimation.estimators.payload.payload_config import StaticPosesConfig
from inertial_estimation.estimators.payload.pose_lines import PoseLine, PoseSolution, nearest_point, pose_line
from inertial_estimation.models.trunk_statics import StaticMeasurement
from inertial_estimation.signals import Array

NEW_POSE_SHARE = 0.5  # of the tilt asked for: a pose this far from all others is a new one
STEADY_POSE_RAD = 0.02  # what the tilt may change within one pose [rad]
LEAST_SPREAD_SHARE = 0.25  # of the tilt asked for; five poses by that tilt have 0.9


class StaticPoses:
    """Asks for a level base, roll and pitch to both sides, and solves for all three components.

    What counts is the tilt the base takes, not the one asked for: a new pose is any that differs from those
    before by half the tilt, so a robot without posture controller may be tilted by hand. A pose that does
    not come within `patience` is left out; at the end the spread of the poses decides.

    Attributes:
        com_B: Centre of mass of the trunk, base frame [m], shape (3,).
        poses: One line for each pose.
    """

    def __init__(self, config: StaticPosesConfig) -> None:
        self._config = config
        self.start(np.zeros(3), 1.0)

    def start(self, com_B: Array, trunk_mass: float) -> None:
        """Begin from a centre of mass [m], shape (3,), with the trunk's mass known [kg]."""
        t = self._config.tilt
        self._tilts = [(0.0, 0.0), (t, 0.0), (-t, 0.0), (0.0, t), (0.0, -t)]
        self._start_B = np.array(com_B, dtype=float)
        self.com_B = self._start_B
        self._trunk_mass = trunk_mass
        self.poses: list[PoseLine] = []
        self._verticals: list[Array] = []
        self._solution: PoseSolution | None = None
        self._waited = 0.0
        self._mean: _PoseMean | None = None

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Take one measurement at rest.

        Args:
            measurement: Forces and lever arms.
            h: Time since the last one [s].

        Returns:
            The solution over the poses so far, and the tilt asked for next. Its deviations come from what the
            poses contradict each other: an error all poses share is not in them.
        """
        refusal = not_carried(measurement, self._trunk_mass)
        if refusal:
            return self._step(refusal=refusal)
        if self._tilts:
            self._wait(measurement, h)
        return self._step() if self._tilts else self._last_step()

    def _wait(self, measurement: StaticMeasurement, h: float) -> None:
        vertical_B = np.array(measurement.R_WB[2])
        spacing = NEW_POSE_SHARE * self._config.tilt
        if any(_distance(vertical_B, seen) < spacing for seen in self._verticals):
            self._mean = None
            self._waited += h
            if self._waited > self._config.patience:
                self._next()
            return
        line = pose_line(measurement, self._trunk_mass)
        if self._mean is None or _distance(vertical_B, self._mean.vertical_B) > STEADY_POSE_RAD:
            self._mean = _PoseMean(vertical_B, line)
            return
        self._mean.add(line, h)
        if self._mean.elapsed >= self._config.duration:
            self.poses.append(self._mean.line())
            self._verticals.append(vertical_B)
            self._solution = nearest_point(self.poses, self._start_B, LEAST_SPREAD_SHARE * self._config.tilt)
            self.com_B = self._solution.com_B
            self._next()

    def _next(self) -> None:
        self._mean = None
        self._waited = 0.0
        self._tilts.pop(0)

    def _step(self, *, done: bool = False, refusal: str = "") -> ComStep:
        tilt = self._tilts[0] if self._tilts and not refusal else None
        if self._solution is None:
            return ComStep(self.com_B, np.full(3, math.inf), math.nan, done, refusal, tilt)
        solution = self._solution
        return ComStep(self.com_B, solution.sigma_B, solution.residual, done, refusal, tilt)

    def _last_step(self) -> ComStep:
        least = LEAST_SPREAD_SHARE * self._config.tilt
        spread = self._solution.spread if self._solution is not None else 0.0
        if spread > least:
            return self._step(done=True)
        return self._step(
            refusal=f"the base did not tilt: {len(self.poses)} poses spread by {spread:.3f} rad, expected "
            f"more than {least:.3f} rad to tell all three components; tilt it, or take another method"
        )


class _PoseMean:
    """Mean over the samples of one pose.

    Attributes:
        vertical_B: The vertical when it began.
        elapsed: Time it has lasted [s].
    """

    def __init__(self, vertical_B: Array, line: PoseLine) -> None:
        self.vertical_B = vertical_B
        self.elapsed = 0.0
        self._count = 1
        self._direction = line.direction_B
        self._point = line.point_B

    def add(self, line: PoseLine, h: float) -> None:
        """Take one more sample, h [s] after the last one."""
        self.elapsed += h
        self._count += 1
        self._direction = self._direction + line.direction_B
        self._point = self._point + line.point_B

    def line(self) -> PoseLine:
        """Return the mean line."""
        n = self._direction / math.sqrt(float(self._direction @ self._direction))
        point = self._point / self._count
        return PoseLine(n, point - float(point @ n) * n)


def _distance(a: Array, b: Array) -> float:
    return float(np.linalg.norm(a - b))
