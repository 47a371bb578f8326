"""A walk that begins at a set time."""

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.control.references import WalkCommand


class ScheduledWalk:
    """Walk forward once; the robot stands before and after.

    Attributes:
        duration_s: Length of the run, from the release on [s].
    """

    def __init__(self, walk: WalkCommand, begin_s: float, duration_s: float) -> None:
        """Set what is commanded, and when.

        Args:
            walk: Number and length of the steps.
            begin_s: Time of the command since the release [s].
            duration_s: Length of the run, from the release on [s].
        """
        self.duration_s = duration_s
        self._walk, self._begin_s = walk, begin_s
        self._commanded = False

    def command(self, loop: ClosedLoop) -> None:
        """Command all the steps when the time has come; to be called again and again."""
        if not self._commanded and loop.time_s >= self._begin_s:
            loop.controller.push_walk_command(self._walk)
            self._commanded = True
