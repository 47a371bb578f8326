"""Estimates of the trunk over a replay, as arrays over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.payload.report import PayloadEvent, PayloadEvents
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class PayloadSeries:
    """Estimates of the trunk over time; n of them.

    Attributes:
        link: Name of the trunk's link.
        stamps_ns: Stamps [ns], shape (n,).
        masses: Mass identified [kg], shape (n,).
        mass_sigmas: Its standard deviation [kg], shape (n,); inf before it was ever measured.
        coms_L: Centre of mass identified [m], shape (n, 3).
        com_sigmas: Its standard deviation along the base axes [m], shape (n, 3); inf before it was ever
            measured.
        published_masses: Mass after the rate-limited hand-over [kg], shape (n,).
        published_coms_L: Centre of mass after the hand-over [m], shape (n, 3).
        published_inertias_Lcm: Inertia about it after the hand-over [kg m^2], shape (n, 3, 3).
        payload_masses: Identified minus nominal [kg], shape (n,).
        residuals: Distance of the last measurements from the result [m], shape (n,); NaN before.
        phases: What was under way, per sample.
        at_rest: Whether the robot was at rest, shape (n,).
        holds: Whether the robot was requested to stand still, shape (n,).
        events: Load changes found, results and refusals, in order.
    """

    link: str
    stamps_ns: NDArray[np.int64]
    masses: Array
    mass_sigmas: Array
    coms_L: Array
    com_sigmas: Array
    published_masses: Array
    published_coms_L: Array
    published_inertias_Lcm: Array
    payload_masses: Array
    residuals: Array
    phases: tuple[str, ...]
    at_rest: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    events: tuple[PayloadEvent, ...]


def payload_series_of(estimates: Sequence[PayloadEstimate]) -> PayloadSeries:
    """Stack estimates of the trunk into arrays."""
    events = PayloadEvents()
    return PayloadSeries(
        link=estimates[0].trunk.link if estimates else "",
        stamps_ns=np.array([e.stamp_ns for e in estimates], dtype=np.int64),
        masses=_stack([e.estimate.mass for e in estimates]),
        mass_sigmas=_stack([e.mass_sigma for e in estimates]),
        coms_L=_stack([e.estimate.com_L for e in estimates], 3),
        com_sigmas=_stack([e.com_sigma_B for e in estimates], 3),
        published_masses=_stack([e.trunk.mass for e in estimates]),
        published_coms_L=_stack([e.trunk.com_L for e in estimates], 3),
        published_inertias_Lcm=_stack([e.trunk.inertia_Lcm for e in estimates], 3, 3),
        payload_masses=_stack([e.payload.mass for e in estimates]),
        residuals=_stack([e.residual for e in estimates]),
        phases=tuple(e.phase.value for e in estimates),
        at_rest=np.array([e.at_rest for e in estimates], dtype=bool),
        holds=np.array([e.hold for e in estimates], dtype=bool),
        events=tuple(event for e in estimates for event in events.take(e)),
    )


def trunk_metrics(last: PayloadEstimate) -> dict[str, Any]:
    """Return the last estimate of the trunk, for `metrics.json`."""
    measured = np.isfinite(np.array([last.mass_sigma, *last.com_sigma_B]))
    names = ("mass", "com_x", "com_y", "com_z")
    return {
        "link": last.estimate.link,
        "mass_kg": last.estimate.mass,
        "mass_sigma_kg": last.mass_sigma,
        "payload_kg": last.payload.mass,
        "com_m": last.estimate.com_L.tolist(),
        "com_sigma_m": last.com_sigma_B.tolist(),
        "not_informed": [name for name, known in zip(names, measured, strict=True) if not known],
        "residual_m": last.residual,
        "method": last.method,
        "phase": last.phase.value,
        "converged": last.converged,
    }


def load_changes(series: PayloadSeries, time: TimeAxis) -> list[dict[str, Any]]:
    """Return the events, for `metrics.json`; times count from the start of the recording."""
    return [
        {
            "stamp_ns": event.stamp_ns,
            "time_s": time.at(event.stamp_ns),
            "kind": event.kind,
            "message": event.message,
            **event.values,
        }
        for event in series.events
    ]


def _stack(values: Sequence[Any], *shape: int) -> Array:
    return np.array(values, dtype=np.float64).reshape(len(values), *shape)
