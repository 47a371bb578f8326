"""A robot and its estimates over time, as a recording of the viewer."""

import math
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import NDArray
from rerun.urdf import UrdfTree

from inertial_estimation.files.outputs import PARTIAL
from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.marker_messages import (
    GRAVITY_LENGTH,
    METRES_PER_NEWTON,
    SIGMAS_DRAWN,
    payload_radius,
)
from inertial_estimation.replay.metrics import angles_between, verticals
from inertial_estimation.signals import Array, seconds
from inertial_estimation.view.blueprint import ROOT, SERIES, TIMELINE
from inertial_estimation.view.moments import Event, Moment, ShownLink
from inertial_estimation.view.shown_urdf import shown_urdf

Colour = tuple[int, ...]
Stamps = Sequence[int] | NDArray[np.int64]
COLOURS: tuple[Colour, ...] = (
    *((0, 114, 178), (213, 94, 0), (0, 158, 115)),
    *((204, 121, 167), (230, 159, 0), (86, 180, 233)),
)  # Okabe and Ito 2008, as in the figures
ESTIMATED, TRUE, NOMINAL = (213, 94, 0), (0, 158, 115), (120, 120, 120)
IN_USE, NOT_IN_USE, HEAVIER, LIGHTER = (0, 114, 178), (150, 150, 150), (230, 159, 0), (86, 180, 233)
BAND_OPACITY, SHELL = 110, 70  # of bands of curves, and of what shows a standard deviation, of 255
WIDTH, BAND_WIDTH = 2.0, 1.0  # of curves [point]
COM_RADIUS, LARGEST_COM = 0.02, 0.08  # of a centre of mass that is exact, and at most [m]
ARROW_RADIUS = 0.008  # [m]
APPLICATION = "inertial_estimation"
WORLD = "tf#/"  # Rerun's name of the frame of the root entity
UPRIGHT = (0.0, 0.0, 0.0, 1.0)  # x y z w


@contextmanager
def rerun_file(path: Path, name: str) -> Iterator[rr.RecordingStream]:
    """Open a recording that is written to a file as it is made.

    What is logged goes to a file next to the given one, which is given its name at the end; after an error
    or an interrupt nothing is left.

    Args:
        path: The file; an existing one is replaced.
        name: Name of the recording in the viewer.

    Yields:
        The stream to log to.
    """
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(4)}.rrd")
    stream = rr.RecordingStream(APPLICATION)
    for clock in (stream.set_log_time_enabled, stream.set_log_tick_enabled):
        clock(False)  # the only time line is that of the data
    try:
        stream.save(partial)
        stream.send_recording_name(name)
        yield stream
        stream.flush()
        stream.disconnect()
        partial.replace(path)
    finally:
        stream.disconnect()
        with suppress(OSError):
            partial.unlink(missing_ok=True)


class RobotView:
    """Writes the robot, what is drawn at it, and the time series in the panels next to it.

    Attributes:
        panels: Panels that have time series.
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
        """Log the shapes of the links, which do not change.

        Args:
            stream: The recording.
            robot: Model of the robot.
            urdf: Text of its description.
            origin_ns: Stamp that is zero on the time line [ns].
            folders: Folders in which meshes are searched.
            root: Entity below which this robot is, without spaces; also prefix of its frames.
            label: Put before the names of its series where the recording has several robots.
            first_colour: Number of the colour of its first series in each panel.
            place: Added to all positions of the base [m], so that several robots stand apart.
        """
        self._stream, self._robot, self._origin_ns = stream, robot, origin_ns
        self._root, self._label, self._first_colour = root, f"{label} " if label else "", first_colour
        self._place, self._names, self.panels = place, dict[str, list[str]](), set[str]()
        stream.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(shown_urdf(urdf, folders, Path(folder)), encoding="utf-8")
            self._tree = UrdfTree.from_file_path(
                file,
                entity_path_prefix=root,
                frame_prefix=f"{root}/",
                static_transform_entity_path=f"{root}/fixed_joints",
            )
            self._tree.log_urdf_to_recording(stream)

    def show(self, moments: Sequence[Moment]) -> None:
        """Write moments, at least one: the motion, what is drawn at the robot, and the time series."""
        links = _by_name((m, link.estimate.link, link) for m in moments for link in m.links)
        self._move(moments)
        self._draw_forces(moments)
        self._draw_centres(moments)
        for name, found in links.items():
            stamps = [m.stamp_ns for m, _link in found]
            for part, columns in _link_columns([link for _m, link in found]).items():
                self._at(f"links/{rr.escape_entity_path_part(name)}/{part}", name, stamps, columns)
            self._plot_payload(name, found)
        self._show_tilt(moments)
        stamps = [m.stamp_ns for m in moments]
        self.curve("nis", "NIS", stamps, [m.nis for m in moments])
        self.curve("nis", "bound of the gate", stamps, [m.nis_bound for m in moments], colour=NOT_IN_USE)

    def show_truth(self, stamps_ns: Stamps, up_B: Array, errors: Array | None = None) -> None:
        """Write the true tilt, which an aligned reference tells only afterwards.

        Args:
            stamps_ns: Stamps, ascending [ns], shape (n,).
            up_B: True vertical in the base frame, shape (n, 3).
            errors: Angle between the estimated and the true vertical [rad], shape (n,); None: not known.
        """
        self._gravity("gravity/true", stamps_ns, up_B, TRUE)
        for name, angles in _roll_and_pitch(up_B).items():
            self.curve("tilt", f"{name}, true", stamps_ns, angles, colour=NOT_IN_USE)
        if errors is not None:
            self.curve("tilt_error", "error", stamps_ns, np.degrees(errors))

    def tell(self, events: Sequence[Event]) -> None:
        """Add events to the log in its own panel next to the time series."""
        if events:
            levels = [rr.TextLogLevel.WARN if event.warning else rr.TextLogLevel.INFO for event in events]
            columns = rr.TextLog.columns(text=[event.text for event in events], level=levels)
            self._send("events", [event.stamp_ns for event in events], columns)

    def curve(
        self,
        panel: str,
        name: str,
        stamps_ns: Stamps,
        values: Any,
        *,
        colour: Colour | None = None,
        width: float = WIDTH,
        legend: str = "",
    ) -> None:
        """Add a time series; values that are not finite are left out.

        Args:
            panel: Entity of the panel below `SERIES`.
            name: Name of the series.
            stamps_ns: Stamps [ns], shape (n,).
            values: The values, shape (n,).
            colour: Of the line; None: the next of the panel.
            width: Of the line, in points.
            legend: Name in the legend; empty: that of the series.
        """
        numbers, title = np.asarray(values, dtype=np.float64), f"{self._label}{name}"
        known = np.isfinite(numbers)
        if not known.any():
            return
        self.panels.add(panel)
        entity = f"{SERIES}/{panel}/{rr.escape_entity_path_part(title)}"
        style = rr.SeriesLines(
            colors=colour or self._colour(panel, title),
            names=legend or title,
            widths=width,
            aggregation_policy="MinMax",  # the default, the mean, hides peaks
        )
        self._stream.log(entity, style, static=True)
        self._send(entity, np.asarray(stamps_ns)[known], rr.Scalars.columns(scalars=numbers[known]))

    def _colour(self, panel: str, name: str) -> Colour:
        """Return the colour of a series: the first that no other of its panel has, in turn."""
        names = self._names.setdefault(panel, [])
        if name not in names:
            names.append(name)
        return COLOURS[(self._first_colour + names.index(name)) % len(COLOURS)]

    def _send(self, entity: str, stamps_ns: Stamps, columns: Any) -> None:
        times = seconds(np.asarray(stamps_ns, dtype=np.int64) - self._origin_ns)
        self._stream.send_columns(entity, [rr.TimeColumn(TIMELINE, duration=times)], columns)

    def _frame(self, link: str) -> str:
        return f"{self._root}/{link}"

    def _at(self, part: str, link: str, stamps_ns: Stamps, columns: Any) -> None:
        """Draw something in the frame of a link."""
        entity = f"{self._root}/{part}"
        self._stream.log(entity, rr.CoordinateFrame(self._frame(link)), static=True)
        self._send(entity, stamps_ns, columns)

    def _move(self, moments: Sequence[Moment]) -> None:
        """Write the transforms of the joints and of the base, at first upright at its place."""
        stamps, positions = [m.stamp_ns for m in moments], np.array([m.q for m in moments])
        for name, values in zip(self._robot.joint_names, positions.T, strict=True):
            joint = self._tree.get_joint_by_name(name)
            if joint is not None:
                entity = f"{self._root}/joints/{rr.escape_entity_path_part(name)}"
                self._send(entity, stamps, joint.compute_transform_columns(values.tolist(), clamp=False))
        poses: list[tuple[int, Any, Any]] = [
            (m.stamp_ns, base.p_WB + self._place, base.quaternion_xyzw)
            for m in moments
            if (base := m.base) is not None
        ]
        if moments[0].base is None:
            poses.insert(0, (moments[0].stamp_ns, self._place, UPRIGHT))
        stamps, places, quaternions = (list(column) for column in zip(*poses, strict=True))
        columns = rr.Transform3D.columns(
            translation=places,
            quaternion=quaternions,
            parent_frame=[WORLD] * len(poses),
            child_frame=[self._frame(self._robot.base_link)] * len(poses),
        )
        self._send(f"{self._root}/base", stamps, columns)

    def _gravity(self, part: str, stamps_ns: Stamps, up_B: Array, colour: Colour) -> None:
        n, vectors = len(up_B), -GRAVITY_LENGTH * up_B
        if n:
            arrows = rr.Arrows3D.columns(vectors=vectors, colors=[colour] * n, radii=[ARROW_RADIUS] * n)
            self._at(part, self._robot.base_link, stamps_ns, arrows)

    def _show_tilt(self, moments: Sequence[Moment]) -> None:
        """Write direction of gravity, roll and pitch, their deviation, and the truth where it is known."""
        stamps, up_B = _verticals(moments)
        self._gravity("gravity/estimated", stamps, up_B, ESTIMATED)
        for name, angles in _roll_and_pitch(up_B).items():
            self.curve("tilt", name, stamps, angles)
        sigmas = np.degrees([m.tilt_sigma for m in moments])
        self.curve("tilt_error", "sigma", [m.stamp_ns for m in moments], sigmas, colour=NOT_IN_USE)
        known = [m for m in moments if m.base is not None and m.truth.up_B is not None]
        if known:
            stamps, estimated = _verticals(known)
            true = np.array([m.truth.up_B for m in known])
            self.show_truth(stamps, true, angles_between(estimated, true))

    def _draw_forces(self, moments: Sequence[Moment]) -> None:
        """Write the contact forces, and their vertical parts as time series."""
        for name, found in _by_name((m, load.name, load) for m in moments for load in m.loads).items():
            stamps, loads = [m.stamp_ns for m, _load in found], [load for _m, load in found]
            forces = np.array([load.force_B for load in loads])
            arrows = rr.Arrows3D.columns(
                origins=[load.point_B for load in loads],
                vectors=METRES_PER_NEWTON * forces,
                colors=[IN_USE if load.weight > 0.0 else NOT_IN_USE for load in loads],
                radii=[ARROW_RADIUS] * len(loads),
            )
            part = f"forces/{rr.escape_entity_path_part(name)}"
            self._at(part, self._robot.base_link, stamps, arrows)
            based = np.array([m.base is not None for m, _load in found])
            at, up_B = _verticals([m for m, _load in found])
            self.curve("force", name, at, np.sum(up_B * forces[based], axis=1))

    def _draw_centres(self, moments: Sequence[Moment]) -> None:
        bodies = BodyPlacements(self._robot)
        nominal, estimated = list[Array](), list[tuple[int, Array]]()
        for moment in moments:
            bodies.update(moment.q)
            nominal.append(bodies.com_B())
            known = [link.estimate for link in moment.links if not math.isinf(link.mass_sigma)]
            if known:
                estimated.append((moment.stamp_ns, bodies.com_B(known)))
        self._points("centre_of_mass/nominal", [m.stamp_ns for m in moments], nominal, NOMINAL)
        stamps, points = [stamp_ns for stamp_ns, _com in estimated], [com for _stamp_ns, com in estimated]
        self._points("centre_of_mass/estimated", stamps, points, ESTIMATED)

    def _points(self, part: str, stamps_ns: Stamps, points: Sequence[Array], colour: Colour) -> None:
        n = len(points)
        if n:
            columns = rr.Points3D.columns(positions=points, colors=[colour] * n, radii=[COM_RADIUS] * n)
            self._at(part, self._robot.base_link, stamps_ns, columns)

    def _plot_payload(self, name: str, found: Sequence[tuple[Moment, ShownLink]]) -> None:
        measured = [(m, link) for m, link in found if not math.isinf(link.mass_sigma)]
        if not measured:
            return
        stamps = [m.stamp_ns for m, _link in measured]
        masses = np.array([link.payload.mass for _m, link in measured])
        spread = SIGMAS_DRAWN * np.array([link.mass_sigma for _m, link in measured])
        colour = self._colour("payload", name)
        self.curve("payload", name, stamps, masses, colour=colour)
        band: dict[str, Any] = {"colour": (*colour, BAND_OPACITY), "width": BAND_WIDTH}
        for side, bound in (("upper", masses + spread), ("lower", masses - spread)):
            self.curve("payload", f"{name}, {side}", stamps, bound, legend=f"{self._label}{name}", **band)
        nominal = np.array([link.estimate.mass for _m, link in measured]) - masses
        true = np.array([m.truth.masses.get(name, math.nan) for m, _link in measured]) - nominal
        self.curve("payload", f"{name}, true", stamps, true, colour=NOT_IN_USE)


def _verticals(moments: Sequence[Moment]) -> tuple[list[int], Array]:
    """Return stamps and estimated verticals in the base frame, shape (n, 3), of moments with a base."""
    based = [(m.stamp_ns, m.base.quaternion_xyzw) for m in moments if m.base is not None]
    quaternions = np.array([quaternion for _stamp_ns, quaternion in based]).reshape(-1, 4)
    return [stamp_ns for stamp_ns, _q in based], verticals(quaternions) if based else np.zeros((0, 3))


def _by_name(found: Iterable[tuple[Moment, str, Any]]) -> dict[str, list[tuple[Moment, Any]]]:
    """Return what is found at moments by name, in order."""
    by_name: dict[str, list[tuple[Moment, Any]]] = {}
    for moment, name, value in found:
        by_name.setdefault(name, []).append((moment, value))
    return by_name


def _roll_and_pitch(up_B: Array) -> dict[str, Array]:
    """Return roll r and pitch p [deg] of a base, whose vertical is (-sin p, cos p sin r, cos p cos r)."""
    x, y, z = up_B.T
    return {"roll": np.degrees(np.arctan2(y, z)), "pitch": np.degrees(np.arctan2(-x, np.hypot(y, z)))}


def _link_columns(links: Sequence[ShownLink]) -> Mapping[str, Any]:
    """Return centre of mass and payload of a body, and what shows two standard deviations of either.

    The payload is a sphere of its mass, of no size where that is less than two standard deviations.
    """
    masses, sigmas = (
        np.array(values) for values in ([x.payload.mass for x in links], [x.mass_sigma for x in links])
    )
    sigmas = np.where(np.isfinite(sigmas), sigmas, np.where(np.isnan(sigmas), 0.0, np.abs(masses)))
    seen = np.abs(masses) > SIGMAS_DRAWN * sigmas

    def spheres(sizes: Array, opacity: int, labels: Sequence[str] | None = None) -> Any:
        radii = np.where(seen, [payload_radius(size) for size in sizes.tolist()], 0.0)
        colours = [(*(HEAVIER if mass > 0.0 else LIGHTER), opacity) for mass in masses.tolist()]
        centres = [link.payload.com_L for link in links]
        return _ellipsoids(centres, np.repeat(radii[:, None], 3, axis=1), colours, labels)

    labels = [
        f"{link.payload.mass:+.2f} kg (sigma {link.mass_sigma:.2f})" if there else ""
        for link, there in zip(links, seen.tolist(), strict=True)
    ]
    coms = np.array([link.com_sigmas_L for link in links])
    spread = np.where(np.isfinite(coms), coms, np.where(np.isnan(coms), 0.0, LARGEST_COM))
    axes = np.clip(SIGMAS_DRAWN * spread, 0.25 * COM_RADIUS, LARGEST_COM)
    return {
        "centre_of_mass": _ellipsoids(
            [link.estimate.com_L for link in links], axes, [(*ESTIMATED, SHELL)] * len(links)
        ),
        "payload": spheres(masses, 255, labels),
        "payload_with_sigma": spheres(np.abs(masses) + SIGMAS_DRAWN * sigmas, SHELL),
    }


def _ellipsoids(
    centres: Sequence[Array], half_sizes: Array, colours: Any, labels: Sequence[str] | None = None
) -> Any:
    solid = ["solid"] * len(centres)
    return rr.Ellipsoids3D.columns(
        centers=centres, half_sizes=half_sizes, colors=colours, fill_mode=solid, labels=labels
    )
