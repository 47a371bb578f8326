"""Measured rows of the equation of motion, and the elimination of unknown contact wrenches from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

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
    Jacobians (Y 14-16). HORIZONTAL: the same of the forces along x and y of the wrench frame alone, which a
    badly calibrated sensor does not give (Y III-C); the others are measured. ESTIMATED: from the torques of
    the joints that carry the contact (T V), which are used up by it. NONE: nothing touches the robot.
    """

    MEASURED = "measured"
    PROJECTED = "projected"
    HORIZONTAL = "horizontal_projected"
    ESTIMATED = "estimated"
    NONE = "none"

    @property
    def senses(self) -> bool:
        """Whether a sensor at the contact is needed."""
        return self in (ContactMode.MEASURED, ContactMode.HORIZONTAL)

    @cached_property
    def projects(self) -> bool:
        """Whether rows are mixed by a basis of a null space."""
        return self in (ContactMode.PROJECTED, ContactMode.HORIZONTAL)


@dataclass(frozen=True)
class RowSelection:
    """Selection of rows by name.

    Attributes:
        base: Whether the six base rows are used; ignored for a fixed base.
        joints: Joints whose torque is measured, by name or shell pattern.
        contacts: What is known of contact wrenches.
        point_contacts: Whether contacts carry a force but no moment.
        by_contact: What is known of each contact's wrench, where the contacts differ; empty: `contacts`.
    """

    base: bool = True
    joints: tuple[str, ...] = ("*",)
    contacts: ContactMode = ContactMode.NONE
    point_contacts: bool = False
    by_contact: tuple[ContactMode, ...] = ()

    def modes(self, n_contacts: int) -> tuple[ContactMode, ...]:
        """Return what is known of each contact's wrench.

        Args:
            n_contacts: Number of contacts.

        Raises:
            ConfigurationError: If `by_contact` has another length.
        """
        if self.by_contact and len(self.by_contact) != n_contacts:
            raise ConfigurationError(
                f"'contact_modes' has {len(self.by_contact)} entries, expected one for each of the "
                f"{n_contacts} contacts"
            )
        return self.by_contact or (self.contacts,) * n_contacts

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
        modes = self.modes(len(contacts))
        limbs = _limbs(robot, contacts, modes, picked, 3 if self.point_contacts else 6)
        used = np.unique(np.concatenate([*limbs.values(), np.arange(0)])).astype(np.int64)
        kept = np.setdiff1d(np.arange(len(picked)), used)
        unknown = _unknown(modes, point_contacts=self.point_contacts)
        left = len(kept) - int(unknown.sum())
        if left <= 0:
            raise ConfigurationError(
                f"{len(picked)} rows cannot be freed of {sum(mode.projects for mode in modes)} unknown "
                "contact wrenches; measure more joint torques, or the wrenches"
            )
        names = tuple(names[i] for i in kept)
        if unknown.any():
            names = tuple(f"projected_{i:02d}" for i in range(left))
        return ResolvedRows(picked, names, modes, self.point_contacts, limbs, kept, unknown)


@dataclass(frozen=True, eq=False)
class ResolvedRows:
    """Rows by index.

    Attributes:
        picked: Indices into the generalized forces, shape (m,).
        names: Name of each row after projection.
        modes: What is known of each contact's wrench.
        point_contacts: Whether contacts carry no moment.
        limbs: Of each contact that is estimated, by its number, the positions of its limb's joints in
            `picked`.
        kept: Positions in `picked` of the rows that are left of those.
        unknown: Which components of all wrenches are removed by a null space, shape (6 n_contacts,).
    """

    picked: Indices
    names: tuple[str, ...]
    modes: tuple[ContactMode, ...]
    point_contacts: bool
    limbs: Mapping[int, Indices]
    kept: Indices
    unknown: NDArray[np.bool_]

    @cached_property
    def projects(self) -> bool:
        """Whether the equations are multiplied by a matrix that eliminates unknown wrenches."""
        return bool(self.limbs) or self.mixed

    @cached_property
    def mixed(self) -> bool:
        """Whether that matrix has a basis of a null space, so that a row belongs to no joint."""
        return bool(self.unknown.any())

    @cached_property
    def sensed(self) -> bool:
        """Whether the wrench of any contact is measured."""
        return any(mode.senses for mode in self.modes)

    def projection(self, J_C: Array) -> Array:
        """Return N with N' J_C' = 0 in the picked rows and unknown components; N' multiplies the equation.

        ESTIMATED takes a wrench from each limb, f = pinv(J_limb') (torque left over in the limb), and
        subtracts J_kept' f from the kept rows. What is projected is removed from the rest with an orthonormal
        basis of the null space.

        Args:
            J_C: Contact Jacobians, shape (6 n_contacts, nv).

        Returns:
            Shape (m, number of names).
        """
        E = J_C[:, self.picked].T
        N = self._without_limbs(E) if self.limbs else None
        if not self.mixed:
            assert N is not None
            return N
        unknown = E[:, self.unknown] if N is None else N.T @ E[:, self.unknown]
        Q, _R = np.linalg.qr(unknown, mode="complete")
        basis: Array = Q[:, unknown.shape[1] :]
        return basis if N is None else N @ basis

    def _without_limbs(self, E: Array) -> Array:
        N = np.zeros((len(self.picked), len(self.kept)))
        N[self.kept, np.arange(len(self.kept))] = 1.0
        unknowns = 3 if self.point_contacts else 6
        for i, limb in self.limbs.items():
            E_i = E[:, 6 * i : 6 * i + unknowns]
            N[limb] -= (E_i[self.kept] @ linear_algebra.pinv(E_i[limb], rcond=1e-6)).T
        return N


def _unknown(modes: Sequence[ContactMode], *, point_contacts: bool) -> NDArray[np.bool_]:
    """Return which components of all wrenches are removed by a null space, shape (6 n_contacts,)."""
    components = {ContactMode.PROJECTED: 3 if point_contacts else 6, ContactMode.HORIZONTAL: 2}
    unknown = [np.arange(6) < components.get(mode, 0) for mode in modes]
    return np.concatenate([*unknown, np.zeros(0, dtype=bool)])


def _limbs(
    robot: RobotModel,
    contacts: Sequence[ContactFrames],
    modes: Sequence[ContactMode],
    picked: Indices,
    unknowns: int,
) -> dict[int, Indices]:
    """Return the positions in `picked` of the joints that carry each estimated contact, by its number."""
    position = {int(row): i for i, row in enumerate(picked)}
    limbs = {}
    for number, (contact, mode) in enumerate(zip(contacts, modes, strict=True)):
        if mode is not ContactMode.ESTIMATED:
            continue
        rows = [robot.n_base + j for j in robot.joints_to(contact.wrench_frame)]
        limb = [position[row] for row in rows if row in position]
        if len(limb) < unknowns:
            raise ConfigurationError(
                f"contact '{contact.name}' has {len(limb)} measured joint torques in its limb, expected at "
                f"least {unknowns} to estimate its wrench"
            )
        limbs[number] = np.array(limb, dtype=np.int64)
    return limbs


def slice_if_contiguous(indices: Indices) -> slice | Indices:
    """Return the same rows as a slice where possible: views instead of copies."""
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if np.array_equal(indices, np.arange(first, last + 1)) else indices


@dataclass(frozen=True)
class RowsConfig:
    """Rows of the equation of motion in use; shared by the online filters and the offline identification."""

    base_rows: bool = parameter(
        True, "Whether the six rows of the floating base's equations of motion are used."
    )
    torque_rows: tuple[str, ...] = parameter(
        ("*",), "Joints whose measured torque is used, by name or shell pattern; empty uses none."
    )
    contact_wrenches: str = parameter(
        "measured",
        "Treatment of contact wrenches: measured, unknown and projected out, measured except for the forces "
        "along x and y of the wrench frame, which are projected out (horizontal_projected), estimated from "
        "the torques of the limbs, or none.",
        choices=tuple(mode.value for mode in ContactMode),
    )
    point_contacts: bool = parameter(False, "Whether contacts transmit a force but no moment (point feet).")
    base_acceleration: str = parameter(
        "accelerometer",
        "Source of the base's acceleration: the accelerometer of the IMU, or finite differences of the "
        "velocity in the base state.",
        choices=("accelerometer", "finite_difference"),
    )

    def selection(self) -> RowSelection:
        """Return the selection of rows for the measurement equation."""
        mode = ContactMode(self.contact_wrenches)
        return RowSelection(self.base_rows, self.torque_rows, mode, self.point_contacts)
