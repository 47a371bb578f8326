"""Tilt response of a trunk under a posture controller to the centre of mass its controller uses (T 12).

The controller carries the weight through the supposed centre of mass c_hat and turns the trunk back with
torsional springs: the moment of the ground about c_hat is K e, e = log(R_ref R_WB') the rotation from what is
to what is wanted. At rest the moment about the true one is zero, so sum p x f = c x F and

    (c - c_hat) x F = K e,    F = m g e_z:    c_x - c_hat_x = -K e_y / (m g),  c_y - c_hat_y = K e_x / (m g).

So a centre of mass ahead of what is believed pitches the trunk forward, one farther left rolls it to the
left. Solved for e, and with the trunk's mass and centre of mass, since m c moves as m_tr c_tr:
e = G (c_hat - c), G the response, [[0, -m_tr g / K_x], [m_tr g / K_y, 0]] of springs without coupling.
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import log_so3, rotation_from_roll_pitch_yaw, yaw_of

CAUSE_OTHER_CONTROLLER = "another controller holds it, or its posture controller integrates"
LEAST_ALIGNED_SHARE = 0.5  # share of a response that must be about the axis of T 12, in its sense
LARGEST_STIFFNESS_MISMATCH = 0.5  # relative difference from a stiffness that was given
LONGEST_SETTLING_S = 6.0  # of a tilt, after the dwell


def heading_rotation(R_WB: Array) -> Array:
    """Return the orientation of the base in axes that have its heading: R_WB without yaw, shape (3, 3).

    A base whose x axis is vertical has no heading; any serves.
    """
    yaw = yaw_of(R_WB)
    c, s = math.cos(yaw), math.sin(yaw)
    R: Array = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ R_WB
    return R


def orientation_error(R_HB: Array, tilt: tuple[float, float]) -> Array:
    """Return e = log(R_ref R_HB') about the horizontal axes of the heading [rad], shape (2,).

    Small level errors are (-roll, -pitch) (T 12).

    Args:
        R_HB: Orientation of the base without its yaw, shape (3, 3).
        tilt: Roll and pitch wanted [rad].
    """
    return log_so3(rotation_from_roll_pitch_yaw(*tilt, 0.0) @ R_HB.T)[:2]


def spring_response(weight: float, stiffness_roll: float, stiffness_pitch: float) -> Array:
    """Return G = d e / d c_hat of springs without coupling (T 12) [rad/m], shape (2, 2).

    Args:
        weight: Of the body whose centre of mass is shifted, m_tr g [N].
        stiffness_roll: K about the x axis [Nm/rad].
        stiffness_pitch: K about the y axis [Nm/rad].
    """
    return np.array([[0.0, -weight / stiffness_roll], [weight / stiffness_pitch, 0.0]])


def response_problem(G: Array, probe: float, least: float, expected: Array | None = None) -> str:
    """Say why a measured response is not that of a posture controller; empty if it is.

    Args:
        G: Measured response, shape (2, 2) [rad/m].
        probe: Shift it was measured with [m], for the sentence.
        least: Smallest usable response [rad/m].
        expected: Response of the stiffness that was given, or None.
    """
    for k, (name, axis) in enumerate((("x", "pitch"), ("y", "roll"))):
        turned = math.degrees(probe * float(np.linalg.norm(G[:, k])))
        wanted = least if expected is None else float(np.linalg.norm(expected[:, k]))
        says = (
            f"moving its centre of mass by {1e3 * probe:.0f} mm along {name} turned it by {turned:.2f} deg, "
            f"expected {'at least ' if expected is None else ''}{math.degrees(probe * wanted):.2f} deg"
        )
        size = float(np.linalg.norm(G[:, k]))
        if not size >= least:
            return f"the trunk does not follow: {says}; {CAUSE_OTHER_CONTROLLER}"
        along = float(G[1, 0] if k == 0 else -G[0, 1])
        if along < LEAST_ALIGNED_SHARE * size:
            return f"the trunk turns the wrong way: {says} in {axis}; {CAUSE_OTHER_CONTROLLER}"
        if expected is not None and abs(along - wanted) > LARGEST_STIFFNESS_MISMATCH * wanted:
            return f"the trunk does not follow its stiffness: {says}; {CAUSE_OTHER_CONTROLLER}"
    return ""


def fit_response(shifts: Array, errors: Array) -> Array:
    """Return G of e = e_0 + G s by least squares [rad/m], shape (2, 2).

    Args:
        shifts: Horizontal shifts given to the controller [m], shape (n, 2).
        errors: Settled orientation errors [rad], shape (n, 2).
    """
    design = np.column_stack([np.ones(len(shifts)), shifts])
    G: Array = linear_algebra.lstsq(design, errors)[1:].T
    return G


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


class SteadyTilt:
    """Waits until a tilt has stopped changing: two windows in a row agree.

    Attributes:
        elapsed: Time since it was restarted, less the extra time [s].
        change: Largest difference between the last two windows [rad]; inf before there are two.
    """

    def __init__(self, dwell: float, window: float, steady: float) -> None:
        self._dwell, self._window, self._steady = dwell, window, steady
        self._sum: Array = np.zeros(2)
        self.restart()

    def restart(self, extra: float = 0.0) -> None:
        """Forget everything: something was changed.

        Args:
            extra: Time a motion takes before the trunk is left to settle [s].
        """
        self.elapsed = -extra
        self.change = math.inf
        self._before: Array | None = None
        self._clear()

    @property
    def overdue(self) -> bool:
        """Whether it has taken longer than a trunk may."""
        return self.elapsed > self._dwell + LONGEST_SETTLING_S

    def add(self, R_HB: Array, error: Array, h: float) -> SettledTilt | None:
        """Take one sample at rest; returns the settled tilt in the sample that settles it.

        Args:
            R_HB: Orientation of the base without yaw, shape (3, 3).
            error: Orientation error [rad], shape (2,).
            h: Time since the last sample [s].
        """
        self.elapsed += max(0.0, h)
        if self.elapsed < self._dwell:
            return None
        self._lasted += h
        self._count += 1
        self._sum = self._sum + error
        if self._lasted < self._window:
            return None
        mean, before = self._sum / self._count, self._before
        self._before = mean
        self._clear()
        if before is None:
            return None
        self.change = float(np.abs(mean - before).max())
        if self.change > self._steady:
            return None
        return SettledTilt(mean, R_HB, mean - before, self.elapsed)

    def _clear(self) -> None:
        self._lasted, self._count = 0.0, 0
        self._sum = np.zeros(2)
