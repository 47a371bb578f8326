"""The unknowns of an identification and their relation to the standard parameters.

A load fixed to a link is identified as a body of its own in addition to the bodies of the robot. Its ten
parameters act through the columns of the body that carries it: with A_b the regressor of that body,

    loaded recording:    dtau = A x + A_b X pi_load        unloaded recording:    dtau = A x

so the load has a prior, a condition of physical consistency and a standard deviation of its own, none of
which depends on the nominal inertia of the link. From recordings with the load alone, only their priors
separate load and link (two recordings: Khalil, Gautier and Lemoine 2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError, listing
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.bodies import BodyReference, estimated_bodies, mirror_image
from inertial_estimation.models.friction import FrictionModel, friction_deviations, friction_model
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES, transfer_matrix

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
LOAD_SHARE = 0.3  # prior standard deviation of the mass of a load over the mass of the robot
LOAD_REACH_M = 0.3  # distance from the frame of its link within which a load is expected: a tool, a hand [m]


@dataclass(frozen=True, eq=False)
class PayloadUnknowns:
    """The last ten unknowns: the parameters of a load about the frame of its link."""

    link: str  # link to which it is fixed
    name: str  # name of the load
    unit: Array  # prior standard deviation of each parameter about zero, shape (10,)


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Standard parameters phi = phi_nominal + E x of deviations x.

    phi stacks ten parameters of each body about its link frame in Pinocchio's order, then friction, then the
    ten parameters of a load if one is identified. E selects a subset, makes the parameters of mirrored links
    equal, or keeps all parameters.
    """

    bodies: tuple[BodyReference, ...]
    friction: FrictionModel | None
    names: tuple[str, ...]  # name of each entry of phi
    units: tuple[str, ...]  # unit of each entry of phi
    nominal: Array  # phi_nominal, shape (p,); of mirrored links the mean of both sides
    unknowns: tuple[str, ...]  # name of each entry of x
    E: Array  # derivative of phi by x, shape (p, n)
    to_joint: Array  # maps phi, with a load, to parameters about the joint frames, shape (r, p)
    friction_sigma: Array  # prior standard deviation of each friction parameter
    to_joint_unloaded: Array | None = None  # the same map without the load; None if no load is identified
    payload: PayloadUnknowns | None = None

    @property
    def friction_rows(self) -> range:
        """Positions of the friction parameters in phi."""
        first = 10 * len(self.bodies)
        return range(first, first + len(self.friction_sigma))

    def standard(self, x: Array) -> Array:
        """Return phi of unknowns, shape (p,)."""
        return self.nominal + self.E @ x

    def body(self, phi: Array, index: int) -> Array:
        """Return the ten parameters of a body about its link frame, shape (10,)."""
        return phi[10 * index : 10 * index + 10]


def parameter_set(config: IdentificationConfig, robot: RobotModel) -> ParameterSet:
    """Return the unknowns of an identification, with the names of its config resolved against a robot.

    Raises:
        ConfigurationError: If a pattern matches no link or joint, mirrored links are no mirror images, or a
            link has the name of the load.
        ~inertial_estimation.errors.ModelError: If the link of the load does not exist.
        ~inertial_estimation.errors.InconsistentInertiaError: If a body has no mass.
    """
    links, load = chosen_links(robot, config.links), config.payload
    if load and robot.link_body(load).joint_id not in [robot.link_body(link).joint_id for link in links]:
        links += (load,)  # the body that carries the load is always among the unknowns
    bodies = estimated_bodies(robot, links)
    friction, _known = friction_model(config.friction, robot, config.robot.nominal_friction)
    owners = friction.names if friction else ()
    names = (*(f"{body.link}/{name}" for body in bodies for name in PARAMETER_NAMES), *owners)
    E, unknowns = _within_bodies(bodies, names, config.parameters)
    found = ParameterSet(
        bodies=bodies,
        friction=friction,
        names=names,
        units=(
            *BODY_UNITS * len(bodies),
            *(FRICTION_UNITS[term] for term in (friction.parameter_terms if friction else ())),
        ),
        nominal=np.concatenate(
            [
                *(body.to_link @ body.nominal_C for body in bodies),
                friction.nominal_values if friction else np.zeros(0),
            ]
        ),
        unknowns=unknowns,
        E=E,
        to_joint=block_diag(
            *(body.to_joint @ linear_algebra.inv(body.to_link) for body in bodies), np.eye(len(owners))
        ),
        friction_sigma=friction_deviations(friction, robot, config.friction.share)
        if friction
        else np.zeros(0),
    )
    if config.symmetry:
        found = _mirrored(found, robot, config.symmetry)
    return _with_payload(found, robot, load) if load else found


def identifiable_links(robot: RobotModel) -> tuple[str, ...]:
    """Return one link of every body that moves and has a mass in the description."""
    joints = [j for j in range(1, robot.model.njoints) if robot.model.inertias[j].mass > 0.0]
    return tuple(robot.body_links(joint)[0] for joint in joints)


def held_links(robot: RobotModel, parameters: ParameterSet) -> tuple[str, ...]:
    """Return one link of every body that moves, has a mass in the description and is not identified."""
    joints = {body.joint_id for body in parameters.bodies}
    return tuple(link for link in identifiable_links(robot) if robot.link_body(link).joint_id not in joints)


def chosen_links(robot: RobotModel, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the links whose bodies are identified, one for each body, in the model's order.

    Patterns are names or shell patterns; without any, all bodies that move are chosen.

    Raises:
        ConfigurationError: If a pattern matches no link that moves.
        InconsistentInertiaError: If bodies have no mass; the message names all of them.
    """
    links = robot.links_matching(patterns or ("*",), "'links'")
    empty = [link for link in links if not robot.link_body(link).nominal_J.mass > 0.0]
    if empty:
        raise InconsistentInertiaError(
            f"the description gives no mass to {listing(empty)}; correct it, lock the joint, or list in "
            "'links' those to identify"
        )
    return links


def _within_bodies(
    bodies: Sequence[BodyReference], names: tuple[str, ...], parameters: str
) -> tuple[Array, tuple[str, ...]]:
    """Return E and the names of the unknowns, for bodies that are independent, and for friction.

    With "mass_com" the moments of inertia about the nominal centre of mass, a point fixed in the link, are
    constant: the unknowns are the mass and its first moments about the link frame, and the moments of
    inertia about that frame follow from them.
    """
    if parameters == "all":
        return np.eye(len(names)), names
    blocks = []
    for body in bodies:
        unit = np.array([1.0, *3 * [body.length]])  # pi_C counts lengths in units of body.length
        about_com = body.to_link[:, :4] / unit
        blocks.append(about_com @ linear_algebra.inv(about_com[:4]))
    n_body = 10 * len(bodies)
    free = [name for i in range(0, n_body, 10) for name in names[i : i + 4]]
    return block_diag(*blocks, np.eye(len(names) - n_body)), (*free, *names[n_body:])


def _mirrored(parameters: ParameterSet, robot: RobotModel, symmetry: Sequence[str]) -> ParameterSet:
    """Express the parameters of links on the right by those on the left, for pairs 'left=right'.

    Mirrored rotors are equal by design, but each drive has its own friction.

    Raises:
        ConfigurationError: If no pair is found, or the links of a pair are no mirror images.
    """
    row = {name: i for i, name in enumerate(parameters.names)}
    ties: list[tuple[range, range, Array]] = []  # phi[right] = M phi[left]
    for left, right in _pairs([body.link for body in parameters.bodies], symmetry):
        image = mirror_image(robot, left, right)
        first = (row[f"{link}/{PARAMETER_NAMES[0]}"] for link in (left, right))
        l_rows, r_rows = (range(i, i + 10) for i in first)
        ties.append((l_rows, r_rows, image.parameters))
        near, far = (row.get(f"{joint}/armature") for joint in (image.left_joint, image.right_joint))
        if near is not None and far is not None:
            ties.append((range(near, near + 1), range(far, far + 1), np.eye(1)))
    E, nominal = parameters.E.copy(), parameters.nominal.copy()
    kept = np.ones(E.shape[1], dtype=bool)
    for l_rows, r_rows, M in ties:
        mirrored = linear_algebra.solve(M, nominal[r_rows])
        nominal[l_rows] = 0.5 * (nominal[l_rows] + mirrored)
        nominal[r_rows] = M @ nominal[l_rows]
        kept &= ~(np.abs(E[r_rows]).max(axis=0) > 0.0)
        E[r_rows] = M @ E[l_rows]
    names = tuple(name for name, keep in zip(parameters.unknowns, kept, strict=True) if keep)
    return replace(parameters, nominal=nominal, unknowns=names, E=E[:, kept])


def _pairs(links: list[str], symmetry: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in symmetry:
        left, equals, right = text.partition("=")
        if not (left and equals and right):
            raise ConfigurationError(f"'{text}' in symmetry has not the form 'left=right'")
        images = [(link, link.replace(left, right)) for link in links]
        found = [(link, image) for link, image in images if image in links and image != link]
        if not found:
            raise ConfigurationError(
                f"symmetry '{text}' pairs none of the identified links {listing(links)}; both sides must be "
                "identified"
            )
        pairs += found
    return pairs


def _with_payload(parameters: ParameterSet, robot: RobotModel, link: str) -> ParameterSet:
    """Add the ten parameters of a load about its link's frame at the end of the unknowns.

    Raises:
        ConfigurationError: If a link already has the name of the load.
    """
    carrier, name = robot.link_body(link), f"{link}_payload"
    body = next(i for i, b in enumerate(parameters.bodies) if b.joint_id == carrier.joint_id)
    if name in robot.link_names:
        raise ConfigurationError(
            f"the description already has a link '{name}', the load of an earlier identification: remove it, "
            "or name another link as 'payload'"
        )
    to_joint = np.hstack((parameters.to_joint, np.zeros((len(parameters.to_joint), 10))))
    loaded = to_joint.copy()
    loaded[10 * body : 10 * body + 10, -10:] = transfer_matrix(carrier.T_JL)
    names = tuple(f"{name}/{parameter}" for parameter in PARAMETER_NAMES)
    size = np.array([1.0, *3 * [LOAD_REACH_M], *6 * [LOAD_REACH_M**2]])
    return replace(
        parameters,
        names=parameters.names + names,
        units=parameters.units + BODY_UNITS,
        nominal=np.concatenate((parameters.nominal, np.zeros(10))),
        unknowns=parameters.unknowns + names,
        E=block_diag(parameters.E, np.eye(10)),
        to_joint=loaded,
        to_joint_unloaded=to_joint,
        payload=PayloadUnknowns(link, name, LOAD_SHARE * robot.total_mass * size),
    )
