"""Limbs of a robot, and postures found from the model alone.

A limb is the chain of moving joints from the base to an end of the tree. Legs stand by bounded least squares
on their joints: the feet are level, below their places in the zero posture or, where that cannot be, of
stretched legs, at one height, and their middle is below the centre of mass; left and right are mirror images.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.random import Generator
from scipy.optimize import OptimizeResult, least_squares

from inertial_estimation.errors import ModelError
from inertial_estimation.models.bodies import S
from inertial_estimation.models.joint_limits import joint_limits, urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

MARGIN, MARGIN_SHARE = 0.05, 0.1  # kept from a position limit: at most so much, and so much of the range
HEIGHTS = (0.93, 0.85, 0.75)  # over the largest: on soles the first is the best, on points the last
TOLERANCE = 2e-3  # [m, rad] of a foot, beyond which the posture is refused
REGULARISATION, SYMMETRY = 0.001, 0.03  # weights of the distance from rest [1/rad] and of mirrored joints
STARTS, EVALUATIONS = 4, 60
BEND = 0.6  # largest change of a joint at the start of a search [rad]


@dataclass(frozen=True, eq=False)
class Limb:
    """A chain from the base to one end of the tree of moving joints."""

    joints: tuple[str, ...]  # names of its joints, from the base outwards
    links: tuple[str, ...]  # all links that these joints move, from the base outwards
    bodies: tuple[str, ...]  # first link of every moving body, from the base outwards
    own: int  # how many of the last joints belong to no other limb

    @property
    def end(self) -> str:
        """First link of the last body."""
        return self.bodies[-1]


def limbs_of(robot: RobotModel) -> tuple[Limb, ...]:
    """Return the limbs of a robot, in the order of the model."""
    model, found = robot.model, []
    first = model.njoints - robot.n_joints
    parents = [int(parent) for parent in model.parents]
    for leaf in sorted(set(range(first, model.njoints)) - set(parents)):
        chain = [int(j) for j in model.supports[leaf] if j >= first]
        own = 1
        while own < len(chain) and parents.count(chain[-own - 1]) == 1:
            own += 1
        links = [robot.body_links(j) for j in chain]
        names = tuple(str(model.names[j]) for j in chain)
        bodies = tuple(of_body[0] if of_body else name for of_body, name in zip(links, names, strict=True))
        found.append(Limb(names, tuple(link for of_body in links for link in of_body), bodies, own))
    return tuple(found)


def end_links(robot: RobotModel, limb: Limb) -> tuple[str, ...]:
    """Return the links of the last body of a limb, the first one nearest to its joint."""
    return robot.body_links(robot.link_body(limb.end).joint_id)


def subtree_masses(robot: RobotModel) -> dict[str, float]:
    """Return the mass that every joint moves [kg], by the joint's name."""
    model, data = robot.model, robot.model.createData()
    pin.computeSubtreeMasses(model, data)
    return {str(model.names[j]): float(data.mass[j]) for j in range(1, model.njoints)}


def rest_posture(robot: RobotModel, room: float = MARGIN, share: float = MARGIN_SHARE) -> Array:
    """Return the posture nearest to zero that keeps a margin from the position limits, shape (n_joints,).

    Args:
        robot: The robot.
        room: Largest margin [rad or m].
        share: Largest margin as share of a joint's range.
    """
    limits = urdf_limits(robot)
    margin = np.minimum(room, share * (limits.upper - limits.lower))
    posture: Array = np.clip(np.zeros(robot.n_joints), limits.lower + margin, limits.upper - margin)
    return posture


class _Legs:
    """Residuals of a standing posture, of the positions x of the legs' joints."""

    def __init__(self, robot: RobotModel, legs: Sequence[Limb], feet: Sequence[str], *, soles: bool) -> None:
        self.robot, self.soles = robot, soles
        self._data = robot.model.createData()
        self._feet = [robot.frame_id(name) for name in feet]
        self.joints = np.array([robot.joint_index(n) for leg in legs for n in leg.joints], dtype=int)
        if len(set(self.joints.tolist())) != len(self.joints):
            raise ModelError("the legs share joints, expected each to begin at the base")
        self._chains = [[robot.model.getJointId(name) for name in leg.joints] for leg in legs]
        self.rest = rest_posture(robot)
        limits = joint_limits(robot)
        margin = np.minimum(MARGIN, MARGIN_SHARE * (limits.upper - limits.lower))
        self.bounds = (limits.lower + margin)[self.joints], (limits.upper - margin)[self.joints]
        self.start = np.clip(self.rest[self.joints], *self.bounds)
        self.height = 0.0
        R_BF, self._home, origins, _com = self._at(np.zeros(robot.n_joints))
        self.hips = max(float(chain[0, 2]) for chain in origins)  # above the base [m]
        self._forward = [_along(R) for R in R_BF]
        pairs = _mirrored_pairs(self._home)
        for i, j in pairs:  # zero need not be the same posture left and right
            self._home[i] = 0.5 * (self._home[i] + self._home[j] @ S)
            self._home[j] = self._home[i] @ S
        self._pairs = [(i, j) for i, j in pairs if len(self._chains[i]) == len(self._chains[j])]

    def stand_below(self, x: Array) -> None:
        """Take the places of the feet in a posture of the legs as those below which they stand."""
        self._home = self._at(self.posture(x))[1]

    def posture(self, x: Array) -> Array:
        q: Array = self.rest.copy()
        q[self.joints] = x
        return q

    def _at(self, q: Array) -> tuple[list[Array], Array, list[Array], Array]:
        """Return orientations and positions of the feet, origins of the legs' joints, centre of mass."""
        model, data = self.robot.model, self._data
        com = pin.centerOfMass(model, data, self.robot.configuration(q))
        poses = [pin.updateFramePlacement(model, data, frame) for frame in self._feet]
        placed = data.oMi
        origins = [np.array([placed[j].translation for j in chain]) for chain in self._chains]
        positions = np.array([pose.translation for pose in poses])
        return [pose.rotation.copy() for pose in poses], positions, origins, com.copy()

    def depth(self, x: Array) -> Array:
        """Distance of the feet from far below, which is least with stretched legs."""
        _R, feet, origins, _com = self._at(self.posture(x))
        far = 3.0 * (1.0 + float(np.abs(self._home).max()))
        sideways = 0.3 * (feet[:, :2] - np.array([chain[0, :2] for chain in origins])).ravel()
        return np.concatenate([feet[:, 2] + far, sideways, REGULARISATION * (x - self.rest[self.joints])])

    def errors(self, x: Array) -> Array:
        """Errors of the feet alone [m, rad]: heights, then places and directions."""
        return self._errors(*self._at(self.posture(x)))

    def _errors(self, R_BF: list[Array], feet: Array, _origins: list[Array], com: Array) -> Array:
        offset, middle = feet[:, 0] - self._home[:, 0], [feet[:, 0].mean() - com[0]]
        errors = [feet[:, 2] + self.height, feet[:, 1] - self._home[:, 1], offset - offset.mean(), middle]
        for R, (along, across) in zip(R_BF if self.soles else (), self._forward, strict=self.soles):
            errors.append(np.array([R[0, 2], R[1, 2], along * R[1, 0] - across * R[0, 0]]))
        return np.concatenate(errors)

    def residuals(self, x: Array) -> Array:
        """Errors of the feet, asymmetry of the legs and distance from rest."""
        R_BF, feet, origins, com = self._at(self.posture(x))
        mirrored = [SYMMETRY * (origins[i] @ S - origins[j]).ravel() for i, j in self._pairs]
        errors = self._errors(R_BF, feet, origins, com)
        return np.concatenate([errors, *mirrored, REGULARISATION * (x - self.rest[self.joints])])

    def best(self, rng: Generator) -> Array:
        """Return the best of several searches, the first of which begins at rest."""
        best = None
        for k in range(STARTS):
            bend = rng.uniform(-BEND, BEND, size=len(self.start)) if k else 0.0
            found = self.search(self.residuals, np.clip(self.start + bend, *self.bounds))
            if best is None or found.cost < best.cost:
                best = found
            if float(np.abs(self.errors(best.x)).max()) < TOLERANCE:
                break
        assert best is not None
        x: Array = best.x
        return x

    def search(self, residuals: Callable[[Array], Array], start: Array) -> OptimizeResult:
        """Minimise a sum of squares by iterative solutions: LAPACK's SVD may not converge by symmetry."""
        return least_squares(residuals, start, bounds=self.bounds, max_nfev=EVALUATIONS, tr_solver="lsmr")


def standing_posture(
    robot: RobotModel, legs: Sequence[Limb], feet: Sequence[str], rng: Generator, *, soles: bool
) -> tuple[Array, str]:
    """Find a posture in which a robot stands on its feet.

    Args:
        robot: Model with a floating base, whose z axis points upwards when it stands.
        legs: Its legs, each from the base to a foot.
        feet: Contact frame of each leg, z upwards when it stands.
        rng: Source of the starts of the search.
        soles: Whether feet have soles that are level, or are points.

    Returns:
        Joint positions in the model's order [rad], shape (n_joints,), and what is wrong with them, empty if
        nothing is.

    Raises:
        ModelError: If legs share joints.
    """
    problem = _Legs(robot, legs, feet, soles=soles)
    stretched = problem.search(problem.depth, problem.start).x
    reached = -float(problem.errors(stretched)[: len(feet)].max())  # of height zero
    top = max(problem.hips, 0.0)  # above the base, whose frame may lie at the feet
    tried = []
    for place in (None, stretched):
        if place is not None:
            problem.stand_below(place)
        for share in HEIGHTS if soles else HEIGHTS[::-1]:
            problem.height = share * (reached + top) - top
            x = problem.best(rng)
            tried.append((float(np.abs(problem.errors(x)).max()), x))
            if tried[-1][0] < TOLERANCE:
                return problem.posture(x), ""
    worst, x = min(tried, key=lambda item: item[0])
    wrong = f"within the joints' limits the feet miss level ground below the robot by {worst:.2g} (m, rad)"
    return problem.posture(x), wrong


def gravity_torques(robot: RobotModel, postures: Array) -> Array:
    """Return the generalised forces that hold a robot in some postures [N, Nm], shape (N, nv)."""
    model, data = robot.model, robot.model.createData()
    return np.array([pin.computeGeneralizedGravity(model, data, robot.configuration(q)) for q in postures])


def _along(R: Array) -> tuple[float, float]:
    """Return the horizontal direction of a frame's x axis, rounded to a quarter turn."""
    yaw = 0.5 * np.pi * round(float(np.arctan2(R[1, 0], R[0, 0])) / (0.5 * np.pi))
    return float(np.cos(yaw)), float(np.sin(yaw))


def _mirrored_pairs(home: Array) -> list[tuple[int, int]]:
    """Return the pairs of feet that are nearest to one another's mirror images, left foot first."""
    pairs = []
    for i in np.flatnonzero(home[:, 1] > 0.0).tolist():
        away = np.linalg.norm(home - home[i] @ S, axis=1)
        j = int(np.argmin(away))
        if j != i:
            pairs.append((i, j))
    return pairs
