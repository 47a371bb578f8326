"""A robot and its estimates over time, as a recording of the viewer."""

import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
import rerun.blueprint as rrb
from numpy.typing import NDArray
from rerun.urdf import UrdfTree

from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.figures import GREY_COLOUR, PALETTE, Panel, Series
from inertial_estimation.files.outputs import PARTIAL
from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.marker_messages import (
    COM_RADII,
    GRAVITY_LENGTH,
    METRES_PER_NEWTON,
    SIGMAS_DRAWN,
    payload_radius,
)
from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.metrics import verticals
from inertial_estimation.replay.reference import ReferenceErrors
from inertial_estimation.signals import Array, seconds
from inertial_estimation.view.displayable_urdf import displayable_urdf
from inertial_estimation.view.moments import DisplayedLink, Moment

Colour = tuple[int, ...]
Stamps = Sequence[int] | NDArray[np.int64]
COLOURS: tuple[Colour, ...] = tuple(tuple(bytes.fromhex(colour[1:])) for colour in PALETTE)
GREY: Colour = tuple(bytes.fromhex(GREY_COLOUR[1:]))
IN_USE, ESTIMATED, TRUE, _, HEAVIER, LIGHTER = COLOURS
TRANSLUCENT = 90  # of 255: bands of curves, ellipsoids of standard deviations
ROOT, SERIES, TIMELINE = "robot", "series", "time"  # entities of the robot and the time series; seconds
WORLD = "tf#/"  # Rerun's name of the frame of the root entity
PANELS = {  # entity below `SERIES` and title of each panel, from the top
    "tilt": "roll and pitch of the base [deg]",
    "tilt_error": "tilt error and its sigma [deg]",
    "force": "vertical contact force [N]",
    "nis": "normalised innovation squared (NIS)",
    "payload": "payload: estimated less nominal mass, 2 sigma [kg]",
}


@contextmanager
def rerun_file(path: Path, name: str) -> Iterator[rr.RecordingStream]:
    """Open a recording that is written to a file as it grows; after an error or an interrupt no file remains.

    Args:
        path: The file; an existing one is replaced.
        name: Name of the recording in the viewer.

    Yields:
        The stream to log to.
    """
    stream = rr.RecordingStream("inertial_estimation")
    stream.set_log_time_enabled(False)  # the only time line is that of the data
    stream.set_log_tick_enabled(False)
    with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=path.parent) as folder:
        try:
            stream.save(Path(folder) / path.name)
            stream.send_recording_name(name)
            yield stream
            stream.flush()
        finally:
            stream.disconnect()
        (Path(folder) / path.name).replace(path)


def write_view(
    path: Path,
    robot: RobotModel,
    urdf: str,
    origin_ns: int,
    moments: Sequence[Moment],
    errors: ReferenceErrors | None = None,
    truth: TrueInertias | None = None,
) -> None:
    """Write the moments of a replay.

    Args:
        path: The file.
        robot: Model of the robot.
        urdf: Text of its description.
        origin_ns: Stamp that is zero on the time line [ns].
        moments: The moments.
        errors: Tilt of a reference, and errors; None without a reference.
        truth: True masses; None if they are not known.
    """
    with rerun_file(path, robot.model.name) as stream:
        view = RobotView(stream, robot, urdf, origin_ns)
        if moments:
            view.show(moments, truth)
        if errors is not None:
            good = errors.trusted
            view.show_truth(errors.stamps_ns[good], errors.reference[good], errors.errors[good])
        view.lay_out()


class RobotView:
    """Writes the robot with its annotations, and the time series in the panels next to it."""

    def __init__(self, stream: rr.RecordingStream, robot: RobotModel, urdf: str, origin_ns: int) -> None:
        """Log the shapes of the links, which do not change.

        Args:
            stream: The recording.
            robot: Model of the robot.
            urdf: Text of its description.
            origin_ns: Stamp that is zero on the time line [ns].
        """
        self._stream, self._robot, self._origin_ns = stream, robot, origin_ns
        self._series: dict[str, list[str]] = {}  # names of the curves of each panel
        self._places: Array = np.zeros((1, 3))  # of the base in the world [m], shape (n, 3)
        self._payloads: list[Series] = []  # determine the limits of the axis: bands are wide at the start
        stream.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(displayable_urdf(urdf, mesh_folders(), Path(folder)), encoding="utf-8")
            self._tree = UrdfTree.from_file_path(
                file,
                entity_path_prefix=ROOT,
                frame_prefix=f"{ROOT}/",
                static_transform_entity_path=f"{ROOT}/fixed_joints",
            )
            self._tree.log_urdf_to_recording(stream)

    def show(self, moments: Sequence[Moment], truth: TrueInertias | None) -> None:
        """Write moments, at least one: the motion, the annotations of the robot, and the time series."""
        links = _by_name((m, link.estimate.link, link) for m in moments for link in m.links)
        self._move(moments)
        self._draw_forces(moments)
        self._draw_centres(moments)
        for name, found in links.items():
            stamps = [m.stamp_ns for m, _link in found]
            for part, columns in _link_columns([link for _m, link in found]).items():
                self._at(f"links/{rr.escape_entity_path_part(name)}/{part}", name, stamps, columns)
            self._plot_payload(name, found, truth)
        self._show_tilt(moments)
        stamps = [m.stamp_ns for m in moments]
        self.curve("nis", "NIS", stamps, [m.nis for m in moments])
        self.curve("nis", "99.9 % quantile", stamps, [m.nis_bound for m in moments], colour=GREY)

    def show_truth(self, stamps_ns: Stamps, up_B: Array, errors: Array) -> None:
        """Write the true tilt, which is known only once a reference has been aligned.

        Args:
            stamps_ns: Stamps, ascending [ns], shape (n,).
            up_B: True vertical in the base frame, shape (n, 3).
            errors: Angle between the estimated and the true vertical [rad], shape (n,).
        """
        self._draw_gravity("true", stamps_ns, up_B, TRUE)
        for name, angles in _roll_and_pitch(up_B).items():
            self.curve("tilt", f"{name}, true", stamps_ns, angles, colour=GREY)
        self.curve("tilt_error", "error", stamps_ns, np.degrees(errors))

    def curve(
        self, panel: str, name: str, stamps_ns: Stamps, values: Any, *, colour: Colour | None = None
    ) -> None:
        """Add a time series; values that are not finite are left out.

        Args:
            panel: One of `PANELS`.
            name: Name of the series.
            stamps_ns: Stamps [ns], shape (n,).
            values: The values, shape (n,).
            colour: Colour of the line; None: the next one of the panel.
        """
        numbers = np.asarray(values, dtype=np.float64)
        known = np.isfinite(numbers)
        if not known.any():
            return
        names = self._series.setdefault(panel, [])
        if colour is None:
            colour = COLOURS[len(names) % len(COLOURS)]
            names.append(name)
        entity = f"{SERIES}/{panel}/{rr.escape_entity_path_part(name)}"
        policy = "MinMax"  # the default, the mean, hides peaks
        style = rr.SeriesLines(colors=colour, names=name, aggregation_policy=policy)
        self._stream.log(entity, style, static=True)
        self._send(entity, np.asarray(stamps_ns)[known], rr.Scalars.columns(scalars=numbers[known]))

    def lay_out(self) -> None:
        """Lay out the recording: the robot on the left, its time series on the right."""
        scene = rrb.Spatial3DView(
            origin="/",
            contents=f"/{ROOT}/**",
            name="robot",
            line_grid=rrb.LineGrid3D(visible=True, spacing=0.5),
            eye_controls=_eye(self._robot, self._places),
            defaults=[
                kind.from_fields(fill_mode="solid") for kind in (rr.Boxes3D, rr.Cylinders3D, rr.Ellipsoids3D)
            ],
        )
        legend = rrb.PlotLegend(rrb.Corner2D.LeftTop)
        limits = Panel("", "", "", self._payloads).visible()
        series = [
            rrb.TimeSeriesView(
                origin=f"/{SERIES}/{panel}",
                name=title,
                plot_legend=legend,
                axis_y=rrb.ScalarAxis(range=limits) if panel == "payload" else None,
            )
            for panel, title in PANELS.items()
            if panel in self._series
        ]
        right = rrb.Vertical(*series)
        self._stream.send_blueprint(
            rrb.Blueprint(
                rrb.Horizontal(scene, right, column_shares=[3.0, 2.0]),
                rrb.SelectionPanel(state="hidden"),
                rrb.BlueprintPanel(state="hidden"),
                rrb.TimePanel(state="collapsed", timeline=TIMELINE),
            )
        )

    def _times(self, stamps_ns: Stamps) -> Array:
        return seconds(np.asarray(stamps_ns, dtype=np.int64) - self._origin_ns)

    def _send(self, entity: str, stamps_ns: Stamps, columns: Any) -> None:
        times = rr.TimeColumn(TIMELINE, duration=self._times(stamps_ns))
        self._stream.send_columns(entity, [times], columns)

    def _at(self, part: str, link: str, stamps_ns: Stamps, columns: Any) -> None:
        """Draw something in the frame of a link."""
        entity = f"{ROOT}/{part}"
        self._stream.log(entity, rr.CoordinateFrame(f"{ROOT}/{link}"), static=True)
        self._send(entity, stamps_ns, columns)

    def _move(self, moments: Sequence[Moment]) -> None:
        """Write the transforms of the joints and of the base, at first upright at the origin."""
        stamps, positions = [m.stamp_ns for m in moments], np.array([m.q for m in moments])
        for name, values in zip(self._robot.joint_names, positions.T, strict=True):
            joint = self._tree.get_joint_by_name(name)
            if joint is not None:
                entity = f"{ROOT}/joints/{rr.escape_entity_path_part(name)}"
                self._send(entity, stamps, joint.compute_transform_columns(values.tolist(), clamp=False))
        bases = [(m.stamp_ns, m.base.p_WB, m.base.quaternion_xyzw) for m in moments if m.base is not None]
        if moments[0].base is None:
            bases.insert(0, (stamps[0], np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])))
        times, places, quaternions = (list(column) for column in zip(*bases, strict=True))
        self._places = np.array(places)
        columns = rr.Transform3D.columns(
            translation=places,
            quaternion=quaternions,
            parent_frame=[WORLD] * len(bases),
            child_frame=[f"{ROOT}/{self._robot.base_link}"] * len(bases),
        )
        self._send(f"{ROOT}/base", times, columns)

    def _draw_gravity(self, part: str, stamps_ns: Stamps, up_B: Array, colour: Colour) -> None:
        n, vectors = len(up_B), -GRAVITY_LENGTH * up_B
        if n:
            arrows = rr.Arrows3D.columns(vectors=vectors, colors=[colour] * n)
            self._at(f"gravity/{part}", self._robot.base_link, stamps_ns, arrows)

    def _show_tilt(self, moments: Sequence[Moment]) -> None:
        """Write direction of gravity, roll and pitch, and the standard deviation of the tilt."""
        stamps, up_B = _verticals(moments)
        self._draw_gravity("estimated", stamps, up_B, ESTIMATED)
        for name, angles in _roll_and_pitch(up_B).items():
            self.curve("tilt", name, stamps, angles)
        sigmas = np.degrees([m.tilt_sigma for m in moments])
        self.curve("tilt_error", "sigma", [m.stamp_ns for m in moments], sigmas, colour=GREY)

    def _draw_forces(self, moments: Sequence[Moment]) -> None:
        """Write the contact forces, and their vertical parts as time series."""
        for name, found in _by_name((m, load.name, load) for m in moments for load in m.loads).items():
            stamps, loads = [m.stamp_ns for m, _load in found], [load for _m, load in found]
            forces = np.array([load.force_B for load in loads])
            arrows = rr.Arrows3D.columns(
                origins=[load.point_B for load in loads],
                vectors=METRES_PER_NEWTON * forces,
                colors=[IN_USE if load.weight > 0.0 else GREY for load in loads],
            )
            self._at(f"forces/{rr.escape_entity_path_part(name)}", self._robot.base_link, stamps, arrows)
            based = np.array([m.base is not None for m, _load in found])
            at, up_B = _verticals([m for m, _load in found])
            self.curve("force", name, at, np.sum(up_B * forces[based], axis=1))

    def _draw_centres(self, moments: Sequence[Moment]) -> None:
        """Write the centre of mass of the whole robot: nominal, and with the estimates."""
        bodies = BodyPlacements(self._robot)
        found: dict[str, list[tuple[int, Array]]] = {"nominal": [], "estimated": []}
        for moment in moments:
            bodies.update(moment.q)
            found["nominal"].append((moment.stamp_ns, bodies.com_B()))
            known = [link.estimate for link in moment.links if not math.isinf(link.mass_sigma)]
            if known:
                found["estimated"].append((moment.stamp_ns, bodies.com_B(known)))
        for (name, points), colour in zip(found.items(), (GREY, ESTIMATED), strict=True):
            n = len(points)
            if n:
                stamps, positions = zip(*points, strict=True)
                spheres = rr.Points3D.columns(
                    positions=positions, colors=[colour] * n, radii=COM_RADII[:1] * n
                )
                self._at(f"centre_of_mass/{name}", self._robot.base_link, stamps, spheres)

    def _plot_payload(
        self, name: str, found: Sequence[tuple[Moment, DisplayedLink]], truth: TrueInertias | None
    ) -> None:
        measured = [(m, link) for m, link in found if not math.isinf(link.mass_sigma)]
        if not measured:
            return
        stamps = [m.stamp_ns for m, _link in measured]
        masses = np.array([link.payload.mass for _m, link in measured])
        spread = SIGMAS_DRAWN * np.array([link.mass_sigma for _m, link in measured])
        self.curve("payload", name, stamps, masses)
        band = (*COLOURS[(len(self._series["payload"]) - 1) % len(COLOURS)], TRANSLUCENT)
        self.curve("payload", f"{name}, upper", stamps, masses + spread, colour=band)
        self.curve("payload", f"{name}, lower", stamps, masses - spread, colour=band)
        if truth is not None and name in truth.steps:
            nominal = np.array([link.estimate.mass for _m, link in measured]) - masses
            true = truth.over_time(name, self._times(stamps))[:, 0] - nominal
            self.curve("payload", f"{name}, true", stamps, true, colour=GREY)
        self._payloads.append(
            Series("", np.array(stamps, float), masses, low=masses - spread, high=masses + spread)
        )


def _eye(robot: RobotModel, places: Array) -> rrb.EyeControls3D:
    """Return a camera pose at a distance that fits the size of the robot.

    It follows a base that travels farther than the robot's size; the viewer then chooses the distance.

    Args:
        robot: The robot.
        places: Positions of its base [m], shape (n, 3).
    """
    bodies = BodyPlacements(robot)
    reach = max(float(np.linalg.norm(bodies.frame_B(link)[1])) for link in robot.link_names)
    target = places.mean(axis=0) if robot.floating_base else np.nan_to_num(bodies.com_B())
    return rrb.EyeControls3D(
        position=target + reach * np.array([1.5, -1.5, 0.7]),
        look_target=target,
        eye_up=(0.0, 0.0, 1.0),
        tracking_entity=f"/{ROOT}/centre_of_mass/nominal" if np.ptp(places, axis=0).max() > reach else None,
    )


def _verticals(moments: Sequence[Moment]) -> tuple[list[int], Array]:
    """Return stamps and estimated verticals in the base frame, shape (n, 3), of moments with a base."""
    based = [(m.stamp_ns, m.base.quaternion_xyzw) for m in moments if m.base is not None]
    quaternions = np.array([quaternion for _stamp_ns, quaternion in based]).reshape(-1, 4)
    return [stamp_ns for stamp_ns, _q in based], verticals(quaternions) if based else np.zeros((0, 3))


def _by_name(found: Iterable[tuple[Moment, str, Any]]) -> dict[str, list[tuple[Moment, Any]]]:
    """Return values at moments grouped by name, in order."""
    by_name: dict[str, list[tuple[Moment, Any]]] = {}
    for moment, name, value in found:
        by_name.setdefault(name, []).append((moment, value))
    return by_name


def _roll_and_pitch(up_B: Array) -> dict[str, Array]:
    """Return roll r and pitch p [deg] of a base, whose vertical is (-sin p, cos p sin r, cos p cos r)."""
    x, y, z = up_B.T
    return {"roll": np.degrees(np.arctan2(y, z)), "pitch": np.degrees(np.arctan2(-x, np.hypot(y, z)))}


def _link_columns(links: Sequence[DisplayedLink]) -> Mapping[str, Any]:
    """Return the centre of mass of a body, as an ellipsoid of two standard deviations, and its payload.

    The payload is a sphere whose size grows with its mass, zero if that is below two standard deviations.
    """
    masses, sigmas = np.array([(link.payload.mass, link.mass_sigma) for link in links]).T
    significant = np.abs(masses) > SIGMAS_DRAWN * sigmas
    radii = np.where(significant, [payload_radius(mass) for mass in masses.tolist()], 0.0)
    labels = [
        f"{mass:+.2f} kg (sigma {sigma:.2f})" if drawn else ""
        for mass, sigma, drawn in zip(masses.tolist(), sigmas.tolist(), significant.tolist(), strict=True)
    ]
    spread = SIGMAS_DRAWN * np.array([link.com_sigmas_L for link in links])
    solid = ["solid"] * len(links)
    return {
        "centre_of_mass": rr.Ellipsoids3D.columns(
            centers=[link.estimate.com_L for link in links],
            half_sizes=np.clip(spread, *COM_RADII),
            colors=[(*ESTIMATED, TRANSLUCENT)] * len(links),
            fill_mode=solid,
        ),
        "payload": rr.Ellipsoids3D.columns(
            centers=[link.payload.com_L for link in links],
            half_sizes=np.repeat(radii[:, None], 3, axis=1),
            colors=[HEAVIER if mass > 0.0 else LIGHTER for mass in masses.tolist()],
            fill_mode=solid,
            labels=labels,
        ),
    }
