"""Where the base is asked to be, and where it stood before it was asked."""

from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading
from inertial_estimation.signals import BaseReference

__all__ = ["AskedPosture"]

LEVEL = 0.03  # rad: roll and pitch of a base that is where it was asked to be, or level


class AskedPosture:
    """Asks for roll and pitch at the height the base had, and for its old posture in the end.

    Attributes:
        reference: What is asked for; None: nothing.
    """

    def __init__(self) -> None:
        self.reference: BaseReference | None = None
        self._before: BaseReference | None = None

    def reset(self) -> None:
        """Forget; a base that was asked to tilt is asked back."""
        self.reference = None if self.reference is None else self._before
        self._before = None

    def stood(self, reading: TrunkReading) -> None:
        """Take the posture of a robot that stands undisturbed; within `LEVEL` it is level."""
        level = reading.turned_from((0.0, 0.0)) < LEVEL
        roll, pitch = (0.0, 0.0) if level else (reading.roll, reading.pitch)
        self._before = BaseReference(reading.height, roll, pitch)

    def stands(self, reading: TrunkReading) -> None:
        """Take the height of a robot whose posture is not known yet; it counts as level."""
        if self._before is None:
            self._before = BaseReference(reading.height)

    def ask(self, tilt: tuple[float, float] | None) -> None:
        """Ask for roll and pitch [rad]; None: for those before."""
        before = self._before or BaseReference(0.0)
        self.reference = before if tilt is None else BaseReference(before.height, *tilt)

    def release(self) -> None:
        """Ask for nothing more."""
        self.reference = None

    def reached(self, reading: TrunkReading) -> bool:
        """Whether the base is where it is asked to be."""
        asked = self.reference
        return asked is None or reading.turned_from((asked.roll, asked.pitch)) < LEVEL
