"""What an unknown height of the load adds to the standard deviation of the centre of mass across gravity.

No force shows where along gravity a centre of mass lies. On a tilted base this line has components along
all base axes: with u the vertical in the base frame, the true centre of mass is c + s u with s unknown.
"""

import math

import numpy as np

from inertial_estimation.signals import Array

LEAST_VERTICAL_SQUARED = 0.5  # of u_z^2: a base tilted further has another axis along gravity


def deviation_with_height(sigma_B: Array, shift_B: Array, up_B: Array, height_sigma: float) -> Array:
    """Return the standard deviation of a centre of mass whose height was not measured.

    The load moves the centre of mass of the trunk by shift_B + s u from the nominal one. Its height has the
    prior N(0, height_sigma^2), so that s u_z = height - shift_z, and

        sigma_i'^2 = sigma_i^2 + (height_sigma^2 + shift_z^2) (u_i / u_z)^2:

    a height off by h displaces the other components by h tan(tilt).

    Args:
        sigma_B: Standard deviation from the noise along the base axes [m], shape (3,); inf where nothing was
            measured. Without such an axis the height is known, and nothing is added.
        shift_B: Identified less nominal centre of mass, base frame [m], shape (3,).
        up_B: The vertical in the base frame, unit vector, shape (3,).
        height_sigma: Standard deviation of the height of the trunk's centre of mass [m].

    Returns:
        Shape (3,), in metres.
    """
    if np.isfinite(sigma_B).all():
        return sigma_B
    along = math.sqrt(height_sigma**2 + float(shift_B[2]) ** 2)
    slope = up_B / math.sqrt(max(float(up_B[2]) ** 2, LEAST_VERTICAL_SQUARED))
    total: Array = np.hypot(sigma_B, along * slope)
    return total
