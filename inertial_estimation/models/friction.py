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
tau_friction. The friction of a motor that drives several joints is added to it (`joint_couplings`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.coulomb import CoulombLaw, smooth_sign
from inertial_estimation.models.joint_corrections import values_by_joint
from inertial_estimation.models.joint_couplings import COUPLING_TERMS, JointCouplings
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array


def joint_middles(robot: RobotModel) -> Array:
    """Return the middle of each joint's range in the description [rad or m], NaN where it has no limits.

    Args:
        robot: The robot.

    Returns:
        Shape (n_joints,).
    """
    model = robot.model
    middles = np.full(robot.n_joints, np.nan)
    for i, name in enumerate(robot.joint_names):
        joint = model.getJointId(name)
        low, high = (
            float(limits[model.idx_qs[joint]])
            for limits in (model.lowerPositionLimit, model.upperPositionLimit)
        )
        if model.nqs[joint] == 1 and low < high and np.isfinite([low, high]).all():
            middles[i] = 0.5 * (low + high)
    return middles


def from_middle(q: Array, middles: Array | None) -> Array:
    """Return how far joints are from the middles of their ranges, zero for a joint without limits.

    Args:
        q: Joint positions [rad or m], shape (..., n_joints).
        middles: As `joint_middles` returns them; None counts from zero.

    Returns:
        Of q's shape.
    """
    if middles is None:
        return q
    distances: Array = np.where(np.isnan(middles), 0.0, q - middles)
    return distances


POSITION_TERMS = ("stiffness", "balance_sin", "balance_cos")


def position_factor(term: str, q: Array, middles: Array | None) -> Array:
    """Return what a term of `POSITION_TERMS` is multiplied by, of q's shape.

    Args:
        term: A spring about the middle of the range, or a counterbalance by sine or cosine.
        q: Joint positions [rad], shape (..., n_joints).
        middles: Middle of each joint's range, as `joint_middles` returns them.
    """
    if term == "stiffness":
        return from_middle(q, middles)
    return np.asarray(np.sin(q) if term == "balance_sin" else np.cos(q))


@dataclass(frozen=True, eq=False)
class KnownFriction:
    """Friction that is known and not estimated.

    Attributes:
        values: By term (`models.friction`), shape (n_joints,) each; zero where not known, or estimated.
        smoothing_speed: v_s of the Coulomb term [rad/s].
        couplings: Motors that drive several joints; None for none.
        coupled: Their friction by term, shape (k,) each.
        middles: Middle of each joint's range [rad], NaN where it has no limits, shape (n_joints,).
    """

    values: Mapping[str, Array]
    smoothing_speed: float
    couplings: JointCouplings | None = None
    coupled: Mapping[str, Array] = field(default_factory=dict)
    middles: Array | None = None

    @cached_property
    def needs_load(self) -> bool:
        """Whether the friction depends on the torque that the joint transmits."""
        return "coulomb_load" in self.values and bool(self.values["coulomb_load"].any())

    @cached_property
    def _of_position(self) -> dict[str, Array]:
        known = {term: self.values[term] for term in POSITION_TERMS if term in self.values}
        return {term: value for term, value in known.items() if value.any()}

    @cached_property
    def _slope(self) -> Array | None:
        slope = self.values.get("coulomb_slope")
        return slope if slope is not None and slope.any() else None

    def torques(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return tau_friction.

        Args:
            q: Joint positions [rad], shape (..., n_joints).
            v: Joint velocities [rad/s], shape (..., n_joints).
            a: Joint accelerations [rad/s^2], shape (..., n_joints).
            sign: Smoothed sign of the velocity averaged over the window of the other signals; None computes
                it from `v`.
            load: As in `FrictionModel.regressor`, of v's shape; needed where `needs_load`.

        Returns:
            Torques [Nm], of v's shape.
        """
        sign = smooth_sign(v, self.smoothing_speed) if sign is None else sign
        values = self.values
        coulomb = values["coulomb"]
        if self._slope is not None:
            coulomb = coulomb + self._slope * from_middle(q, self.middles)
        if self.needs_load:
            assert load is not None
            coulomb = coulomb + self.values["coulomb_load"] * np.abs(load)
        torques: Array = coulomb * sign + values["viscous"] * v + values["offset"]
        torques = torques + values["armature"] * a
        for term, value in self._of_position.items():
            torques = torques + value * position_factor(term, q, self.middles)
        if self.couplings:
            for term, value in self.coupled.items():
                torques = torques + self.couplings.regressor(term, v, a, self.smoothing_speed) @ value
        return torques


Indices = NDArray[np.int64]
FRICTION_TERMS = (
    *("coulomb", "viscous", "offset", "armature", "coulomb_slope", "coulomb_load"),
    *POSITION_TERMS,
)


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
    couplings: tuple[str, ...] = parameter(
        (),
        "Motors that drive several joints, each by its speed as a combination of joints ('joint_5 + "
        "joint_6'); their friction and rotor inertia (coulomb, viscous, armature of friction.terms) are "
        "estimated.",
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
    coulomb_slope: tuple[float, ...] = parameter(
        (),
        "Known change of the Coulomb friction with the position, zero in the middle of the joint's range, of "
        "each entry of nominal_friction.joints, in the same order; empty means zero. The simulator does not "
        "model it.",
        unit="Nm/rad",
    )
    coulomb_load: tuple[float, ...] = parameter(
        (),
        "Known increase of the Coulomb friction with the torque behind the gear, of each entry of "
        "nominal_friction.joints, in the same order; empty means zero. The simulator does not model it.",
    )
    stiffness: tuple[float, ...] = parameter(
        (),
        "Known stiffness of a spring about the middle of the joint's range, of each entry of "
        "nominal_friction.joints, in the same order; empty means zero. The simulator does not model it.",
        unit="Nm/rad",
    )
    balance_sin: tuple[float, ...] = parameter(
        (),
        "Known torque of a counterbalance that goes with the sine of the position, of each entry of "
        "nominal_friction.joints, in the same order; empty means zero. The simulator does not model it.",
        unit="Nm",
    )
    balance_cos: tuple[float, ...] = parameter(
        (),
        "Known torque of a counterbalance that goes with the cosine of the position, of each entry of "
        "nominal_friction.joints, in the same order; empty means zero. The simulator does not model it.",
        unit="Nm",
    )
    couplings: tuple[str, ...] = parameter(
        (), "Motors that drive several joints and have known friction, as in friction.couplings."
    )
    coupling_coulomb: tuple[float, ...] = parameter(
        (),
        "Known Coulomb friction of each entry of nominal_friction.couplings; empty means zero.",
        unit="Nm",
    )
    coupling_viscous: tuple[float, ...] = parameter(
        (),
        "Known viscous friction coefficient of each entry of nominal_friction.couplings; empty means zero.",
        unit="Nm s/rad",
    )
    coupling_armature: tuple[float, ...] = parameter(
        (),
        "Known rotor inertia of each entry of nominal_friction.couplings; empty means zero.",
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

    def by_coupling(self, robot: RobotModel) -> tuple[JointCouplings, dict[str, Array]]:
        """Return the known couplings and the values of every term of them, shape (k,) each.

        Raises:
            ConfigurationError: If a list is not as long as `couplings`, or a coupling names no joints.
        """
        couplings = JointCouplings.parsed(self.couplings, robot.joint_names, "nominal_friction.couplings")
        by_term = {}
        for term in COUPLING_TERMS:
            values = getattr(self, f"coupling_{term}")
            if values and len(values) != couplings.size:
                raise ConfigurationError(
                    f"'nominal_friction.coupling_{term}' has {len(values)} values, expected one for each of "
                    f"its {couplings.size} couplings"
                )
            by_term[term] = np.array(values) if values else np.zeros(couplings.size)
        return couplings, by_term


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
        couplings: Motors that drive several joints, whose friction is estimated as well; None for none.
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

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each parameter, ``joint/term``, term after term; then those of couplings."""
        own = tuple(f"{joint}/{term}" for term in self.terms for joint in self.joint_names)
        coupled = self.couplings.names if self.couplings else ()
        return own + tuple(f"{name}/{term}" for term in self.coupling_terms for name in coupled)

    @property
    def coupling_terms(self) -> tuple[str, ...]:
        """Terms that are estimated of each coupling."""
        return tuple(term for term in self.terms if term in COUPLING_TERMS) if self.couplings else ()

    @property
    def parameter_terms(self) -> tuple[str, ...]:
        """Term of each parameter."""
        return tuple(name.rpartition("/")[2] for name in self.names)

    @property
    def nominal_values(self) -> Array:
        """Nominal value of each parameter, shape (size,)."""
        return np.zeros(self.size) if self.nominal is None else self.nominal

    @cached_property
    def _places(self) -> list[tuple[str, Indices, Indices]]:
        """Of each term the joints with friction, and their columns."""
        joints = np.array(self.joints, dtype=np.int64)
        first = np.arange(len(joints))
        return [(term, joints, i * len(joints) + first) for i, term in enumerate(self.terms)]

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        coupled = len(self.coupling_terms) * self.couplings.size if self.couplings else 0
        return len(self.terms) * len(self.joints) + coupled

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
        for term, joints, columns in self._places:
            if term.startswith("coulomb"):
                values = smooth_sign(v, self.smoothing_speed) if sign is None else sign
                if term == "coulomb_slope":
                    values = values * from_middle(q, self.middles)
                elif term == "coulomb_load":
                    assert load is not None
                    values = values * np.abs(load)
            elif term == "viscous":
                values = v
            elif term == "offset":
                values = np.ones_like(v)
            elif term in POSITION_TERMS:
                values = position_factor(term, q, self.middles)
            else:
                values = a
            F[..., joints, columns] = values[..., joints]
        if self.couplings:
            first = len(self.terms) * len(self.joints)
            for term in self.coupling_terms:
                last = first + self.couplings.size
                F[..., first:last] = self.couplings.regressor(term, v, a, self.smoothing_speed)
                first = last
        return F


def coulomb_law(terms: FrictionTerms, nominal: NominalFriction) -> CoulombLaw:
    """Return the sign model of Coulomb friction: that of known friction if any, else that of the estimate."""
    source = nominal if nominal.joints or nominal.couplings else terms
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
    known_couplings, coupled = nominal.by_coupling(robot)
    couplings = JointCouplings.parsed(terms.couplings, robot.joint_names, "friction.couplings")
    speed = coulomb_law(terms, nominal).smoothing_speed
    from_middles = {"coulomb_slope", "stiffness"} & set(terms.terms)
    middled = from_middles or nominal.coulomb_slope or nominal.stiffness
    middles = joint_middles(robot) if middled else None
    estimated = None
    if joints or couplings.size:
        names = tuple(robot.joint_names[j] for j in joints)
        estimated = FrictionModel(
            joints,
            names,
            terms.terms,
            robot.n_joints,
            speed,
            couplings=couplings if couplings.size else None,
            middles=middles,
        )
        at = [known_couplings.names.index(n) if n in known_couplings.names else -1 for n in couplings.names]
        start = [known[term][list(joints)] for term in terms.terms]
        for term in estimated.coupling_terms:
            start.append(np.array([coupled[term][i] if i >= 0 else 0.0 for i in at]))
            coupled[term][[i for i in at if i >= 0]] = 0.0
        for term in terms.terms:
            known[term][list(joints)] = 0.0
        estimated = replace(estimated, nominal=np.concatenate(start))
    if not any(values.any() for values in (*known.values(), *coupled.values())):
        return estimated, None
    rest = KnownFriction(known, speed, known_couplings if known_couplings.size else None, coupled, middles)
    return estimated, rest
