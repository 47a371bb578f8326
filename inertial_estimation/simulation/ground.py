"""Shape of the ground: height and normal by a function of x and y."""

import math

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import GroundConfig

CORNER = np.array([[0], [1]])
LATTICE_CELLS = 64  # number of cells after which the heights repeat
STONE_EDGE = 0.2  # share of the distance between two stones over which one height leads to the next


class Terrain:
    """A height field; of itself the plane z = 0.

    Attributes:
        level: Whether it is that plane.
    """

    level = True

    def surface(self, xy: Array) -> tuple[Array, Array]:
        """Return height and normal.

        Args:
            xy: Horizontal positions [m], shape (n, 2).

        Returns:
            Heights [m], shape (n,), and unit normals, shape (n, 3).
        """
        return np.zeros(len(xy)), np.tile([0.0, 0.0, 1.0], (len(xy), 1))


class Ramp(Terrain):
    """Flat before `begin`, then a plane that rises along x."""

    level = False

    def __init__(self, slope: float, begin: float) -> None:
        self._tangent, self._begin = math.tan(slope), begin
        self._normal = np.array([-math.sin(slope), 0.0, math.cos(slope)])

    def surface(self, xy: Array) -> tuple[Array, Array]:
        """Return height and normal; see `Terrain`."""
        x = xy[:, 0] - self._begin
        on_ramp = x > 0.0
        normals = np.where(on_ramp[:, None], self._normal, np.array([0.0, 0.0, 1.0]))
        return np.where(on_ramp, self._tangent * x, 0.0), normals


class RoughGround(Terrain):
    """Seeded heights on a square lattice with cubic interpolation, which has zero slope at the nodes.

    With `edge` below one the ground is level around the nodes, as on stepping stones, and only the share
    `edge` of each cell leads from one height to the next.
    """

    level = False

    def __init__(
        self, roughness: float, cell: float, begin: float, rng: Generator, *, edge: float = 1.0
    ) -> None:
        self._cell, self._begin, self._edge = cell, begin, edge
        self._heights = roughness * rng.uniform(-1.0, 1.0, (LATTICE_CELLS, LATTICE_CELLS))

    def surface(self, xy: Array) -> tuple[Array, Array]:
        """Return height and normal; see `Terrain`."""
        u = xy / self._cell
        corner = np.floor(u)
        s = u - corner
        if self._edge < 1.0:
            s = np.clip((s - 0.5) / self._edge + 0.5, 0.0, 1.0)
        weight, slope = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / (self._edge * self._cell)
        h = self._corners(corner.astype(int))
        wx, wy = weight.T
        along_x = h[1] - h[0]
        low, high = h[0] + along_x * wx
        height = low + (high - low) * wy
        gx = slope[:, 0] * (along_x[0] + (along_x[1] - along_x[0]) * wy)
        gy = slope[:, 1] * (high - low)
        normals = np.ones((len(xy), 3))
        normals[:, 0], normals[:, 1] = -gx, -gy
        return height, normals / np.sqrt(1.0 + gx * gx + gy * gy)[:, None]

    def _corners(self, node: NDArray[np.intp]) -> Array:
        """Heights at the corners of the cells: of x then of y, shape (2, 2, n)."""
        i, j = node[:, 0] + CORNER, node[:, 1] + CORNER
        heights: Array = self._heights[(i % LATTICE_CELLS)[:, None], (j % LATTICE_CELLS)[None]]
        heights *= (i * self._cell > self._begin)[:, None]
        return heights


def ground_axes(normals: Array) -> Array:
    """Return axes of the ground at points: two tangents, the first along x seen from above, then the normal.

    Args:
        normals: Unit normals that point upwards, shape (n, 3).

    Returns:
        Rotations from the world into these axes, shape (n, 3, 3).
    """
    nx, ny, nz = normals.T
    level = np.hypot(nx, nz)
    axes = np.zeros((len(normals), 3, 3))
    axes[:, 0, 0], axes[:, 0, 2] = nz / level, -nx / level
    axes[:, 1, 0], axes[:, 1, 1], axes[:, 1, 2] = -nx * ny / level, level, -ny * nz / level
    axes[:, 2] = normals
    return axes


def terrain_from_config(config: GroundConfig, seed: int = 0) -> Terrain:
    """Build the terrain; the seed is that of random heights."""
    if config.terrain == "ramp":
        return Ramp(config.slope, config.begin)
    if config.terrain in ("rough", "stones"):
        edge = STONE_EDGE if config.terrain == "stones" else 1.0
        return RoughGround(config.roughness, config.cell, config.begin, default_rng(seed), edge=edge)
    return Terrain()
