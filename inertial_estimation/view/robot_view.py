"""A robot and its estimates over time, as a recording of the viewer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import NDArray

from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.view.animated_robot import AnimatedRobot
from inertial_estimation.view.blueprint import ROOT
from inertial_estimation.view.columns import Columns
from inertial_estimation.view.moment import Moment
from inertial_estimation.view.overlays import Overlays
from inertial_estimation.view.time_series import TimeSeries

FRAMES_PER_SECOND = 30.0


class RobotView:
    """Writes the robot, what is drawn at it, and the time series in the panels next to it.

    Moments are shown 30 times per second of their stamps, however often the robot is measured.
    """

    def __init__(
        self,
        stream: rr.RecordingStream,
        robot: RobotModel,
        urdf: str,
        *,
        origin_ns: int,
        folders: Sequence[Path] = (),
        root: str = ROOT,
        label: str = "",
        first_colour: int = 0,
        place: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Log what does not change.

        Args:
            stream: The recording.
            robot: Model of the robot.
            urdf: Text of its description.
            origin_ns: Stamp that is zero on the time line [ns].
            folders: Folders in which meshes are searched.
            root: Entity below which this robot is, without spaces.
            label: Put before the names of its series where the recording has several robots.
            first_colour: Number of the colour of its first series in each panel.
            place: Added to all positions of the base [m], so that several robots stand apart.
        """
        self._columns = Columns(stream, origin_ns)
        self._robot = AnimatedRobot(stream, robot, urdf, folders, root=root, place=place)
        self._overlays = Overlays(stream, self._columns, self._robot, robot, root)
        self._series = TimeSeries(stream, self._columns, label, first_colour)
        self._next_ns: int | None = None
        stream.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)

    def due(self, stamp_ns: int) -> bool:
        """Return whether a moment is due; also after a jump of the stamps. If it is, it counts as shown."""
        if self._next_ns is not None and self._next_ns - NANOSECONDS < stamp_ns < self._next_ns:
            return False
        self._next_ns = stamp_ns + round(NANOSECONDS / FRAMES_PER_SECOND)
        return True

    def show(self, q: Array, moment: Moment) -> None:
        """Add one moment; `due` tells at which stamps.

        Args:
            q: Joint positions in the model's order [rad or m], shape (n_joints,).
            moment: State and estimates.
        """
        self._robot.move(self._columns, moment.stamp_ns, q, moment.base)
        self._overlays.draw(q, moment)
        self._series.add(moment)

    def show_truth(self, stamps_ns: NDArray[np.int64], up_B: Array, errors: Array) -> None:
        """Add the true tilt where it is known only afterwards, as from an aligned reference.

        Args:
            stamps_ns: Stamps, ascending [ns], shape (n,).
            up_B: True vertical in the base frame, shape (n, 3).
            errors: Angle between the estimated and the true vertical [rad], shape (n,).
        """
        self._next_ns = None
        for stamp_ns, up, error in zip(stamps_ns.tolist(), up_B, errors.tolist(), strict=True):
            if self.due(stamp_ns):
                self._overlays.draw_truth(stamp_ns, up)
                self._series.add_truth(stamp_ns, up, error)

    def plot(self, panel: str, name: str, stamp_ns: int, value: float) -> None:
        """Add a value to a panel that is not part of a moment."""
        self._series.value(panel, name, stamp_ns, value)

    def tell(self, stamp_ns: int, text: str, *, warning: bool = False) -> None:
        """Add an event to the log in its own panel next to the time series.

        Args:
            stamp_ns: When it happened [ns].
            text: One sentence.
            warning: Whether something is wrong.
        """
        level = rr.TextLogLevel.WARN if warning else rr.TextLogLevel.INFO
        self._columns.add("events", stamp_ns, (text, level), _event_columns)

    def finish(self) -> None:
        """Send what is not yet in the file."""
        self._columns.flush()


def _event_columns(events: list[tuple[str, str]]) -> Any:
    texts, levels = zip(*events, strict=True)
    return rr.TextLog.columns(text=texts, level=levels)
