"""From mass and centre of mass to the inertias that are published, handed over at a capped rate."""

import numpy as np

from inertial_estimation.estimators.payload.trunk_inertia import payload_inertia, trunk_inertia
from inertial_estimation.estimators.payload.trunk_value import TrunkValue
from inertial_estimation.inertial.hand_over import HandOver
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, LinkInertia, frozen_array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters

ARRIVED_SHARE = 1e-9  # of the trunk's mass: a difference of rounding


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
        self._from_link = linear_algebra.inv(self._body.to_link)
        self._nominal = InertialParameters.from_vector(self._body.to_link @ self._body.nominal_C)
        self.nominal = self._inertia(self._body.nominal_C)
        self._hand_over = HandOver(self._body.nominal_C[None], rate)
        self.reset()

    def reset(self) -> None:
        """Publish the nominal trunk at once."""
        self._hand_over.reset()
        self._target: TrunkValue | None = None
        self._target_C: Array = self._body.nominal_C
        self.arrived = True
        self._published = self.nominal
        self._value: TrunkValue | None = None
        self._estimate = self.nominal
        self._payload = payload_inertia(self._body.link, self._nominal, self._nominal)

    def set_rate(self, rate: float) -> None:
        """Change the fastest change of the mass [kg/s]."""
        self._hand_over.rate = rate

    @property
    def nominal_size(self) -> float:
        """Radius of gyration of the nominal trunk [m]."""
        return self._body.length

    @property
    def nominal_com_B(self) -> Array:
        """Centre of mass of the nominal trunk, base frame [m], shape (3,)."""
        return frozen_array("com", self._T_BL.act(self.nominal.com_L))

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
            self._target_C = self._from_link @ self._loaded(target).vector
            self.arrived = False
        if not self.arrived:
            published_C = self._hand_over.advance(self._target_C[None], dt)[0]
            left = float(np.abs(published_C - self._target_C).max())
            self.arrived = left <= ARRIVED_SHARE * float(self._target_C[0])
            self._published = self._inertia(published_C)
        return self._published

    def report(self, value: TrunkValue) -> tuple[LinkInertia, LinkInertia]:
        """Return the inertia of an estimate, and the payload: less nominal."""
        if value is not self._value:
            self._value = value
            loaded = self._loaded(value)
            self._estimate = LinkInertia(self._body.link, loaded.mass, loaded.com_F, loaded.inertia_Fcm)
            self._payload = payload_inertia(self._body.link, self._nominal, loaded)
        return self._estimate, self._payload

    def _loaded(self, value: TrunkValue) -> InertialParameters:
        com_L = self._T_BL.actInv(np.array(value.com_B))
        return trunk_inertia(self._nominal, value.mass, com_L)

    def _inertia(self, pi_C: Array) -> LinkInertia:
        value = InertialParameters.from_vector(self._body.to_link @ pi_C)
        return LinkInertia(self._body.link, value.mass, value.com_F, value.inertia_Fcm)
