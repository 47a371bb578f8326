"""Markers for RViz and Foxglove: gravity, contacts, centres of mass, and payloads as spheres.

As in `inputs.messages`, fields are written by name, so each function works with the message classes of rclpy
and those of `rosbags`. Markers are given in the frame of the base or of a link; the viewer places them by the
transforms of a robot_state_publisher. They expire if no newer ones arrive.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from inertial_estimation.inputs.messages import set_header
from inertial_estimation.signals import Array, BaseEstimate, ContactLoad, InertialEstimate, LinkInertia

GRAVITY_LENGTH = 0.5  # length of the arrow of gravity [m]
METRES_PER_NEWTON = 0.001  # length of the arrow of a force, per newton [m/N]
PAYLOAD_DENSITY = 2000.0  # [kg/m^3], between water and rock; it only sets the size of the sphere
SIGMAS_DRAWN = 2.0  # standard deviations of bands and ellipsoids, and of the smallest payload that is drawn
MARKER_PERIOD_NS = 100_000_000  # least difference of the stamps of two arrays of markers [ns]
LIFETIME_S = 1  # age at which a marker expires [s]
COM_RADII = 0.01, 0.1  # smallest and largest radius of the ellipsoid of a centre of mass [m]
ARROW = 0.015, 0.03, 0.0  # diameters of shaft and head [m]
CONTACT_DIAMETER = 0.04  # diameter of the sphere of a contact [m]
TEXT_HEIGHT = 0.05  # height of a letter, and of a text above the largest ellipsoid [m]

NewMarker: TypeAlias = Callable[[], Any]  # creates an empty visualization_msgs/Marker


class Drawn(Enum):
    """Kinds of markers: namespace, name of the shape in visualization_msgs/Marker, and colour."""

    GRAVITY = "gravity", "ARROW", (0.85, 0.2, 0.2, 1.0)  # red, green, blue and opacity
    IN_USE = "contacts", "SPHERE", (0.2, 0.7, 0.3, 1.0)
    NOT_IN_USE = "contacts", "SPHERE", (0.6, 0.6, 0.6, 0.6)
    FORCE = "forces", "ARROW", (0.2, 0.5, 0.9, 1.0)
    COM = "com", "SPHERE", (0.95, 0.75, 0.1, 0.6)
    HEAVIER = "payload", "SPHERE", (0.9, 0.45, 0.1, 0.5)
    LIGHTER = "payload", "SPHERE", (0.3, 0.4, 0.9, 0.5)
    MASS = "mass", "TEXT_VIEW_FACING", (0.9, 0.9, 0.9, 1.0)


class MarkerPace:
    """Chooses the estimates that are drawn: ten per second of their stamps, and one after a backward jump."""

    def __init__(self) -> None:
        self._last_ns: int | None = None

    def due(self, stamp_ns: int) -> bool:
        """Return whether an estimate with a stamp [ns] is drawn; if so, the next period begins there."""
        if self._last_ns is not None and 0 <= stamp_ns - self._last_ns < MARKER_PERIOD_NS:
            return False
        self._last_ns = stamp_ns
        return True


def tilt_markers(
    new: NewMarker, estimate: BaseEstimate, loads: Iterable[ContactLoad], base_frame: str
) -> list[Any]:
    """Build the markers of gravity and of every contact with its ground force, in the base frame.

    They are an arrow of 0.5 m downwards from the base, a sphere at each contact (green if it is in use, else
    grey), and an arrow of 1 mm per newton at each contact.
    """
    marker = partial(_marker, new, base_frame, estimate.state.stamp_ns)
    down = -GRAVITY_LENGTH * estimate.tilt_B
    markers = [_between(marker(Drawn.GRAVITY, 0, ARROW), (np.zeros(3), down))]
    for number, load in enumerate(loads):
        used = Drawn.IN_USE if load.weight > 0.0 else Drawn.NOT_IN_USE
        markers.append(marker(used, number, 3 * (CONTACT_DIAMETER,), load.point_B))
        tip = np.add(load.point_B, np.multiply(METRES_PER_NEWTON, load.force_B))
        markers.append(_between(marker(Drawn.FORCE, number, ARROW), (load.point_B, tip)))
    return markers


def inertial_markers(new: NewMarker, estimate: InertialEstimate) -> list[Any]:
    """Build the markers of all links of an estimate of the inertial filter; see `link_markers`."""
    markers = []
    for number, link in enumerate(estimate.links):
        mass, *com = np.sqrt(np.maximum(link.covariance.diagonal()[:4], 0.0)).tolist()
        markers += link_markers(new, number, estimate.stamp_ns, link.estimate, link.payload, mass, com)
    return markers


def link_markers(
    new: NewMarker,
    number: int,
    stamp_ns: int,
    estimate: LinkInertia,
    payload: LinkInertia,
    mass_sigma: float,
    com_sigma: Sequence[float],
) -> list[Any]:
    """Build the markers of a link's centre of mass, payload and mass, in the link frame.

    They are an ellipsoid of two standard deviations at the centre of mass, a text with the mass, and a sphere
    of the payload's mass (orange: heavier than nominal, blue: lighter) at the payload's centre of mass, if
    the payload exceeds two standard deviations.

    Args:
        new: Creates empty messages.
        number: Index of the link, which is part of the marker ids.
        stamp_ns: Stamp of the measurement [ns].
        estimate: The estimate.
        payload: Estimate minus nominal.
        mass_sigma: Standard deviation of the mass [kg].
        com_sigma: Standard deviations of the centre of mass along the axes of the link [m].
    """
    marker, com = partial(_marker, new, estimate.link, stamp_ns), estimate.com_L
    size = 2.0 * np.clip(SIGMAS_DRAWN * np.asarray(com_sigma), *COM_RADII)
    above = np.add(com, (0.0, 0.0, COM_RADII[1] + TEXT_HEIGHT))
    text = marker(Drawn.MASS, number, (0.0, 0.0, TEXT_HEIGHT), above)
    text.text = f"{estimate.link} {estimate.mass:.2f} kg"
    diameters = 3 * (2.0 * payload_radius(payload.mass),)
    sphere = marker(Drawn.HEAVIER if payload.mass > 0.0 else Drawn.LIGHTER, number, diameters, payload.com_L)
    if not abs(payload.mass) > SIGMAS_DRAWN * mass_sigma:
        sphere.action = sphere.DELETE
    return [marker(Drawn.COM, number, size, com), text, sphere]


def _marker(
    new: NewMarker,
    frame: str,
    stamp_ns: int,
    drawn: Drawn,
    number: int,
    scale: Sequence[float] | Array,
    place: Sequence[float] | Array = (0.0, 0.0, 0.0),
) -> Any:
    marker = new()
    set_header(marker, stamp_ns, frame)
    marker.ns, shape, colour = drawn.value
    marker.id, marker.type = number, getattr(marker, shape)
    marker.action, marker.lifetime.sec = marker.ADD, LIFETIME_S
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
    marker.scale.x, marker.scale.y, marker.scale.z = map(float, scale)
    position = marker.pose.position
    position.x, position.y, position.z = map(float, place)
    return marker


def _between(arrow: Any, ends: Iterable[Sequence[float] | Array]) -> Any:
    point = type(arrow.pose.position)
    arrow.points = [point(**dict(zip("xyz", map(float, end), strict=True))) for end in ends]
    return arrow


def payload_radius(mass: float) -> float:
    """Return the radius [m] of a sphere of a mass [kg] with the density `PAYLOAD_DENSITY`."""
    return float((3.0 * abs(mass) / (4.0 * math.pi * PAYLOAD_DENSITY)) ** (1.0 / 3.0))
