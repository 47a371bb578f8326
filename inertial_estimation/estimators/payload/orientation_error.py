"""Centre of mass of the trunk from the tilt a posture controller leaves (T III-B)."""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.estimators.payload.com_method import ComStep, recursion_gain
from inertial_estimation.estimators.payload.payload_config import OrientationErrorConfig
from inertial_estimation.estimators.payload.tilt_response import (
    CAUSE_OTHER_CONTROLLER,
    SettledTilt,
    SteadyTilt,
    fit_response,
    heading_rotation,
    orientation_error,
    response_problem,
    spring_response,
)
from inertial_estimation.models.trunk_statics import StaticMeasurement
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

TILT_TIME_S = 1.0  # for the reference to reach another tilt [s]
LARGEST_UNPREDICTED_SHARE = 0.7  # of a predicted turn, the largest difference from the measured one
LARGEST_REMAINDER_SHARE = 0.25  # of the response, what may be left of a probe after it was taken back
LEAST_LEARNING_SHARE = 0.1  # of the probe: smallest shift that the response is learnt from
NOISE_FLOOR_STEADY_CHANGES = 4.0  # steady changes of the tilt that no prediction is judged by
LEAST_FOLLOWED_SHARE = (
    0.75  # of the tilt asked for, that the trunk must take: 0.2 m of error in z leave as much
)
MOST_CORRECTIONS = 40


class _Stage(Enum):
    PROBE = "probe"
    LEVEL = "level"
    FORWARD = "forward"
    BACKWARD = "backward"
    END = "end"


@dataclass(frozen=True, slots=True, eq=False)
class _Response:
    """Turn of the trunk per shift of its centre of mass.

    Attributes:
        matrix: G [rad/m], shape (2, 2).
        inverse: G^-1 [m/rad], shape (2, 2); zero before the probe.
    """

    matrix: Array
    inverse: Array

    @classmethod
    def of(cls, matrix: Array) -> "_Response":
        """Return a response with its inverse."""
        return cls(matrix, linear_algebra.inv(matrix))


@dataclass(slots=True, eq=False)
class _HeightSearch:
    """Search for z on a base pitched forward and backward.

    Attributes:
        found: Whether z is found, or not searched for.
        forward: The tilt settled at the forward pitch.
        predicted: Correction of z that the next pair of tilts should show [m].
        last: Size of the correction that the last pair showed [m].
    """

    found: bool
    forward: SettledTilt | None = None
    predicted: float = 0.0
    last: float = math.inf


class OrientationError:
    """Probe, x and y on a level base (T 13-14), z on a tilted one (T 15), level again.

    The controller uses `com_B` all the time. After each change the trunk is left to settle, then a share
    beta = 1 - exp(-3 T / t_a) of the shift its error stands for is made, T the time since the change:
    discrete steps, since a correction while the trunk still turns integrates its lag and swings.

    The probe shifts the centre of mass forward, to the left and back. What the trunk does is the response
    G = d e / d c_hat, whose inverse is M of (T 12) whatever the controller. It refuses a controller that
    holds the trunk (no response), one that integrates (it does not come back), and later any turn that is
    not the one predicted.

    For z the base pitches forward and backward. A wrong z moves the weight to the side the base leans to,
    c - c_hat = -G^-1 e = R_HB[:2] (dx, dy, dz): opposite in the two tilts, while an error left in x is the
    same in both and so stays out of z. T 15 has one tilt, and the sign of a forward one.

    Attributes:
        com_B: Centre of mass of the trunk the controller should use, base frame [m], shape (3,).
    """

    def __init__(self, config: OrientationErrorConfig) -> None:
        self._config = config
        self.start(np.zeros(3), 1.0)

    def start(self, com_B: Array, trunk_mass: float) -> None:
        """Begin from a centre of mass [m], shape (3,), with the trunk's mass known [kg]."""
        config = self._config
        self._start_B = np.array(com_B, dtype=float)
        self.com_B: Array = self._start_B.copy()
        self._trunk_mass = trunk_mass
        self._response = _Response(np.zeros((2, 2)), np.zeros((2, 2)))
        self._steady = SteadyTilt(config.dwell, config.window, config.steady)
        self._stage = _Stage.PROBE
        self._seen: list[tuple[Array, Array]] = []  # horizontal shift and error of each probe
        self._shifted: tuple[Array, Array] | None = None  # error before the last correction, horizontal shift
        self._height = _HeightSearch(found=not config.find_z)
        self._changes: list[Array] = []
        self._corrections = 0
        self._residual = math.nan
        self._refusal = ""

    @property
    def response(self) -> Array:
        """G, in horizontal axes of the heading [rad/m], shape (2, 2); zero before the probe."""
        return self._response.matrix

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Take one measurement at rest; only its orientation is used.

        Args:
            measurement: Orientation of the base.
            h: Time since the last one [s].

        Returns:
            What the controller should use now, and the tilt asked for.
        """
        if self._stage is not _Stage.END:
            R_HB = heading_rotation(measurement.R_WB)
            error = orientation_error(R_HB, self._tilt() or (0.0, 0.0))
            settled = self._steady.add(R_HB, error, h)
            if settled is not None:
                self._changes.append(settled.change)
                self._settled(settled, self._trunk_mass * measurement.gravity)
            elif self._steady.overdue:
                self._refuse(
                    f"the tilt does not settle: after {self._steady.elapsed:.0f} s it still changes by "
                    f"{math.degrees(self._steady.change):.2f} deg in {self._config.window:.2g} s; "
                    f"{CAUSE_OTHER_CONTROLLER}"
                )
        done = self._stage is _Stage.END and not self._refusal
        return ComStep(
            self.com_B.copy(), self._sigma(), self._residual, done, self._refusal, self._tilt(), True
        )

    def _tilt(self) -> tuple[float, float] | None:
        """Return roll and pitch to ask for; level is asked for, too: the robot may keep another posture."""
        if self._stage is _Stage.END:
            return None
        tilt = self._config.tilt
        return 0.0, {_Stage.FORWARD: tilt, _Stage.BACKWARD: -tilt}.get(self._stage, 0.0)

    def _settled(self, settled: SettledTilt, weight: float) -> None:
        if self._stage is _Stage.PROBE:
            self._probe(settled, weight)
        elif self._stage is _Stage.LEVEL:
            self._level(settled)
        elif self._stage is _Stage.FORWARD:
            self._height.forward = settled
            self._go(_Stage.BACKWARD)
        else:
            self._correct_height(settled)

    def _probe(self, settled: SettledTilt, weight: float) -> None:
        """Take one of the four probes: none, forward, left, none again."""
        step = self._config.probe
        self._seen.append(((settled.R_HB @ (self.com_B - self._start_B))[:2], settled.error))
        if len(self._seen) < 4:
            shift = {1: (step, 0.0, 0.0), 2: (0.0, step, 0.0), 3: (0.0, 0.0, 0.0)}[len(self._seen)]
            self.com_B = self._start_B + np.array(shift)
            self._steady.restart()
            return
        G = fit_response(np.array([s for s, _ in self._seen]), np.array([e for _, e in self._seen]))
        expected = self._expected(weight)
        problem = response_problem(G, step, self._config.least_response, expected)
        left = float(np.linalg.norm(self._seen[3][1] - self._seen[0][1]))
        moved = step * float(np.linalg.norm(G, ord=2))
        if not problem and left > LARGEST_REMAINDER_SHARE * moved + 2.0 * self._config.steady:
            problem = (
                f"the trunk does not come back: {math.degrees(moved):.2f} deg by a probe of "
                f"{1e3 * step:.0f} mm, and {math.degrees(left):.2f} deg are left after it was taken back; "
                "its posture controller integrates"
            )
        if problem:
            self._refuse(problem)
            return
        self._response = _Response.of(G if expected is None else expected)
        self._stage = _Stage.LEVEL
        self._level(settled)

    def _expected(self, weight: float) -> Array | None:
        roll, pitch = self._config.stiffness_roll, self._config.stiffness_pitch
        return spring_response(weight, roll, pitch) if roll > 0.0 and pitch > 0.0 else None

    def _level(self, settled: SettledTilt) -> None:
        """Correct x and y by the error of a level base (T 13), or go on where there is none."""
        if not self._as_predicted(settled.error):
            return
        shift = linear_algebra.solve(settled.R_HB[:2, :2], -self._response.inverse @ settled.error)
        self._residual = float(np.linalg.norm(shift))
        if self._residual < self._config.tolerance:
            self._shifted = None
            self._go(_Stage.END if self._height.found else _Stage.FORWARD)
            return
        part = recursion_gain(self._config.settling_time, settled.elapsed) * shift
        self.com_B = self.com_B + np.array([part[0], part[1], 0.0])
        self._shifted = settled.error, settled.R_HB[:2, :2] @ part
        self._steady.restart()
        self._count_correction()

    def _as_predicted(self, error: Array) -> bool:
        """Compare the turn a correction made with G times it, and learn from it; refuse a trunk that fights.

        G += (turn - G s) s' / s's (Broyden): springs of a controller with limits are softer at large tilts.
        """
        if self._shifted is None:
            return True
        before, shift = self._shifted
        turn = error - before
        predicted = self._response.matrix @ shift
        wrong = float(np.linalg.norm(turn - predicted))
        size = float(np.linalg.norm(predicted))
        if wrong > LARGEST_UNPREDICTED_SHARE * size + NOISE_FLOOR_STEADY_CHANGES * self._config.steady:
            self._refuse(
                f"the error does not shrink as predicted: the last shift was to turn the trunk by "
                f"{math.degrees(size):.2f} deg, it turned by {math.degrees(np.linalg.norm(turn)):.2f} deg, "
                f"{math.degrees(wrong):.2f} deg from where it should be; {CAUSE_OTHER_CONTROLLER}"
            )
            return False
        square = float(shift @ shift)
        if square > (LEAST_LEARNING_SHARE * self._config.probe) ** 2:
            correction = np.outer(turn - predicted, shift) / square
            self._response = _Response.of(self._response.matrix + correction)
        return True

    def _correct_height(self, backward: SettledTilt) -> None:
        """Correct z by the errors of two tilts (T 15)."""
        forward = self._height.forward
        assert forward is not None
        taken = _pitch(forward.R_HB) - _pitch(backward.R_HB)
        if taken < LEAST_FOLLOWED_SHARE * 2.0 * self._config.tilt:
            self._refuse(
                f"the trunk does not take the pitch asked for: {math.degrees(taken):.1f} deg to and fro, "
                f"expected {math.degrees(2.0 * self._config.tilt):.1f} deg; {CAUSE_OTHER_CONTROLLER}"
            )
            return
        poses = (forward, backward)
        A = np.vstack([pose.R_HB[:2] for pose in poses])
        b = np.concatenate([-self._response.inverse @ pose.error for pose in poses])
        dz = float(linear_algebra.lstsq(A, b)[2])
        tolerance = self._config.tolerance_z
        if abs(dz - self._height.predicted) > LARGEST_UNPREDICTED_SHARE * self._height.last + 2.0 * tolerance:
            self._refuse(
                f"z does not approach a value: {1e3 * dz:.1f} mm are left to go, expected "
                f"{1e3 * self._height.predicted:.1f} mm; {CAUSE_OTHER_CONTROLLER}"
            )
            return
        if abs(dz) < tolerance:
            self._height.found = True
            self._go(_Stage.LEVEL)
            return
        gain = recursion_gain(self._config.settling_time, backward.elapsed + TILT_TIME_S)
        self.com_B = self.com_B + np.array([0.0, 0.0, gain * dz])
        self._height.predicted, self._height.last = (1.0 - gain) * dz, abs(dz)
        self._go(_Stage.FORWARD)
        self._count_correction()

    def _go(self, stage: _Stage) -> None:
        self._stage = stage
        self._steady.restart(TILT_TIME_S)

    def _count_correction(self) -> None:
        self._corrections += 1
        if self._corrections > MOST_CORRECTIONS:
            self._refuse(
                f"no end after {MOST_CORRECTIONS} corrections: {1e3 * self._residual:.1f} mm are left; "
                f"{CAUSE_OTHER_CONTROLLER}"
            )

    def _refuse(self, reason: str) -> None:
        self._refusal = reason
        self._stage = _Stage.END
        self.com_B = self._start_B

    def _sigma(self) -> Array:
        """Return deviations from how far two windows at rest differ; an offset of the tilt is not in them."""
        sigma: Array = np.full(3, math.inf)
        inverse = self._response.inverse
        if not inverse.any():
            return sigma
        variance = float(np.mean(np.square(self._changes))) / 2.0
        sigma[:2] = np.sqrt(variance * np.sum(inverse**2, axis=1))
        if self._height.found and self._config.find_z:
            sigma[2] = sigma[0] / (math.sqrt(2.0) * math.sin(self._config.tilt))
        return sigma


def _pitch(R_HB: Array) -> float:
    return math.atan2(R_HB[0, 2], R_HB[2, 2])
