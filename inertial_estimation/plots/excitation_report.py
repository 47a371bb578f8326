"""Report of a designed motion: the motion itself, and the precision of an identification from it."""

from collections.abc import Iterator

import numpy as np

from inertial_estimation.errors import listing
from inertial_estimation.figures import PALETTE, Figure, Level, Panel, Series, thinned
from inertial_estimation.identification.excitation.excitation import ExcitationDesign
from inertial_estimation.identification.excitation.precision import Curve
from inertial_estimation.parameters import MOST_LISTED
from inertial_estimation.plots.page import CAUTION, Card, Notes, Page, Section, Table, number
from inertial_estimation.signals import Array

DESIGNED, RANDOM = "designed", "random: median, 10-90 %"
VARIANCE = "largest variance [SI]"


def excitation_page(result: ExcitationDesign, title: str) -> Page:
    """Return the page of a design; the title names how it was sought."""
    random, sections = result.compared(), list[Section]()
    if random:
        rows = [
            (name, *(number(random[f"{key}_{kind}"]) for kind in ("median", "best", "median_over_chosen")))
            for key, name in (("condition", "condition number"), ("largest", "largest deviation"))
        ]
        of_random = f"{random['count']} random motions of the same kind, length, limits"
        table = Table(("", "median", "best", "median / designed"), rows)
        sections.append(Section(of_random, [table], printed=True))
    if result.notes:
        sections.append(Section("Notes", [Notes(result.notes, CAUTION)]))
    sections.append(Section("Motion and precision", [Figure("Motion", excitation_panels(result))]))
    lead = f"A motion of {', '.join(result.design.moving_names)}."
    return Page(f"Excitation: {title}", lead, "", list(_cards(result)), sections)


def _cards(result: ExcitationDesign) -> Iterator[Card]:
    precision = result.chosen.precision
    yield Card("duration", f"{result.trajectory.duration_s:.2f} s", f"{precision.samples} samples")
    unknown = listing(precision.not_excited, limit=MOST_LISTED)
    rest = f"not excited: {unknown}" if precision.not_excited else ""
    yield Card("base parameters", f"{precision.rank} of {precision.unknowns} unknowns", rest)
    yield Card("condition number", f"{precision.condition:.2f}", "columns of unit length")
    worst = max(precision.base_parameters, key=lambda deviation: deviation.sigma)
    yield Card("largest deviation", f"{worst.sigma:.4g} {worst.unit}", worst.name)
    if result.torque_share:
        name, share = max(result.torque_share.items(), key=lambda item: item[1])
        yield Card("largest torque", f"{100 * share:.0f} % of the limit", f"{name}, nominal model")
    checked = f"{1e3 * result.clearance:.1f} mm" if result.clearance < float("inf") else "not checked"
    yield Card("clearance", checked)


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
