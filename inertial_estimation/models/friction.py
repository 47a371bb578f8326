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
tau_friction. In a coupled wrist a motor turns with a combination of joint speeds, w = c'v (the sixth of the
Staubli TX40 with q5 + q6: Khalil and Dombre 2002, section 12.6). It adds c times its friction at w, by the
power balance v' tau = w' tau_motor.

sign(v) = tanh(v / v_s): at lower speeds the joint is in presliding, which a constant Coulomb torque does not
describe. There the contacts first give way elastically, and after a reversal friction passes through zero
only after a small travel x_s. In Dahl's model ("A solid friction model", 1968; Canudas de Wit et al. 1995),

    dz / ds = (sgn(v) - z) / x_s,   s the travel, ds = |v| dt.
"""

import fnmatch
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, did_you_mean, listing
from inertial_estimation.models.joint_limits import VELOCITY_DEFAULT, urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

RUN_UP_S = 1.0  # in which the share of the effort accelerates the motor alone to its speed: of servo motors
EFFORT_PER_KG = (
    5.0  # effort limit where the URDF has none [Nm/kg of the robot]: Panda 4.8, KR300 5.6, UR10 11
)


def smooth_sign(v: Array, smoothing_speed: float) -> Array:
    """Return tanh(v / v_s) of joint velocities v and v_s [rad/s]."""
    return np.tanh(v / smoothing_speed)


@dataclass(frozen=True)
class CoulombLaw:
    """How Coulomb friction changes sign.

    Attributes:
        smoothing_speed: v_s [rad/s].
        presliding: x_s [rad]; 0: the sign depends on the speed alone.
    """

    smoothing_speed: float = 0.02
    presliding: float = 0.0


class CoulombDirection:
    """Integrates z of every joint along a motion; after a start or a gap, z begins at tanh(v / v_s)."""

    def __init__(self, law: CoulombLaw) -> None:
        self._law = law
        self._z: Array | None = None

    def reset(self) -> None:
        """Forget the motion so far."""
        self._z = None

    def after(self, v: Array, dt: float) -> Array:
        """Return z after one step.

        The sign within the step is tanh(v / v_s) of its end, so that noise about rest does not turn it.

        Args:
            v: Joint velocities at the end of the step [rad/s], shape (n,).
            dt: Length of the step [s].

        Returns:
            Values in (-1, 1), shape (n,).
        """
        sign = smooth_sign(v, self._law.smoothing_speed)
        if self._z is None or self._law.presliding == 0.0:
            self._z = sign
        else:
            kept = np.exp(-np.abs(v) * (dt / self._law.presliding))
            self._z = sign + (self._z - sign) * kept
        return self._z

    def along(self, v: Array, dt: float) -> Array:
        """Return z after each of many steps of dt [s], by the velocities at their ends; shape (k, n)."""
        if self._law.presliding == 0.0 or not len(v):
            return smooth_sign(v, self._law.smoothing_speed)
        return np.array([self.after(row, dt) for row in v])


class _Signals(NamedTuple):
    """Signals of some drives, shape (..., k) each."""

    v: Array
    a: Array
    sign: Array  # smoothed, of v
    q: Array | float = np.nan
    from_middle: Array | float = np.nan  # of the range; zero for a joint without limits
    load: Array | float = np.nan  # magnitude of the torque behind the gear


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
MOTOR_TERMS = ("coulomb", "viscous", "armature")  # of a motor of several joints, whose offsets are their own


@dataclass(frozen=True, eq=False)
class FrictionModel:
    """Friction of some drives with the same terms: of joints, and of motors that move several joints.

    Attributes:
        joints: Indices of the joints, in the model's joint order; they are the first drives.
        drives: Names of the joints, then of the motors: "a + b", "a - 0.5*b".
        speeds: C with the speeds of the drives, C v, shape (k, n_joints).
        terms: Terms of every joint, a subset of `FRICTION_TERMS`; motors have those of `MOTOR_TERMS`.
        smoothing_speed: v_s of the Coulomb term [rad/s].
        nominal_values: Nominal value of each parameter, shape (size,).
        middles: Middle of each joint's range [rad], NaN where it has no limits, shape (n_joints,).
    """

    joints: tuple[int, ...]
    drives: tuple[str, ...]
    speeds: Array
    terms: tuple[str, ...]
    smoothing_speed: float
    nominal_values: Array
    middles: Array

    @classmethod
    def of(
        cls,
        drives: Sequence[str],
        terms: Sequence[str],
        joint_names: Sequence[str],
        smoothing_speed: float = CoulombLaw.smoothing_speed,
        *,
        nominal: Mapping[str, float] | None = None,
        middles: Array | None = None,
    ) -> "FrictionModel":
        """Return the friction of some drives.

        Args:
            drives: Joints and motors.
            terms: Of every drive.
            joint_names: Names of all joints, in the model's order.
            smoothing_speed: v_s of the Coulomb term [rad/s].
            nominal: Nominal values by ``joint/term`` and ``motor/term``; what is not there is zero.
            middles: Middle of each joint's range [rad]; None: zero.

        Raises:
            ConfigurationError: If there is no such term, or a motor has another form.
        """
        unknown = [term for term in terms if term not in FRICTION_TERMS]
        if unknown:
            raise ConfigurationError(
                f"no friction term {listing(unknown)}; there are {listing(FRICTION_TERMS)}"
            )
        joints = tuple(j for j, name in enumerate(joint_names) if name in drives)
        motors = [joint_speeds(drive, joint_names) for drive in drives if drive not in joint_names]
        n = len(joint_names)
        model = cls(
            joints,
            (*(joint_names[j] for j in joints), *(motor_name(row, joint_names) for row in motors)),
            np.array([*np.eye(n)[list(joints)], *motors]).reshape(-1, n),
            tuple(terms),
            smoothing_speed,
            np.zeros(0),
            np.zeros(n) if middles is None else middles,
        )
        return replace(
            model, nominal_values=np.array([float((nominal or {}).get(name, 0.0)) for name in model.names])
        )

    @classmethod
    def of_values(
        cls,
        joint_names: Sequence[str],
        values: Mapping[str, float],
        smoothing_speed: float = CoulombLaw.smoothing_speed,
        middles: Array | None = None,
    ) -> "FrictionModel":
        """Return the friction of values by ``joint/term`` and ``motor/term``; the others are as for `of`."""
        pairs = [name.rpartition("/") for name, value in values.items() if value]
        drives, used = dict.fromkeys(pair[0] for pair in pairs), {pair[2] for pair in pairs}
        terms = [term for term in FRICTION_TERMS if term in used]
        return cls.of([*drives], terms, joint_names, smoothing_speed, nominal=values, middles=middles)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each parameter, ``drive/term``, term after term."""
        return tuple(
            f"{drive}/{term}"
            for term in self.terms
            for drive in self.drives[: len(self.drives if term in MOTOR_TERMS else self.joints)]
        )

    @property
    def parameter_terms(self) -> tuple[str, ...]:
        """Term of each parameter."""
        return tuple(name.rpartition("/")[2] for name in self.names)

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.names)

    @property
    def needs_load(self) -> bool:
        """Whether the friction depends on the torque that a joint transmits."""
        return "coulomb_load" in self.terms and bool(self.joints)

    def regressor(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return F with tau_friction = F phi.

        Args:
            q: Joint positions [rad], shape (..., n_joints).
            v: Joint velocities [rad/s], shape (..., n_joints).
            a: Joint accelerations [rad/s^2], shape (..., n_joints).
            sign: Smoothed sign of the velocity averaged over the window of the other signals, shape
                (..., n_joints); None computes it from `v`.
            load: Torque behind the gear, by the nominal parameters [Nm], shape (..., n_joints); needed where
                `needs_load`.

        Returns:
            Regressor in the joint rows, shape (..., n_joints, size).
        """
        F = np.zeros((*v.shape, self.size))
        for columns, C, factor in self._columns(q, v, a, sign, load):
            F[..., columns] = C.T * factor[..., None, :]
        return F

    def torques(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return tau_friction of the nominal values [Nm], of v's shape; the arguments are of `regressor`."""
        torques = np.zeros_like(v)
        for columns, C, factor in self._columns(q, v, a, sign, load):
            torques += (self.nominal_values[columns] * factor) @ C
        return torques

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return np.array(self.joints, dtype=np.int64)

    @cached_property
    def _of_place(self) -> bool:
        """Whether a term depends on the place in the range, or on the load."""
        return not {"coulomb_slope", "coulomb_load", "stiffness"}.isdisjoint(self.terms)

    def _columns(
        self, q: Array, v: Array, a: Array, sign: Array | None, load: Array | None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the parameters of each term, C of their drives, and what they are multiplied by, (..., k)."""
        sign = smooth_sign(v, self.smoothing_speed) if sign is None else sign
        at, first, w = self._places, 0, np.zeros((*v.shape[:-1], 0))
        of_joints = of_motors = _Signals(v[..., at], a[..., at], sign[..., at], q[..., at])
        if self._of_place:
            behind_gear = np.zeros_like(v) if load is None else np.abs(load)
            from_middle = np.where(np.isnan(self.middles), 0.0, q - self.middles)
            of_joints = of_joints._replace(from_middle=from_middle[..., at], load=behind_gear[..., at])
        if len(self.drives) > len(self.joints):
            C = self.speeds[len(self.joints) :].T
            w = v @ C
            of_motors = _Signals(w, a @ C, smooth_sign(w, self.smoothing_speed))
        for term in self.terms:
            factor = _FACTORS[term](of_joints)
            if term in MOTOR_TERMS and w.shape[-1]:
                factor = np.concatenate((factor, _FACTORS[term](of_motors)), axis=-1)
            count = factor.shape[-1]
            yield slice(first, first + count), self.speeds[:count], factor
            first += count


def joint_speeds(motor: str, joint_names: Sequence[str]) -> Array:
    """Return the speed of a motor by those of the joints, shape (n_joints,).

    Args:
        motor: A combination of joints such as ``joint_5 + joint_6`` or ``a - 0.5*b``.
        joint_names: Names of all joints.

    Raises:
        ConfigurationError: If it has another form, or fewer than two joints.
    """
    row = np.zeros(len(joint_names))
    first, *rest = re.split(r"\s+([+-])\s+", re.sub(r"\s*\*\s*", "*", motor.strip()))
    for sign, term in zip(("+", *rest[::2]), (first, *rest[1::2]), strict=True):
        number, _star, joint = term.rpartition("*")
        try:
            factor = float(number or "1")
        except ValueError:
            factor = np.nan
        if joint.startswith("-"):
            factor, joint = -factor, joint[1:].strip()
        if joint not in joint_names:
            hint = did_you_mean(joint, joint_names, "the model has")
            raise ConfigurationError(f"'{motor}' of the friction names '{joint}', which is no joint{hint}")
        row[list(joint_names).index(joint)] += factor if sign == "+" else -factor
    if np.count_nonzero(row) < 2 or not np.isfinite(row).all():
        raise ConfigurationError(
            f"'{motor}' of the friction is no joint and no combination of two joints or more, as "
            "'joint_5 + joint_6' or 'joint_5 - 0.5*joint_6'"
        )
    return row


def motor_name(speeds: Array, joint_names: Sequence[str]) -> str:
    """Return a combination in the order of the joints, so that two ways of writing it have one name."""
    words = ""
    for j in np.flatnonzero(speeds).tolist():
        factor = float(speeds[j])
        sign = ("-" if factor < 0.0 else "") if not words else (" - " if factor < 0.0 else " + ")
        size = "" if abs(factor) == 1.0 else f"{abs(factor):g}*"
        words += f"{sign}{size}{joint_names[j]}"
    return words


@dataclass(frozen=True)
class NominalFriction:
    """Friction that is known, as `inertial-estimation identify` writes it, and how it changes sign."""

    joints: tuple[str, ...] = parameter(
        (),
        "Joints whose friction is known, by name or shell pattern; and motors that drive several joints, "
        "each by its speed as a combination of joints ('joint_5 + joint_6').",
    )
    terms: tuple[str, ...] = parameter(
        (),
        "Terms of the known friction. Motors of several joints have coulomb, viscous and armature. The "
        "simulator has coulomb, viscous, offset and armature of joints.",
        choices=FRICTION_TERMS,
    )
    values: tuple[float, ...] = parameter(
        (),
        "Known friction: a value for each entry of nominal_friction.joints of the first entry of "
        "nominal_friction.terms, then of the next. Units are Nm, Nm s/rad, Nm, kg m^2, Nm/rad, 1, Nm/rad, Nm "
        "and Nm in the order of the choices of the terms.",
    )
    smoothing_speed: float = parameter(
        CoulombLaw.smoothing_speed,
        "Speed over which Coulomb friction, known or estimated, changes sign, as tanh(v / speed); larger is "
        "smoother.",
        unit="rad/s",
        lower=1e-6,
        upper=10.0,
    )
    presliding: float = parameter(
        CoulombLaw.presliding,
        "Travel over which Coulomb friction, known or estimated, changes sign after a reversal (Dahl's "
        "model); 0 lets it depend on the speed alone. The simulator does not model it.",
        unit="rad",
        lower=0.0,
        upper=1.0,
    )

    @property
    def law(self) -> CoulombLaw:
        """Sign model of Coulomb friction."""
        return CoulombLaw(self.smoothing_speed, self.presliding)

    def by_name(self, robot: RobotModel) -> dict[str, float]:
        """Return all values by ``joint/term`` and ``motor/term``.

        Raises:
            ConfigurationError: If there is not a value for every joint and term, or no such joint.
        """
        if len(self.values) != len(self.joints) * len(self.terms):
            raise ConfigurationError(
                f"'nominal_friction.values' has {len(self.values)} entries, expected one for each of "
                f"{len(self.joints)} joints and {len(self.terms)} terms"
            )
        names = robot.joint_names
        drives = [
            fnmatch.filter(names, drive) or [motor_name(joint_speeds(drive, names), names)]
            for drive in self.joints
        ]
        given = zip(itertools.product(self.terms, drives), self.values, strict=True)
        return {f"{owner}/{term}": float(value) for (term, owners), value in given for owner in owners}

    def of_joints(self, term: str, robot: RobotModel) -> Array:
        """Return the values of a term over all joints, zero where not known, shape (n_joints,)."""
        values = self.by_name(robot)
        return np.array([values.get(f"{joint}/{term}", 0.0) for joint in robot.joint_names])


@dataclass(frozen=True)
class FrictionConfig:
    """Which friction parameters are estimated along with the inertias."""

    joints: tuple[str, ...] = parameter(
        (),
        "Joints whose friction is estimated, by name or shell pattern, and motors that drive several joints, "
        "each by its speed as a combination of joints ('joint_5 + joint_6'); empty estimates none.",
    )
    terms: tuple[str, ...] = parameter(
        ("coulomb", "viscous"),
        "Terms of the friction model that are estimated for each joint; of motors of several joints coulomb, "
        "viscous and armature.",
        choices=FRICTION_TERMS,
    )
    share: float = parameter(
        0.1,
        "Prior standard deviation of estimated friction about its nominal value, as share of each joint's "
        "effort limit; geared drives lose 0.05 to 0.2 of it, and where torques are measured behind the gear, "
        "it is about 0.01.",
        lower=1e-9,
        upper=10.0,
    )


def friction_model(
    friction: FrictionConfig, robot: RobotModel, nominal: NominalFriction
) -> tuple[FrictionModel | None, FrictionModel | None]:
    """Resolve the friction parameters against a robot.

    Args:
        friction: The joints and motors, and the terms to estimate for each.
        robot: The robot.
        nominal: Known friction; an estimated parameter starts from its known value.

    Returns:
        The estimated friction, None where no joint has any, and the known friction that is not estimated,
        None if there is none.

    Raises:
        ConfigurationError: If a pattern matches no joint, or the known values do not fit the joints.
    """
    known, speed, middles = nominal.by_name(robot), nominal.smoothing_speed, urdf_limits(robot).middle
    motors = [name for name in friction.joints if re.search(r"\s[+-]\s", name)]
    patterns = [name for name in friction.joints if name not in motors]
    joints = [robot.joint_names[j] for j in robot.joints_matching(patterns, "friction.joints")]
    estimated = FrictionModel.of(
        joints + motors, friction.terms, robot.joint_names, speed, nominal=known, middles=middles
    )
    rest = {name: value for name, value in known.items() if name not in estimated.names}
    left = FrictionModel.of_values(robot.joint_names, rest, speed, middles) if any(rest.values()) else None
    return estimated if estimated.size else None, left


def friction_deviations(friction: FrictionModel, robot: RobotModel, share: float) -> Array:
    """Return the prior standard deviation of each friction parameter.

    A torque is a share of the effort limit, reached at the speed limit by the viscous part. A gear of ratio n
    multiplies the effort by n and the rotor inertia by n^2 and divides the speed by n, so the armature over
    effort / speed is the time in which the motor runs up, whatever the gear.

    Args:
        friction: The friction parameters.
        robot: The robot, for its limits.
        share: Of the effort limit; also the increase of Coulomb friction with the torque of the teeth.

    Returns:
        In the parameters' units, shape (size,).
    """
    limits, turned = urdf_limits(robot), friction.speeds != 0.0
    effort = np.where(np.isfinite(limits.effort), limits.effort, EFFORT_PER_KG * robot.total_mass)
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, VELOCITY_DEFAULT)
    sigma = []
    for name in friction.names:
        drive, _, term = name.rpartition("/")
        joints = turned[friction.drives.index(drive)]
        most, fastest = float(effort[joints].max()), float(speed[joints].max())
        units = {"viscous": most / fastest, "armature": RUN_UP_S * most / fastest, "coulomb_load": 1.0}
        sigma.append(share * units.get(term, most))
    return np.array(sigma)
