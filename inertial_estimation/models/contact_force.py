"""Forces at point contacts from the torques of the environment in their limbs: J_i' f_i = r_i.

Only the joints between the base and the contact carry its force; with three of them f follows completely,
with fewer in the directions that move them. A stretched limb bears forces without torques: there the force is
not determined, and the estimate says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

__all__ = ["ContactForce", "ContactForces"]

LEAST_LEVER = 0.03  # smallest over largest lever of a limb [1]: a knee within about 9 deg of stretched
IN_REACH = 0.95  # least part of a direction that must move the joints for the force along it to be determined


@dataclass(frozen=True, slots=True, eq=False)
class ContactForce:
    """Force of the environment at one contact.

    Attributes:
        force_B: Axes of the base [N], shape (3,); zero in directions that are not determined.
        directions_B: Orthonormal rows that span the directions determined, shape (k, 3).
    """

    force_B: Array
    directions_B: Array

    def along(self, direction_B: Array) -> float:
        """Return the force along a direction [N], NaN where it is not determined.

        Args:
            direction_B: Unit vector, axes of the base, shape (3,).
        """
        if not float(np.linalg.norm(self.directions_B @ direction_B)) > IN_REACH:
            return float("nan")
        return float(self.force_B @ direction_B)


class ContactForces:
    """Turns the residual of a `MomentumObserver` into forces at contacts."""

    def __init__(self, robot: RobotModel, frames: Sequence[str]) -> None:
        """Find the limbs.

        Args:
            robot: The robot.
            frames: Frame of each point contact.

        Raises:
            ConfigurationError: If no joint moves a contact, or a joint carries two of them.
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        self._robot = robot
        self._data = robot.model.createData()
        self._frames = [robot.frame_id(frame) for frame in frames]
        self._limbs: list[list[int]] = []
        for frame, frame_id in zip(frames, self._frames, strict=True):
            chain = robot.model.supports[robot.model.frames[frame_id].parentJoint]
            limb = [j for j, name in enumerate(robot.joint_names) if robot.model.getJointId(name) in chain]
            shared = [robot.joint_names[j] for j in limb if any(j in other for other in self._limbs)]
            if not limb or shared:
                why = f"shares {listing(shared)} with another one" if shared else "is moved by no joint"
                raise ConfigurationError(
                    f"the contact '{frame}' {why}; its force does not follow from torques"
                )
            self._limbs.append(limb)

    def estimate(self, q: Array, residual: Array) -> list[ContactForce]:
        """Return the force at each contact.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            residual: Torques of the environment [Nm], shape (n_joints,).
        """
        model, data = self._robot.model, self._data
        pin.computeJointJacobians(model, data, self._robot.configuration(q))
        forces = []
        for frame, limb in zip(self._frames, self._limbs, strict=True):
            pin.updateFramePlacement(model, data, frame)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            forces.append(_solved(J[:3, self._robot.n_base :][:, limb].T, residual[limb]))
        return forces


def _solved(A: Array, r: Array) -> ContactForce:
    """Solve A f = r in the directions in which A is large enough."""
    U, s, Vt = linear_algebra.svd(A, full_matrices=False)
    strong = s > LEAST_LEVER * s[0]
    if not s[0] > 0.0:
        return ContactForce(np.zeros(3), np.zeros((0, 3)))
    force = Vt[strong].T @ ((U.T @ r)[strong] / s[strong])
    return ContactForce(force, Vt[strong])
