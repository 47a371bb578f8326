"""Joint friction and rotor inertia, linear in their parameters.

    tau_friction = coulomb tanh(v / v_s) + viscous v + offset + armature a

tanh is a sign smoothed over v_s: below it a torque sensor sees presliding, which no constant describes.
Friction opposes motion, so the motor's torque, as measured, is larger by it.
"""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array

__all__ = ["FRICTION_TERMS", "FrictionModel", "smooth_sign"]

FRICTION_TERMS = ("coulomb", "viscous", "offset", "armature")


def smooth_sign(v: Array, smoothing_speed: float) -> Array:
    """Return tanh(v / v_s).

    Args:
        v: Joint velocities [rad/s], any shape.
        smoothing_speed: v_s [rad/s].

    Returns:
        Values in (-1, 1), of v's shape.
    """
    return np.tanh(v / smoothing_speed)


@dataclass(frozen=True, eq=False)
class FrictionModel:
    """Which friction parameters are estimated.

    Attributes:
        joints: Indices of the joints with friction, in the model's joint order.
        joint_names: Their names.
        terms: Terms of each, out of `FRICTION_TERMS`.
        n_joints: Number of joints of the robot.
        smoothing_speed: v_s of the Coulomb term [rad/s].
    """

    joints: tuple[int, ...]
    joint_names: tuple[str, ...]
    terms: tuple[str, ...]
    n_joints: int
    smoothing_speed: float = 0.02

    def __post_init__(self) -> None:
        unknown = [term for term in self.terms if term not in FRICTION_TERMS]
        if unknown:
            raise ConfigurationError(
                f"no friction term {listing(unknown)}; there are {listing(FRICTION_TERMS)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each parameter, ``joint/term``, term after term."""
        return tuple(f"{joint}/{term}" for term in self.terms for joint in self.joint_names)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.terms) * len(self.joints)

    def regressor(self, v: Array, a: Array, sign: Array | None = None) -> Array:
        """Return F with tau_friction = F phi.

        Args:
            v: Joint velocities [rad/s], shape (n_joints,).
            a: Joint accelerations [rad/s^2], shape (n_joints,).
            sign: Smoothed sign of the velocity averaged over the window of the other signals, shape
                (n_joints,); None takes that of `v`.

        Returns:
            Regressor in the joint rows, shape (n_joints, size).
        """
        joints = np.asarray(self.joints, dtype=int)
        F = np.zeros((self.n_joints, self.size))
        columns = np.arange(len(joints))
        for index, term in enumerate(self.terms):
            if term == "coulomb":
                values = smooth_sign(v, self.smoothing_speed) if sign is None else sign
            elif term == "viscous":
                values = v
            elif term == "offset":
                values = np.ones_like(v)
            else:
                values = a
            F[joints, index * len(joints) + columns] = values[joints]
        return F
