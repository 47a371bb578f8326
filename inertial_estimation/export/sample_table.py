"""The drawn inertias as a table and in words."""

from collections.abc import Iterator

import numpy as np

from inertial_estimation.models.estimated_model import EstimatedModel
from inertial_estimation.models.urdf_inertia import MOMENTS
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

TABLE_FILE = "samples.csv"
COLUMNS = ("sample", "link", "mass", "com_x", "com_y", "com_z", *MOMENTS)


def sample_rows(model: EstimatedModel, drawn: Array) -> Iterator[list[object]]:
    """Yield what was drawn: mass [kg], centre of mass [m] and inertia about it [kg m^2] of every link.

    Args:
        model: The estimated robot.
        drawn: Parameters about the link frames, shape (count, n, 10).
    """
    for i, robot in enumerate(drawn):
        for link, pi in zip(model.names, robot, strict=True):
            inertia = InertialParameters.from_vector(pi)
            moments = (inertia.inertia_Fcm[ij] for ij in MOMENTS.values())
            yield [i, link, *(f"{number:.12g}" for number in (inertia.mass, *inertia.com_F, *moments))]


def sample_lines(model: EstimatedModel, drawn: Array | None) -> Iterator[str]:
    """Yield a line for each link: its estimated mass, and mean and standard deviation of those drawn.

    Args:
        model: The estimated robot.
        drawn: Parameters about the link frames, shape (count, n, 10); None where nothing was drawn.
    """
    widest = max(map(len, model.names))
    for k, link in enumerate(model.names):
        line = f"{link:<{widest}}  {model.estimate[k, 0]:8.4g} kg"
        if drawn is not None and len(drawn) > 1:
            masses = drawn[:, k, 0]
            line += f"  drawn {np.mean(masses):.4g} +- {np.std(masses, ddof=1):.2g} kg"
        yield line
