"""Sign of Coulomb friction, which changes over a range of speed or of travel.

A sliding joint feels friction against its velocity. After a reversal the contacts first give way
elastically: friction passes through zero only after a small travel (presliding). In Dahl's model this is
one length, the travel `x_s`:

    dz / ds = (sgn(v) - z) / x_s,   s the travel, ds = |v| dt

Without presliding, z = tanh(v / v_s) depends on the velocity only. Source: Dahl, "A solid friction model"
(1968); Canudas de Wit et al. (1995).
"""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.signals import Array


def smooth_sign(v: Array, smoothing_speed: float) -> Array:
    """Return tanh(v / v_s).

    Args:
        v: Joint velocities [rad/s], any shape.
        smoothing_speed: v_s [rad/s].

    Returns:
        Values in (-1, 1), of v's shape.
    """
    return np.tanh(v / smoothing_speed)


@dataclass(frozen=True)
class CoulombLaw:
    """How Coulomb friction changes sign.

    Attributes:
        smoothing_speed: v_s [rad/s].
        presliding: x_s [rad]; 0: the sign depends on the speed alone.
    """

    smoothing_speed: float = 0.02
    presliding: float = 0.0


class CoulombDirection:
    """Integrates z of every joint along a motion; after a start or a gap, z begins at tanh(v / v_s)."""

    def __init__(self, law: CoulombLaw) -> None:
        self._law = law
        self._z: Array | None = None

    def reset(self) -> None:
        """Forget the motion so far."""
        self._z = None

    def after(self, v: Array, dt: float) -> Array:
        """Return z after one step.

        The sign within the step is tanh(v / v_s) of its end, so that noise about rest does not turn it.

        Args:
            v: Joint velocities at the end of the step [rad/s], shape (n,).
            dt: Length of the step [s].

        Returns:
            Values in (-1, 1), shape (n,).
        """
        sign = smooth_sign(v, self._law.smoothing_speed)
        if self._z is None or self._law.presliding == 0.0:
            self._z = sign
        else:
            kept = np.exp(-np.abs(v) * (dt / self._law.presliding))
            self._z = sign + (self._z - sign) * kept
        return self._z

    def along(self, v: Array, dt: float) -> Array:
        """Return z along many steps; each step is computed as by `after`.

        Args:
            v: Joint velocities at the ends of the steps [rad/s], shape (k, n).
            dt: Length of each step [s].

        Returns:
            Shape (k, n).
        """
        if self._law.presliding == 0.0 or not len(v):
            return smooth_sign(v, self._law.smoothing_speed)
        return np.array([self.after(row, dt) for row in v])
