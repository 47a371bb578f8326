"""Estimates of a replay as arrays over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inertial.posterior import INFORMED
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.payload.report import PayloadEvent, PayloadEvents
from inertial_estimation.signals import (
    Array,
    BaseEstimate,
    Decision,
    InertialEstimate,
    LinkEstimate,
    sigma_across,
)

LINK_PARAMETERS = ("mass", "com_x", "com_y", "com_z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
INFORMED_SHARE = (1.0 + INFORMED) ** -0.5  # of the prior standard deviation, that of what is not informed

Stamps = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TiltSeries:
    """Base estimates over time; n of them.

    Attributes:
        stamps_ns: Stamps [ns], shape (n,).
        quaternions_xyzw: Orientation of the base in the world, shape (n, 4).
        tilts_B: The vertical in the base frame, shape (n, 3).
        gyro_biases_I: Gyroscope bias [rad/s], shape (n, 3).
        contacts: Names of the contacts in use, per sample.
        covariances_B: Of small rotations of the base, base frame [rad^2], shape (n, 3, 3).
        velocity_aided: Whether a contact velocity corrected the step, shape (n,).
        positions_W: Position of the base in the world [m], shape (n, 3).
        velocities_B: Velocity of the base, base frame [m/s], shape (n, 3).
        angular_rates_B: Angular velocity of the base, base frame [rad/s], shape (n, 3).
    """

    stamps_ns: Stamps
    quaternions_xyzw: Array
    tilts_B: Array
    gyro_biases_I: Array
    contacts: tuple[tuple[str, ...], ...]
    covariances_B: Array
    velocity_aided: Flags
    positions_W: Array
    velocities_B: Array
    angular_rates_B: Array

    @property
    def tilt_sigmas(self) -> Array:
        """Standard deviation of the angle between estimated and true vertical [rad], shape (n,)."""
        return np.array([sigma_across(P, x) for P, x in zip(self.covariances_B, self.tilts_B, strict=True)])


@dataclass(frozen=True, eq=False)
class LinkSeries:
    """Estimates of one body over time.

    Attributes:
        link: Name of the link.
        masses: Mass the filter estimates [kg], shape (n,).
        mass_sigmas: Its standard deviation [kg], shape (n,).
        published_masses: Mass after the rate-limited hand-over [kg], shape (n,).
        published_coms_L: Centre of mass after the hand-over [m], shape (n, 3).
        published_inertias_Lcm: Inertia about it after the hand-over [kg m^2], shape (n, 3, 3).
        payload_masses: Estimate minus nominal [kg], shape (n,).
        coms_L: Centre of mass the filter estimates [m], shape (n, 3).
        inertias_Lcm: Inertia about it that the filter estimates [kg m^2], shape (n, 3, 3).
        sigmas: Standard deviations of mass, com (3) and inertia (xx, xy, xz, yy, yz, zz), shape (n, 10).
        prior_sigmas: The same before the first measurement, shape (10,).
    """

    link: str
    masses: Array
    mass_sigmas: Array
    published_masses: Array
    published_coms_L: Array
    published_inertias_Lcm: Array
    payload_masses: Array
    coms_L: Array
    inertias_Lcm: Array
    sigmas: Array
    prior_sigmas: Array

    @property
    def informed(self) -> Flags:
        """Whether the recording informed each of the ten parameters at the end, shape (10,)."""
        last = self.sigmas[-1] if len(self.sigmas) else self.prior_sigmas
        flags: Flags = last < INFORMED_SHARE * self.prior_sigmas
        return flags


@dataclass(frozen=True, eq=False)
class InertialSeries:
    """Inertial estimates over time; n of them, m measurement rows.

    Attributes:
        stamps_ns: Stamps [ns], shape (n,).
        links: One series per estimated link.
        nis: Normalised innovation squared, shape (n,).
        nis_bounds: Bound of the gate on it, shape (n,).
        accepted: Whether the measurement corrected the state, shape (n,).
        decisions: Why, per sample.
        row_names: Names of the rows.
        innovations: Measured minus predicted [Nm, N], shape (n, m).
    """

    stamps_ns: Stamps
    links: tuple[LinkSeries, ...]
    nis: Array
    nis_bounds: Array
    accepted: Flags
    decisions: tuple[Decision, ...]
    row_names: tuple[str, ...]
    innovations: Array


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
    stamps_ns: Stamps
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
    at_rest: Flags
    holds: Flags
    events: tuple[PayloadEvent, ...]


def tilt_series(estimates: Sequence[BaseEstimate]) -> TiltSeries:
    """Stack base estimates into arrays."""
    return TiltSeries(
        stamps_ns=np.array([e.state.stamp_ns for e in estimates], dtype=np.int64),
        quaternions_xyzw=_stack([e.state.quaternion_xyzw for e in estimates], (4,)),
        tilts_B=_stack([e.tilt_B for e in estimates], (3,)),
        gyro_biases_I=_stack([e.gyro_bias_I for e in estimates], (3,)),
        contacts=tuple(e.contacts for e in estimates),
        covariances_B=_stack([e.tilt_covariance_B for e in estimates], (3, 3)),
        velocity_aided=np.array([e.velocity_aided for e in estimates], dtype=bool),
        positions_W=_stack([e.state.p_WB for e in estimates], (3,)),
        velocities_B=_stack([e.state.v_WB_B for e in estimates], (3,)),
        angular_rates_B=_stack([e.state.w_WB_B for e in estimates], (3,)),
    )


def inertial_series(
    estimates: Sequence[InertialEstimate], prior: Sequence[LinkEstimate] = ()
) -> InertialSeries:
    """Stack inertial estimates into arrays.

    Rows are those of the estimate that has the most; a row that another one lacks (an input not measured
    for a while) holds NaN there.

    Args:
        estimates: The estimates, in order.
        prior: The links before the first measurement; where a link is not among them, its first estimate
            counts as that.
    """
    before = {link.estimate.link: link for link in prior}
    links = estimates[0].links if estimates else ()
    rows = max((e.row_names for e in estimates), key=len, default=())
    return InertialSeries(
        stamps_ns=np.array([e.stamp_ns for e in estimates], dtype=np.int64),
        links=tuple(
            _link_series(i, estimates, before.get(link.estimate.link, link)) for i, link in enumerate(links)
        ),
        nis=np.array([e.nis for e in estimates], dtype=np.float64),
        nis_bounds=np.array([e.nis_bound for e in estimates], dtype=np.float64),
        accepted=np.array([e.accepted for e in estimates], dtype=bool),
        decisions=tuple(e.decision for e in estimates),
        row_names=rows,
        innovations=_stack([_by_row(e, rows) for e in estimates], (len(rows),)),
    )


def payload_series_of(estimates: Sequence[PayloadEstimate]) -> PayloadSeries:
    """Stack estimates of the trunk into arrays."""
    events = PayloadEvents()
    return PayloadSeries(
        link=estimates[0].trunk.link if estimates else "",
        stamps_ns=np.array([e.stamp_ns for e in estimates], dtype=np.int64),
        masses=_stack([e.estimate.mass for e in estimates]),
        mass_sigmas=_stack([e.mass_sigma for e in estimates]),
        coms_L=_stack([e.estimate.com_L for e in estimates], (3,)),
        com_sigmas=_stack([e.com_sigma_B for e in estimates], (3,)),
        published_masses=_stack([e.trunk.mass for e in estimates]),
        published_coms_L=_stack([e.trunk.com_L for e in estimates], (3,)),
        published_inertias_Lcm=_stack([e.trunk.inertia_Lcm for e in estimates], (3, 3)),
        payload_masses=_stack([e.payload.mass for e in estimates]),
        residuals=_stack([e.residual for e in estimates]),
        phases=tuple(e.phase.value for e in estimates),
        at_rest=np.array([e.at_rest for e in estimates], dtype=bool),
        holds=np.array([e.hold for e in estimates], dtype=bool),
        events=tuple(event for e in estimates for event in events.take(e)),
    )


def _link_series(index: int, estimates: Sequence[InertialEstimate], prior: LinkEstimate) -> LinkSeries:
    entries = [e.links[index] for e in estimates]
    sigmas = _stack([_sigmas(e) for e in entries], (10,))
    return LinkSeries(
        link=entries[0].estimate.link,
        masses=np.array([e.estimate.mass for e in entries]),
        mass_sigmas=sigmas[:, 0],
        published_masses=np.array([e.published.mass for e in entries]),
        published_coms_L=_stack([e.published.com_L for e in entries], (3,)),
        published_inertias_Lcm=_stack([e.published.inertia_Lcm for e in entries], (3, 3)),
        payload_masses=np.array([e.payload.mass for e in entries]),
        coms_L=_stack([e.estimate.com_L for e in entries], (3,)),
        inertias_Lcm=_stack([e.estimate.inertia_Lcm for e in entries], (3, 3)),
        sigmas=sigmas,
        prior_sigmas=_sigmas(prior),
    )


def _sigmas(link: LinkEstimate) -> Array:
    sigmas: Array = np.sqrt(np.maximum(link.covariance.diagonal(), 0.0))
    return sigmas


def _by_row(estimate: InertialEstimate, rows: tuple[str, ...]) -> Array:
    if estimate.row_names == rows:
        return estimate.innovation
    values = dict(zip(estimate.row_names, estimate.innovation.tolist(), strict=True))
    return np.array([values.get(row, np.nan) for row in rows])


def _stack(arrays: Sequence[Any], shape: tuple[int, ...] = ()) -> Array:
    return np.array(arrays, dtype=np.float64).reshape(len(arrays), *shape)
