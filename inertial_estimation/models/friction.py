"""Joint friction and rotor inertia, linear in their parameters.

    tau_friction = coulomb tanh(v / v_s) + viscous v + offset + armature a

tanh is a sign smoothed over v_s: below it a torque sensor sees presliding, which no constant describes.
Friction opposes motion, so the motor's torque, as measured, is larger by it.
"""

import fnmatch
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

__all__ = ["FRICTION_TERMS", "FrictionModel", "FrictionTerms", "friction_model", "smooth_sign"]

FRICTION_TERMS = ("coulomb", "viscous", "offset", "armature")


@dataclass(frozen=True)
class FrictionTerms:
    """Which friction parameters are estimated."""

    joints: tuple[str, ...] = parameter((), "Joints with friction, by name or shell pattern; empty: none.")
    terms: tuple[str, ...] = parameter(
        ("coulomb", "viscous"), "Terms of each joint's friction.", choices=FRICTION_TERMS
    )
    smoothing_speed: float = parameter(
        0.02, "Speed over which the Coulomb term changes sign.", unit="rad/s", lower=1e-6, upper=10.0
    )


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


def friction_model(terms: FrictionTerms, robot: RobotModel) -> FrictionModel | None:
    """Resolve the friction parameters against a robot.

    Args:
        terms: The joints by name or pattern, and the terms of each.
        robot: The robot.

    Returns:
        The model, None where no joint has friction.

    Raises:
        ConfigurationError: If a pattern matches no joint.
    """
    chosen: set[int] = set()
    for pattern in terms.joints:
        hits = [j for j, name in enumerate(robot.joint_names) if fnmatch.fnmatchcase(name, pattern)]
        if not hits:
            raise ConfigurationError(
                f"no joint matches '{pattern}' in friction.joints; the model has {listing(robot.joint_names)}"
            )
        chosen.update(hits)
    if not chosen:
        return None
    joints = tuple(sorted(chosen))
    names = tuple(robot.joint_names[j] for j in joints)
    return FrictionModel(joints, names, terms.terms, robot.n_joints, terms.smoothing_speed)
