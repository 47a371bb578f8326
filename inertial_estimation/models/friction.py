"""Joint friction and rotor inertia, linear in their parameters.

    tau_friction = (coulomb + coulomb_slope (q - q_mid) + coulomb_load |tau_load|) sign(v)
                   + viscous v + offset + armature a
                   + stiffness (q - q_mid) + balance_sin sin q + balance_cos cos q

q_mid is the middle of the joint's range: the slope describes drives whose friction changes along the range,
such as a knee that is driven by a linkage. tau_load is the torque behind the gear: that of rigid-body
dynamics by the nominal parameters, so that the term is linear, less what contacts carry. The teeth of a gear
rub the more, the more they transmit (Hamon, Gautier, Garrec, IROS 2010). The last line is no friction but
what else acts within a joint: a spring, and the counterbalance (gas spring, weight) of a large arm, whose
torque is to first order a sinusoid of the position, as that of gravity is.

Friction opposes the motion, so the measured motor torque exceeds the torque of rigid-body dynamics by
tau_friction.

sign(v) = tanh(v / v_s): at lower speeds the joint is in presliding, which a constant Coulomb torque does not
describe. There the contacts first give way elastically, and after a reversal friction passes through zero
only after a small travel x_s. In Dahl's model ("A solid friction model", 1968; Canudas de Wit et al. 1995),

    dz / ds = (sgn(v) - z) / x_s,   s the travel, ds = |v| dt.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.joint_limits import VELOCITY_DEFAULT, urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import numeric, parameter
from inertial_estimation.signals import Array

RUN_UP_S = 1.0  # time in which that share of the effort limit accelerates a servo's rotor to full speed [s]
EFFORT_PER_KG = 5.0  # effort limit where the URDF has none [Nm/kg of the robot]: Panda 4.8, KR300 5.6


class _Signals(NamedTuple):
    """Signals of the joints with friction, shape (..., k) each."""

    q: Array
    v: Array
    a: Array
    sign: Array  # smoothed, of v
    from_middle: Array  # of the range; zero for a joint without limits
    load: Array  # magnitude of the torque behind the gear


_FACTORS: Mapping[str, Callable[[_Signals], Any]] = {
    "coulomb": lambda s: s.sign,
    "viscous": lambda s: s.v,
    "offset": lambda s: np.ones_like(s.v),
    "armature": lambda s: s.a,
    "coulomb_slope": lambda s: s.sign * s.from_middle,
    "coulomb_load": lambda s: s.sign * s.load,
    "stiffness": lambda s: s.from_middle,
    "balance_sin": lambda s: np.sin(s.q),
    "balance_cos": lambda s: np.cos(s.q),
}
FRICTION_TERMS = tuple(_FACTORS)


@dataclass(frozen=True)
class NominalFriction:
    """Friction that is known, as `inertial-estimation identify` writes it, and how it changes sign."""

    joints: tuple[str, ...] = parameter((), "Joints whose friction is known, by name or shell pattern.")
    terms: tuple[str, ...] = parameter(
        (),
        "Terms of the known friction. The simulator has coulomb, viscous, offset and armature.",
        choices=FRICTION_TERMS,
    )
    values: tuple[float, ...] = parameter(
        (),
        "Known friction: a value for each entry of nominal_friction.joints of the first entry of "
        "nominal_friction.terms, then of the next. Units are Nm, Nm s/rad, Nm, kg m^2, Nm/rad, 1, Nm/rad, Nm "
        "and Nm in the order of the choices of the terms.",
    )
    smoothing_speed: float = numeric(
        *(0.02, 1e-6, 10.0, "rad/s"),
        "Speed over which Coulomb friction, known or estimated, changes sign, as tanh(v / speed); larger is "
        "smoother.",
    )
    presliding: float = numeric(
        *(0.0, 0.0, 1.0, "rad"),
        "Travel over which Coulomb friction, known or estimated, changes sign after a reversal (Dahl's "
        "model); 0 lets it depend on the speed alone. The simulator does not model it.",
    )

    def by_name(self, robot: RobotModel) -> dict[str, float]:
        """Return all values by ``joint/term``.

        Raises:
            ConfigurationError: If there is not a value for every joint and term, or no such joint.
        """
        if len(self.values) != len(self.joints) * len(self.terms):
            raise ConfigurationError(
                f"'nominal_friction.values' has {len(self.values)} entries, expected one for each of "
                f"{len(self.joints)} joints and {len(self.terms)} terms"
            )
        matching = [robot.joints_matching((joint,), "nominal_friction.joints") for joint in self.joints]
        given = zip(itertools.product(self.terms, matching), self.values, strict=True)
        names = robot.joint_names
        return {f"{names[j]}/{term}": float(value) for (term, joints), value in given for j in joints}

    def of_joints(self, term: str, robot: RobotModel) -> Array:
        """Return the values of a term over all joints, zero where not known, shape (n_joints,)."""
        values = self.by_name(robot)
        return np.array([values.get(f"{joint}/{term}", 0.0) for joint in robot.joint_names])


@dataclass(frozen=True)
class FrictionConfig:
    """Which friction parameters are estimated along with the inertias."""

    joints: tuple[str, ...] = parameter(
        (), "Joints whose friction is estimated, by name or shell pattern; empty estimates none."
    )
    terms: tuple[str, ...] = parameter(
        ("coulomb", "viscous", "armature"),
        "Terms of the friction model that are estimated for each joint; a geared drive has these three.",
        choices=FRICTION_TERMS,
    )
    share: float = numeric(
        *(0.1, 1e-9, 10.0, ""),
        "Prior standard deviation of estimated friction about its nominal value, as share of each joint's "
        "effort limit; geared drives lose 0.05 to 0.2 of it, and where torques are measured behind the gear, "
        "it is about 0.01.",
    )


def smooth_sign(v: Array, smoothing_speed: float) -> Array:
    """Return tanh(v / v_s) of joint velocities v and v_s [rad/s]."""
    return np.tanh(v / smoothing_speed)


class CoulombDirection:
    """Integrates z of every joint along a motion; at the start and after a gap, z is tanh(v / v_s)."""

    def __init__(self, friction: NominalFriction) -> None:
        """Start without motion, with v_s and x_s of a friction."""
        self._smoothing_speed, self._presliding = friction.smoothing_speed, friction.presliding
        self._z: Array | None = None

    def reset(self) -> None:
        """Discard the motion so far."""
        self._z = None

    def after(self, v: Array, dt: float) -> Array:
        """Return z after one step, in (-1, 1), shape (n,).

        The sign within the step is tanh(v / v_s) of its end, so that noise about rest does not turn it.

        Args:
            v: Joint velocities at the end of the step [rad/s], shape (n,).
            dt: Length of the step [s].
        """
        sign = smooth_sign(v, self._smoothing_speed)
        if self._z is None or self._presliding == 0.0:
            self._z = sign
        else:
            kept = np.exp(-np.abs(v) * (dt / self._presliding))
            self._z = sign + (self._z - sign) * kept
        return self._z

    def along(self, v: Array, dt: float) -> Array:
        """Return z after each of many steps of dt [s], by the velocities at their ends; shape (k, n)."""
        if self._presliding == 0.0 or not len(v):
            return smooth_sign(v, self._smoothing_speed)
        return np.array([self.after(row, dt) for row in v])


@dataclass(frozen=True, eq=False)
class FrictionModel:
    """Friction of some joints with the same terms."""

    joints: tuple[int, ...]  # indices of the joints, in the model's joint order
    names: tuple[str, ...]  # name of each parameter, ``joint/term``, term after term
    terms: tuple[str, ...]  # terms of every joint, a subset of `FRICTION_TERMS`
    smoothing_speed: float  # v_s of the Coulomb term [rad/s]
    nominal_values: Array  # nominal value of each parameter, shape (size,)
    middles: Array  # middle of each joint's range [rad], NaN where it has no limits, shape (n_joints,)

    @classmethod
    def of(
        cls,
        joints: Sequence[str],
        terms: Sequence[str],
        joint_names: Sequence[str],
        smoothing_speed: float = NominalFriction.smoothing_speed,
        *,
        nominal: Mapping[str, float] | None = None,
        middles: Array | None = None,
    ) -> "FrictionModel":
        """Return the friction of some joints.

        Args:
            joints: Names of the joints.
            terms: Friction terms of every joint.
            joint_names: Names of all joints, in the model's order.
            smoothing_speed: v_s of the Coulomb term [rad/s].
            nominal: Nominal values by ``joint/term``, zero by default.
            middles: Middle of each joint's range [rad]; None: zero.

        Raises:
            ConfigurationError: If there is no such term.
        """
        unknown = [term for term in terms if term not in FRICTION_TERMS]
        if unknown:
            raise ConfigurationError(
                f"no friction term {listing(unknown)}; there are {listing(FRICTION_TERMS)}"
            )
        places = tuple(j for j, name in enumerate(joint_names) if name in joints)
        names = tuple(f"{joint_names[j]}/{term}" for term in terms for j in places)
        values = np.array([float((nominal or {}).get(name, 0.0)) for name in names])
        middles = np.zeros(len(joint_names)) if middles is None else middles
        return cls(places, names, tuple(terms), smoothing_speed, values, middles)

    @classmethod
    def of_values(
        cls,
        joint_names: Sequence[str],
        values: Mapping[str, float],
        smoothing_speed: float = NominalFriction.smoothing_speed,
        middles: Array | None = None,
    ) -> "FrictionModel":
        """Return the friction given by values by ``joint/term``; other arguments as for `of`."""
        pairs = [name.rpartition("/") for name, value in values.items() if value]
        joints, used = [pair[0] for pair in pairs], {pair[2] for pair in pairs}
        terms = [term for term in FRICTION_TERMS if term in used]
        return cls.of(joints, terms, joint_names, smoothing_speed, nominal=values, middles=middles)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.names)

    @property
    def parameter_terms(self) -> tuple[str, ...]:
        """Term of each parameter."""
        return tuple(term for term in self.terms for _joint in self.joints)

    @property
    def needs_load(self) -> bool:
        """Whether the friction depends on the torque that a joint transmits."""
        return "coulomb_load" in self.terms and bool(self.joints)

    def regressor(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return F with tau_friction = F phi in the joint rows, shape (..., n_joints, size).

        Args:
            q: Joint positions [rad], shape (..., n_joints).
            v: Joint velocities [rad/s], shape (..., n_joints).
            a: Joint accelerations [rad/s^2], shape (..., n_joints).
            sign: Smoothed sign of the velocity averaged over the window of the other signals, shape
                (..., n_joints); None computes it from `v`.
            load: Torque behind the gear, by the nominal parameters [Nm], shape (..., n_joints); needed where
                `needs_load`.
        """
        sign = smooth_sign(v, self.smoothing_speed) if sign is None else sign
        from_middle = np.where(np.isnan(self.middles), 0.0, q - self.middles)
        behind_gear = np.zeros_like(v) if load is None else np.abs(load)
        places, columns = list(self.joints), np.arange(len(self.joints))
        of_joints = _Signals(*(s[..., places] for s in (q, v, a, sign, from_middle, behind_gear)))
        F = np.zeros((*v.shape, self.size))
        for i, term in enumerate(self.terms):
            F[..., places, i * len(places) + columns] = _FACTORS[term](of_joints)
        return F

    def torques(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return tau_friction of the nominal values [Nm], of v's shape; the arguments are of `regressor`."""
        torques: Array = self.regressor(q, v, a, sign, load) @ self.nominal_values
        return torques


def friction_model(
    friction: FrictionConfig, robot: RobotModel, nominal: NominalFriction
) -> tuple[FrictionModel | None, FrictionModel | None]:
    """Resolve the friction parameters against a robot.

    Args:
        friction: The joints, and the terms to estimate for each.
        robot: The robot.
        nominal: Known friction; an estimated parameter starts from its known value.

    Returns:
        The estimated friction, None where no joint has any, and the known friction that is not estimated,
        None if there is none.

    Raises:
        ConfigurationError: If a pattern matches no joint, or the known values do not fit the joints.
    """
    known, speed, middles = nominal.by_name(robot), nominal.smoothing_speed, urdf_limits(robot).middle
    joints = [robot.joint_names[j] for j in robot.joints_matching(friction.joints, "friction.joints")]
    names, terms = robot.joint_names, friction.terms
    estimated = FrictionModel.of(joints, terms, names, speed, nominal=known, middles=middles)
    rest = {name: value for name, value in known.items() if name not in estimated.names}
    left = FrictionModel.of_values(robot.joint_names, rest, speed, middles) if any(rest.values()) else None
    return estimated if estimated.size else None, left


def friction_deviations(friction: FrictionModel, robot: RobotModel, share: float) -> Array:
    """Return the prior standard deviation of each friction parameter, shape (size,).

    A torque is a share of the effort limit, reached at the speed limit by the viscous part. A gear of ratio n
    multiplies the effort by n and the rotor inertia by n^2 and divides the speed by n, so the armature over
    effort / speed is the time in which the motor runs up, whatever the gear.

    Args:
        friction: The friction parameters.
        robot: The robot, for its limits.
        share: Of the effort limit; also the increase of Coulomb friction with the torque of the teeth.
    """
    limits, joints = urdf_limits(robot), list(friction.joints)
    effort = np.where(np.isfinite(limits.effort), limits.effort, EFFORT_PER_KG * robot.total_mass)[joints]
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, VELOCITY_DEFAULT)[joints]
    units = {
        "viscous": effort / speed,
        "armature": RUN_UP_S * effort / speed,
        "coulomb_load": np.ones(len(joints)),
    }
    return share * np.concatenate([units.get(term, effort) for term in friction.terms])
