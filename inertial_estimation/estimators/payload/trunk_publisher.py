"""From mass and centre of mass to the inertias that are published, handed over at a capped rate."""

import numpy as np

from inertial_estimation.estimators.hand_over import HandOver
from inertial_estimation.estimators.payload.trunk_value import TrunkValue
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial.inertial_parameters import InertialParameters

__all__ = ["TrunkPublisher"]

ARRIVED = 1e-9  # of the trunk's mass: a difference of rounding


class TrunkPublisher:
    """Moves what is published to its target; builds an inertia only when it changes.

    Attributes:
        nominal: The trunk of the robot description, link frame.
        arrived: Whether the target is published.
    """

    def __init__(self, robot: RobotModel, link: str, rate: float) -> None:
        """Begin with the nominal trunk.

        Args:
            robot: The robot.
            link: The trunk, a link of the base.
            rate: Fastest change of the mass [kg/s].
        """
        self._body = BodyReference.of_link(robot, link)
        self._T_BL = robot.link_body(link).T_JL
        self.nominal = self._inertia(self._body.nominal_C)
        self._hand_over = HandOver(self._body.nominal_C, rate)
        self.reset()

    def reset(self) -> None:
        """Publish the nominal trunk at once."""
        self._hand_over.reset()
        self._target: TrunkValue | None = None
        self._target_C: Array = self._body.nominal_C
        self.arrived = True
        self._published = self.nominal
        self._value: TrunkValue | None = None
        self._estimate, self._payload = self.nominal, _difference(self.nominal, self.nominal)

    def set_rate(self, rate: float) -> None:
        """Change the fastest change of the mass [kg/s]."""
        self._hand_over.rate = rate

    @property
    def nominal_com_B(self) -> Array:
        """Centre of mass of the nominal trunk, base frame [m], shape (3,)."""
        com: Array = np.array(self._T_BL.act(self.nominal.com_L), dtype=float)
        return com

    def publish(self, target: TrunkValue, dt: float) -> LinkInertia:
        """Move towards a target.

        Args:
            target: What is to be published in the end.
            dt: Time since the last call [s].

        Returns:
            What a controller should use now.
        """
        if target is not self._target:
            self._target = target
            self._target_C = self._parameters_C(target)
            self.arrived = False
        if not self.arrived:
            published_C = self._hand_over.advance(self._target_C, dt)
            left = float(np.abs(published_C - self._target_C).max())
            self.arrived = left <= ARRIVED * float(self._target_C[0])
            self._published = self._inertia(published_C)
        return self._published

    def report(self, value: TrunkValue) -> tuple[LinkInertia, LinkInertia]:
        """Return the inertia of an estimate, and the payload: less nominal."""
        if value is not self._value:
            self._value = value
            self._estimate = self._inertia(self._parameters_C(value))
            self._payload = _difference(self._estimate, self.nominal)
        return self._estimate, self._payload

    def _parameters_C(self, value: TrunkValue) -> Array:
        com_L = self._T_BL.actInv(np.array(value.com_B))
        scale = value.mass / self.nominal.mass
        inertia = InertialParameters(value.mass, com_L, scale * self.nominal.inertia_Lcm)
        parameters: Array = np.linalg.solve(self._body.to_link, inertia.vector)
        return parameters

    def _inertia(self, pi_C: Array) -> LinkInertia:
        value = InertialParameters.from_vector(self._body.to_link @ pi_C)
        return LinkInertia(self._body.link, value.mass, value.com_F, value.inertia_Fcm)


def _difference(a: LinkInertia, b: LinkInertia) -> LinkInertia:
    pi = [InertialParameters(x.mass, x.com_L, x.inertia_Lcm).vector for x in (a, b)]
    value = InertialParameters.from_vector(pi[0] - pi[1])
    return LinkInertia(a.link, value.mass, value.com_F, value.inertia_Fcm)
