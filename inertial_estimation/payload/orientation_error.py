"""Centre of mass of the trunk from the tilt that a posture controller leaves (T III-B).

The controller carries the weight through the supposed centre of mass c_hat and turns the trunk back with
torsional springs: the moment of the ground about c_hat is K e, e = log(R_ref R_WB') the rotation from the
actual to the reference orientation. At rest the moment about the true centre of mass c is zero, so

    (c - c_hat) x m g e_z = K e,    e = G (c_hat - c),

with the response G = [[0, -m g / K_x], [m g / K_y, 0]] of springs without coupling (T 12), where m is the
mass of the trunk. G is measured by a probe, so that any posture controller that uses c_hat is suitable.
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
SETTLING_TIME_S = 4.0 * SETTLING_S  # time to remove 95 % of an error: the base turns in between
LEAST_RESPONSE = 0.1  # smallest response of a posture controller [rad/m]
UNLIKE = 0.7  # largest difference of a measured from a predicted rotation, as a share of the latter
MISSING = 0.25  # largest share of a probe that remains, or of a pitch not reached: as 0.2 m of error in z
WINDOW_S = 0.3  # window over which the tilt is averaged; two windows in a row must agree
STEADY_RAD = 5e-4  # largest difference between two windows in a row that agree


def heading_rotation(R_WB: Array) -> Array:
    """Return the orientation of the base in axes that have its heading: R_WB without yaw, shape (3, 3)."""
    R: Array = rotation_from_roll_pitch_yaw(0.0, 0.0, -yaw_of(R_WB)) @ R_WB
    return R


def orientation_error(R_HB: Array, tilt: tuple[float, float]) -> Array:
    """Return e = log(R_ref R_HB') about the horizontal axes of the heading [rad], shape (2,).

    `tilt` is the wanted roll and pitch [rad]; for a level reference, e is about (-roll, -pitch) (T 12).
    """
    return log_so3(rotation_from_roll_pitch_yaw(*tilt, 0.0) @ R_HB.T)[:2]


class SettledTilt(NamedTuple):
    """An orientation error that has stopped changing."""

    error: Array  # mean over the last window [rad], shape (2,)
    R_HB: Array  # orientation of the base at the end of the window, without yaw, shape (3, 3)
    elapsed: float  # time since the last change of the centre of mass or of the pitch took effect [s]


class _RefusedError(Exception):
    """The trunk does not rotate as a posture controller would rotate it."""


Procedure = Generator[float, SettledTilt, None]  # yields a requested pitch, is sent the settled tilt


class OrientationError(ComMethod):
    """Probes, then finds x and y on a level base (T 13-14), z on a tilted one (T 15), x and y again.

    The controller uses `com_B` all the time. After each change the trunk settles; then a share
    beta = 1 - exp(-3 T / t_a) of the shift that corresponds to its error is applied, T the time since the
    change. A correction while the trunk still turns would integrate its lag and oscillate.

    Attributes:
        response: G, in horizontal axes of the heading [rad/m], shape (2, 2); zero before the probe.
    """

    def __init__(self, com_B: Array, trunk_mass: float) -> None:
        super().__init__(com_B, trunk_mass)
        self.response: Array = np.zeros((2, 2))
        self._start_B, self._residual, self._refusal = self.com_B, math.nan, ""
        self._changes, self._z_found = list[Array](), False
        self._procedure = self._steps()
        self._pitch = next(self._procedure)  # requested pitch [rad]
        self._wait(0.0)

    def update(self, measurement: StaticMeasurement, h: float) -> ComStep:
        """Process one measurement at rest that represents h [s]; only its orientation is used."""
        done = False
        try:
            self._take(heading_rotation(measurement.R_WB), max(h, 0.0))
        except StopIteration:
            done = True
        except _RefusedError as error:
            cause = "another controller holds it, or its posture controller integrates"
            self._refusal, self.com_B = f"the trunk {error}; {cause}", self._start_B
        tilt = None if done or self._refusal else (0.0, self._pitch)
        return ComStep(self.com_B, self._sigma(), self._residual, done, self._refusal, tilt, True)

    def _wait(self, extra: float) -> None:
        """Start to wait for a settled tilt, after a change that takes effect with a delay `extra` [s]."""
        self._elapsed, self._before = -extra, np.full(2, math.inf)
        self._lasted, self._errors = 0.0, list[Array]()

    def _take(self, R_HB: Array, h: float) -> None:
        """Take an orientation; resume the procedure once the means of two windows agree."""
        pitch = self._pitch
        self._elapsed += h
        if self._elapsed < AVERAGE_S:  # the trunk still moves
            return
        self._lasted += h
        self._errors.append(orientation_error(R_HB, (0.0, pitch)))
        if self._lasted < WINDOW_S:
            return
        mean = np.mean(self._errors, axis=0)
        change, self._before, self._lasted, self._errors = mean - self._before, mean, 0.0, []
        if np.abs(change).max() <= STEADY_RAD:
            self._changes.append(change)
            self._pitch = self._procedure.send(SettledTilt(mean, R_HB, self._elapsed))
            self._wait(SETTLING_S if self._pitch != pitch else 0.0)
        elif self._elapsed > PATIENCE_S:
            turn = _deg(float(np.abs(change).max()))
            raise _RefusedError(f"does not settle: it turns by {turn} in {WINDOW_S:g} s")

    def _steps(self) -> Procedure:
        """Find x and y, then z by pitching forward and backward, then x and y again.

        With an error of z, c - c_hat = -G^-1 e = R_HB[:2] (dx, dy, dz) has opposite signs at the two pitches,
        while a remaining error of x is the same at both and so does not affect z. T 15 uses one tilt, and its
        sign is that of a forward one.
        """
        settled = yield from self._probe()
        yield from self._level(settled)
        while not self._z_found:
            forward = yield TILT_RAD
            backward = yield -TILT_RAD
            dz = self._height_error(forward, backward)
            self._z_found = abs(dz) < COARSE_TOLERANCE_M
            if not self._z_found:
                gain = recursion_gain(SETTLING_TIME_S, backward.elapsed + SETTLING_S)
                self.com_B = self.com_B + np.array([0.0, 0.0, gain * dz])
        settled = yield 0.0
        yield from self._level(settled)

    def _probe(self) -> Generator[float, SettledTilt, SettledTilt]:
        """Shift the centre of mass forward, to the left and back; fit e = e_0 + G s, return the last tilt.

        A controller that holds the trunk gives no response, one that integrates does not return.
        """
        shifts, errors = list[Array](), list[Array]()
        for shift in ((0.0, 0.0, 0.0), (PROBE_M, 0.0, 0.0), (0.0, PROBE_M, 0.0), (0.0, 0.0, 0.0)):
            self.com_B = self._start_B + np.array(shift)
            settled = yield 0.0
            shifts.append(np.array([1.0, *(settled.R_HB @ shift)[:2]]))
            errors.append(settled.error)
        G = self.response = linear_algebra.lstsq(np.array(shifts), np.array(errors))[1:].T
        probe, sizes = f"a probe of {1e3 * PROBE_M:.0f} mm", np.linalg.norm(G, axis=0)
        turns = " and ".join(_deg(PROBE_M * float(size)) for size in sizes)
        if not sizes.min() >= LEAST_RESPONSE:
            raise _RefusedError(f"does not follow: {probe} in x and y turned it by {turns}")
        if np.any(np.array([G[1, 0], -G[0, 1]]) < (1.0 - UNLIKE) * sizes):
            raise _RefusedError(f"turns the wrong way: {probe} in x and y turned it by {turns}")
        moved, left = PROBE_M * float(np.linalg.norm(G, ord=2)), float(np.linalg.norm(errors[3] - errors[0]))
        if left > MISSING * moved + 2.0 * STEADY_RAD:
            raise _RefusedError(f"does not come back: {_deg(left)} of {_deg(moved)} by {probe} are left")
        return settled

    def _level(self, settled: SettledTilt) -> Procedure:
        """Correct x and y by the error of a level base until there is none (T 13); G by Broyden's update."""
        while True:
            horizontal = settled.R_HB[:2, :2]
            shift = linear_algebra.solve(self.response @ horizontal, -settled.error)
            self._residual = float(np.linalg.norm(shift))
            if self._residual < TOLERANCE_M:
                return
            part = recursion_gain(SETTLING_TIME_S, settled.elapsed) * shift
            self.com_B = self.com_B + np.array([*part, 0.0])
            before, settled = settled, (yield 0.0)
            s, turn = horizontal @ part, settled.error - before.error
            predicted = self.response @ s
            if np.linalg.norm(turn - predicted) > UNLIKE * np.linalg.norm(predicted) + 4.0 * STEADY_RAD:
                turns = (_deg(float(np.linalg.norm(x))) for x in (turn, predicted))
                raise _RefusedError("does not follow a correction: it turned by {}, not by {}".format(*turns))
            if s @ s > COARSE_TOLERANCE_M**2:
                self.response = self.response + np.outer(turn - predicted, s) / float(s @ s)

    def _height_error(self, forward: SettledTilt, backward: SettledTilt) -> float:
        """Return the correction of z by the errors at two pitches [m] (T 15)."""
        poses = forward, backward
        reached = float(np.diff([math.atan2(R[0, 2], R[2, 2]) for R in (backward.R_HB, forward.R_HB)])[0])
        if reached < (1.0 - MISSING) * 2.0 * TILT_RAD:
            goal = _deg(2.0 * TILT_RAD)
            raise _RefusedError(f"does not take the requested pitch: {_deg(reached)} to and fro, not {goal}")
        shifts = [-linear_algebra.solve(self.response, pose.error) for pose in poses]
        return float(linear_algebra.lstsq(np.vstack([p.R_HB[:2] for p in poses]), np.concatenate(shifts))[2])

    def _sigma(self) -> Array:
        """Return standard deviations by the changes between windows; they leave out an offset of the tilt."""
        sigma: Array = np.full(3, math.inf)
        if self.response.any() and not self._refusal:
            variance = float(np.mean(np.square(self._changes))) / 2.0
            sigma[:2] = np.sqrt(variance * np.sum(linear_algebra.inv(self.response) ** 2, axis=1))
            sigma[2] = sigma[0] / (math.sqrt(2.0) * math.sin(TILT_RAD)) if self._z_found else math.inf
        return sigma


def _deg(angle: float) -> str:
    return f"{math.degrees(angle):.2f} deg"
