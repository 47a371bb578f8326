"""Errors of a replay against the truth of a simulated or synthetic recording, for `metrics.json`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.estimate_series import InertialSeries, TiltSeries
from inertial_estimation.replay.metrics import angles_between, interpolated, lies_within, summarise, verticals
from inertial_estimation.replay.payload_series import PayloadSeries
from inertial_estimation.signals import Array, LinkInertia, OrientationSample, seconds


def true_tilt_errors(series: TiltSeries, reference: Sequence[OrientationSample], settle_ns: int = 0) -> Array:
    """Return the angle between estimated and true vertical, without any alignment [rad], shape (k,).

    Args:
        series: Estimates; n of them.
        reference: True orientations; those outside the estimates are left out.
        settle_ns: Time after the first estimate that is excluded [ns].
    """
    stamps = np.array([sample.stamp_ns for sample in reference], dtype=np.int64)
    within = lies_within(stamps, series.stamps_ns, settle_ns)
    true_B = verticals(np.array([sample.quaternion_xyzw for sample in reference])[within])
    at, times = seconds(stamps[within] - stamps[0]), seconds(series.stamps_ns - stamps[0])
    estimated = interpolated(at, times, series.tilts_B)
    estimated /= np.linalg.norm(estimated, axis=1, keepdims=True)
    return angles_between(estimated, true_B)


def truth_metrics(
    truth: TrueInertias | None,
    inertial: InertialSeries,
    payload: PayloadSeries | None = None,
    tilt_errors: Array | None = None,
) -> dict[str, Any]:
    """Return the errors against the truth; what is not known or not estimated is left out.

    Args:
        truth: True inertias over the recording.
        inertial: Inertial estimates, of which the last ones are compared.
        payload: Estimates of the trunk, likewise.
        tilt_errors: Angles between estimated and true vertical [rad].

    Returns:
        ``tilt_error_deg``, and ``links`` and ``trunk`` with the true mass and the errors of mass and centre
        of mass, also in standard deviations of the estimate.
    """
    found: dict[str, Any] = {}
    if tilt_errors is not None and len(tilt_errors):
        found["tilt_error_deg"] = vars(summarise(np.degrees(tilt_errors)))
    if truth is None:
        return found
    links = {}
    for link in inertial.links:
        true = truth.at_end(link.link)
        if true is not None:
            links[link.link] = _errors(true, link.masses[-1], link.coms_L[-1], link.sigmas[-1, :4])
    if links:
        found["links"] = links
    true = truth.at_end(payload.link) if payload is not None else None
    if payload is not None and true is not None:
        sigmas = np.array([payload.mass_sigmas[-1], *payload.com_sigmas[-1]])
        found["trunk"] = _errors(true, payload.masses[-1], payload.coms_L[-1], sigmas)
    return found


def _errors(true: LinkInertia, mass: float, com_L: Array, sigmas: Array) -> dict[str, Any]:
    """Return the errors of one body; sigmas of mass and centre of mass, shape (4,)."""
    error = np.array([mass - true.mass, *(com_L - true.com_L)])
    with np.errstate(divide="ignore", invalid="ignore"):
        in_sigmas = error / sigmas
    return {
        "true_mass_kg": true.mass,
        "mass_error_kg": float(error[0]),
        "mass_error_sigmas": float(in_sigmas[0]),
        "true_com_m": true.com_L.tolist(),
        "com_error_m": error[1:].tolist(),
        "com_error_sigmas": in_sigmas[1:].tolist(),
    }
