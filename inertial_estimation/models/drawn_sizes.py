"""Sizes of what is drawn at a robot, the same in the markers of the nodes and in the viewer."""

import math

GRAVITY_LENGTH = 0.5  # of the arrow [m]
METRES_PER_NEWTON = 0.001  # length of a force
PAYLOAD_DENSITY = 2000.0  # [kg/m^3]: between water and rock; only the size of the sphere follows from it
SIGMAS_DRAWN = 2.0  # half width of bands, half axes of ellipsoids; smallest payload that is drawn


def payload_radius(mass: float) -> float:
    """Return the radius [m] of a sphere of a mass [kg] at the density payloads are drawn with."""
    return float((3.0 * abs(mass) / (4.0 * math.pi * PAYLOAD_DENSITY)) ** (1.0 / 3.0))
