"""What is drawn at the robot: gravity, contact forces, centres of mass, payloads with their uncertainty."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import rerun as rr

from inertial_estimation.models.body_placements import BodyPlacements
from inertial_estimation.models.drawn_sizes import (
    GRAVITY_LENGTH,
    METRES_PER_NEWTON,
    SIGMAS_DRAWN,
    payload_radius,
)
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, ContactLoad
from inertial_estimation.spatial.rotations import rotation_from_quaternion
from inertial_estimation.view.animated_robot import AnimatedRobot
from inertial_estimation.view.columns import Columns
from inertial_estimation.view.moment import Moment, ShownLink

COM_RADIUS, LARGEST_COM = 0.02, 0.08  # of a centre of mass that is exact, and at most [m]
ARROW_RADIUS = 0.008  # [m]

ESTIMATED, TRUE, NOMINAL = (213, 94, 0), (0, 158, 115), (120, 120, 120)
FORCE_IN_USE, FORCE_NOT_IN_USE = (0, 114, 178), (150, 150, 150)
HEAVIER, LIGHTER = (230, 159, 0), (86, 180, 233)
SHELL = 70  # opacity of what shows a standard deviation, of 255


class Overlays:
    """Arrows, points and ellipsoids in the frames of base and links."""

    def __init__(
        self,
        stream: rr.RecordingStream,
        columns: Columns,
        shown: AnimatedRobot,
        robot: RobotModel,
        root: str,
    ) -> None:
        """Start without overlays.

        Args:
            stream: The recording.
            columns: Where rows are collected.
            shown: The robot in the viewer, whose frames they are in.
            robot: Its model.
            root: Entity below which they are.
        """
        self._stream, self._columns = stream, columns
        self._shown, self._base_link = shown, robot.base_link
        self._bodies, self._root = BodyPlacements(robot), root
        self._placed: set[str] = set()

    def draw(self, q: Array, moment: Moment) -> None:
        """Add one instant."""
        stamp_ns, base = moment.stamp_ns, self._base_link
        if moment.base is not None:
            up = rotation_from_quaternion(moment.base.quaternion_xyzw)[2]
            self._add("gravity/estimated", base, stamp_ns, -GRAVITY_LENGTH * up, partial(_gravity, ESTIMATED))
        if moment.truth.up_B is not None:
            self.draw_truth(stamp_ns, moment.truth.up_B)
        for load in moment.loads:
            self._add(f"forces/{rr.escape_entity_path_part(load.name)}", base, stamp_ns, load, _forces)
        self._draw_centres(q, moment)
        for link in moment.links:
            self._draw_link(stamp_ns, link)

    def draw_truth(self, stamp_ns: int, up_B: Array) -> None:
        """Add the true direction of gravity, from the vertical in the base frame, shape (3,)."""
        self._add("gravity/true", self._base_link, stamp_ns, -GRAVITY_LENGTH * up_B, partial(_gravity, TRUE))

    def _draw_centres(self, q: Array, moment: Moment) -> None:
        self._bodies.update(q)
        estimates = [link.estimate for link in moment.links if not math.isinf(link.mass_sigma)]
        base, stamp_ns = self._base_link, moment.stamp_ns
        self._add("centre_of_mass/nominal", base, stamp_ns, self._bodies.com_B(), partial(_points, NOMINAL))
        if estimates:
            com = self._bodies.com_B(estimates)
            self._add("centre_of_mass/estimated", base, stamp_ns, com, partial(_points, ESTIMATED))

    def _draw_link(self, stamp_ns: int, link: ShownLink) -> None:
        name = link.estimate.link
        part = f"links/{rr.escape_entity_path_part(name)}"
        self._add(f"{part}/centre_of_mass", name, stamp_ns, link, _com_columns)
        self._add(f"{part}/payload", name, stamp_ns, link, _payload_columns)
        self._add(f"{part}/payload_with_sigma", name, stamp_ns, link, _shell_columns)

    def _add(
        self, part: str, link: str, stamp_ns: int, value: Any, columns: Callable[[list[Any]], Any]
    ) -> None:
        entity = f"{self._root}/{part}"
        if entity not in self._placed:
            self._placed.add(entity)
            self._stream.log(entity, rr.CoordinateFrame(self._shown.frame(link)), static=True)
        self._columns.add(entity, stamp_ns, value, columns)


def _gravity(colour: tuple[int, int, int], vectors: list[Array]) -> Any:
    n = len(vectors)
    return rr.Arrows3D.columns(vectors=vectors, colors=[colour] * n, radii=[ARROW_RADIUS] * n)


def _forces(loads: list[ContactLoad]) -> Any:
    colours = [FORCE_IN_USE if load.weight > 0.0 else FORCE_NOT_IN_USE for load in loads]
    return rr.Arrows3D.columns(
        origins=[load.point_B for load in loads],
        vectors=[METRES_PER_NEWTON * np.array(load.force_B) for load in loads],
        colors=colours,
        radii=[ARROW_RADIUS] * len(loads),
    )


def _points(colour: tuple[int, int, int], points: list[Array]) -> Any:
    n = len(points)
    return rr.Points3D.columns(positions=points, colors=[colour] * n, radii=[COM_RADIUS] * n)


def _com_columns(links: list[ShownLink]) -> Any:
    """The centre of mass of a body: an ellipsoid of two standard deviations."""
    return rr.Ellipsoids3D.columns(
        centers=[link.estimate.com_L for link in links],
        half_sizes=[_half_axes(link.com_sigmas_L) for link in links],
        colors=[(*ESTIMATED, SHELL)] * len(links),
        fill_mode=["solid"] * len(links),
    )


def _half_axes(sigmas: Array) -> Array:
    return np.clip(np.nan_to_num(SIGMAS_DRAWN * sigmas, nan=0.0), 0.25 * COM_RADIUS, LARGEST_COM)


def _payload_columns(links: list[ShownLink]) -> Any:
    """The payload: a sphere of its mass, of no size where that is less than two standard deviations."""
    return _spheres(links, [link.payload.mass for link in links], 255, labelled=True)


def _shell_columns(links: list[ShownLink]) -> Any:
    """The payload and two standard deviations of its mass, as a translucent sphere around it."""
    masses = [abs(link.payload.mass) + np.nan_to_num(SIGMAS_DRAWN * link.mass_sigma) for link in links]
    return _spheres(links, masses, SHELL, labelled=False)


def _spheres(links: list[ShownLink], masses: list[float], opacity: int, *, labelled: bool) -> Any:
    seen = [not abs(link.payload.mass) <= SIGMAS_DRAWN * link.mass_sigma for link in links]
    radii = [payload_radius(m) if there else 0.0 for m, there in zip(masses, seen, strict=True)]
    labels = [_label(link) if there else "" for link, there in zip(links, seen, strict=True)]
    return rr.Ellipsoids3D.columns(
        centers=[link.payload.com_L for link in links],
        half_sizes=[(radius, radius, radius) for radius in radii],
        colors=[(*(HEAVIER if link.payload.mass > 0.0 else LIGHTER), opacity) for link in links],
        fill_mode=["solid"] * len(links),
        labels=labels if labelled else None,
    )


def _label(link: ShownLink) -> str:
    return f"{link.payload.mass:+.2f} kg (sigma {link.mass_sigma:.2f})"
