"""The identified trunk: mass and centre of mass with their uncertainty, and the inertia they give."""

import math
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.errors import InconsistentInertiaError
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.hand_over import HandOver
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf import NEGLIGIBLE_MASS
from inertial_estimation.payload.com_methods import UNOBSERVED_COS_SQUARED, ComStep
from inertial_estimation.payload.statics import REACH_M, across_gravity
from inertial_estimation.signals import Array, LinkInertia, frozen_array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters

LARGEST_FACTOR = 3.0  # largest plausible ratio of a trunk's mass to its nominal one, or of the inverse
HAND_OVER_SHARE = 0.35  # rate of the published mass in robot masses per second, slow enough for a crawl


@dataclass(frozen=True, slots=True, eq=False)
class TrunkValue:
    """A trunk as identified; by default it has not been measured yet."""

    mass: float  # [kg]
    com_B: Array  # centre of mass, base frame [m], shape (3,)
    mass_sigma: float = math.inf  # standard deviation of the mass [kg]
    com_sigma_B: Array = field(default_factory=lambda: np.full(3, math.inf))  # along the base axes [m]
    residual: float = math.nan  # of the measurements, as a distance of centres of mass [m]

    def __post_init__(self) -> None:
        object.__setattr__(self, "com_B", frozen_array("com_B", self.com_B, (3,)))
        object.__setattr__(self, "com_sigma_B", frozen_array("com_sigma_B", self.com_sigma_B, (3,)))


@dataclass(slots=True, eq=False)
class IdentifiedTrunk:
    """The trunk throughout its identification."""

    nominal: TrunkValue  # the trunk of the robot description
    size: float  # radius of gyration of the nominal trunk [m]
    value: TrunkValue  # the estimate; changes while an identification runs
    target: TrunkValue  # value to be published; set to the estimate once that is usable

    def implausible(self, mass: float) -> str:
        """Return why the trunk cannot have a mass [kg]; empty if it can."""
        nominal = self.nominal.mass
        if mass > LARGEST_FACTOR * nominal:
            cause = "check unit and sign of torques or wrenches, and the masses of the robot description"
        elif mass < nominal / LARGEST_FACTOR:
            cause = "does a stand or a hoist carry the robot, or does a foot's sensor read nothing?"
        else:
            return ""
        return f"the trunk would weigh {mass:.2f} kg, nominal {nominal:.2f} kg: {cause}"

    def completed_along_gravity(self, com_B: Array, R_WB: Array) -> Array:
        """Return com_B [m] with the component along gravity, which no force determines, of the estimate."""
        known = self.value.com_B
        return across_gravity(com_B, R_WB) + known - across_gravity(known, R_WB)

    def found(self, step: ComStep, up_B: Array) -> TrunkValue:
        """Return the estimate with the centre of mass of a method, on a base with the vertical up_B.

        The height of the load over the nominal centre of mass has the prior N(0, size^2) [m]; it moves that
        of the trunk by |m - m_nom| / m times as much.
        """
        weighed, nominal = self.value, self.nominal
        height = self.size * abs(weighed.mass - nominal.mass) / weighed.mass
        sigma_B = deviation_with_height(step.sigma_B, step.com_B - nominal.com_B, up_B, height)
        return TrunkValue(weighed.mass, step.com_B, weighed.mass_sigma, sigma_B, step.residual)


def deviation_with_height(sigma_B: Array, shift_B: Array, up_B: Array, height_sigma: float) -> Array:
    """Return the standard deviation of a centre of mass whose height was not measured [m], shape (3,).

    No force determines where along gravity a centre of mass lies: with u the vertical in the base frame, the
    true one is c + s u with s unknown. Its height has the prior N(0, height_sigma^2) about the nominal one,
    from which the identified one differs by shift_B, so that s u_z = height - shift_z, and

        sigma_i'^2 = sigma_i^2 + (height_sigma^2 + shift_z^2) (u_i / u_z)^2:

    a height error h displaces the other components by h tan(tilt). sigma_B is that of the noise, inf where
    nothing was measured; if all axes were measured the height is known, and nothing is added.
    """
    if np.isfinite(sigma_B).all():
        return sigma_B
    along = math.hypot(height_sigma, float(shift_B[2]))
    slope = up_B / math.sqrt(max(float(up_B[2]) ** 2, UNOBSERVED_COS_SQUARED))
    total: Array = np.hypot(sigma_B, along * slope)
    return total


def trunk_inertia(nominal: InertialParameters, mass: float, com: Array) -> InertialParameters:
    """Return the inertia of nominal trunk and load together, physically consistent, in a frame F.

    Statics do not determine second moments. The load, m_p = m - m_nom, is taken as a point mass at the
    distance that explains the shift of the centre of mass, s = (m / m_p)(c - c_nom) from the nominal one, and
    adds to the second moments about the centre of mass

        Sigma = Sigma_nom + (m_nom m_p / m) s s'.

    |s| is limited to `REACH_M`, so that it stays finite and continuous as m_p goes to zero. A trunk lighter
    than nominal keeps its radii, Sigma = (m / m_nom) Sigma_nom. Both agree at m_p = 0, both are consistent.

    Raises:
        InconsistentInertiaError: If the mass is not positive, or mass or centre of mass are not finite.
    """
    if not (mass > 0.0 and np.isfinite(mass) and np.isfinite(com).all()):
        raise InconsistentInertiaError(
            f"loaded trunk has mass {mass:.6g} kg at {com} m, expected a positive mass and finite numbers"
        )
    nominal = nominal.made_consistent("trunk")
    inertia, load = nominal.inertia_Fcm, mass - nominal.mass
    if load <= 0.0:
        return InertialParameters(mass, com, inertia * (mass / nominal.mass))
    shift = mass * (com - nominal.com_F)  # m_p s
    distance = float(np.linalg.norm(shift))
    s = shift * (REACH_M / distance if distance > REACH_M * load else 1.0 / load)
    point = nominal.mass * load / mass * (float(s @ s) * np.eye(3) - np.outer(s, s))
    return InertialParameters(mass, com, inertia + point)


def payload_inertia(link: str, nominal: InertialParameters, loaded: InertialParameters) -> LinkInertia:
    """Return the inertia of the load: loaded less nominal trunk, about its own centre of mass.

    Its mass may be negative; the centre of mass of a negligible one is set to the origin.
    """
    difference = loaded.vector - nominal.vector
    if abs(difference[0]) < NEGLIGIBLE_MASS:
        difference[:4] = 0.0
    return InertialParameters.from_vector(difference).of_link(link)


class TrunkPublisher:
    """Moves the published trunk to its target at a bounded rate; builds an inertia only when it changes.

    Attributes:
        nominal: The trunk of the robot description.
        size: Radius of gyration of the nominal trunk [m].
        arrived: Whether the published trunk has reached the target.
    """

    def __init__(self, robot: RobotModel, link: str) -> None:
        """Begin with the nominal trunk, the body of a link of the base."""
        self._body = BodyReference.of_link(robot, link)
        self.size = self._body.length
        self._T_BL = robot.link_body(link).T_JL
        self._from_link = linear_algebra.inv(self._body.to_link)
        self._hand_over = HandOver(self._body.nominal_C[None])
        self._rate = HAND_OVER_SHARE * robot.total_mass  # [kg/s]
        self._parameters = InertialParameters.from_vector(self._body.to_link @ self._body.nominal_C)
        self.nominal = TrunkValue(self._parameters.mass, self._T_BL.act(np.array(self._parameters.com_F)))
        self.reset()

    def reset(self) -> None:
        """Publish the nominal trunk at once."""
        self._hand_over.reset()
        self.arrived = True
        self._target: TrunkValue | None = None
        self._target_C: Array = self._body.nominal_C
        self._published = self._parameters.of_link(self._body.link)
        self._value: TrunkValue | None = None
        self._reported = self._published, self._published

    def publish(self, target: TrunkValue, dt: float) -> LinkInertia:
        """Move towards a target for a time [s]; return the inertia that a controller should use now."""
        if target is not self._target:
            self._target, self.arrived = target, False
            self._target_C = self._from_link @ self._loaded(target).vector
        if not self.arrived:
            published_C = self._hand_over.advance(self._target_C[None], self._rate * dt)[0]
            self.arrived = self._hand_over.has_arrived
            published = InertialParameters.from_vector(self._body.to_link @ published_C)
            self._published = published.of_link(self._body.link)
        return self._published

    def report(self, value: TrunkValue) -> tuple[LinkInertia, LinkInertia]:
        """Return the inertia of an estimate, and that of the payload: estimate less nominal."""
        if value is not self._value:
            self._value, loaded = value, self._loaded(value)
            payload = payload_inertia(self._body.link, self._parameters, loaded)
            self._reported = loaded.of_link(self._body.link), payload
        return self._reported

    def _loaded(self, value: TrunkValue) -> InertialParameters:
        return trunk_inertia(self._parameters, value.mass, self._T_BL.actInv(np.array(value.com_B)))
