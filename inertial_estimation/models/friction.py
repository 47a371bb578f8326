"""Joint friction and rotor inertia, linear in their parameters.

    tau_friction = (coulomb + coulomb_slope (q - q_mid) + coulomb_load |tau_load|) tanh(v / v_s)
                   + viscous v + offset + armature a
                   + stiffness (q - q_mid) + balance_sin sin q + balance_cos cos q

tanh is the sign of v smoothed over v_s: at lower speeds the joint is in presliding, which a constant
Coulomb torque does not describe. q_mid is the middle of the joint's range: the slope describes drives whose
friction changes along the range, such as a knee that is driven by a linkage. tau_load is the torque behind
the gear: that of rigid-body dynamics by the nominal parameters, so that the term is linear, less what
contacts carry. The teeth of a gear rub the more, the more they transmit (Hamon, Gautier, Garrec, IROS 2010).
The last line is no friction but what else acts within a joint: a spring, and the counterbalance (gas spring,
weight) of a large arm, whose torque is to first order a sinusoid of the position, as that of gravity is.

Friction opposes the motion, so the measured motor torque exceeds the torque of rigid-body dynamics by
tau_friction. A motor that turns with a combination of joint speeds, w = c'v, adds c times its friction at w,
by the power balance v' tau = w' tau_motor (`joint_couplings`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.coulomb import CoulombLaw, smooth_sign
from inertial_estimation.models.joint_corrections import values_by_joint
from inertial_estimation.models.joint_couplings import COUPLING_TERMS, JointCouplings
from inertial_estimation.models.joint_limits import VELOCITY_DEFAULT, urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

RUN_UP_S = 1.0  # in which the share of the effort accelerates the motor alone to its speed: of servo motors
EFFORT_PER_KG = (
    5.0  # effort limit where the URDF has none [Nm/kg of the robot]: Panda 4.8, KR300 5.6, UR10 11
)


class _Signals(NamedTuple):
    """Signals of all joints, shape (..., n_joints) each."""

    q: Array
    v: Array
    a: Array
    sign: Array  # smoothed, of v
    load: Array | None
    middles: Array | None

    @property
    def from_middle(self) -> Array:
        """Distance from the middle of the range, zero for a joint without limits."""
        if self.middles is None:
            return self.q
        return np.where(np.isnan(self.middles), 0.0, self.q - self.middles)

    @property
    def behind_gear(self) -> Array:
        """Magnitude of the torque that the joint transmits."""
        assert self.load is not None
        return np.abs(self.load)


_FACTORS: Mapping[str, Callable[[_Signals], Array]] = {
    "coulomb": lambda s: s.sign,
    "viscous": lambda s: s.v,
    "offset": lambda s: np.ones_like(s.v),
    "armature": lambda s: s.a,
    "coulomb_slope": lambda s: s.sign * s.from_middle,
    "coulomb_load": lambda s: s.sign * s.behind_gear,
    "stiffness": lambda s: s.from_middle,
    "balance_sin": lambda s: np.sin(s.q),
    "balance_cos": lambda s: np.cos(s.q),
}
FRICTION_TERMS = tuple(_FACTORS)


@dataclass(frozen=True, eq=False)
class FrictionModel:
    """Friction of some joints and motors, each with the same terms.

    Attributes:
        joints: Indices of the joints with friction, in the model's joint order.
        joint_names: Their names.
        terms: Terms of every joint, a subset of `FRICTION_TERMS`.
        n_joints: Number of joints of the robot.
        smoothing_speed: v_s of the Coulomb term [rad/s].
        nominal: Nominal value of each parameter, shape (size,); None: all zero.
        couplings: Motors that drive several joints and have friction as well; None for none.
        middles: Middle of each joint's range [rad], NaN where it has no limits, shape (n_joints,); needed for
            the terms "coulomb_slope" and "stiffness" alone.
    """

    joints: tuple[int, ...]
    joint_names: tuple[str, ...]
    terms: tuple[str, ...]
    n_joints: int
    smoothing_speed: float
    nominal: Array | None = None
    couplings: JointCouplings | None = None
    middles: Array | None = None

    def __post_init__(self) -> None:
        unknown = [term for term in self.terms if term not in FRICTION_TERMS]
        if unknown:
            raise ConfigurationError(
                f"no friction term {listing(unknown)}; there are {listing(FRICTION_TERMS)}"
            )

    @classmethod
    def of_values(
        cls,
        joint_names: tuple[str, ...],
        values: Mapping[str, float],
        smoothing_speed: float,
        middles: Array | None = None,
    ) -> "FrictionModel":
        """Return friction with given parameters.

        Args:
            joint_names: Names of all joints, in the model's order.
            values: By ``joint/term`` and ``coupling/term``; what is not there is zero.
            smoothing_speed: v_s of the Coulomb term [rad/s].
            middles: As the attribute.
        """
        owners = dict.fromkeys(name.rpartition("/")[0] for name, value in values.items() if value)
        used = {name.rpartition("/")[2] for name, value in values.items() if value}
        motors = [owner for owner in owners if owner not in joint_names]
        joints = tuple(j for j, name in enumerate(joint_names) if name in owners)
        model = cls(
            joints,
            tuple(joint_names[j] for j in joints),
            tuple(term for term in FRICTION_TERMS if term in used),
            len(joint_names),
            smoothing_speed,
            couplings=JointCouplings.parsed(motors, joint_names, "friction") if motors else None,
            middles=middles,
        )
        return replace(model, nominal=np.array([float(values.get(name, 0.0)) for name in model.names]))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each parameter, ``joint/term``, term after term; then those of couplings."""
        own = tuple(f"{joint}/{term}" for term in self.terms for joint in self.joint_names)
        coupled = self.couplings.names if self.couplings else ()
        return own + tuple(f"{name}/{term}" for term in self._coupling_terms for name in coupled)

    @property
    def _coupling_terms(self) -> tuple[str, ...]:
        return tuple(term for term in self.terms if term in COUPLING_TERMS) if self.couplings else ()

    @property
    def parameter_terms(self) -> tuple[str, ...]:
        """Term of each parameter."""
        return tuple(name.rpartition("/")[2] for name in self.names)

    @cached_property
    def nominal_values(self) -> Array:
        """Nominal value of each parameter, shape (size,)."""
        return np.zeros(self.size) if self.nominal is None else self.nominal

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.names)

    @property
    def needs_load(self) -> bool:
        """Whether the friction depends on the torque that the joint transmits."""
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
        F = np.zeros((*v.shape[:-1], self.n_joints, self.size))
        joints, count = self._rows, len(self.joints)
        first = np.arange(count)
        for i, factor in enumerate(self._factors(q, v, a, sign, load)):
            F[..., joints, count * i + first] = factor
        column = count * len(self.terms)
        for drive, factor in self._motors(v, a):
            F[..., column : column + factor.shape[-1]] = drive * factor[..., None, :]
            column += factor.shape[-1]
        return F

    def torques(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return tau_friction of the nominal values [Nm], of v's shape; the arguments are of `regressor`."""
        torques = np.zeros_like(v)
        joints, count, values = self._rows, len(self.joints), self.nominal_values
        for i, factor in enumerate(self._factors(q, v, a, sign, load)):
            torques[..., joints] += values[count * i : count * (i + 1)] * factor
        first = count * len(self.terms)
        for drive, factor in self._motors(v, a):
            torques += (values[first : first + factor.shape[-1]] * factor) @ drive.T
            first += factor.shape[-1]
        return torques

    @cached_property
    def _rows(self) -> Any:
        return np.array(self.joints, dtype=np.int64)

    def _factors(
        self, q: Array, v: Array, a: Array, sign: Array | None, load: Array | None
    ) -> Iterator[Array]:
        """Yield what the parameters of each term are multiplied by, shape (..., number of joints)."""
        sign = smooth_sign(v, self.smoothing_speed) if sign is None else sign
        signals = _Signals(q, v, a, sign, load, self.middles)
        return (_FACTORS[term](signals)[..., self._rows] for term in self.terms)

    def _motors(self, v: Array, a: Array) -> Iterator[tuple[Array, Array]]:
        """Yield C' and, for each term, what the parameters of couplings are multiplied by, (..., k)."""
        if self.couplings is None:
            return
        C = self.couplings.matrix.T
        speed = v @ C
        turning = _Signals(speed, speed, a @ C, smooth_sign(speed, self.smoothing_speed), None, None)
        for term in self._coupling_terms:
            yield C, _FACTORS[term](turning)


def _known(what: str, unit: str, *, simulated: bool = True, of: str = "joints") -> Any:
    """Declare known values of a term, one for each joint or coupling."""
    order = ", in the same order" if of == "joints" else ""
    return parameter(
        (),
        f"Known {what} of each entry of nominal_friction.{of}{order}; empty means zero."
        + ("" if simulated else " The simulator does not model it."),
        unit=unit,
    )


def _smoothing_speed(text: str) -> Any:
    """Declare the speed of a sign model, `CoulombLaw`."""
    return parameter(CoulombLaw.smoothing_speed, text, unit="rad/s", lower=1e-6, upper=10.0)


def _presliding(text: str) -> Any:
    """Declare its travel."""
    return parameter(CoulombLaw.presliding, text, unit="rad", lower=0.0, upper=1.0)


@dataclass(frozen=True)
class NominalFriction:
    """Friction that is known, as `inertial-estimation identify` writes it.

    A list is empty or as long as `joints`.
    """

    joints: tuple[str, ...] = parameter((), "Joints whose friction is known.")
    coulomb: tuple[float, ...] = _known("Coulomb friction", "Nm")
    viscous: tuple[float, ...] = _known("viscous friction coefficient", "Nm s/rad")
    offset: tuple[float, ...] = _known("constant torque offset", "Nm")
    armature: tuple[float, ...] = _known("rotor inertia, seen at the joint,", "kg m^2")
    coulomb_slope: tuple[float, ...] = _known(
        "change of the Coulomb friction with the position, zero in the middle of the joint's range,",
        "Nm/rad",
        simulated=False,
    )
    coulomb_load: tuple[float, ...] = _known(
        "increase of the Coulomb friction with the torque behind the gear,", "", simulated=False
    )
    stiffness: tuple[float, ...] = _known(
        "stiffness of a spring about the middle of the joint's range,", "Nm/rad", simulated=False
    )
    balance_sin: tuple[float, ...] = _known(
        "torque of a counterbalance that goes with the sine of the position,", "Nm", simulated=False
    )
    balance_cos: tuple[float, ...] = _known(
        "torque of a counterbalance that goes with the cosine of the position,", "Nm", simulated=False
    )
    couplings: tuple[str, ...] = parameter(
        (), "Motors that drive several joints and have known friction, as in friction.couplings."
    )
    coupling_coulomb: tuple[float, ...] = _known("Coulomb friction", "Nm", of="couplings")
    coupling_viscous: tuple[float, ...] = _known("viscous friction coefficient", "Nm s/rad", of="couplings")
    coupling_armature: tuple[float, ...] = _known("rotor inertia", "kg m^2", of="couplings")
    smoothing_speed: float = _smoothing_speed(
        "Speed over which the Coulomb term of known friction changes sign, as tanh(v / speed); where "
        "friction is known, it holds for estimated friction as well."
    )
    presliding: float = _presliding(
        "Travel over which the Coulomb term of known friction changes sign after a reversal (Dahl's "
        "model); it holds for estimated friction as well. The simulator does not model it."
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

    def values(self, robot: RobotModel) -> dict[str, float]:
        """Return all values that are given, by ``joint/term`` and ``coupling/term``.

        Raises:
            ConfigurationError: If a list is not as long as that of its joints or couplings, or a coupling
                names no joints.
            ~inertial_estimation.errors.ModelError: If a joint does not exist.
        """
        self.by_joint(robot)  # raises what is wrong with the lists of joints
        couplings = JointCouplings.parsed(self.couplings, robot.joint_names, "nominal_friction.couplings")
        lists = [(self.joints, term, getattr(self, term)) for term in FRICTION_TERMS]
        for term in COUPLING_TERMS:
            values = getattr(self, f"coupling_{term}")
            if values and len(values) != couplings.size:
                raise ConfigurationError(
                    f"'nominal_friction.coupling_{term}' has {len(values)} values, expected one for each of "
                    f"its {couplings.size} couplings"
                )
            lists.append((couplings.names, term, values))
        return {
            f"{owner}/{term}": float(value)
            for owners, term, values in lists
            for owner, value in zip(owners if values else (), values, strict=True)
        }


@dataclass(frozen=True)
class FrictionConfig:
    """Which friction parameters are estimated along with the inertias."""

    joints: tuple[str, ...] = parameter(
        (), "Joints whose friction is estimated, by name or shell pattern; empty estimates none."
    )
    terms: tuple[str, ...] = parameter(
        ("coulomb", "viscous"),
        "Terms of the friction model that are estimated for each joint.",
        choices=FRICTION_TERMS,
    )
    couplings: tuple[str, ...] = parameter(
        (),
        "Motors that drive several joints, each by its speed as a combination of joints ('joint_5 + "
        "joint_6'); their friction and rotor inertia (coulomb, viscous, armature of friction.terms) are "
        "estimated.",
    )
    smoothing_speed: float = _smoothing_speed(
        "Speed over which the Coulomb term of estimated friction changes sign, as tanh(v / speed); larger "
        "is smoother."
    )
    presliding: float = _presliding(
        "Travel over which the Coulomb term of estimated friction changes sign after a reversal (Dahl's "
        "model); 0 lets it depend on the speed alone."
    )
    share: float = parameter(
        0.1,
        "Prior standard deviation of estimated friction about its nominal value, as share of each joint's "
        "effort limit; geared drives lose 0.05 to 0.2 of it, and where torques are measured behind the gear, "
        "it is about 0.01.",
        lower=1e-9,
        upper=10.0,
    )


def coulomb_law(friction: FrictionConfig, nominal: NominalFriction) -> CoulombLaw:
    """Return the sign model of Coulomb friction: that of known friction if any, else that of the estimate."""
    source = nominal if nominal.joints or nominal.couplings else friction
    return CoulombLaw(source.smoothing_speed, source.presliding)


def friction_model(
    friction: FrictionConfig, robot: RobotModel, nominal: NominalFriction
) -> tuple[FrictionModel | None, FrictionModel | None]:
    """Resolve the friction parameters against a robot.

    Args:
        friction: The joints, by name or pattern, and the terms to estimate for each.
        robot: The robot.
        nominal: Known friction; an estimated parameter starts from its known value.

    Returns:
        The estimated friction, None where no joint has any, and the known friction that is not estimated,
        None if there is none.

    Raises:
        ConfigurationError: If a pattern matches no joint, or a list of known values has the wrong length.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    joints = robot.joints_matching(friction.joints, "friction.joints")
    known = nominal.values(robot)
    couplings = JointCouplings.parsed(friction.couplings, robot.joint_names, "friction.couplings")
    speed = coulomb_law(friction, nominal).smoothing_speed
    about_middle = {"coulomb_slope", "stiffness"} & {*friction.terms, *(n.rpartition("/")[2] for n in known)}
    middles = urdf_limits(robot).middle if about_middle else None
    estimated = None
    if joints or couplings.size:
        names = tuple(robot.joint_names[j] for j in joints)
        motors = couplings if couplings.size else None
        estimated = FrictionModel(
            joints, names, friction.terms, robot.n_joints, speed, couplings=motors, middles=middles
        )
        start = np.array([known.pop(name, 0.0) for name in estimated.names])
        estimated = replace(estimated, nominal=start)
    if not any(known.values()):
        return estimated, None
    return estimated, FrictionModel.of_values(robot.joint_names, known, speed, middles)


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
    limits = urdf_limits(robot)
    effort = np.where(np.isfinite(limits.effort), limits.effort, EFFORT_PER_KG * robot.total_mass)
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, VELOCITY_DEFAULT)
    joints = {name: [j] for j, name in enumerate(robot.joint_names)}
    if friction.couplings:
        rows = zip(friction.couplings.names, friction.couplings.matrix, strict=True)
        joints |= {name: np.flatnonzero(row).tolist() for name, row in rows}
    sigma = []
    for name in friction.names:
        owner, _, term = name.rpartition("/")
        most, fastest = float(effort[joints[owner]].max()), float(speed[joints[owner]].max())
        units = {"viscous": most / fastest, "armature": RUN_UP_S * most / fastest, "coulomb_load": 1.0}
        sigma.append(share * units.get(term, most))
    return np.array(sigma)
