"""Telemetry: the figures of an estimate as named numbers, for monitoring and tuning.

A name is a path with the unit at its end, ``mass/arm_left_5_link [kg]``. Units contain no slash, which would
add a level to the path. The names of one robot are constant, so a figure keeps its index.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from inertial_estimation.signals import BaseEstimate, Decision, InertialEstimate, LinkInertia

AGE = "age [s]"  # figure that a node adds when it publishes
ERROR_KINDS = ("sensor_error", "sensor_error_sigma")
DECISIONS = tuple(Decision)  # a decision is reported as its index here

EstimateT = TypeVar("EstimateT")
Figures = Mapping[str, Callable[[EstimateT], float]]
"""Name of each figure of an estimate, and the function that returns its value."""


def tilt_figures(contacts: Iterable[str]) -> Figures[BaseEstimate]:
    """Return the figures of a base estimate.

    Args:
        contacts: Names of the robot's contacts, in the order of the estimates.
    """
    names = tuple(contacts)
    places, unknown = list(enumerate(names)), (math.nan,) * len(names)
    return {
        "tilt/roll [rad]": lambda e: math.atan2(e.tilt_B[1], e.tilt_B[2]),
        "tilt/pitch [rad]": lambda e: math.asin(max(-1.0, min(1.0, -e.tilt_B[0]))),
        "tilt/sigma [rad]": lambda e: e.tilt_sigma,
        "yaw/angle [rad]": _yaw,
        "yaw/sigma [rad]": lambda e: e.yaw_sigma,
        **_along_axes("gyro_bias/", " [rad s^-1]", lambda e: e.gyro_bias_I),
        "gyro_bias_sigma/horizontal [rad s^-1]": lambda e: math.sqrt(e.gyro_bias_variances[0]),
        "gyro_bias_sigma/vertical [rad s^-1]": lambda e: math.sqrt(e.gyro_bias_variances[1]),
        **_along_axes("velocity_innovation/", " [m s^-1]", lambda e: e.innovation_I),
        "aided/velocity": lambda e: float(e.velocity_aided),
        "aided/gravity": lambda e: float(e.gravity_aided),
        "at_rest": lambda e: float(e.at_rest),
        **{
            f"contacts/{name}": _entry(lambda e: [one in e.contacts for one in names], k)
            for k, name in places
        },
        **{
            f"contact_force/{name} [N]": _entry(lambda e: e.contact_forces or unknown, k)
            for k, name in places
        },
        **{f"contact_share/{name}": _entry(lambda e: e.contact_shares or unknown, k) for k, name in places},
    }


def inertial_figures(
    links: Iterable[str],
    friction_names: Iterable[str] = (),
    noise_parameters: Iterable[str] = (),
    error_names: Iterable[str] = (),
) -> Figures[InertialEstimate]:
    """Return the figures of an inertial estimate.

    Args:
        links: Estimated links, in the order of the estimates.
        friction_names: Friction states, ``joint/term``.
        noise_parameters: Noise parameter of each group of rows.
        error_names: Slowly varying errors of sensors, ``kind/where``.
    """
    return {
        **{name: read for place, link in enumerate(links) for name, read in _link(place, link).items()},
        "nis": lambda e: e.nis,
        "nis_bound": lambda e: e.nis_bound,
        "learning/accepted": lambda e: float(e.accepted),
        "learning/decision": lambda e: float(DECISIONS.index(e.decision)),
        "information/directions": lambda e: float(len(e.information_eigenvalues)),
        "information/informed": lambda e: float(e.informed_directions),
        **{f"friction/{name}": _entry(lambda e: e.friction, name) for name in friction_names},
        **{f"noise_scale/{name}": _entry(lambda e: e.noise, name) for name in noise_parameters},
        **{f"{kind}/{name}": _entry(_errors, (name, kind)) for name in error_names for kind in ERROR_KINDS},
    }


def mass_figures(
    link: str,
    bodies: Callable[[EstimateT], tuple[LinkInertia, LinkInertia, LinkInertia]],
    sigmas: Callable[[EstimateT], Sequence[float]],
) -> Figures[EstimateT]:
    """Return the figures of one link.

    Args:
        link: Name of the link.
        bodies: Returns the estimate itself, the parameters for a controller, and estimate minus nominal.
        sigmas: Returns standard deviations of the mass [kg] and of the centre of mass [m], four of them.
    """
    return {
        f"mass/{link} [kg]": lambda e: bodies(e)[0].mass,
        f"mass_sigma/{link} [kg]": lambda e: sigmas(e)[0],
        f"mass_published/{link} [kg]": lambda e: bodies(e)[1].mass,
        f"mass_nominal/{link} [kg]": lambda e: bodies(e)[0].mass - bodies(e)[2].mass,
        **_along_axes("com_", f"/{link} [m]", lambda e: bodies(e)[0].com_L),
        **_along_axes("com_sigma_", f"/{link} [m]", lambda e: sigmas(e)[1:]),
    }


def _entry(values: Callable[[EstimateT], Any], key: object) -> Callable[[EstimateT], float]:
    """Return the function of one entry of a vector or mapping of an estimate."""
    return lambda estimate: float(values(estimate)[key])


def _along_axes(before: str, after: str, vector: Callable[[EstimateT], Any]) -> Figures[EstimateT]:
    return {f"{before}{axis}{after}": _entry(vector, k) for k, axis in enumerate("xyz")}


def _errors(estimate: InertialEstimate) -> dict[tuple[str, str], float]:
    pairs = estimate.sensor_errors.items()
    return {(name, kind): x for name, pair in pairs for kind, x in zip(ERROR_KINDS, pair, strict=True)}


def _yaw(estimate: BaseEstimate) -> float:
    qx, qy, qz, qw = estimate.state.quaternion_xyzw.tolist()
    return math.atan2(2.0 * (qx * qy + qz * qw), qw * qw + qx * qx - qy * qy - qz * qz)


def _link(place: int, link: str) -> Figures[InertialEstimate]:
    def bodies(estimate: InertialEstimate) -> tuple[LinkInertia, LinkInertia, LinkInertia]:
        one = estimate.links[place]
        return one.estimate, one.published, one.payload

    def sigmas(estimate: InertialEstimate) -> list[float]:
        variances = estimate.links[place].covariance.diagonal()[:4].tolist()
        return [math.sqrt(max(variance, 0.0)) for variance in variances]

    return mass_figures(link, bodies, sigmas)
