"""Centre of mass of the trunk from forces: by a recursion (T III-C), or by static poses (T III-A).

A method is pure and gets measurements only at rest. The third method is in `orientation_error`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.payload.rest import NOISE_SIGMAS
from inertial_estimation.payload.statics import StaticMeasurement, across_gravity, trunk_com_across_gravity
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

UNOBSERVED_COS_SQUARED = 0.5  # a base axis with a larger cos^2 to an unobserved direction is not measured
SETTLING_S = 1.0  # t_a (T III-B): time to remove 95 % of an error by recursion, and for the base to tilt
TILT_RAD = 0.15  # roll and pitch of the base that are requested to find the height

TOLERANCE_M = 5e-4  # distance at which a centre of mass has converged (T V)
COARSE_TOLERANCE_M = 4.0 * TOLERANCE_M  # for the height, and where the noise is large
SHORT_S = 0.25 * SETTLING_S  # settling time of the reference mean, and time to stay near it
PATIENCE_SETTLING_TIMES = 2.0  # settling times after which the recursion may end within its noise

AVERAGE_S = 0.5  # time over which the mass, and the measurement of one static pose, are averaged
PATIENCE_S = 10.0  # longest wait for a pose, for rest or for an input
SAME_POSTURE_RAD = 0.02  # largest rotation of the base at which its posture counts as the same or as reached
LEAST_SPREAD = 0.25 * TILT_RAD  # least spread of the poses to observe all components; see `PoseSolution`


class ComStep(NamedTuple):
    """State of a method after one measurement."""

    com_B: Array  # centre of mass of the trunk, base frame [m], shape (3,)
    sigma_B: Array  # standard deviation along the base axes [m], shape (3,); inf where nothing was measured
    residual: float  # of the method, as a distance of centres of mass [m]
    done: bool = False  # whether the method has converged
    refusal: str = ""  # why the method gives up; empty while it does not
    tilt: tuple[float, float] | None = None  # requested roll and pitch of the base [rad]; None: the original
    to_controller: bool = False  # whether the method needs a controller that uses `com_B` now


class ComMethod(ABC):
    """One identification of the centre of mass by a method.

    Attributes:
        com_B: Centre of mass of the trunk, base frame [m], shape (3,).
    """

    def __init__(self, com_B: Array, trunk_mass: float) -> None:
        """Begin from a centre of mass [m], with the trunk's mass known [kg]."""
        self.com_B: Array = np.array(com_B, dtype=float)
        self._trunk_mass = trunk_mass

    @abstractmethod
    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement that represents h [s] of rest; time between rests is not included.

        It is not called again once the method has converged or given up.
        """


def recursion_gain(settling_time: float, h: float) -> float:
    """Return the gain beta of x += beta (z - x) that removes 95 % of an error in a settling time t_a [s].

    beta = 1 - exp(-3 h / t_a), from t_a = -3 T_s / ln(1 - beta) (T III-B) with the step h [s] as T_s. Steps
    of any lengths that add up to t_a leave exp(-3) of an error.
    """
    return -math.expm1(-3.0 * max(0.0, h) / settling_time)


class SampleScatter:
    """Mean, covariance and correlation of successive samples of a vector, with exponential forgetting.

    Attributes:
        count: Number of samples.
        mean: Mean of the samples, shape (n,).
        covariance: Covariance of one sample about the mean, shape (n, n).
    """

    def __init__(self, size: int = 3) -> None:
        self.count, self._product = 0, 0.0
        self.mean, self._last, self.covariance = np.zeros(size), np.zeros(size), np.zeros((size, size))

    def add(self, sample: Array, gain: float) -> None:
        """Take a sample with a weight `gain`; the first samples count equally, until 1 / count is less."""
        self.count += 1
        weight = max(1.0 / self.count, gain)
        before = sample - self.mean
        self.mean = self.mean + weight * before
        self.covariance = (1.0 - weight) * (self.covariance + weight * np.outer(before, before))
        self._product += weight * (float(before @ self._last) - self._product)
        self._last = sample - self.mean

    def filtered_covariance(self, gain: float) -> Array:
        """Return the steady covariance of x += beta (z - x) over such samples, shape (n, n).

        beta / (2 - beta) (1 + rho') / (1 - rho') times that of a sample, rho' = (1 - beta) rho and rho the
        correlation of one sample with the next, since windows that overlap share their noise: exact for
        noise whose correlation falls as rho^k, too large by up to two for overlapping windows. While there
        are fewer than 1 / gain samples, beta is 1 over their number.
        """
        total = float(np.trace(self.covariance))
        beta = max(gain, 1.0 / max(self.count, 1))
        rho = (1.0 - beta) * min(max(self._product / total, 0.0), 1.0) if total > 0.0 else 0.0
        whole: Array = min(1.0, beta / (2.0 - beta) * (1.0 + rho) / (1.0 - rho)) * self.covariance
        return whole


class ContactForceRecursion(ComMethod):
    """Recursion on contact forces (T 18-19): `c_tr += beta R_WB' E_xy (m / m_tr) F x r / F'F`.

    `r = mu - c x F` is the moment the ground has about the supposed centre of mass, `F x r / F'F` the
    least-norm shift that explains it: (m / m_tr) times it is the measured less the supposed centre of mass of
    the trunk. Written on the residual its fixed point is r = 0. E_xy removes the component along gravity in
    the world, which no force determines. On a tilted trunk that is no axis of the base: an initial error e
    along gravity would remain and appear as e sin(tilt) across the base (a load 0.1 m behind the trunk's
    centre: 3 mm at 10 deg, and 17 mm in z). So the shift is moved along the vertical until the base's z is
    unchanged, the coordinate that loads move least.

    It has converged when the estimate stays within `TOLERANCE_M` of the running mean of the measurements for
    a quarter of the settling time, over which that mean is taken; or, after two settling times, when the two
    differ by less than three sigma of a noise below four tolerances. The standard deviations are those of the
    noise alone (an offset of a torque or a foot shifts every sample alike), infinite along the axis nearest
    to gravity.
    """

    def __init__(self, com_B: Array, trunk_mass: float) -> None:
        super().__init__(com_B, trunk_mass)
        self._elapsed = self._inside = 0.0
        self._scatter, self._recent = SampleScatter(), SampleScatter()

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement that represents h [s] of rest."""
        h = min(max(h, 0.0), SHORT_S)
        gain, recent_gain = recursion_gain(SETTLING_S, h), recursion_gain(SHORT_S, h)
        shift_B = self._shift(measurement)
        self._scatter.add(self.com_B + shift_B, gain)
        self._recent.add(self.com_B + shift_B, recent_gain)
        self.com_B = self.com_B + gain * shift_B
        self._elapsed += h
        distance = float(np.linalg.norm(self._recent.mean - self.com_B))
        self._inside = self._inside + h if distance < TOLERANCE_M else 0.0
        hidden = measurement.R_WB[2] ** 2 > UNOBSERVED_COS_SQUARED
        variance = np.diag(self._scatter.filtered_covariance(gain))
        sigma = np.where(hidden | (self._elapsed < SHORT_S), math.inf, np.sqrt(variance))
        done, refusal = self._inside >= SHORT_S, ""
        if not done and self._elapsed >= PATIENCE_SETTLING_TIMES * SETTLING_S:
            noise = math.sqrt(float(np.trace(self._recent.filtered_covariance(recent_gain))))
            done = distance < NOISE_SIGMAS * noise and noise < COARSE_TOLERANCE_M
            if not done and self._elapsed >= PATIENCE_S:
                refusal = (
                    f"after {self._elapsed:.1f} s the measured centre of mass still moves: it is "
                    f"{1e3 * distance:.1f} mm from the estimate and scatters by {1e3 * noise:.1f} mm, "
                    f"expected {1e3 * TOLERANCE_M:.1f} mm"
                )
        return ComStep(self.com_B, sigma, distance, done, refusal)

    def _shift(self, measurement: StaticMeasurement) -> Array:
        """Return the measured less the supposed centre of mass across gravity, base frame [m]."""
        measured_B = trunk_com_across_gravity(measurement, self._trunk_mass)
        shift = measured_B - across_gravity(self.com_B, measurement.R_WB)
        up_B = measurement.R_WB[2]
        if up_B[2] ** 2 > UNOBSERVED_COS_SQUARED:
            shift = shift - shift[2] / up_B[2] * up_B
        return shift


class PoseLine(NamedTuple):
    """Constraint by one pose: the trunk's centre of mass lies on a vertical line.

    It is (T 11), -[F]x c_tr = sum ((m p_i - m_l c_l) / m_tr) x f_i, multiplied by [F]x / F'F: with n = F/|F|,
    upwards at rest, the equation (1 - n n') c_tr = point. Least squares of both forms agree if all forces
    have one magnitude; this form is in metres and omits the component along gravity, which has no unknown.
    """

    direction_B: Array  # n, unit vector upwards, base frame, shape (3,)
    point_B: Array  # the point of the line nearest to the base origin [m], shape (3,)

    @classmethod
    def mean(cls, lines: Sequence["PoseLine"]) -> "PoseLine":
        """Return the mean of the lines of one pose."""
        n, point = (np.mean(parts, axis=0) for parts in zip(*lines, strict=True))
        n = n / float(np.linalg.norm(n))
        return cls(n, point - float(point @ n) * n)

    def angle_to(self, other: "PoseLine") -> float:
        """Return the angle to another line [rad], for small ones."""
        return float(np.linalg.norm(self.direction_B - other.direction_B))


class PoseSolution(NamedTuple):
    """The point nearest to all lines."""

    com_B: Array  # centre of mass of the trunk [m], shape (3,); unchanged along an unobserved direction
    sigma_B: Array  # standard deviation from the residuals [m], shape (3,); inf along an unobserved axis
    residual: float  # deviation of one pose's equation [m]; NaN where the poses leave no freedom
    spread: float  # smallest singular value over sqrt(n) [1]: of two poses half the angle between them [rad]


def nearest_point(lines: Sequence[PoseLine], before_B: Array, least_spread: float) -> PoseSolution:
    """Return the point with the least sum of squared distances to the lines, one or more.

    Singular values of the stacked matrix below `least_spread` sqrt(n) count as zero; along the directions
    that no line determines, `before_B` is kept. The covariance is s^2 (A'A)^-1 with s^2 the sum of squared
    distances over 2 n less the number of determined unknowns: each line gives two equations of equal weight.
    """
    n, points = (np.array(parts) for parts in zip(*lines, strict=True))
    A, b = (np.eye(3) - n[:, :, None] * n[:, None, :]).reshape(-1, 3), points.ravel()
    U, s, Vt = linear_algebra.svd(A, full_matrices=False)
    scale = math.sqrt(len(lines))
    seen = s > least_spread * scale
    com = before_B + Vt[seen].T @ (U[:, seen].T @ (b - A @ before_B) / s[seen])
    freedom, left = 2 * len(lines) - int(seen.sum()), b - A @ com
    residual = math.sqrt(float(left @ left) / freedom) if freedom else math.nan
    sigma = residual * np.sqrt(np.sum((Vt[seen] / s[seen, None]) ** 2, axis=0)) if freedom else math.inf
    hidden = np.sum(Vt[~seen] ** 2, axis=0) > UNOBSERVED_COS_SQUARED
    return PoseSolution(com, np.where(hidden, math.inf, sigma), residual, float(s[-1]) / scale)


class StaticPoses(ComMethod):
    """Requests a level base, roll and pitch to both sides, and solves for all three components (T 11).

    The measured tilt counts, not the requested one: a new pose is any that differs from the earlier ones by
    half the tilt, so a robot without posture controller may be tilted by hand. A pose that is not reached is
    left out; at the end the spread of the poses decides. The standard deviations come from the residuals of
    the poses and do not include an error that all poses share.

    Attributes:
        poses: One line for each pose.
    """

    def __init__(self, com_B: Array, trunk_mass: float) -> None:
        super().__init__(com_B, trunk_mass)
        t = TILT_RAD
        self._requests = [(0.0, 0.0), (t, 0.0), (-t, 0.0), (0.0, t), (0.0, -t)]
        self.poses: list[PoseLine] = []
        self._solution = PoseSolution(self.com_B, np.full(3, math.inf), math.nan, 0.0)
        self._lines: list[PoseLine] = []  # of the pose under measurement
        self._lasted = self._waited = 0.0  # duration of that pose, and of the wait for another one [s]

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement that represents h [s] of rest."""
        point_B = trunk_com_across_gravity(measurement, self._trunk_mass)
        self._take(PoseLine(measurement.R_WB[2], point_B), h)
        com_B, sigma_B, residual, spread = self._solution
        if self._requests:
            return ComStep(com_B, sigma_B, residual, tilt=self._requests[0])
        refusal = ""
        if spread <= LEAST_SPREAD:
            refusal = (
                f"the base did not tilt: {len(self.poses)} poses spread by {spread:.3f} rad, expected more "
                f"than {LEAST_SPREAD:.3f} rad to tell all three components; tilt it, or take another method"
            )
        return ComStep(com_B, sigma_B, residual, not refusal, refusal)

    def _take(self, line: PoseLine, h: float) -> None:
        if any(line.angle_to(pose) < 2.0 * LEAST_SPREAD for pose in self.poses):
            self._lines, self._waited = [], self._waited + h
        elif not self._lines or line.angle_to(self._lines[0]) > SAME_POSTURE_RAD:
            self._lines, self._lasted = [line], 0.0
        else:
            self._lines, self._lasted = [*self._lines, line], self._lasted + h
        measured = bool(self._lines) and self._lasted >= AVERAGE_S
        if measured:
            self.poses.append(PoseLine.mean(self._lines))
            self._solution = nearest_point(self.poses, self.com_B, LEAST_SPREAD)
        if measured or self._waited > PATIENCE_S:
            self._lines, self._waited = [], 0.0
            self._requests.pop(0)
