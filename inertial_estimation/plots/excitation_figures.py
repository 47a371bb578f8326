"""Figure of an exciting motion: trajectories of the joints, and expected precision."""

from pathlib import Path

import numpy as np

from inertial_estimation.figures import Level, Panel, Series, thinned
from inertial_estimation.identification.excitation.excitation import ExcitationDesign
from inertial_estimation.identification.excitation.precision import Curve
from inertial_estimation.plots.png import write_png
from inertial_estimation.signals import Array

DESIGNED, RANDOM = "designed", "random: median, 10-90 %"
MOST_IN_A_PANEL = 4  # joints; more are shown in two columns
SOLID_JOINTS = 6  # after which joints are drawn dashed
VARIANCE = "largest variance [SI]"


def write_excitation_figure(path: Path, result: ExcitationDesign, title: str) -> Path:
    """Draw positions, speeds and accelerations of the joints, and the curves of the largest variance."""
    columns = 2 if len(result.design.moving) > MOST_IN_A_PANEL else 1
    return write_png(path, title, excitation_panels(result), columns=columns)


def excitation_panels(result: ExcitationDesign) -> tuple[Panel, ...]:
    """Return the panels of the figure, row by row; of many joints each half has panels of its own."""
    moving, trajectory = list(result.design.moving), result.trajectory
    speeds = trajectory.v[:, moving] / result.limits.velocity
    allowed = (Level(1.0), Level(-1.0))
    position = f"Position, {trajectory.duration_s:.1f} s"
    panels = [
        *_motion(result, trajectory.q[:, moving], "position [rad]", position),
        *_motion(result, speeds, "speed / limit [-]", "Speed as a share of what is allowed", levels=allowed),
        *_motion(result, trajectory.a[:, moving], "acceleration [rad/s^2]", "Acceleration"),
    ]
    curves = _curves([result.chosen.by_samples], [motion.by_samples for motion in result.random])
    panels.append(Panel("Largest variance of a base parameter", "samples [-]", VARIANCE, curves, log=True))
    if result.chosen.by_speed is not None:
        random = [motion.by_speed for motion in result.random if motion.by_speed is not None]
        curves = _curves([result.chosen.by_speed], random)
        title = "The same path, slower, with as many samples"
        panels.append(Panel(title, "share of the designed speed [-]", VARIANCE, curves, log=True))
    return tuple(panels)


def _motion(
    result: ExcitationDesign, values: Array, label: str, title: str, levels: tuple[Level, ...] = ()
) -> list[Panel]:
    times = result.trajectory.times_s
    series = [
        thinned(name, times, values[:, i], "thin" if i < SOLID_JOINTS else "dashed", colour=i)
        for i, name in enumerate(result.design.moving_names)
    ]
    half = len(series) if len(series) <= MOST_IN_A_PANEL else (len(series) + 1) // 2
    parts = [series[:half], series[half:]] if series[half:] else [series]
    return [Panel(title, "time [s]", label, tuple(part), levels=levels) for part in parts]


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
    finite: Array = np.where(np.isfinite(values), values, np.nan)
    return finite
