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
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from inertial_estimation.payload.com_methods import (
    AVERAGE_S,
    COARSE_TOLERANCE_M,
    PATIENCE_S,
    SETTLING_S,
    TILT_RAD,
    TOLERANCE_M,
    ComMethod,
    ComStep,
    recursion_gain,
)
from inertial_estimation.payload.statics import StaticMeasurement
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import log_so3, rotation_from_roll_pitch_yaw, yaw_of

PROBE_M = 0.02  # known shift of the centre of mass by which the response is measured
SETTLING_FACTOR = 4.0  # of the settling time of forces, in which an error is gone: the base turns in between
LEAST_RESPONSE = 0.1  # of a posture controller [rad/m]
LARGEST_MISSING_SHARE = 0.25  # of a probe that was taken back, or of a pitch: 0.2 m off in z leave as much
LARGEST_UNPREDICTED_SHARE = 0.7  # of a predicted turn, the largest difference from the measured one
WINDOW_S = 0.3  # over which the tilt is averaged; two consecutive windows must agree
STEADY_RAD = 5e-4  # largest difference between them
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


class SettledTilt(NamedTuple):
    """An orientation error that has stopped changing."""

    error: Array  # mean over the last window [rad], shape (2,)
    R_HB: Array  # orientation of the base at its end, without yaw, shape (3, 3)
    change: Array  # less that of the window before [rad], shape (2,)
    elapsed: float  # time since the last change [s]


class SteadyTilt:
    """Waits until a tilt has stopped changing: two windows in a row agree."""

    def __init__(self) -> None:
        self.restart()

    def restart(self, extra: float = 0.0) -> None:
        """Forget everything, since something was changed that takes extra time [s] to take effect."""
        self.elapsed = -extra  # time since then, less the extra time [s]
        self.change = math.inf  # largest difference between the last two windows [rad]
        self._before: Array | None = None
        self._lasted, self._errors = 0.0, list[Array]()

    @property
    def overdue(self) -> bool:
        """Whether it has taken longer than a trunk may."""
        return self.elapsed > PATIENCE_S

    def add(self, R_HB: Array, error: Array, h: float) -> SettledTilt | None:
        """Take one sample that represents h [s] of rest; return the tilt in the sample that settles it."""
        self.elapsed += max(0.0, h)
        if self.elapsed < AVERAGE_S:  # the trunk still moves
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


class _RefusedError(Exception):
    """The trunk does not turn as a posture controller turns it."""


Procedure = Generator[float, SettledTilt, None]  # yields the pitch to take, is sent the tilt settled there


class OrientationError(ComMethod):
    """Probe, x and y on a level base (T 13-14), z on a tilted one (T 15), level again.

    The controller uses `com_B` all the time. After each change the trunk is left to settle, then a share
    beta = 1 - exp(-3 T / t_a) of the shift its error stands for is made, T the time since the change:
    discrete steps, since a correction while the trunk still turns integrates its lag and swings.

    Attributes:
        response: G, in horizontal axes of the heading [rad/m], shape (2, 2); zero before the probe.
    """

    def __init__(self, settling_time: float, com_B: Array, trunk_mass: float) -> None:
        super().__init__(SETTLING_FACTOR * settling_time, com_B, trunk_mass)
        self.response: Array = np.zeros((2, 2))
        self._start_B, self._steady = self.com_B, SteadyTilt()
        self._changes: list[Array] = []
        self._residual, self._z_found, self._refusal = math.nan, False, ""
        self._procedure = self._steps()
        self._pitch: float | None = next(self._procedure)  # asked for; None: at the end

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement at rest that represents h [s]; only its orientation is used."""
        if self._pitch is not None:
            R_HB = heading_rotation(measurement.R_WB)
            settled = self._steady.add(R_HB, orientation_error(R_HB, (0.0, self._pitch)), h)
            try:
                self._go_on(self._pitch, settled)
            except (_RefusedError, StopIteration) as end:
                self._pitch = None
                if isinstance(end, _RefusedError):
                    self._refusal, self.com_B = str(end), self._start_B
        tilt = None if self._pitch is None else (0.0, self._pitch)
        done = tilt is None and not self._refusal
        return ComStep(self.com_B, self._sigma(), self._residual, done, self._refusal, tilt, True)

    def _go_on(self, pitch: float, settled: SettledTilt | None) -> None:
        if settled is not None:
            self._changes.append(settled.change)
            self._pitch = self._procedure.send(settled)
            self._steady.restart(SETTLING_S if self._pitch != pitch else 0.0)
        elif self._steady.overdue:
            raise _RefusedError(
                f"the trunk does not settle: its tilt still changes by {_deg(self._steady.change)} in "
                f"{WINDOW_S:g} s, {PATIENCE_S:g} s after the last change; {CAUSE}"
            )

    def _steps(self) -> Procedure:
        """Find x and y, then z by pitching forward and backward, then x and y again.

        A wrong z moves the weight to the side the base leans to, c - c_hat = -G^-1 e = R_HB[:2] (dx, dy, dz):
        opposite in the two tilts, while an error left in x is the same in both and so stays out of z. T 15
        has one tilt, and the sign of a forward one.
        """
        settled = yield from self._probe()
        yield from self._level(settled)
        while not self._z_found:
            forward = yield TILT_RAD
            backward = yield -TILT_RAD
            dz = self._height_error(forward, backward)
            if abs(dz) < COARSE_TOLERANCE_M:
                self._z_found = True
            else:
                gain = recursion_gain(self._settling_time, backward.elapsed + SETTLING_S)
                self.com_B = self.com_B + np.array([0.0, 0.0, gain * dz])
        settled = yield 0.0
        yield from self._level(settled)

    def _probe(self) -> Generator[float, SettledTilt, SettledTilt]:
        """Shift the centre of mass forward, to the left and back; fit e = e_0 + G s, return the last tilt.

        What the trunk does is the response G = d e / d c_hat, whose inverse is M of (T 12) whatever the
        controller. It refuses a controller that holds the trunk (no response), and one that integrates (it
        does not come back).
        """
        shifts, errors = [], []
        for shift in ((0.0, 0.0, 0.0), (PROBE_M, 0.0, 0.0), (0.0, PROBE_M, 0.0), (0.0, 0.0, 0.0)):
            self.com_B = self._start_B + np.array(shift)
            settled = yield 0.0
            shifts.append([1.0, *(settled.R_HB @ shift)[:2]])
            errors.append(settled.error)
        G = self.response = linear_algebra.lstsq(np.array(shifts), np.array(errors))[1:].T
        problem = _response_problem(G)
        if problem:
            raise _RefusedError(problem)
        moved, left = PROBE_M * float(np.linalg.norm(G, ord=2)), float(np.linalg.norm(errors[3] - errors[0]))
        if left > LARGEST_MISSING_SHARE * moved + 2.0 * STEADY_RAD:
            raise _RefusedError(
                f"the trunk does not come back: {_deg(moved)} by a probe of {1e3 * PROBE_M:.0f} mm, and "
                f"{_deg(left)} are left after it was taken back; its posture controller integrates"
            )
        return settled

    def _level(self, settled: SettledTilt) -> Procedure:
        """Correct x and y by the error of a level base until there is none (T 13)."""
        while True:
            horizontal = settled.R_HB[:2, :2]
            shift = linear_algebra.solve(self.response @ horizontal, -settled.error)
            self._residual = float(np.linalg.norm(shift))
            if self._residual < TOLERANCE_M:
                return
            part = recursion_gain(self._settling_time, settled.elapsed) * shift
            self.com_B = self.com_B + np.array([*part, 0.0])
            before, settled = settled, (yield 0.0)
            self._learn(horizontal @ part, settled.error - before.error)

    def _learn(self, shift: Array, turn: Array) -> None:
        """Compare the turn by a correction with G times it, and learn from it; refuse a trunk that fights.

        G += (turn - G s) s' / s's (Broyden): springs of a controller with limits are softer at large tilts.
        """
        predicted = self.response @ shift
        wrong, size = float(np.linalg.norm(turn - predicted)), float(np.linalg.norm(predicted))
        if wrong > LARGEST_UNPREDICTED_SHARE * size + 4.0 * STEADY_RAD:
            raise _RefusedError(
                f"the error does not shrink as predicted: the last shift was to turn the trunk by "
                f"{_deg(size)}, it turned by {_deg(float(np.linalg.norm(turn)))}, {_deg(wrong)} from where "
                f"it should be; {CAUSE}"
            )
        square = float(shift @ shift)
        if square > COARSE_TOLERANCE_M**2:
            self.response = self.response + np.outer(turn - predicted, shift) / square

    def _height_error(self, forward: SettledTilt, backward: SettledTilt) -> float:
        """Return the correction of z by the errors at two pitches [m] (T 15)."""
        poses = forward, backward
        taken = float(np.diff([math.atan2(R[0, 2], R[2, 2]) for R in (backward.R_HB, forward.R_HB)])[0])
        if taken < (1.0 - LARGEST_MISSING_SHARE) * 2.0 * TILT_RAD:
            raise _RefusedError(
                f"the trunk does not take the pitch asked for: {_deg(taken)} to and fro, expected "
                f"{_deg(2.0 * TILT_RAD)}; {CAUSE}"
            )
        shifts = [-linear_algebra.solve(self.response, pose.error) for pose in poses]
        return float(linear_algebra.lstsq(np.vstack([p.R_HB[:2] for p in poses]), np.concatenate(shifts))[2])

    def _sigma(self) -> Array:
        """Return deviations from how far two windows at rest differ; an offset of the tilt is not in them."""
        sigma: Array = np.full(3, math.inf)
        if not self.response.any() or self._refusal:
            return sigma
        variance = float(np.mean(np.square(self._changes))) / 2.0
        sigma[:2] = np.sqrt(variance * np.sum(linear_algebra.inv(self.response) ** 2, axis=1))
        if self._z_found:
            sigma[2] = sigma[0] / (math.sqrt(2.0) * math.sin(TILT_RAD))
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
        if along < (1.0 - LARGEST_UNPREDICTED_SHARE) * size:
            return f"the trunk turns the wrong way: {says} in {axis}; {CAUSE}"
    return ""


def _deg(angle: float) -> str:
    return f"{math.degrees(angle):.2f} deg"
