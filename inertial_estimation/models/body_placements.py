"""Where the bodies of a robot are, and the centre of mass of all with described or estimated inertias."""

from collections.abc import Iterable

import numpy as np
import pinocchio as pin

from inertial_estimation.models.robot_model import LinkBody, RobotModel
from inertial_estimation.signals import Array, LinkInertia


class BodyPlacements:
    """Placements of all bodies in the base frame, at zero joint positions until `update` is called."""

    def __init__(self, robot: RobotModel) -> None:
        """Read masses and centres of mass of the bodies.

        Args:
            robot: The robot.
        """
        self._robot = robot
        self._data = robot.model.createData()
        inertias = robot.model.inertias
        self._masses = np.array([inertia.mass for inertia in inertias])
        self._levers = np.array(
            [inertia.lever if inertia.mass > 0.0 else np.zeros(3) for inertia in inertias]
        )
        self._bodies: dict[str, LinkBody] = {}
        self.update(np.zeros(robot.n_joints))

    def update(self, q: Array) -> None:
        """Place the bodies.

        Args:
            q: Joint positions in the model's order [rad or m], shape (n_joints,).
        """
        pin.forwardKinematics(self._robot.model, self._data, self._robot.configuration(q))

    @property
    def extent(self) -> float:
        """Largest distance of a joint from the origin of the base [m]."""
        return max(float(np.linalg.norm(T.translation)) for T in self._data.oMi)

    def frame_B(self, frame: str) -> tuple[Array, Array]:
        """Return orientation and position [m] of a frame in the base, shapes (3, 3) and (3,).

        Raises:
            ~inertial_estimation.errors.ModelError: If it does not exist.
        """
        placed = self._robot.model.frames[self._robot.frame_id(frame)]
        T_BF = self._data.oMi[placed.parentJoint] * placed.placement
        return T_BF.rotation, T_BF.translation

    def com_B(self, inertias: Iterable[LinkInertia] = ()) -> Array:
        """Return the centre of mass in the base frame, c = sum_i m_i p_i / sum_i m_i.

        Args:
            inertias: Inertias that replace those of the description, each of the whole body of a link.

        Returns:
            Centre of mass [m], shape (3,); NaN for a robot without mass.

        Raises:
            ~inertial_estimation.errors.ModelError: If a link does not exist.
        """
        masses, levers = self._masses.copy(), self._levers.copy()
        for inertia in inertias:
            body = self._body(inertia.link)
            masses[body.joint_id] = inertia.mass
            levers[body.joint_id] = body.T_JL.act(np.asarray(inertia.com_L))
        placed = [T.act(lever) for T, lever in zip(self._data.oMi, levers, strict=True)]
        total = float(masses.sum())
        return masses @ np.array(placed) / total if total > 0.0 else np.full(3, np.nan)

    def _body(self, link: str) -> LinkBody:
        if link not in self._bodies:
            self._bodies[link] = self._robot.link_body(link)
        return self._bodies[link]
