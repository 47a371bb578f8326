"""Figure of the demo: the elbow with and without adaptation, and the estimated mass of the forearm."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inertial_estimation.plots.style import BLACK, COLOURS, GREY, new_figure, save, tidy
from inertial_estimation.replay.payload_response import PayloadResponse, PayloadScene

PUBLISHED_WIDTH, ESTIMATE_WIDTH = 1.8, 0.8  # widths of the lines [pt]
DASHED = (0, (4, 4))


def write_demo_figure(path: Path, scene: PayloadScene, responses: Sequence[PayloadResponse]) -> Path:
    """Draw the elbow and the mass of the forearm against time since the release.

    Args:
        path: PNG to write.
        scene: What happened.
        responses: Each with its own colour.

    Returns:
        The path.
    """
    figure, (elbow, mass) = new_figure(2, row_height=2.8)
    for response in responses:
        label = "with adaptation" if response.adaptation else "without adaptation"
        colour = COLOURS[0 if response.adaptation else 1]
        elbow.plot(response.t, np.degrees(response.angle), color=colour, lw=1.4, label=label)
        style = DASHED if response.adaptation else "-"  # the masses are alike: the upper lets the lower show
        mass.plot(response.t_mass, response.mass, color=colour, lw=PUBLISHED_WIDTH, ls=style)
        mass.plot(response.t_estimate, response.estimate, color=colour, lw=ESTIMATE_WIDTH, ls=style)
    for label, width in (("published", PUBLISHED_WIDTH), ("estimate", ESTIMATE_WIDTH)):
        mass.plot([], [], color=GREY, lw=width, label=label)  # the colour is that of the run, as above
    elbow.axhline(np.degrees(scene.home), color=BLACK, lw=1.0, ls="--", label="reference")
    ends = [0.0, scene.time_s, scene.time_s, scene.duration_s]
    before, after = scene.mass(-np.inf), scene.mass(np.inf)
    mass.plot(ends, [before, before, after, after], color=BLACK, lw=1.0, ls="--", label="truth")
    mass.set_ylim(0.0, 1.2 * after)
    title = f"{scene.payload:.2f} kg handed to {scene.link} at {scene.time_s:g} s: position of {scene.joint}"
    tidy(elbow, ylabel="elbow [deg]", title=title)
    tidy(mass, ylabel="forearm [kg]", title="Mass of the forearm with what it holds; dashed: with adaptation")
    mass.set_xlabel("time since the release [s]")
    return save(figure, path)
