"""Angular velocity of the IMU by the feet that stand, in the place of a gyroscope that contradicts them.

A sole does not turn: w + w_IC = 0. Two points at rest keep their distance: d' + w x d = 0 for their relative
position d and velocity d' in the IMU frame, which leaves the rotation about d unknown; three determine w.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from inertial_estimation.estimators.tilt.usual_size import UsualSize
from inertial_estimation.models.contacts import KinematicState, RelativeContact
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, cross, distance, dot, norm

__all__ = ["FootRotation", "rate_of_points"]

SHORT, LONG = 0.1, 0.5  # time constants of the integrated differences [s]
WRONG = math.radians(3.5)  # integrated difference beyond which the gyroscope is wrong; iCub's walk: 3 deg
USUAL, HIGHEST = 8.0, 3.0  # the limit follows this many times the usual size, up to this many times `WRONG`
RIGHT = math.radians(0.6)  # that below which it is right again
LARGEST = math.radians(9.0)  # to which the short integral is limited, so that it vanishes soon
EXPLAINED = 0.5  # share of a turned vertical that the long integral explains where the gyroscope is wrong
LEAST_LONG = math.radians(3.0)  # long integral across the vertical below which it explains nothing
DOUBTED = 0.3  # difference from which joint velocities are compared with differences of positions [rad/s]
LONGEST_JUMP = 0.1  # time after a jump of the gyroscope in which no difference is limited [s]
STEP = math.radians(1.0)  # of one step, unless the gyroscope itself has jumped: joints jump, too
LEAST_SHARE = 0.15  # of the load, below which a point foot may skid, or seem to stand while it swings
SINGULAR = 1e-3  # determinant over the cube of the trace, below which points lie on a line


class FootRotation:
    """Compares the gyroscope with the feet at every step, and replaces it while it is wrong.

    Attributes:
        replacing: Whether the rate of the feet is used.
        lost: Whether neither gyroscope nor feet give the whole rate, so that the vertical is lost.
        known: Whether the feet told anything about the rotation at the last step.
    """

    def __init__(self, soles: tuple[bool, ...]) -> None:
        """Begin with a sound gyroscope.

        Args:
            soles: Whether each contact is a sole that cannot turn while loaded.
        """
        self._soles = soles
        self._doubts = 0
        self._usual = UsualSize(WRONG, USUAL, HIGHEST * WRONG)
        self.replacing = False
        self.reset()

    def reset(self) -> None:
        """Forget the differences; a wrong gyroscope stays wrong."""
        self.lost = False
        self.known = False
        self._before: KinematicState | None = None
        self._since_jump = math.inf
        self._short: Vector = ZERO
        self._long: Vector = ZERO

    @property
    def mean_rate(self) -> float:
        """Mean difference between feet and gyroscope over the last 0.1 s [rad/s]."""
        return norm(self._short) / SHORT

    def explains(self, turn: Vector, x2: Vector) -> bool:
        """Return whether an error of the gyroscope in the last half second explains a turned vertical.

        Args:
            turn: Rotation from the observer's vertical to that of accelerometer and contact velocity [rad].
            x2: The vertical; a rotation about it does not move it.
        """
        across = combine(self._long, -dot(self._long, x2), x2)
        return norm(across) > self._usual.scale * LEAST_LONG and -dot(turn, across) > EXPLAINED * dot(
            turn, turn
        )

    def replace(self) -> Vector:
        """Use the rate of the feet from now on; return the angle missed by the gyroscope [rad]."""
        self.replacing = True
        missed, self._long = self._long, ZERO
        return missed

    def check(
        self, h: float, w: Vector, state: KinematicState | None, weights: Sequence[float], doubts: int
    ) -> tuple[Vector, Vector | None]:
        """Compare the rate of one step with the feet.

        Args:
            h: Duration of the step [s].
            w: Angular velocity by the gyroscope, bias removed, mean over the step [rad/s].
            state: Kinematics of the contacts; None where missing.
            weights: Weights of the contacts; zero: not in use.
            doubts: Number of jumps of the gyroscope until now.

        Returns:
            The angular velocity to use [rad/s], and, where the gyroscope has just been found wrong, the angle
            by which the frame has been turned too little meanwhile [rad].
        """
        self._since_jump = 0.0 if doubts != self._doubts else self._since_jump + h
        self._doubts = doubts
        before, self._before = self._before, state
        rate, complete = (None, False) if state is None else self._rate(h, state, before, weights, w)
        self.known = rate is not None
        if rate is None:
            self._forget(h)
            self.lost = self.replacing
            return (ZERO if self.replacing else w), None
        d = (rate[0] - w[0], rate[1] - w[1], rate[2] - w[2])
        missed = self._add(h, d)
        self.lost = self.replacing and not complete
        size = norm(self._short)
        if self.replacing:
            self.replacing = size > RIGHT
            return rate, None
        if size <= self._usual.limit:
            self._usual.learn(h, size)
            return w, None
        self.replacing, self._long = True, ZERO
        return rate, missed

    def _add(self, h: float, d: Vector) -> Vector:
        """Integrate the difference of one step; return the integral before it."""
        self._forget(h)
        missed = self._long
        self._long = combine(missed, h, d)
        step = h * norm(d)
        if step > STEP and self._since_jump > LONGEST_JUMP and not self.replacing:
            d = (STEP / step * d[0], STEP / step * d[1], STEP / step * d[2])
        self._short = _limited(combine(self._short, h, d), self._usual.scale * LARGEST)
        return missed

    def _forget(self, h: float) -> None:
        keep = 1.0 - h / (h + SHORT)
        s, g = self._short, self._long
        self._short = (keep * s[0], keep * s[1], keep * s[2])
        keep = 1.0 - h / (h + LONG)
        self._long = (keep * g[0], keep * g[1], keep * g[2])

    def _rate(
        self,
        h: float,
        state: KinematicState,
        before: KinematicState | None,
        weights: Sequence[float],
        w: Vector,
    ) -> tuple[Vector | None, bool]:
        """Rate that the feet allow, nearest to the gyroscope, and whether it is determined by them.

        A rate far from the gyroscope's is checked by differences of joint positions, of which a fault of the
        velocities leaves no trace; the nearer one is used. Joints that are exactly constant tell nothing.
        """
        found, complete = self._allowed(state.contacts, weights, w)
        if found is None or distance(found, w) < DOUBTED or before is None:
            return found, complete
        if (
            before.contacts[0].r_I == state.contacts[0].r_I
            and before.contacts[-1].r_I == state.contacts[-1].r_I
        ):
            return None, False
        moved = [_moved(a, b, h) for a, b in zip(before.contacts, state.contacts, strict=True)]
        other, _ = self._allowed(moved, weights, w)
        if other is not None and distance(other, w) < distance(found, w):
            found = other
        return found, complete

    def _allowed(
        self, contacts: Sequence[RelativeContact], weights: Sequence[float], w: Vector
    ) -> tuple[Vector | None, bool]:
        best, least = None, math.inf
        for contact, weight, sole in zip(contacts, weights, self._soles, strict=True):
            if not sole or weight <= 0.0:
                continue
            c = contact.w_I
            x, y, z = w[0] + c[0], w[1] + c[1], w[2] + c[2]
            square = x * x + y * y + z * z
            if square < least:
                best, least = c, square
        if best is not None:
            return (-best[0], -best[1], -best[2]), True
        used = [c for c, weight in zip(contacts, weights, strict=True) if weight >= LEAST_SHARE]
        if len(used) < 2:
            return None, False
        return rate_of_points(used, ZERO if self.replacing else w)


def rate_of_points(points: Sequence[RelativeContact], w: Vector) -> tuple[Vector, bool]:
    """Return the rate nearest to a given one with which points at rest keep their distances.

    Least squares over the pairs with the first point: (sum |d|^2 1 - d d') delta = -sum d x (d' + w x d).

    Args:
        points: At least two contacts.
        w: Angular velocity of the IMU [rad/s].

    Returns:
        Angular velocity [rad/s], and whether the points determine it, which those on a line do not.
    """
    a, xx, yy, zz, xy, xz, yz, right = points[0], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ZERO
    for b in points[1:]:
        d = (a.r_I[0] - b.r_I[0], a.r_I[1] - b.r_I[1], a.r_I[2] - b.r_I[2])
        turned = cross(w, d)
        moved = (
            a.v_I[0] - b.v_I[0] + turned[0],
            a.v_I[1] - b.v_I[1] + turned[1],
            a.v_I[2] - b.v_I[2] + turned[2],
        )
        right = combine(right, -1.0, cross(d, moved))
        x, y, z = d
        xx, yy, zz = xx + y * y + z * z, yy + x * x + z * z, zz + x * x + y * y
        xy, xz, yz = xy - x * y, xz - x * z, yz - y * z
    trace = max(xx + yy + zz, 1e-4)
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    c = (cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1]))
    determinant = dot(rows[0], c[0])
    if determinant < SINGULAR * trace**3:  # on a line: |d|^2 is half the trace
        return combine(w, 2.0 / trace, right), False
    scale = 1.0 / determinant
    return combine(w, scale, (dot(c[0], right), dot(c[1], right), dot(c[2], right))), True


def _moved(before: RelativeContact, now: RelativeContact, h: float) -> RelativeContact:
    """Return a contact with the velocities by which it came from one pose to the next."""
    a, b, r = now.R_IC, before.R_IC, before.r_I
    half = 0.5 / h
    turned = (
        half * (dot(a[2], b[1]) - dot(a[1], b[2])),
        half * (dot(a[0], b[2]) - dot(a[2], b[0])),
        half * (dot(a[1], b[0]) - dot(a[0], b[1])),
    )
    v = ((now.r_I[0] - r[0]) / h, (now.r_I[1] - r[1]) / h, (now.r_I[2] - r[2]) / h)
    return replace(now, v_I=v, w_I=turned)


def _limited(turn: Vector, largest: float) -> Vector:
    size = norm(turn)
    if size <= largest:
        return turn
    return (largest / size * turn[0], largest / size * turn[1], largest / size * turn[2])
