"""A second way to the orientation of a tilt and a heading, by matrices: an oracle."""

import math

import numpy as np

from inertial_estimation.signals import Array


def rotation_from_tilt_and_yaw(x2: Array, R_ref: Array) -> Array:
    """Combine an exact tilt with the yaw of a reference orientation (TRIAD).

    The result R satisfies R^T e_z = x2 exactly; among these it is the one closest to the reference
    about the vertical: B V-B, Shuster and Oh 1981.

    Args:
        x2: Vertical in the body frame, R_WB^T e_z, unit norm, shape (3,).
        R_ref: Reference orientation of the body in the world, shape (3, 3).

    Returns:
        Orientation of the body in the world, shape (3, 3).
    """
    # R = Rz(psi) R0 for any R0 with R0^T e_z = x2; psi maximises tr(R_ref^T R).
    R0 = _minimal_rotation_to_vertical(x2)
    M = R0 @ R_ref.T
    psi = math.atan2(M[0, 1] - M[1, 0], M[0, 0] + M[1, 1])
    c, s = math.cos(psi), math.sin(psi)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ R0


def _minimal_rotation_to_vertical(x2: Array) -> Array:
    x, y, z = float(x2[0]), float(x2[1]), float(x2[2])
    if z < -0.999999:  # any half turn about a horizontal axis, then the small rest
        flip = np.diag([1.0, -1.0, -1.0])
        return _minimal_rotation_to_vertical(flip @ x2) @ flip
    k = 1.0 / (1.0 + z)
    # Rotation that takes x2 to e_z about x2 x e_z.
    return np.array([[1 - k * x * x, -k * x * y, -x], [-k * x * y, 1 - k * y * y, -y], [x, y, z]])
