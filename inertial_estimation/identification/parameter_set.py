"""The unknowns of an identification and their relation to the standard parameters."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError, did_you_mean, listing
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.body_reference import BodyReference, estimated_bodies
from inertial_estimation.models.friction import FrictionModel, friction_model
from inertial_estimation.models.friction_prior import friction_deviations
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.models.mirrored_links import MirrorImage, mirror_image
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES

ODD_TERMS = (
    "offset",
    "coulomb_slope",
    "balance_cos",
)  # that change their sign with that of the joint's position


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of E.

    Attributes:
        rows: Name of each standard parameter.
        names: Name of each unknown: that of the standard parameter it moves by one.
        E: Shape (p, n).
    """

    rows: tuple[str, ...]
    names: tuple[str, ...]
    E: Array


def within_bodies(bodies: Sequence[BodyReference], names: tuple[str, ...], parameters: str) -> Columns:
    """Return the columns of independent bodies and of all friction.

    With "mass_com" the moments of inertia about the nominal centre of mass, a point fixed in the link, are
    constant: the unknowns are the mass and its first moments about the link frame, and the moments of
    inertia about that frame follow from them.

    Args:
        bodies: The bodies.
        names: Names of the standard parameters, those of the bodies first.
        parameters: "all" or "mass_com".
    """
    if parameters == "all":
        return Columns(names, names, np.eye(len(names)))
    n_body, n_friction = 10 * len(bodies), len(names) - 10 * len(bodies)
    E = np.zeros((len(names), 4 * len(bodies) + n_friction))
    for i, body in enumerate(bodies):
        unit = np.array([1.0, *3 * [body.length]])  # pi_C counts lengths in units of body.length
        about_com = body.to_link[:, :4] / unit
        E[10 * i : 10 * i + 10, 4 * i : 4 * i + 4] = about_com @ linear_algebra.inv(about_com[:4])
    E[n_body:, 4 * len(bodies) :] = np.eye(n_friction)
    free = [name for i in range(len(bodies)) for name in names[10 * i : 10 * i + 4]]
    return Columns(names, (*free, *names[n_body:]), E)


def mirrored_columns(
    robot: RobotModel,
    bodies: Sequence[BodyReference],
    friction: FrictionModel | None,
    columns: Columns,
    nominal: Array,
    symmetry: Sequence[str],
    friction_terms: Sequence[str],
) -> tuple[Columns, Array, float]:
    """Tie the parameters of links on the right to those of their mirror images on the left.

    Args:
        robot: The robot.
        bodies: The bodies, those of both sides.
        friction: Their friction.
        columns: Columns without symmetry.
        nominal: phi_nominal, shape (p,).
        symmetry: Parts of link names, 'left=right' each.
        friction_terms: Terms of the friction that mirrored joints have in common.

    Returns:
        The remaining columns, phi_nominal with the mean of both sides, and the largest relative difference
            between the sides in the description.

    Raises:
        ConfigurationError: If no pair is found, or the links of one are no mirror images.
    """
    pairs = _pairs([body.link for body in bodies], symmetry)
    E, nominal, kept = columns.E.copy(), nominal.copy(), np.ones(len(columns.names), dtype=bool)
    index = {body.link: i for i, body in enumerate(bodies)}
    row = {name: i for i, name in enumerate(columns.rows)}
    asymmetry = 0.0
    ties: list[tuple[Indices, Indices, Array]] = []
    for left, right in pairs:
        image = mirror_image(robot, left, right)
        l_rows, r_rows = (np.arange(10 * index[link], 10 * index[link] + 10) for link in (left, right))
        ties.append((l_rows, r_rows, image.parameters))
        ties += _friction_ties(friction, friction_terms, image, row)
    for l_rows, r_rows, M in ties:
        own = linear_algebra.solve(M, nominal[r_rows])
        size = np.abs(nominal[l_rows]).max()
        asymmetry = max(asymmetry, float(np.abs(nominal[l_rows] - own).max()) / size if size else 0.0)
        nominal[l_rows] = 0.5 * (nominal[l_rows] + own)
        nominal[r_rows] = M @ nominal[l_rows]
        kept &= ~(np.abs(E[r_rows]).max(axis=0) > 0.0)
        E[r_rows] = M @ E[l_rows]
    names = tuple(name for name, keep in zip(columns.names, kept, strict=True) if keep)
    return Columns(columns.rows, names, E[:, kept]), nominal, asymmetry


def _pairs(links: list[str], symmetry: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in symmetry:
        left, equals, right = text.partition("=")
        if not (left and equals and right):
            raise ConfigurationError(f"'{text}' in symmetry has not the form 'left=right'")
        found = [
            (link, link.replace(left, right))
            for link in links
            if left in link and link.replace(left, right) in links and link.replace(left, right) != link
        ]
        if not found:
            raise ConfigurationError(
                f"symmetry '{text}' pairs none of the identified links {listing(links)}; both sides must be "
                "identified"
            )
        pairs += found
    return pairs


def _friction_ties(
    friction: FrictionModel | None, terms: Sequence[str], image: MirrorImage, row: dict[str, int]
) -> list[tuple[Indices, Indices, Array]]:
    ties = []
    for term in friction.terms if friction else ():
        if term not in terms:
            continue
        left, right = (f"{joint}/{term}" for joint in (image.left_joint, image.right_joint))
        if left in row and right in row:
            sign = image.joint_sign if term in ODD_TERMS else 1.0
            ties.append((np.array([row[left]]), np.array([row[right]]), np.array([[sign]])))
    return ties


BODY_UNITS = ("kg", "kg m", "kg m", "kg m", *6 * ("kg m^2",))
FRICTION_UNITS = {
    "coulomb": "Nm",
    "viscous": "Nm s/rad",
    "offset": "Nm",
    "armature": "kg m^2",
    "coulomb_slope": "Nm/rad",
    "coulomb_load": "1",
    "stiffness": "Nm/rad",
    "balance_sin": "Nm",
    "balance_cos": "Nm",
}


@dataclass(frozen=True, eq=False)
class PayloadUnknowns:
    """The last ten unknowns: the parameters of a load about the frame of its link.

    Attributes:
        link: The link it is fixed to.
        name: Name of the load.
        unit: Prior standard deviation of each parameter about zero, shape (10,).
    """

    link: str
    name: str
    unit: Array


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Standard parameters phi = phi_nominal + E x of deviations x.

    phi stacks ten parameters of each body about its link frame, Pinocchio's order, then friction, then the
    ten parameters of a load if one is identified. E selects a subset, ties mirrored links to each other, or
    keeps all parameters.

    Attributes:
        bodies: The identified bodies.
        friction: The identified friction, None for none.
        names: Name of each entry of phi.
        units: Unit of each entry of phi.
        nominal: phi_nominal, shape (p,); of mirrored links the mean of both sides.
        unknowns: Name of each entry of x.
        E: Shape (p, n).
        to_joint: Maps phi to parameters about the joint frames, which the regressor multiplies, shape (r, p);
            the body that carries the load contains it.
        asymmetry: Largest relative difference of mirrored links in the description, 0 without symmetry.
        to_joint_unloaded: The same without the load; None where no load is identified.
        payload: The load; None for none.
        friction_sigma: Prior standard deviation of each friction parameter, shape (number of them,).
    """

    bodies: tuple[BodyReference, ...]
    friction: FrictionModel | None
    names: tuple[str, ...]
    units: tuple[str, ...]
    nominal: Array
    unknowns: tuple[str, ...]
    E: Array
    to_joint: Array
    asymmetry: float = 0.0
    to_joint_unloaded: Array | None = None
    payload: PayloadUnknowns | None = None
    friction_sigma: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def friction_rows(self) -> range:
        """Positions of the friction parameters in phi."""
        first = 10 * len(self.bodies)
        return range(first, first + (self.friction.size if self.friction else 0))

    def standard(self, x: Array) -> Array:
        """Return phi of unknowns, shape (p,)."""
        phi: Array = self.nominal + self.E @ x
        return phi

    def body(self, phi: Array, index: int) -> Array:
        """Return the ten parameters of a body about its link frame, shape (10,)."""
        return phi[10 * index : 10 * index + 10]


def parameter_set(config: IdentificationConfig, robot: RobotModel) -> ParameterSet:
    """Resolve what is identified against a robot.

    Args:
        config: Links, parameters, symmetry and friction.
        robot: The robot.

    Raises:
        ConfigurationError: If a pattern matches no link or joint, or mirrored links are no mirror images.
        ~inertial_estimation.errors.InconsistentInertiaError: If a body has no mass.
    """
    links = chosen_links(robot, config.links)
    load = config.payload.link
    joints = [robot.link_body(link).joint_id for link in (load, *links) if link]
    if load and joints[0] not in joints[1:]:
        links += (load,)  # the body that carries the load is always among the unknowns
    bodies = estimated_bodies(robot, links)
    friction, _known = friction_model(config.friction, robot, config.robot.nominal_friction)
    names = tuple(f"{body.link}/{name}" for body in bodies for name in PARAMETER_NAMES)
    units = BODY_UNITS * len(bodies)
    nominal = np.concatenate([body.to_link @ body.nominal_C for body in bodies])
    maps = [body.to_joint @ linear_algebra.inv(body.to_link) for body in bodies]
    if friction:
        names += friction.names
        units += tuple(FRICTION_UNITS[term] for term in friction.parameter_terms)
        nominal = np.concatenate((nominal, friction.nominal_values))
    to_joint = np.eye(len(names))
    for i, X in enumerate(maps):
        to_joint[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = X
    columns = within_bodies(bodies, names, config.parameters)
    asymmetry = 0.0
    if config.symmetry:
        columns, nominal, asymmetry = mirrored_columns(
            robot,
            bodies,
            friction,
            Columns(names, columns.names, columns.E),
            nominal,
            config.symmetry,
            config.symmetric_friction,
        )
    return ParameterSet(
        bodies,
        friction,
        names,
        units,
        nominal,
        columns.names,
        columns.E,
        to_joint,
        asymmetry,
        friction_sigma=friction_deviations(friction, robot, config.friction.prior)
        if friction
        else np.zeros(0),
    )


def chosen_links(robot: RobotModel, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the links whose bodies are identified, one for each body, in the model's order.

    Args:
        robot: The robot.
        patterns: Names or shell patterns; empty selects all bodies that move.

    Raises:
        ConfigurationError: If a pattern matches no link that moves.
        InconsistentInertiaError: If bodies have no mass; all are named.
    """
    moving = {link: robot.link_body(link).joint_id for link in robot.link_names}
    moving = {link: joint for link, joint in moving.items() if joint}
    owner: dict[int, str] = {}
    for pattern in patterns or ("*",):
        hits = [link for link in moving if fnmatch.fnmatchcase(link, pattern)]
        if not hits:
            hint = did_you_mean(pattern, moving, "the model has")
            raise ConfigurationError(f"no moving link matches '{pattern}'{hint}")
        exact = any(link == pattern for link in hits)
        for link in hits:
            if exact and owner.get(moving[link], link) != link:
                raise ConfigurationError(
                    f"links '{owner[moving[link]]}' and '{link}' belong to one rigid body; name one of them"
                )
            owner.setdefault(moving[link], link)
    empty = [link for joint, link in owner.items() if not robot.model.inertias[joint].mass > 0.0]
    if empty:
        raise InconsistentInertiaError(
            f"the description gives no mass to {listing(empty)}; correct it, lock the joint, or list in "
            "'links' those to identify"
        )
    return tuple(owner[joint] for joint in sorted(owner))
