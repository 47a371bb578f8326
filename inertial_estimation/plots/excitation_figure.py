"""The figure of a designed motion: the motion itself, and the precision of an identification from it."""

from pathlib import Path

import numpy as np

from inertial_estimation.figures import PALETTE, Level, Panel, Series, thinned
from inertial_estimation.identification.excitation.excitation import ExcitationDesign
from inertial_estimation.identification.excitation.precision import Curve
from inertial_estimation.plots.png import write_png
from inertial_estimation.signals import Array

DESIGNED, RANDOM = "designed", "random: median, 10-90 %"
VARIANCE = "largest variance [SI]"


def write_excitation_figure(path: Path, title: str, result: ExcitationDesign) -> None:
    """Write the figure as a PNG."""
    write_png(path, title, excitation_panels(result))


def excitation_panels(result: ExcitationDesign) -> tuple[Panel, ...]:
    """Return the panels of the figure; joints beyond the number of colours are dashed."""
    moving, trajectory, names = list(result.design.moving), result.trajectory, result.design.moving_names
    allowed = (Level(1.0), Level(-1.0))
    panels = []
    for title, label, values, levels in (
        (f"Position, {trajectory.duration_s:.1f} s", "position [rad]", trajectory.q, ()),
        ("Speed as a share of what is allowed", "speed / limit [-]", trajectory.v, allowed),
        ("Acceleration", "acceleration [rad/s^2]", trajectory.a, ()),
    ):
        scale = result.limits.velocity if levels else 1.0
        lines = [
            thinned(name, trajectory.times_s, column, "dashed" if i >= len(PALETTE) else "thin", colour=i)
            for i, (name, column) in enumerate(zip(names, (values[:, moving] / scale).T, strict=True))
        ]
        panels.append(Panel(title, "time [s]", label, lines, levels=levels))
    curves = _curves([result.chosen.by_samples], [motion.by_samples for motion in result.random])
    panels.append(Panel("Largest variance of a base parameter", "samples [-]", VARIANCE, curves, log=True))
    if result.chosen.by_speed is not None:
        random = [motion.by_speed for motion in result.random if motion.by_speed is not None]
        curves = _curves([result.chosen.by_speed], random)
        title = "The same path, slower, with as many samples"
        panels.append(Panel(title, "share of the designed speed [-]", VARIANCE, curves, log=True))
    return tuple(panels)


def _curves(own: list[Curve], random: list[Curve]) -> tuple[Series, ...]:
    series = [Series(DESIGNED, curve.x, _finite(curve.variance), colour=0) for curve in own]
    if random:
        variances = np.array([curve.variance for curve in random])
        middle = np.median(variances, axis=0)
        low, high = np.percentile(variances, [10.0, 90.0], axis=0, method="nearest")
        edges = (_finite(low), _finite(high))
        series.append(Series(RANDOM, random[0].x, _finite(middle), "dashed", *edges, colour=1))
    return tuple(series)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)
