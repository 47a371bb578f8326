"""A robot and its estimates over time, as a recording of the viewer."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import NDArray

from inertial_estimation.models.drawn_sizes import SIGMAS_DRAWN
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.view.animated_robot import AnimatedRobot
from inertial_estimation.view.blueprint import ROOT, SERIES
from inertial_estimation.view.columns import Columns
from inertial_estimation.view.moment import Moment, ShownLink
from inertial_estimation.view.overlays import Overlays

Colour = tuple[int, ...]
COLOURS: tuple[Colour, ...] = (
    *((0, 114, 178), (213, 94, 0), (0, 158, 115)),
    *((204, 121, 167), (230, 159, 0), (86, 180, 233)),
)  # Okabe and Ito 2008, as in the figures
TRUE: Colour = (150, 150, 150)
BAND_OPACITY = 110  # of 255
WIDTH, BAND_WIDTH = 2.0, 1.0


class TimeSeries:
    """Adds the values of moments to series, each of which gets its style when it first appears."""

    def __init__(
        self, stream: rr.RecordingStream, columns: Columns, label: str = "", first_colour: int = 0
    ) -> None:
        """Start without series.

        Args:
            stream: The recording.
            columns: Where the values are collected.
            label: Put before the names of all series where the recording has several robots.
            first_colour: Number of the colour of the first series of each panel.
        """
        self._stream, self._columns = stream, columns
        self._label = f"{label} " if label else ""
        self._first_colour = first_colour
        self._names: dict[str, list[str]] = {}
        self._styled: set[str] = set()

    def add(self, moment: Moment) -> None:
        """Add one instant."""
        stamp_ns = moment.stamp_ns
        if moment.base is not None:
            R_WB = rotation_from_quaternion(moment.base.quaternion_xyzw)
            self._tilt(moment, R_WB[2])
            for load in moment.loads:
                self.value("force", load.name, stamp_ns, float(R_WB[2] @ np.array(load.force_B)))
        self.value("nis", "NIS", stamp_ns, moment.nis)
        self.value("nis", "bound of the gate", stamp_ns, moment.nis_bound, colour=TRUE)
        for link in moment.links:
            self._payload(stamp_ns, link, moment.truth.masses)

    def add_truth(self, stamp_ns: int, up_B: Array, error: float) -> None:
        """Add the true tilt, and how far the estimate is from it.

        Args:
            stamp_ns: Time [ns].
            up_B: True vertical in the base frame, unit norm, shape (3,).
            error: Angle between the estimated and the true vertical [rad].
        """
        for name, angle in _roll_and_pitch(up_B).items():
            self.value("tilt", f"{name}, true", stamp_ns, angle, colour=TRUE)
        self.value("tilt_error", "error", stamp_ns, math.degrees(error))

    def _tilt(self, moment: Moment, up_B: Array) -> None:
        stamp_ns, true = moment.stamp_ns, moment.truth.up_B
        for name, angle in _roll_and_pitch(up_B).items():
            self.value("tilt", name, stamp_ns, angle)
        if true is not None:
            error = 2.0 * math.asin(min(1.0, 0.5 * float(np.linalg.norm(up_B - true))))
            self.add_truth(stamp_ns, true, error)
        sigma = math.degrees(moment.tilt_sigma)
        self.value("tilt_error", "sigma", stamp_ns, sigma, colour=TRUE)

    def _payload(self, stamp_ns: int, link: ShownLink, true_masses: Mapping[str, float]) -> None:
        name, mass, sigma = link.estimate.link, link.payload.mass, link.mass_sigma
        if math.isinf(sigma):  # never measured
            return
        colour = self._colour("payload", name)
        band, legend = (*colour, BAND_OPACITY), f"{self._label}{name}"
        self.value("payload", name, stamp_ns, mass, colour=colour)
        for side, bound in (("upper", mass + SIGMAS_DRAWN * sigma), ("lower", mass - SIGMAS_DRAWN * sigma)):
            self.value(
                "payload", f"{name}, {side}", stamp_ns, bound, colour=band, width=BAND_WIDTH, legend=legend
            )
        if name in true_masses:
            true = true_masses[name] - (link.estimate.mass - mass)
            self.value("payload", f"{name}, true", stamp_ns, true, colour=TRUE)

    def value(
        self,
        panel: str,
        name: str,
        stamp_ns: int,
        value: float,
        *,
        colour: Colour | None = None,
        width: float = WIDTH,
        legend: str = "",
    ) -> None:
        """Add one value of a series; one that is not finite is left out.

        Args:
            panel: Entity of the panel below `SERIES`.
            name: Name of the series.
            stamp_ns: Time [ns].
            value: The value.
            colour: Of the line; None: the next of the panel.
            width: Of the line, in points.
            legend: Name in the legend; empty: that of the series.
        """
        if not math.isfinite(value):
            return
        title = f"{self._label}{name}"
        entity = f"{SERIES}/{panel}/{rr.escape_entity_path_part(title)}"
        if entity not in self._styled:
            self._styled.add(entity)
            style = rr.SeriesLines(
                colors=colour or self._colour(panel, title),
                names=legend or title,
                widths=width,
                aggregation_policy="MinMax",  # the default, the mean, hides peaks
            )
            self._stream.log(entity, style, static=True)
        self._columns.scalar(entity, stamp_ns, value)

    def _colour(self, panel: str, name: str) -> Colour:
        """The colour of a series: the first that no other of its panel has, in turn."""
        names = self._names.setdefault(panel, [])
        if name not in names:
            names.append(name)
        return COLOURS[(self._first_colour + names.index(name)) % len(COLOURS)]


def _roll_and_pitch(up_B: Array) -> dict[str, float]:
    """Roll r and pitch p [deg] of a base, whose vertical is (-sin p, cos p sin r, cos p cos r)."""
    x, y, z = up_B.tolist()
    return {"roll": math.degrees(math.atan2(y, z)), "pitch": math.degrees(math.atan2(-x, math.hypot(y, z)))}


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
