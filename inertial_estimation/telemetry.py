"""Telemetry: the figures of an estimate as named numbers, for monitoring and tuning.

A name is a path with the unit at its end, ``mass/arm_left_5_link [kg]``. Units contain no slash, which would
add a level to the path. The names of one robot are constant, so a figure keeps its index.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

from inertial_estimation.signals import BaseEstimate, Decision, InertialEstimate, LinkInertia

AGE = "age [s]"  # figure that a node adds when it publishes
DECISIONS = tuple(Decision)  # a decision is reported as its index here

EstimateT = TypeVar("EstimateT")
Group: TypeAlias = tuple[tuple[str, ...], Callable[[EstimateT], Iterable[float]]]
"""Names of some figures of an estimate, and the function that returns their values."""


class Figures(Generic[EstimateT]):
    """The figures of one kind of estimate.

    Attributes:
        names: Names of all figures.
    """

    def __init__(self, *groups: Group[EstimateT]) -> None:
        """Take the figures in groups, of which each is computed at once."""
        self.names = tuple(name for names, _read in groups for name in names)
        self._reads = tuple(read for _names, read in groups)

    def values(self, estimate: EstimateT) -> list[float]:
        """Return the figures of an estimate, in the order of their names."""
        return [value for read in self._reads for value in read(estimate)]


def tilt_figures(contacts: Iterable[str]) -> Figures[BaseEstimate]:
    """Return the figures of a base estimate.

    Args:
        contacts: Names of the robot's contacts, in the order of the estimates.
    """
    feet = tuple(contacts)
    unknown = (math.nan,) * len(feet)
    return Figures(
        (("tilt/roll [rad]", "tilt/pitch [rad]"), _roll_and_pitch),
        (("tilt/sigma [rad]",), lambda e: (e.tilt_sigma,)),
        (("yaw/angle [rad]", "yaw/sigma [rad]"), lambda e: (_yaw(e), e.yaw_sigma)),
        (tuple(f"gyro_bias/{axis} [rad s^-1]" for axis in "xyz"), lambda e: e.gyro_bias_I.tolist()),
        (
            tuple(f"gyro_bias_sigma/{axis} [rad s^-1]" for axis in ("horizontal", "vertical")),
            lambda e: map(math.sqrt, e.gyro_bias_variances),
        ),
        (tuple(f"velocity_innovation/{axis} [m s^-1]" for axis in "xyz"), lambda e: e.innovation_I.tolist()),
        (
            ("aided/velocity", "aided/gravity", "at_rest"),
            lambda e: map(float, (e.velocity_aided, e.gravity_aided, e.at_rest)),
        ),
        (tuple(f"contacts/{foot}" for foot in feet), lambda e: [float(foot in e.contacts) for foot in feet]),
        (tuple(f"contact_force/{foot} [N]" for foot in feet), lambda e: e.contact_forces or unknown),
        (tuple(f"contact_share/{foot}" for foot in feet), lambda e: e.contact_shares or unknown),
    )


def inertial_figures(
    links: Iterable[str],
    friction_names: Sequence[str] = (),
    noise_parameters: Sequence[str] = (),
    error_names: Sequence[str] = (),
) -> Figures[InertialEstimate]:
    """Return the figures of an inertial estimate.

    Args:
        links: Estimated links, in the order of the estimates.
        friction_names: Friction states, ``joint/term``.
        noise_parameters: Noise parameter of each group of rows.
        error_names: Slowly varying errors of sensors, ``kind/where``.
    """
    kinds = ("sensor_error", "sensor_error_sigma")
    return Figures(
        *(_link(place, link) for place, link in enumerate(links)),
        (("nis", "nis_bound"), lambda e: (e.nis, e.nis_bound)),
        (
            ("learning/accepted", "learning/decision"),
            lambda e: (float(e.accepted), float(DECISIONS.index(e.decision))),
        ),
        (
            ("information/directions", "information/informed"),
            lambda e: (float(len(e.information_eigenvalues)), float(e.informed_directions)),
        ),
        (
            tuple(f"friction/{name}" for name in friction_names),
            lambda e: [e.friction[name] for name in friction_names],
        ),
        (
            tuple(f"noise_scale/{name}" for name in noise_parameters),
            lambda e: [e.noise[name] for name in noise_parameters],
        ),
        (
            tuple(f"{kind}/{name}" for name in error_names for kind in kinds),
            lambda e: [value for name in error_names for value in e.sensor_errors[name]],
        ),
    )


def mass_figures(
    link: str,
    read: Callable[[EstimateT], tuple[LinkInertia, LinkInertia, LinkInertia, Sequence[float]]],
) -> Group[EstimateT]:
    """Return the figures of one link.

    Args:
        link: Name of the link.
        read: Returns the estimate itself, the parameters for a controller, estimate minus nominal, and four
            standard deviations, of the mass [kg] and of the centre of mass [m].
    """
    masses = (f"{name}/{link} [kg]" for name in ("mass", "mass_sigma", "mass_published", "mass_nominal"))
    places = (f"{name}_{axis}/{link} [m]" for name in ("com", "com_sigma") for axis in "xyz")

    def values(estimate: EstimateT) -> list[float]:
        found, published, payload, (mass_sigma, *com_sigmas) = read(estimate)
        nominal = found.mass - payload.mass
        return [found.mass, mass_sigma, published.mass, nominal, *found.com_L.tolist(), *com_sigmas]

    return (*masses, *places), values


def _roll_and_pitch(estimate: BaseEstimate) -> tuple[float, float]:
    x, y, z = estimate.tilt_B.tolist()
    return math.atan2(y, z), math.asin(max(-1.0, min(1.0, -x)))


def _yaw(estimate: BaseEstimate) -> float:
    qx, qy, qz, qw = estimate.state.quaternion_xyzw.tolist()
    return math.atan2(2.0 * (qx * qy + qz * qw), qw * qw + qx * qx - qy * qy - qz * qz)


def _link(place: int, link: str) -> Group[InertialEstimate]:
    def read(
        estimate: InertialEstimate,
    ) -> tuple[LinkInertia, LinkInertia, LinkInertia, Sequence[float]]:
        one = estimate.links[place]  # computed when it is asked for
        variances = one.covariance.diagonal()[:4].tolist()
        return one.estimate, one.published, one.payload, [math.sqrt(max(x, 0.0)) for x in variances]

    return mass_figures(link, read)
