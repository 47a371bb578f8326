"""The vertical carried by the gyroscope alone while the accelerometer contradicts gyroscope and feet."""

from inertial_estimation.estimators.tilt.agreement import Agreement
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, cross

__all__ = ["ForceHold"]

MEMORY = 0.2  # time constant of the corrections that can be taken back [s]
ESTABLISHED = 0.7  # time of agreement after which the vertical is believed rather than the accelerometer [s]
SHORTEST, LONGEST = 0.1, 8.0  # duration of a hold [s]
UNPROVEN = (
    0.8  # that where the specific force has the length of gravity: the vertical may be wrong instead [s]
)
GRAVITY_LENGTH = 0.02  # relative error up to which it has


class ForceHold:
    """Takes the recent corrections of the vertical back, and lets the gyroscope carry it for a while.

    Attributes:
        active: Whether the gyroscope alone carries the vertical.
        elapsed: For how long [s].
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with a vertical that has not been confirmed yet."""
        self.active = False
        self.elapsed = 0.0
        self._agreed = 0.0
        self._turned: Vector = ZERO

    @property
    def exhausted(self) -> bool:
        """Whether it has lasted so long that nothing confirms the vertical any more."""
        return self.elapsed > LONGEST

    def _expire(self, agreement: Agreement) -> None:
        """End a hold that the length of the specific force does not justify."""
        if self.elapsed > UNPROVEN and abs(agreement.length) < GRAVITY_LENGTH:
            self.active, self.elapsed, self._agreed = False, 0.0, 0.0

    def update(
        self, h: float, w: Vector, correction: Vector, agreement: Agreement, *, sound: bool
    ) -> Vector | None:
        """Process one step, after the observer's.

        Args:
            h: Its duration [s].
            w: Its angular velocity [rad/s].
            correction: Mean angular velocity by which the observer turned the vertical in it [rad/s].
            agreement: Agreement of the readings.
            sound: Whether the feet confirm the gyroscope, so that the accelerometer is wrong.

        Returns:
            Where a hold begins, the rotation that takes the recent corrections back [rad]; None otherwise.
        """
        if self.active:
            self.elapsed += h
            self._expire(agreement)
            if (self.elapsed > SHORTEST and agreement.restored) or not sound:
                self.active, self.elapsed = False, 0.0
            return None
        t, keep = combine(self._turned, -h, cross(w, self._turned)), 1.0 - h / (h + MEMORY)
        self._turned = (
            keep * t[0] + h * correction[0],
            keep * t[1] + h * correction[1],
            keep * t[2] + h * correction[2],
        )
        if not agreement.disagrees:
            self._agreed = self._agreed + h if agreement.restored else self._agreed
            return None
        if self._agreed < ESTABLISHED or not sound:
            self._agreed = 0.0
            return None
        self.active = True
        x, y, z = self._turned
        self._turned = ZERO
        return -x, -y, -z
