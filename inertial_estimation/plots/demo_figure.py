"""Figure of the demo: the elbow with and without adaptation, and the estimated mass of the forearm."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inertial_estimation.figures import INK, Level, Panel, Series
from inertial_estimation.plots.png import write_png
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene

X_LABEL = "time since the release [s]"


def write_demo_figure(path: Path, scene: PayloadScene, responses: Sequence[PayloadResponse]) -> Path:
    """Draw the elbow and the mass of the forearm against time since the release.

    Args:
        path: PNG to write.
        scene: What happened.
        responses: Each with its own colour.

    Returns:
        The path.
    """
    title = f"{scene.payload:.2f} kg handed to {scene.link} at {scene.time_s:g} s: position of {scene.joint}"
    return write_png(path, title, demo_panels(scene, responses))


def demo_panels(scene: PayloadScene, responses: Sequence[PayloadResponse]) -> tuple[Panel, Panel]:
    """Return the panels of the elbow and of the mass."""
    elbow, mass = [], []
    for response in responses:
        label = "with adaptation" if response.adaptation else "without adaptation"
        colour = 0 if response.adaptation else 1
        elbow.append(Series(label, response.t, np.degrees(response.angle), colour=colour))
        mass.append(Series(label, response.t_mass, response.mass, colour=colour))
    before, after = scene.mass(-np.inf), scene.mass(np.inf)
    ends = np.array([0.0, scene.time_s, scene.time_s, scene.duration_s])
    mass.append(Series("truth", ends, np.array([before, before, after, after]), "dashed", colour=INK))
    home = Level(float(np.degrees(scene.home)), "reference")
    return (
        Panel("Position of the elbow", X_LABEL, "elbow [deg]", elbow, levels=[home]),
        Panel("Published mass of the forearm with what it holds", X_LABEL, "forearm [kg]", mass),
    )
