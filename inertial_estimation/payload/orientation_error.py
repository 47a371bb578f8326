"""Centre of mass of the trunk from the tilt a posture controller leaves (T III-B).

The controller carries the weight through the supposed centre of mass c_hat and turns the trunk back with
torsional springs: the moment of the ground about c_hat is K e, e = log(R_ref R_WB') the rotation from what is
to what is wanted. At rest the moment about the true one is zero, so sum p x f = c x F and

    (c - c_hat) x F = K e,    F = m g e_z:    c_x - c_hat_x = -K e_y / (m g),  c_y - c_hat_y = K e_x / (m g).

So a centre of mass ahead of what is believed pitches the trunk forward, one farther left rolls it to the
left. Solved for e, and with the trunk's mass and centre of mass, since m c moves as m_tr c_tr:
e = G (c_hat - c), G the response, [[0, -m_tr g / K_x], [m_tr g / K_y, 0]] of springs without coupling (T 12).
"""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.payload.com_methods import ComMethod, ComStep, recursion_gain
from inertial_estimation.payload.config import TrunkPayloadConfig
from inertial_estimation.payload.statics import StaticMeasurement
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import log_so3, rotation_from_roll_pitch_yaw, yaw_of

PROBE_M = 0.02  # known shift of the centre of mass by which the response is measured
SETTLING_FACTOR = 4.0  # of the settling time of forces, in which an error is gone: the base turns in between
TOLERANCE_M, TOLERANCE_Z_M = 5e-4, 2e-3  # of a correction, at which a coordinate has converged
LEAST_RESPONSE = 0.1  # of a posture controller [rad/m]
LEAST_ALIGNED_SHARE = 0.5  # share of a response that must be about the axis of T 12, in its sense
LARGEST_REMAINDER_SHARE = 0.25  # of the response, what may be left of a probe after it was taken back
LARGEST_UNPREDICTED_SHARE = 0.7  # of a predicted turn, the largest difference from the measured one
LEAST_LEARNING_SHARE = 0.1  # of the probe: smallest shift that the response is learnt from
LEAST_FOLLOWED_SHARE = 0.75  # of the pitch asked for, that the trunk takes: 0.2 m off in z leave as much
DWELL_S = 0.5  # for which the trunk may move after a change before its tilt is measured
TILT_TIME_S = 1.0  # for the reference to reach another tilt, before that
WINDOW_S = 0.3  # over which the tilt is averaged; two consecutive windows must agree
STEADY_RAD = 5e-4  # largest difference between them
LONGEST_SETTLING_S = 6.0  # of a tilt, after the dwell
NOISE_FLOOR_RAD = 4.0 * STEADY_RAD  # of a turn, that no prediction is judged by
CAUSE = "another controller holds it, or its posture controller integrates"


def heading_rotation(R_WB: Array) -> Array:
    """Return the orientation of the base in axes that have its heading: R_WB without yaw, shape (3, 3).

    A base whose x axis is vertical has no heading; any serves.
    """
    R: Array = rotation_from_roll_pitch_yaw(0.0, 0.0, -yaw_of(R_WB)) @ R_WB
    return R


def orientation_error(R_HB: Array, tilt: tuple[float, float]) -> Array:
    """Return e = log(R_ref R_HB') about the horizontal axes of the heading [rad], shape (2,).

    `tilt` is the roll and pitch wanted [rad]; small level errors are (-roll, -pitch) (T 12).
    """
    return log_so3(rotation_from_roll_pitch_yaw(*tilt, 0.0) @ R_HB.T)[:2]


@dataclass(frozen=True, slots=True, eq=False)
class SettledTilt:
    """An orientation error that has stopped changing.

    Attributes:
        error: Mean over the last window [rad], shape (2,).
        R_HB: Orientation of the base at its end, without yaw, shape (3, 3).
        change: Less that of the window before [rad], shape (2,).
        elapsed: Time since the last change [s].
    """

    error: Array
    R_HB: Array
    change: Array
    elapsed: float

    @property
    def pitch(self) -> float:
        """Of the base [rad]."""
        return math.atan2(self.R_HB[0, 2], self.R_HB[2, 2])


class SteadyTilt:
    """Waits until a tilt has stopped changing: two windows in a row agree.

    Attributes:
        elapsed: Time since it was restarted, less the extra time [s].
        change: Largest difference between the last two windows [rad]; inf before there are two.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self, extra: float = 0.0) -> None:
        """Forget everything, since something was changed that takes extra time [s] to take effect."""
        self.elapsed, self.change = -extra, math.inf
        self._before: Array | None = None
        self._lasted, self._errors = 0.0, list[Array]()

    @property
    def overdue(self) -> bool:
        """Whether it has taken longer than a trunk may."""
        return self.elapsed > DWELL_S + LONGEST_SETTLING_S

    def add(self, R_HB: Array, error: Array, h: float) -> SettledTilt | None:
        """Take one sample that represents h [s] of rest; return the tilt in the sample that settles it."""
        self.elapsed += max(0.0, h)
        if self.elapsed < DWELL_S:
            return None
        self._lasted += h
        self._errors.append(error)
        if self._lasted < WINDOW_S:
            return None
        mean, before = np.mean(self._errors, axis=0), self._before
        self._before, self._lasted, self._errors = mean, 0.0, []
        if before is None:
            return None
        self.change = float(np.abs(mean - before).max())
        return SettledTilt(mean, R_HB, mean - before, self.elapsed) if self.change <= STEADY_RAD else None


class _Stage(Enum):
    PROBE = "probe"
    LEVEL = "level"
    FORWARD = "forward"
    BACKWARD = "backward"
    END = "end"


class OrientationError(ComMethod):
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
        response: G, in horizontal axes of the heading [rad/m], shape (2, 2); zero before the probe.
    """

    def __init__(self, config: TrunkPayloadConfig, com_B: Array, trunk_mass: float) -> None:
        super().__init__(config, com_B, trunk_mass)
        self._pitch, self._settling_time = config.tilt, SETTLING_FACTOR * config.settling_time
        self._start_B = self.com_B
        self.response: Array = np.zeros((2, 2))
        self._steady = SteadyTilt()
        self._stage = _Stage.PROBE
        self._seen: list[tuple[Array, Array]] = []  # horizontal shift and error of each probe
        self._shifted: tuple[Array, Array] | None = None  # error before the last correction, horizontal shift
        self._z_found = False
        self._forward: SettledTilt | None = None  # settled at the forward pitch
        self._changes: list[Array] = []
        self._residual, self._refusal = math.nan, ""

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement at rest that represents h [s]; only its orientation is used."""
        if self._stage is not _Stage.END:
            R_HB = heading_rotation(measurement.R_WB)
            error = orientation_error(R_HB, self._tilt() or (0.0, 0.0))
            settled = self._steady.add(R_HB, error, h)
            if settled is not None:
                self._changes.append(settled.change)
                self._settled(settled)
            elif self._steady.overdue:
                self._refuse(
                    f"the tilt does not settle: after {self._steady.elapsed:.0f} s it still changes by "
                    f"{_deg(self._steady.change)} in {WINDOW_S:g} s; {CAUSE}"
                )
        done = self._stage is _Stage.END and not self._refusal
        sigma_B = self._sigma()
        return ComStep(self.com_B, sigma_B, self._residual, done, self._refusal, self._tilt(), True)

    def _tilt(self) -> tuple[float, float] | None:
        """Return roll and pitch to ask for; level is asked for, too: the robot may keep another posture."""
        if self._stage is _Stage.END:
            return None
        return 0.0, {_Stage.FORWARD: self._pitch, _Stage.BACKWARD: -self._pitch}.get(self._stage, 0.0)

    def _settled(self, settled: SettledTilt) -> None:
        if self._stage is _Stage.PROBE:
            self._probe(settled)
        elif self._stage is _Stage.LEVEL:
            self._level(settled)
        elif self._stage is _Stage.FORWARD:
            self._forward = settled
            self._go(_Stage.BACKWARD)
        else:
            self._correct_height(settled)

    def _probe(self, settled: SettledTilt) -> None:
        """Take one of the four probes: none, forward, left, none again; then fit e = e_0 + G s."""
        self._seen.append(((settled.R_HB @ (self.com_B - self._start_B))[:2], settled.error))
        if len(self._seen) < 4:
            shift = {1: (PROBE_M, 0.0, 0.0), 2: (0.0, PROBE_M, 0.0), 3: (0.0, 0.0, 0.0)}[len(self._seen)]
            self.com_B = self._start_B + np.array(shift)
            self._steady.restart()
            return
        shifts, errors = (np.array(column) for column in zip(*self._seen, strict=True))
        design = np.column_stack([np.ones(len(shifts)), shifts])
        G = self.response = linear_algebra.lstsq(design, errors)[1:].T
        problem = _response_problem(G)
        moved, left = PROBE_M * float(np.linalg.norm(G, ord=2)), float(np.linalg.norm(errors[3] - errors[0]))
        if not problem and left > LARGEST_REMAINDER_SHARE * moved + 2.0 * STEADY_RAD:
            problem = (
                f"the trunk does not come back: {_deg(moved)} by a probe of {1e3 * PROBE_M:.0f} mm, and "
                f"{_deg(left)} are left after it was taken back; its posture controller integrates"
            )
        if problem:
            self._refuse(problem)
            return
        self._stage = _Stage.LEVEL
        self._level(settled)

    def _level(self, settled: SettledTilt) -> None:
        """Correct x and y by the error of a level base (T 13), or go on where there is none."""
        if not self._as_predicted(settled.error):
            return
        horizontal = settled.R_HB[:2, :2]
        shift = linear_algebra.solve(self.response @ horizontal, -settled.error)
        self._residual = float(np.linalg.norm(shift))
        if self._residual < TOLERANCE_M:
            self._shifted = None
            self._go(_Stage.END if self._z_found else _Stage.FORWARD)
            return
        part = recursion_gain(self._settling_time, settled.elapsed) * shift
        self.com_B = self.com_B + np.array([*part, 0.0])
        self._shifted = settled.error, horizontal @ part
        self._steady.restart()

    def _as_predicted(self, error: Array) -> bool:
        """Compare the turn a correction made with G times it, and learn from it; refuse a trunk that fights.

        G += (turn - G s) s' / s's (Broyden): springs of a controller with limits are softer at large tilts.
        """
        if self._shifted is None:
            return True
        before, shift = self._shifted
        turn, predicted = error - before, self.response @ shift
        wrong, size = float(np.linalg.norm(turn - predicted)), float(np.linalg.norm(predicted))
        if wrong > LARGEST_UNPREDICTED_SHARE * size + NOISE_FLOOR_RAD:
            self._refuse(
                f"the error does not shrink as predicted: the last shift was to turn the trunk by "
                f"{_deg(size)}, it turned by {_deg(float(np.linalg.norm(turn)))}, {_deg(wrong)} from where "
                f"it should be; {CAUSE}"
            )
            return False
        square = float(shift @ shift)
        if square > (LEAST_LEARNING_SHARE * PROBE_M) ** 2:
            self.response = self.response + np.outer(turn - predicted, shift) / square
        return True

    def _correct_height(self, backward: SettledTilt) -> None:
        """Correct z by the errors of two tilts (T 15)."""
        assert self._forward is not None
        poses = (self._forward, backward)
        taken = self._forward.pitch - backward.pitch
        if taken < LEAST_FOLLOWED_SHARE * 2.0 * self._pitch:
            self._refuse(
                f"the trunk does not take the pitch asked for: {_deg(taken)} to and fro, expected "
                f"{_deg(2.0 * self._pitch)}; {CAUSE}"
            )
            return
        A = np.vstack([pose.R_HB[:2] for pose in poses])
        shifts = [-linear_algebra.solve(self.response, pose.error) for pose in poses]
        dz = float(linear_algebra.lstsq(A, np.concatenate(shifts))[2])
        if abs(dz) < TOLERANCE_Z_M:
            self._z_found = True
            self._go(_Stage.LEVEL)
            return
        gain = recursion_gain(self._settling_time, backward.elapsed + TILT_TIME_S)
        self.com_B = self.com_B + np.array([0.0, 0.0, gain * dz])
        self._go(_Stage.FORWARD)

    def _go(self, stage: _Stage) -> None:
        self._stage = stage
        self._steady.restart(TILT_TIME_S)

    def _refuse(self, reason: str) -> None:
        self._refusal, self._stage, self.com_B = reason, _Stage.END, self._start_B

    def _sigma(self) -> Array:
        """Return deviations from how far two windows at rest differ; an offset of the tilt is not in them."""
        sigma: Array = np.full(3, math.inf)
        if self._stage is _Stage.PROBE or self._refusal:
            return sigma
        variance = float(np.mean(np.square(self._changes))) / 2.0
        sigma[:2] = np.sqrt(variance * np.sum(linear_algebra.inv(self.response) ** 2, axis=1))
        if self._z_found:
            sigma[2] = sigma[0] / (math.sqrt(2.0) * math.sin(self._pitch))
        return sigma


def _response_problem(G: Array) -> str:
    """Say why a measured response is not that of a posture controller; empty if it is."""
    for k, (name, axis) in enumerate((("x", "pitch"), ("y", "roll"))):
        size, along = float(np.linalg.norm(G[:, k])), float(G[1, 0] if k == 0 else -G[0, 1])
        says = (
            f"moving its centre of mass by {1e3 * PROBE_M:.0f} mm along {name} turned it by "
            f"{_deg(PROBE_M * size)}, expected at least {_deg(PROBE_M * LEAST_RESPONSE)}"
        )
        if not size >= LEAST_RESPONSE:
            return f"the trunk does not follow: {says}; {CAUSE}"
        if along < LEAST_ALIGNED_SHARE * size:
            return f"the trunk turns the wrong way: {says} in {axis}; {CAUSE}"
    return ""


def _deg(angle: float) -> str:
    return f"{math.degrees(angle):.2f} deg"
