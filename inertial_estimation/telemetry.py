"""Telemetry: the figures of an estimate as named numbers, for monitoring and tuning.

A name is a path with the unit at its end, ``mass/arm_left_5_link [kg]``. Units contain no slash, which would
add a level to the path. The names of one robot are constant, so a figure keeps its index.
"""

import math
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from inertial_estimation.signals import BaseEstimate, Decision, InertialEstimate, LinkInertia

AGE = "age [s]"
DECISIONS = tuple(Decision)  # a decision is reported as its index here
_DECISION_NUMBERS = {decision: float(number) for number, decision in enumerate(DECISIONS)}

EstimateT = TypeVar("EstimateT", contravariant=True)


class Telemetry(Protocol, Generic[EstimateT]):
    """Converts one kind of estimate to named figures.

    Attributes:
        names: Names of the figures.
    """

    names: tuple[str, ...]

    def values(self, estimate: EstimateT, age_s: float) -> list[float]:
        """Return the figures of an estimate, in the order of their names."""
        ...


class TiltTelemetry:
    """The figures of a base estimate.

    Attributes:
        names: Names of the figures.
    """

    def __init__(self, contacts: Iterable[str]) -> None:
        """Build the names of the figures.

        Args:
            contacts: Names of the robot's contacts.
        """
        self._contacts = tuple(contacts)
        self.names = (
            "tilt/roll [rad]",
            "tilt/pitch [rad]",
            "tilt/sigma [rad]",
            "yaw/angle [rad]",
            "yaw/sigma [rad]",
            *(f"gyro_bias/{axis} [rad s^-1]" for axis in "xyz"),
            "gyro_bias_sigma/horizontal [rad s^-1]",
            "gyro_bias_sigma/vertical [rad s^-1]",
            *(f"velocity_innovation/{axis} [m s^-1]" for axis in "xyz"),
            "aided/velocity",
            "aided/gravity",
            "at_rest",
            *(f"contacts/{name}" for name in self._contacts),
            *(f"contact_force/{name} [N]" for name in self._contacts),
            *(f"contact_share/{name}" for name in self._contacts),
            AGE,
        )

    def values(self, estimate: BaseEstimate, age_s: float) -> list[float]:
        """Return the figures of an estimate, in the order of their names.

        Args:
            estimate: Estimate of the tilt observer.
            age_s: Its age [s].
        """
        x, y, z = estimate.tilt_B.tolist()
        qx, qy, qz, qw = estimate.state.quaternion_xyzw.tolist()
        across, along = estimate.gyro_bias_variances
        unknown = (math.nan,) * len(self._contacts)
        return [
            math.atan2(y, z),
            math.asin(max(-1.0, min(1.0, -x))),
            estimate.tilt_sigma,
            math.atan2(2.0 * (qx * qy + qz * qw), qw * qw + qx * qx - qy * qy - qz * qz),
            estimate.yaw_sigma,
            *estimate.gyro_bias_I.tolist(),
            math.sqrt(across),
            math.sqrt(along),
            *estimate.innovation_I.tolist(),
            float(estimate.velocity_aided),
            float(estimate.gravity_aided),
            float(estimate.at_rest),
            *(float(name in estimate.contacts) for name in self._contacts),
            *(estimate.contact_forces or unknown),
            *(estimate.contact_shares or unknown),
            age_s,
        ]


class InertialTelemetry:
    """The figures of an inertial estimate.

    Attributes:
        names: Names of the figures.
    """

    def __init__(
        self,
        links: Iterable[str],
        friction_names: Iterable[str] = (),
        noise_parameters: Iterable[str] = (),
        error_names: Iterable[str] = (),
    ) -> None:
        """Build the names of the figures.

        Args:
            links: Estimated links, in the order of the estimates.
            friction_names: Friction states, ``joint/term``, in the order of the estimates.
            noise_parameters: Noise parameter of each group of rows, in the order of the estimates.
            error_names: Slowly varying errors of sensors, ``kind/where``, in the order of the estimates.
        """
        self.names = (
            *(name for link in links for name in mass_names(link)),
            "nis",
            "nis_bound",
            "learning/accepted",
            "learning/decision",
            "information/directions",
            "information/informed",
            *(f"friction/{name}" for name in friction_names),
            *(f"noise_scale/{name}" for name in noise_parameters),
            *(f"{which}/{name}" for name in error_names for which in ("sensor_error", "sensor_error_sigma")),
            AGE,
        )

    def values(self, estimate: InertialEstimate, age_s: float) -> list[float]:
        """Return the figures of an estimate, in the order of their names.

        Args:
            estimate: Estimate of the inertial filter.
            age_s: Its age [s].
        """
        figures: list[float] = []
        for link in estimate.links:
            variances = link.covariance.diagonal()[:4].tolist()
            sigmas = [math.sqrt(max(variance, 0.0)) for variance in variances]
            figures += mass_values(link.estimate, link.published, link.payload, sigmas)
        return [
            *figures,
            estimate.nis,
            estimate.nis_bound,
            float(estimate.accepted),
            _DECISION_NUMBERS[estimate.decision],
            float(len(estimate.information_eigenvalues)),
            float(estimate.informed_directions),
            *estimate.friction.values(),
            *estimate.noise.values(),
            *(figure for error_and_sigma in estimate.sensor_errors.values() for figure in error_and_sigma),
            age_s,
        ]


def mass_names(link: str) -> tuple[str, ...]:
    """Return the names of the figures of one link."""
    return (
        f"mass/{link} [kg]",
        f"mass_sigma/{link} [kg]",
        f"mass_published/{link} [kg]",
        f"mass_nominal/{link} [kg]",
        *(f"com_{axis}/{link} [m]" for axis in "xyz"),
        *(f"com_sigma_{axis}/{link} [m]" for axis in "xyz"),
    )


def mass_values(
    estimate: LinkInertia, published: LinkInertia, payload: LinkInertia, sigmas: Iterable[float]
) -> list[float]:
    """Return the figures of one link, in the order of `mass_names`.

    Args:
        estimate: The estimate itself.
        published: Parameters for a controller.
        payload: Estimate minus nominal.
        sigmas: Standard deviations of the mass [kg] and of the centre of mass [m], four of them.
    """
    mass_sigma, *com_sigmas = sigmas
    masses = [estimate.mass, mass_sigma, published.mass, estimate.mass - payload.mass]
    return [*masses, *estimate.com_L.tolist(), *com_sigmas]
