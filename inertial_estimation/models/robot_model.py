"""Robot model from a URDF, with joints, frames and bodies by name; the only access to Pinocchio's parser."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, ModelError, did_you_mean, listing, one_line
from inertial_estimation.models.urdf_check import check_urdf
from inertial_estimation.signals import Array

BASE_JOINT = 1  # index of the free-flyer in a floating-base Pinocchio model
_MARK = "\n"  # behind the name of a link, where a joint has the same one


@dataclass(frozen=True)
class LinkBody:
    """The rigid body a link belongs to, with everything fixed to it.

    Attributes:
        link: Name of the link.
        joint_id: Pinocchio joint that carries the body (0: the world, of a fixed base).
        T_JL: Pose of the link frame in the joint frame.
        nominal_J: Inertia of the whole body about the joint frame, in its axes, from the URDF.
    """

    link: str
    joint_id: int
    T_JL: pin.SE3
    nominal_J: pin.Inertia


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
    """

    def __init__(self, model: pin.Model, *, floating_base: bool, base_link: str) -> None:
        self.model = model
        self.floating_base = floating_base
        self.base_link = base_link
        first = BASE_JOINT + 1 if floating_base else 1
        joint_ids = range(first, model.njoints)
        self.joint_names: tuple[str, ...] = tuple(model.names[j] for j in joint_ids)
        self._check_joint_types(joint_ids)
        self._idx_q = np.array([model.idx_qs[j] for j in joint_ids], dtype=int)
        self._continuous = np.array([model.nqs[j] == 2 for j in joint_ids], dtype=bool)
        self._any_continuous = bool(self._continuous.any())
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

        Returns:
            The model.

        Raises:
            ModelError: If the text is not a URDF, holds an impossible value (`check_urdf`), or a locked joint
                does not exist.
        """
        check_urdf(urdf)
        try:
            root = pin.JointModelFreeFlyer() if floating_base else None
            model = pin.buildModelFromXML(urdf, root) if root else pin.buildModelFromXML(urdf)
        except (ValueError, RuntimeError, IndexError) as error:
            raise ModelError(f"the robot description is not a usable URDF: {one_line(error)}") from error
        base_link = _root_link(model, floating_base)
        locked = _matching_joints(model, locked_joints, floating_base)
        model = reduced_model(model, locked)
        return cls(model, floating_base=floating_base, base_link=base_link)

    @property
    def n_joints(self) -> int:
        """Number of moving joints (the base not counted)."""
        return len(self.joint_names)

    @property
    def continuous_joints(self) -> NDArray[np.int64]:
        """Indices of the joints that turn without limits, whose sensors may count from -pi to pi."""
        return np.flatnonzero(self._continuous)

    @property
    def turning_joints(self) -> NDArray[np.int64]:
        """Indices of the joints that turn; the others are prismatic."""
        joints = self.model.joints[self.model.njoints - self.n_joints :]
        return np.flatnonzero([not joint.shortname().startswith("JointModelP") for joint in joints])

    @property
    def n_base(self) -> int:
        """Number of base velocity coordinates: 6 or 0."""
        return 6 if self.floating_base else 0

    @property
    def total_mass(self) -> float:
        """Sum of all link masses [kg], the fixed base of an arm included."""
        return float(sum(inertia.mass for inertia in self.model.inertias))

    def configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration with the base at the origin.

        Args:
            q: Joint positions in the order of `joint_names` [rad or m], shape (n_joints,).

        Returns:
            Configuration, shape (nq,).
        """
        configuration: Array = self._q_neutral.copy()
        if not self._any_continuous:
            configuration[len(configuration) - len(q) :] = q  # in the order of the joints
            return configuration
        plain = ~self._continuous
        configuration[self._idx_q[plain]] = q[plain]
        angle = q[self._continuous]
        configuration[self._idx_q[self._continuous]] = np.cos(angle)
        configuration[self._idx_q[self._continuous] + 1] = np.sin(angle)
        return configuration

    def joint_positions(self, configuration: Array) -> Array:
        """Return the joint positions of a configuration, the inverse of `configuration`.

        Args:
            configuration: Pinocchio's configuration, shape (nq,).

        Returns:
            Joint positions in the order of `joint_names` [rad or m], shape (n_joints,).
        """
        q: Array = configuration[self._idx_q].copy()
        if self._any_continuous:
            first = self._idx_q[self._continuous]
            q[self._continuous] = np.arctan2(configuration[first + 1], configuration[first])
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
        """Return the joints that match any of some shell patterns, by their positions in `joint_names`.

        Args:
            patterns: Names or shell patterns.
            where: Origin of the patterns, for the error message.

        Returns:
            Positions, increasing.

        Raises:
            ConfigurationError: If a pattern matches no joint; the message lists those that exist.
        """
        found: set[int] = set()
        for pattern in patterns:
            hits = [j for j, name in enumerate(self.joint_names) if fnmatch.fnmatchcase(name, pattern)]
            if not hits:
                raise ConfigurationError(
                    f"no joint matches '{pattern}' in {where}"
                    f"{did_you_mean(pattern, self.joint_names, 'the model has')}"
                )
            found.update(hits)
        return tuple(sorted(found))

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

    def fixed_transform(self, frame: str, other: str) -> pin.SE3:
        """Return the constant pose of `other` in `frame`, both fixed to one body.

        Raises:
            ModelError: If a joint lies between the two.
        """
        a, b = self.model.frames[self.frame_id(frame)], self.model.frames[self.frame_id(other)]
        if a.parentJoint != b.parentJoint:
            raise ModelError(f"frames '{frame}' and '{other}' are not fixed to the same body")
        return a.placement.actInv(b.placement)

    def _check_joint_types(self, joint_ids: range) -> None:
        odd = [self.model.names[j] for j in joint_ids if self.model.nvs[j] != 1]
        if odd:
            raise ModelError(f"only joints of one degree of freedom are supported; lock {listing(odd)}")


def reduced_model(model: pin.Model, joints: Sequence[int]) -> pin.Model:
    """Return a model of which some joints are locked at zero; the same one where there are none.

    In a URDF a joint and a link may have one name, but Pinocchio looks for frames by their names alone.
    So such links are renamed meanwhile.

    Args:
        model: A model.
        joints: Pinocchio's numbers of the joints.
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


def _root_link(model: pin.Model, floating_base: bool) -> str:
    parent = BASE_JOINT if floating_base else 0
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint == parent:
            return str(frame.name)
    return str(model.frames[0].name)


def _matching_joints(model: pin.Model, patterns: Sequence[str], floating_base: bool) -> list[int]:
    first = BASE_JOINT + 1 if floating_base else 1
    names = {j: model.names[j] for j in range(first, model.njoints)}
    locked: list[int] = []
    for pattern in patterns:
        found = [j for j, name in names.items() if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            hint = did_you_mean(pattern, names.values(), "the model has")
            raise ModelError(f"no joint to lock matches '{pattern}'{hint}")
        locked.extend(j for j in found if j not in locked)
    return locked
