"""Shape of the ground: heights and normals over x and y."""

import math

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import GroundConfig

LATTICE_CELLS = 64  # number of cells after which the heights repeat


class Terrain:
    """A height field; the base class is the plane z = 0.

    Attributes:
        level: Whether the terrain is that plane.
    """

    level = True

    def surface(self, xy: Array) -> tuple[Array, Array]:
        """Return heights [m], shape (n,), and unit normals, shape (n, 3), at points [m], shape (n, 2)."""
        height, gradient = self._heights(xy)
        normals = np.column_stack([-gradient, np.ones(len(xy))])
        return height, normals / np.sqrt(1.0 + np.sum(gradient**2, axis=1))[:, None]

    def _heights(self, xy: Array) -> tuple[Array, Array]:
        """Return heights [m], shape (n,), and their gradients, shape (n, 2)."""
        return np.zeros(len(xy)), np.zeros((len(xy), 2))


class Ramp(Terrain):
    """Flat before `begin`, then a plane that rises along x."""

    level = False

    def __init__(self, slope: float, begin: float) -> None:
        self._tangent, self._begin = math.tan(slope), begin

    def _heights(self, xy: Array) -> tuple[Array, Array]:
        tangent = np.where(xy[:, 0] > self._begin, self._tangent, 0.0)
        return tangent * (xy[:, 0] - self._begin), tangent[:, None] * (1.0, 0.0)


class RoughGround(Terrain):
    """Seeded heights on a square lattice with cubic interpolation, which has zero slope at the nodes."""

    level = False

    def __init__(self, roughness: float, cell: float, begin: float, rng: Generator) -> None:
        self._cell, self._begin = cell, begin
        self._lattice = roughness * rng.uniform(-1.0, 1.0, (LATTICE_CELLS, LATTICE_CELLS))

    def _heights(self, xy: Array) -> tuple[Array, Array]:
        corner = np.floor(xy / self._cell)
        s = xy / self._cell - corner
        weight, slope = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / self._cell
        i, j = (k + np.array([[0], [1]]) for k in corner.astype(int).T)
        h = self._lattice[(i % LATTICE_CELLS)[:, None], (j % LATTICE_CELLS)[None]]  # shape (2, 2, n): x, y, n
        h *= (i * self._cell > self._begin)[:, None]
        along_x = h[1] - h[0]
        low, high = h[0] + along_x * weight[:, 0]
        gx = slope[:, 0] * (along_x[0] + (along_x[1] - along_x[0]) * weight[:, 1])
        return low + (high - low) * weight[:, 1], np.column_stack([gx, slope[:, 1] * (high - low)])


def ground_axes(normals: Array) -> Array:
    """Return axes of the ground at points: two tangents, the first along x seen from above, then the normal.

    Args:
        normals: Unit normals that point upwards, shape (n, 3).

    Returns:
        Rotations from the world into these axes, shape (n, 3, 3).
    """
    nx, _ny, nz = normals.T
    level = np.hypot(nx, nz)
    first = np.column_stack([nz / level, np.zeros(len(normals)), -nx / level])
    return np.stack([first, np.cross(normals, first), normals], axis=1)


def terrain_from_config(config: GroundConfig, seed: int = 0) -> Terrain:
    """Build the terrain; the seed determines the random heights."""
    if config.terrain == "ramp":
        return Ramp(config.slope, config.begin)
    if config.terrain == "rough":
        return RoughGround(config.roughness, config.cell, config.begin, default_rng(seed))
    return Terrain()
