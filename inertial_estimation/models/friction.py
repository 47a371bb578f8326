"""Joint friction and rotor inertia, linear in their parameters.

    tau_friction = coulomb tanh(v / v_s) + viscous v + offset + armature a

tanh is the sign of v smoothed over v_s: at lower speeds the joint is in presliding, which a constant
Coulomb torque does not describe. Friction opposes the motion, so the measured motor torque exceeds the torque
of rigid-body dynamics by tau_friction.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.coulomb import CoulombLaw, smooth_sign
from inertial_estimation.models.joint_corrections import values_by_joint
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

__all__ = [
    "FRICTION_TERMS",
    "FrictionModel",
    "FrictionTerms",
    "KnownFriction",
    "NominalFriction",
    "coulomb_law",
    "friction_model",
]

FRICTION_TERMS = ("coulomb", "viscous", "offset", "armature")


@dataclass(frozen=True)
class FrictionTerms:
    """Which friction parameters are estimated."""

    joints: tuple[str, ...] = parameter(
        (), "Joints whose friction is estimated, by name or shell pattern; empty estimates none."
    )
    terms: tuple[str, ...] = parameter(
        ("coulomb", "viscous"),
        "Terms of the friction model that are estimated for each joint.",
        choices=FRICTION_TERMS,
    )
    smoothing_speed: float = parameter(
        CoulombLaw.smoothing_speed,
        "Speed over which the Coulomb term of estimated friction changes sign, as tanh(v / speed); larger "
        "is smoother.",
        unit="rad/s",
        lower=1e-6,
        upper=10.0,
    )
    presliding: float = parameter(
        CoulombLaw.presliding,
        "Travel over which the Coulomb term of estimated friction changes sign after a reversal (Dahl's "
        "model); 0 lets it depend on the speed alone.",
        unit="rad",
        lower=0.0,
        upper=1.0,
    )


@dataclass(frozen=True)
class NominalFriction:
    """Friction that is known, as `inertial-estimation identify` writes it.

    A list is empty or as long as `joints`.
    """

    joints: tuple[str, ...] = parameter((), "Joints whose friction is known.")
    coulomb: tuple[float, ...] = parameter(
        (),
        "Known Coulomb friction of each entry of nominal_friction.joints, in the same order; empty means "
        "zero.",
        unit="Nm",
    )
    viscous: tuple[float, ...] = parameter(
        (),
        "Known viscous friction coefficient of each entry of nominal_friction.joints, in the same order; "
        "empty means zero.",
        unit="Nm s/rad",
    )
    offset: tuple[float, ...] = parameter(
        (),
        "Known constant torque offset of each entry of nominal_friction.joints, in the same order; empty "
        "means zero.",
        unit="Nm",
    )
    armature: tuple[float, ...] = parameter(
        (),
        "Known rotor inertia, seen at the joint, of each entry of nominal_friction.joints, in the same "
        "order; empty means zero.",
        unit="kg m^2",
    )
    smoothing_speed: float = parameter(
        CoulombLaw.smoothing_speed,
        "Speed over which the Coulomb term of known friction changes sign, as tanh(v / speed); where "
        "friction is known, it holds for estimated friction as well.",
        unit="rad/s",
        lower=1e-6,
        upper=10.0,
    )
    presliding: float = parameter(
        CoulombLaw.presliding,
        "Travel over which the Coulomb term of known friction changes sign after a reversal (Dahl's "
        "model); it holds for estimated friction as well. The simulator does not model it.",
        unit="rad",
        lower=0.0,
        upper=1.0,
    )

    def by_joint(self, robot: RobotModel) -> dict[str, Array]:
        """Return the values of every term over all joints, zero where not known, shape (n_joints,) each.

        Raises:
            ConfigurationError: If a list is not as long as `joints`.
            ~inertial_estimation.errors.ModelError: If a joint does not exist.
        """
        by_term = {}
        for term in FRICTION_TERMS:
            values = getattr(self, term)
            joints = self.joints if values else ()
            by_term[term] = values_by_joint(f"nominal_friction.{term}", joints, values, robot, 0.0)
        return by_term


@dataclass(frozen=True, eq=False)
class FrictionModel:
    """Which friction parameters are estimated.

    Attributes:
        joints: Indices of the joints with friction, in the model's joint order.
        joint_names: Their names.
        terms: Estimated terms of every joint, a subset of `FRICTION_TERMS`.
        n_joints: Number of joints of the robot.
        smoothing_speed: v_s of the Coulomb term [rad/s].
        nominal: Nominal value of each parameter, shape (size,); None: all zero.
    """

    joints: tuple[int, ...]
    joint_names: tuple[str, ...]
    terms: tuple[str, ...]
    n_joints: int
    smoothing_speed: float
    nominal: Array | None = None

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
    def nominal_values(self) -> Array:
        """Nominal value of each parameter, shape (size,)."""
        return np.zeros(self.size) if self.nominal is None else self.nominal

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.terms) * len(self.joints)

    def regressor(self, v: Array, a: Array, sign: Array | None = None) -> Array:
        """Return F with tau_friction = F phi.

        Args:
            v: Joint velocities [rad/s], shape (..., n_joints).
            a: Joint accelerations [rad/s^2], shape (..., n_joints).
            sign: Smoothed sign of the velocity averaged over the window of the other signals, shape
                (..., n_joints); None computes it from `v`.

        Returns:
            Regressor in the joint rows, shape (..., n_joints, size).
        """
        joints = np.asarray(self.joints, dtype=int)
        F = np.zeros((*v.shape[:-1], self.n_joints, self.size))
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
            F[..., joints, index * len(joints) + columns] = values[..., joints]
        return F


@dataclass(frozen=True, eq=False)
class KnownFriction:
    """Friction that is known and not estimated.

    Attributes:
        values: By term, shape (n_joints,) each; zero where not known, or where estimated.
        smoothing_speed: v_s of the Coulomb term [rad/s].
    """

    values: Mapping[str, Array]
    smoothing_speed: float

    def torques(self, v: Array, a: Array, sign: Array | None = None) -> Array:
        """Return tau_friction.

        Args:
            v: Joint velocities [rad/s], shape (..., n_joints).
            a: Joint accelerations [rad/s^2], shape (..., n_joints).
            sign: Smoothed sign of the velocity averaged over the window of the other signals; None computes
                it from `v`.

        Returns:
            Torques [Nm], of v's shape.
        """
        sign = smooth_sign(v, self.smoothing_speed) if sign is None else sign
        values = self.values
        torques: Array = values["coulomb"] * sign + values["viscous"] * v + values["offset"]
        return torques + values["armature"] * a


def coulomb_law(terms: FrictionTerms, nominal: NominalFriction) -> CoulombLaw:
    """Return the sign model of Coulomb friction: that of known friction if any, else that of the estimate."""
    source = nominal if nominal.joints else terms
    return CoulombLaw(source.smoothing_speed, source.presliding)


def friction_model(
    terms: FrictionTerms, robot: RobotModel, nominal: NominalFriction | None = None
) -> tuple[FrictionModel | None, KnownFriction | None]:
    """Resolve the friction parameters against a robot.

    Args:
        terms: The joints, by name or pattern, and the terms to estimate for each.
        robot: The robot.
        nominal: Known friction; an estimated parameter starts from its known value.

    Returns:
        The estimated friction, None where no joint has any, and the known friction that is not estimated,
        None if there is none.

    Raises:
        ConfigurationError: If a pattern matches no joint, or a list of known values has the wrong length.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    joints = robot.joints_matching(terms.joints, "friction.joints")
    nominal = nominal or NominalFriction()
    known = nominal.by_joint(robot)
    speed = coulomb_law(terms, nominal).smoothing_speed
    estimated = None
    if joints:
        names = tuple(robot.joint_names[j] for j in joints)
        start = np.concatenate([known[term][list(joints)] for term in terms.terms])
        estimated = FrictionModel(joints, names, terms.terms, robot.n_joints, speed, start)
        for term in terms.terms:
            known[term][list(joints)] = 0.0
    rest = KnownFriction(known, speed) if any(values.any() for values in known.values()) else None
    return estimated, rest
