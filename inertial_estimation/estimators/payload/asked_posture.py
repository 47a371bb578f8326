"""Posture the base is asked to take, and the one it had before it was asked."""

from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading
from inertial_estimation.signals import BaseReference

POSTURE_TOLERANCE_RAD = 0.03  # largest turn from level, or from the posture asked for, that counts as reached


class AskedPosture:
    """Asks for roll and pitch at the height the base had, and for its old posture in the end.

    Attributes:
        reference: The posture asked for; None: nothing is asked.
    """

    def __init__(self) -> None:
        self.reference: BaseReference | None = None
        self._before: BaseReference | None = None

    def reset(self) -> None:
        """Clear the stored posture; after a requested tilt, that posture is requested once more."""
        self.reference = None if self.reference is None else self._before
        self._before = None

    def keep_undisturbed(self, reading: TrunkReading) -> None:
        """Keep the posture of a robot that stands undisturbed; one near level counts as level.

        Args:
            reading: Measurement at rest, with the posture.
        """
        level = reading.turned_from((0.0, 0.0)) < POSTURE_TOLERANCE_RAD
        roll, pitch = (0.0, 0.0) if level else (reading.roll, reading.pitch)
        self._before = BaseReference(reading.height, roll, pitch)

    def keep_height(self, reading: TrunkReading) -> None:
        """Keep the height of a robot whose undisturbed posture is not known; it counts as level.

        Args:
            reading: Measurement at rest, with the height.
        """
        if self._before is None:
            self._before = BaseReference(reading.height)

    def ask(self, tilt: tuple[float, float] | None) -> None:
        """Ask for a tilt.

        Args:
            tilt: Roll and pitch [rad]; None: those of before.
        """
        before = self._before or BaseReference(0.0)
        self.reference = before if tilt is None else BaseReference(before.height, *tilt)

    def ask_back(self) -> None:
        """Ask for the posture of before, if any posture was asked for."""
        if self.reference is not None:
            self.ask(None)

    def release(self) -> None:
        """Withdraw the request."""
        self.reference = None

    def reached(self, reading: TrunkReading) -> bool:
        """Return whether the base has the requested posture.

        Args:
            reading: Measurement at rest, with the posture.
        """
        asked = self.reference
        return asked is None or reading.turned_from((asked.roll, asked.pitch)) < POSTURE_TOLERANCE_RAD
