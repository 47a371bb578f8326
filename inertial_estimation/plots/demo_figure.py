"""Figure of the demo: what the nodes said the robot holds, and how well they knew its tilt."""

from pathlib import Path

import numpy as np

from inertial_estimation.plots.style import BLACK, COLOURS, new_figure, save, tidy
from inertial_estimation.replay.live_record import LiveRecord, tilt_angles
from inertial_estimation.replay.synthetic import Payload
from inertial_estimation.signals import Array, OrientationSample

__all__ = ["write_demo_figure"]


def write_demo_figure(
    path: Path,
    record: LiveRecord,
    *,
    start_ns: int,
    payload: Payload,
    truth: list[OrientationSample],
) -> Path:
    """Draw the payload masses with two-sigma bands against the truth, and the tilt error.

    Args:
        path: PNG to write.
        record: What was heard from the nodes.
        start_ns: Stamp of time zero [ns].
        payload: What was attached, where and when.
        truth: True orientations of the base.

    Returns:
        The path.
    """
    figure, (masses, tilt) = new_figure(2, row_height=2.8)
    end = 0.0
    for k, (link, series) in enumerate(record.payloads.items()):
        if not series:
            continue
        t = np.array([(stamp - start_ns) * 1e-9 for stamp, _ in series])
        mass = np.array([inertia.mass for _, inertia in series])
        end = max(end, float(t[-1]))
        colour = COLOURS[k % len(COLOURS)]
        masses.plot(t, mass, color=colour, lw=1.3, label=link)
        band = 2.0 * _sigmas_at(t, record.sigmas.get(link, []), start_ns)
        masses.fill_between(t, mass - band, mass + band, color=colour, alpha=0.2, lw=0)
    weight = payload.inertia.mass
    masses.plot(
        [0.0, payload.time_s, payload.time_s, end],
        [0.0, 0.0, weight, weight],
        color=BLACK,
        lw=1.0,
        ls="--",
        label="truth",
    )
    masses.set_ylim(-0.3 * weight, 1.4 * weight)
    title = f"{weight:.2f} kg handed to {payload.inertia.link} at {payload.time_s:g} s: estimate minus URDF"
    tidy(masses, ylabel="payload mass [kg]", title=title)
    stamps, angles = tilt_angles(record.orientations, truth)
    tilt.plot((stamps - start_ns) * 1e-9, np.degrees(angles), color=COLOURS[3], lw=1.0)
    tilt.set_ylim(bottom=0.0)
    tidy(tilt, ylabel="error [deg]", title="Tilt error against the truth")
    tilt.set_xlabel("time [s]")
    return save(figure, path)


def _sigmas_at(t: Array, sigmas: list[tuple[int, float]], start_ns: int) -> Array:
    """Take the last reported sigma at each time: it is reported once a second."""
    if not sigmas:
        return np.zeros(len(t))
    times = np.array([(stamp - start_ns) * 1e-9 for stamp, _ in sigmas])
    index = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)
    values: Array = np.array([sigma for _, sigma in sigmas])[index]
    return values
