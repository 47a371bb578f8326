"""Measured rows of the equation of motion, and the elimination of unknown contact wrenches from them."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

__all__ = ["BASE_ROWS", "ContactMode", "Indices", "ResolvedRows", "RowSelection", "slice_if_contiguous"]

Indices = NDArray[np.int64]
BASE_ROWS = (
    "base_force_x",
    "base_force_y",
    "base_force_z",
    "base_moment_x",
    "base_moment_y",
    "base_moment_z",
)


class ContactMode(Enum):
    """Treatment of the contact wrenches.

    MEASURED: sensors give them. PROJECTED: unknown, and removed with a basis of the null space of their
    Jacobians (Y 14-16). ESTIMATED: from the torques of the joints that carry the contact (T V), which
    are used up by it. NONE: nothing touches the robot.
    """

    MEASURED = "measured"
    PROJECTED = "projected"
    ESTIMATED = "estimated"
    NONE = "none"


@dataclass(frozen=True)
class RowSelection:
    """Selection of rows by name.

    Attributes:
        base: Whether the six base rows are used; ignored for a fixed base.
        joints: Joints whose torque is measured, by name or shell pattern.
        contacts: What is known of contact wrenches.
        point_contacts: Whether contacts carry a force but no moment.
    """

    base: bool = True
    joints: tuple[str, ...] = ("*",)
    contacts: ContactMode = ContactMode.NONE
    point_contacts: bool = False

    def resolved(self, robot: RobotModel, contacts: tuple[ContactFrames, ...]) -> "ResolvedRows":
        """Look the rows up in a robot.

        Raises:
            ConfigurationError: If a name matches no joint, or no row is left, or contacts are to be
                estimated without the torques of their limb.
        """
        joints = robot.joints_matching(self.joints, "the torque rows")
        base = list(range(robot.n_base)) if self.base else []
        picked = np.array(base + [robot.n_base + j for j in joints], dtype=np.int64)
        names = (BASE_ROWS if base else ()) + tuple(robot.joint_names[j] for j in joints)
        if not names:
            raise ConfigurationError("no measurement row is selected: neither base rows nor joint torques")
        mode = self.contacts if contacts else ContactMode.NONE
        rows = ResolvedRows(picked, names, mode, self.point_contacts, (), np.arange(0, dtype=np.int64))
        if mode is ContactMode.PROJECTED:
            return _with_projection(rows, len(contacts))
        return _with_limbs(rows, robot, contacts) if mode is ContactMode.ESTIMATED else rows


@dataclass(frozen=True, eq=False)
class ResolvedRows:
    """Rows by index.

    Attributes:
        picked: Indices into the generalized forces, shape (m,).
        names: Name of each row after projection.
        contacts: What is known of contact wrenches.
        point_contacts: Whether contacts carry no moment.
        limbs: For ESTIMATED: of each contact the positions in `picked` of its limb's joints.
        kept: For ESTIMATED: positions in `picked` of the rows that are left.
    """

    picked: Indices
    names: tuple[str, ...]
    contacts: ContactMode
    point_contacts: bool
    limbs: tuple[Indices, ...]
    kept: Indices

    @property
    def projects(self) -> bool:
        """Whether the equations are multiplied by a matrix that eliminates unknown wrenches."""
        return self.contacts in (ContactMode.PROJECTED, ContactMode.ESTIMATED)

    def projection(self, J_C: Array) -> Array:
        """Return N with N' J_C' = 0 in the picked rows; N' multiplies the equation from the left.

        PROJECTED takes an orthonormal basis of the null space. ESTIMATED takes a wrench from each limb,
        f = pinv(J_limb') (torque left over in the limb), and subtracts J_kept' f from the kept rows.

        Args:
            J_C: Contact Jacobians, shape (6 n_contacts, nv).

        Returns:
            Shape (m, number of names).
        """
        E = J_C[:, self.picked].T
        if self.point_contacts:
            E = E[:, np.arange(E.shape[1]) % 6 < 3]
        if self.contacts is ContactMode.PROJECTED:
            Q, _R = np.linalg.qr(E, mode="complete")
            basis: Array = Q[:, E.shape[1] :]
            return basis
        N = np.zeros((len(self.picked), len(self.kept)))
        N[self.kept, np.arange(len(self.kept))] = 1.0
        unknowns = E.shape[1] // len(self.limbs)
        for i, limb in enumerate(self.limbs):
            E_i = E[:, unknowns * i : unknowns * (i + 1)]
            N[limb] -= (E_i[self.kept] @ linear_algebra.pinv(E_i[limb], rcond=1e-6)).T
        return N


def _with_projection(rows: ResolvedRows, contacts: int) -> ResolvedRows:
    left = len(rows.picked) - contacts * (3 if rows.point_contacts else 6)
    if left <= 0:
        raise ConfigurationError(
            f"{len(rows.picked)} rows cannot be freed of {contacts} unknown contact wrenches; "
            "measure more joint torques, or the wrenches"
        )
    names = tuple(f"projected_{i:02d}" for i in range(left))
    return ResolvedRows(rows.picked, names, rows.contacts, rows.point_contacts, (), rows.kept)


def _with_limbs(rows: ResolvedRows, robot: RobotModel, contacts: tuple[ContactFrames, ...]) -> ResolvedRows:
    position = {int(row): i for i, row in enumerate(rows.picked)}
    limbs = []
    for contact in contacts:
        joint_id = robot.model.frames[robot.frame_id(contact.wrench_frame)].parentJoint
        velocities = [robot.model.idx_vs[j] for j in robot.model.supports[joint_id] if j > 0]
        limb = [position[v] for v in velocities if v >= robot.n_base and v in position]
        if len(limb) < (3 if rows.point_contacts else 6):
            raise ConfigurationError(
                f"contact '{contact.name}' has {len(limb)} measured joint torques in its limb, expected at "
                f"least {3 if rows.point_contacts else 6} to estimate its wrench"
            )
        limbs.append(np.array(limb, dtype=np.int64))
    used = np.unique(np.concatenate(limbs))
    kept = np.array([i for i in range(len(rows.picked)) if i not in used], dtype=np.int64)
    names = tuple(rows.names[i] for i in kept)
    return ResolvedRows(rows.picked, names, rows.contacts, rows.point_contacts, tuple(limbs), kept)


def slice_if_contiguous(indices: Indices) -> slice | Indices:
    """Return the same rows as a slice where possible: views instead of copies."""
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if np.array_equal(indices, np.arange(first, last + 1)) else indices
