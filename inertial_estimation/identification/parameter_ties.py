"""The free deviations of the standard parameters: columns of E in phi = phi_nominal + E x."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.models.mirrored_links import MirrorImage, mirror_image
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

ODD_TERMS = ("offset", "coulomb_slope")  # that change their sign with that of the joint's position


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
