"""Triangles of a mesh file, of any format that Pinocchio's collision library reads."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ModelError, one_line
from inertial_estimation.signals import Array


def read_triangles(path: Path) -> Array:
    """Return the corners of all triangles of a mesh, shape (n, 3, 3): triangle, corner, coordinate.

    Args:
        path: The file.

    Raises:
        ModelError: If it cannot be read.
    """
    try:
        import coal  # comes with Pinocchio, where it is built with collision checks

        mesh = coal.MeshLoader().load(str(path), np.ones(3))
    except (ImportError, RuntimeError, ValueError) as error:
        raise ModelError(f"cannot read the mesh '{path}': {one_line(error)}") from error
    corners: NDArray[np.int64] = np.array(
        [tuple(mesh.tri_indices(k)[i] for i in range(3)) for k in range(mesh.num_tris)], dtype=np.int64
    )
    triangles: Array = np.asarray(mesh.vertices(), dtype=np.float64)[corners.reshape(-1, 3)]
    return triangles
