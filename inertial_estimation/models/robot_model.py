"""Robot model from a URDF, with joints, frames and bodies by name; the only access to Pinocchio's parser."""

import fnmatch
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, ModelError, did_you_mean, listing, one_line
from inertial_estimation.models.urdf import with_shapes
from inertial_estimation.signals import Array

BASE_JOINT = 1  # index of the free-flyer in a floating-base Pinocchio model
ROOT_JOINT = "root_joint"  # its name
_MARK = "\n"  # behind the name of a link, where a joint has the same one


@dataclass(frozen=True)
class LinkBody:
    """The rigid body a link belongs to, with everything fixed to it."""

    link: str  # name of the link
    joint_id: int  # Pinocchio joint that carries the body (0: the world, of a fixed base)
    T_JL: pin.SE3  # pose of the link frame in the joint frame
    nominal_J: pin.Inertia  # inertia of the whole body about the joint frame, in its axes, from the URDF


class RobotModel:
    """A robot's kinematics and dynamics from its URDF, base floating or fixed.

    The configuration keeps the base at the origin of the world: everything here that depends on the
    base pose is expressed in the base. Pinocchio merges links that are fixed to one another, so "the
    body of link L" is L with all that is rigidly attached to it.

    Attributes:
        model: The Pinocchio model; read only.
        floating_base: Whether the first six velocities are the base's.
        base_link: Name of the root link.
        joint_names: Names of the moving joints, in the model's order.
        n_joints: Number of moving joints (the base not counted).
        n_base: Number of base velocity coordinates: 6 or 0.
        continuous_joints: Indices of the joints that turn without limits, whose sensors may count from -pi to
            pi.
        turning_joints: Indices of the joints that turn; the others are prismatic.
    """

    def __init__(self, model: pin.Model) -> None:
        """Look up joints and links.

        Raises:
            ModelError: If a joint has several degrees of freedom.
        """
        self.model = model
        self.floating_base = model.njoints > 1 and model.names[1] == ROOT_JOINT and model.nvs[1] == 6
        base = BASE_JOINT if self.floating_base else 0
        roots = [f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == base]
        self.base_link = str([*roots, model.frames[0].name][0])
        self._first = base + 1
        joint_ids = range(self._first, model.njoints)
        self.joint_names: tuple[str, ...] = tuple(model.names[j] for j in joint_ids)
        odd = [model.names[j] for j in joint_ids if model.nvs[j] != 1]
        if odd:
            raise ModelError(f"only joints of one degree of freedom are supported; lock {listing(odd)}")
        self.n_joints, self.n_base = len(joint_ids), 6 if self.floating_base else 0
        self._idx_q = np.array([model.idx_qs[j] for j in joint_ids], dtype=int)
        self.continuous_joints = np.flatnonzero([model.nqs[j] == 2 for j in joint_ids])
        kinds = [model.joints[j].shortname() for j in joint_ids]
        self.turning_joints = np.flatnonzero([not kind.startswith("JointModelP") for kind in kinds])
        self._plain_joints = np.setdiff1d(np.arange(self.n_joints), self.continuous_joints)
        self._q_neutral = pin.neutral(model)

    @classmethod
    def from_urdf(
        cls, urdf: str, *, floating_base: bool = True, locked_joints: Sequence[str] = ()
    ) -> "RobotModel":
        """Build from the text of a URDF; meshes are not needed.

        Args:
            urdf: XML text.
            floating_base: Whether the root link moves freely in the world.
            locked_joints: Joints frozen at zero, by name or shell pattern (``l_hand_*``).

        Raises:
            ModelError: If the text is not a URDF, holds an impossible value (`urdf.check_urdf`), or a locked
                joint does not exist.
        """
        text = with_shapes(urdf)
        try:
            root = pin.JointModelFreeFlyer() if floating_base else None
            model = pin.buildModelFromXML(text, root) if root else pin.buildModelFromXML(text)
        except (ValueError, RuntimeError, IndexError) as error:
            raise ModelError(f"the robot description is not a usable URDF: {one_line(error)}") from error
        first = BASE_JOINT + 1 if floating_base else 1
        try:
            locked = matching(locked_joints, list(model.names)[first:], "joint to lock")
        except ConfigurationError as error:
            raise ModelError(str(error)) from None
        return cls(_reduced(model, [first + j for j in locked]))

    def without(self, joints: Collection[str]) -> "RobotModel":
        """Return a robot some joints of which are fixed at position zero; itself where there are none."""
        if not joints:
            return self
        return RobotModel(_reduced(self.model, [self.model.getJointId(name) for name in joints]))

    @property
    def total_mass(self) -> float:
        """Sum of all link masses [kg], the fixed base of an arm included."""
        return float(sum(inertia.mass for inertia in self.model.inertias))

    def configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration with the base at the origin, shape (nq,).

        Args:
            q: Joint positions in the order of `joint_names` [rad or m], shape (n_joints,).
        """
        configuration: Array = self._q_neutral.copy()
        if not len(self.continuous_joints):
            configuration[len(configuration) - len(q) :] = q  # in the order of the joints
            return configuration
        configuration[self._idx_q[self._plain_joints]] = q[self._plain_joints]
        angle, first = q[self.continuous_joints], self._idx_q[self.continuous_joints]
        configuration[first], configuration[first + 1] = np.cos(angle), np.sin(angle)
        return configuration

    def joint_positions(self, configuration: Array) -> Array:
        """Return the joint positions of a configuration [rad or m], the inverse of `configuration`."""
        q: Array = configuration[self._idx_q].copy()
        first = self._idx_q[self.continuous_joints]
        q[self.continuous_joints] = np.arctan2(configuration[first + 1], configuration[first])
        return q

    def joint_index(self, name: str) -> int:
        """Return the position of a joint in `joint_names`.

        Raises:
            ModelError: If there is no such joint; the message lists those that exist.
        """
        try:
            return self.joint_names.index(name)
        except ValueError:
            hint = did_you_mean(name, self.joint_names, "the model has")
            raise ModelError(f"no joint '{name}'{hint}") from None

    def joints_matching(self, patterns: Sequence[str], where: str) -> tuple[int, ...]:
        """Return the joints that match any shell pattern, by increasing positions in `joint_names`.

        Raises:
            ConfigurationError: If a pattern matches no joint; the message lists those that exist.
        """
        return tuple(matching(patterns, self.joint_names, "joint", where))

    def links_matching(self, patterns: Sequence[str], where: str) -> tuple[str, ...]:
        """Return one link of every moving body of which a link matches any of some shell patterns.

        A link that is named stands for its body; other bodies have their first match.

        Raises:
            ConfigurationError: If a pattern matches no link that moves, or two named links are of one body.
        """
        moving = {link: self.link_body(link).joint_id for link in self.link_names}
        moving = {link: joint for link, joint in moving.items() if joint}
        links, chosen = list(moving), dict[int, str]()
        found = matching(patterns, links, "moving link", where)
        for link in (
            *self.link_bodies([link for link in patterns if link in moving]),
            *(links[i] for i in found),
        ):
            chosen.setdefault(moving[link], link)
        return tuple(chosen[joint] for joint in sorted(chosen))

    def frame_id(self, name: str) -> int:
        """Return Pinocchio's index of the frame of a link (or of a frame that is no link).

        Raises:
            ModelError: If there is no such frame; the message lists the links.
        """
        if self.model.existFrame(name, pin.FrameType.BODY):
            return int(self.model.getFrameId(name, pin.FrameType.BODY))
        if self.model.existFrame(name):
            return int(self.model.getFrameId(name))
        frames = [frame.name for frame in self.model.frames]
        hint = did_you_mean(name, dict.fromkeys([*self.link_names, *frames]), "the model has the links")
        raise ModelError(f"no frame '{name}'{hint}")

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links."""
        return tuple(f.name for f in self.model.frames if f.type == pin.FrameType.BODY)

    def link_body(self, link: str) -> LinkBody:
        """Return the rigid body a link belongs to.

        Raises:
            ModelError: If there is no such link.
        """
        if not self.model.existFrame(link, pin.FrameType.BODY):
            raise ModelError(f"no link '{link}'{did_you_mean(link, self.link_names, 'the model has')}")
        frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
        joint_id = int(frame.parentJoint)
        return LinkBody(link, joint_id, frame.placement.copy(), self.model.inertias[joint_id].copy())

    def link_bodies(self, links: Sequence[str]) -> dict[str, LinkBody]:
        """Return the bodies of several links, by link.

        Raises:
            ModelError: If there is no such link.
            ConfigurationError: If two of them belong to one body.
        """
        bodies = {link: self.link_body(link) for link in links}
        owner: dict[int, str] = {}
        for link, body in bodies.items():
            if owner.setdefault(body.joint_id, link) != link:
                raise ConfigurationError(
                    f"links '{owner[body.joint_id]}' and '{link}' belong to one rigid body; name one of them"
                )
        return bodies

    def joints_to(self, *frames: str) -> list[int]:
        """Return the joints from the base to any of some frames, by increasing positions in `joint_names`.

        Raises:
            ModelError: If there is no such frame.
        """
        carriers = [self.model.frames[self.frame_id(frame)].parentJoint for frame in frames]
        supports = {int(j) for carrier in carriers for j in self.model.supports[carrier]}
        return sorted(j - self._first for j in supports if j >= self._first)

    def body_links(self, joint: int) -> tuple[str, ...]:
        """Return the links of the body that a Pinocchio joint carries, the first one nearest to the joint."""
        links = (f for f in self.model.frames if f.type == pin.FrameType.BODY)
        return tuple(f.name for f in links if f.parentJoint == joint)

    def frame_poses(self, q: Array, frames: Sequence[str]) -> list[tuple[Array, Array]]:
        """Return rotation and position of links or other frames in the base at joint positions q."""
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, self.configuration(q))
        poses = [pin.updateFramePlacement(self.model, data, self.frame_id(name)) for name in frames]
        return [(pose.rotation.copy(), pose.translation.copy()) for pose in poses]

    def fixed_transform(self, frame: str, other: str) -> pin.SE3:
        """Return the constant pose of `other` in `frame`, both fixed to one body.

        Raises:
            ModelError: If a joint lies between the two.
        """
        a, b = self.model.frames[self.frame_id(frame)], self.model.frames[self.frame_id(other)]
        if a.parentJoint != b.parentJoint:
            raise ModelError(f"frames '{frame}' and '{other}' are not fixed to the same body")
        return a.placement.actInv(b.placement)


def _reduced(model: pin.Model, joints: Sequence[int]) -> pin.Model:
    """Return a model of which some joints are locked at zero; the same one where there are none.

    In a URDF a joint and a link may have one name, but Pinocchio looks for frames by their names alone.
    So such links are renamed meanwhile.
    """
    if not len(joints):
        return model
    reduced = pin.buildReducedModel(with_marked_links(model), list(joints), pin.neutral(model))
    for frame in reduced.frames:
        frame.name = frame.name.removesuffix(_MARK)
    return reduced


def with_marked_links(model: pin.Model) -> pin.Model:
    """Return a model whose links have other names than its joints; the same one where they have already."""
    joints = {frame.name for frame in model.frames if frame.type != pin.FrameType.BODY}
    twice = [f.type == pin.FrameType.BODY and f.name in joints for f in model.frames]
    if not any(twice):
        return model
    marked = model.copy()
    for frame, same in zip(marked.frames, twice, strict=True):
        frame.name += _MARK if same else ""
    return marked


def matching(patterns: Sequence[str], names: Sequence[str], what: str, where: str = "") -> list[int]:
    """Return the positions of the names that match any shell pattern, increasing.

    Args:
        patterns: Names or shell patterns; what is a name is none, also where it has brackets.
        names: What there is.
        what: Kind of the names, for the message.
        where: Origin of the patterns, for the message.

    Raises:
        ConfigurationError: If a pattern matches none; the message lists those that exist.
    """
    found: set[int] = set()
    for pattern in patterns:
        exact = [pattern] if pattern in names else fnmatch.filter(names, pattern)
        hits = [j for j, name in enumerate(names) if name in exact]
        if not hits:
            hint = did_you_mean(pattern, names, "the model has")
            raise ConfigurationError(f"no {what} matches '{pattern}'{where and f' in {where}'}{hint}")
        found.update(hits)
    return sorted(found)
