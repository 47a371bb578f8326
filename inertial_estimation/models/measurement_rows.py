"""Rows of the equation of motion that are measured: which they are, what contacts add, how noisy they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.predicted_forces import weight_torque
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import numeric, parameter
from inertial_estimation.signals import Array

Indices = NDArray[np.int64]
BASE_ROWS = tuple(f"base_{kind}_{axis}" for kind in ("force", "moment") for axis in "xyz")


class ContactMode(Enum):
    """Treatment of the contact wrenches."""

    MEASURED = "measured"  # sensors give them
    PROJECTED = "projected"  # unknown: removed with a basis of the null space of their Jacobians (Y 14-16)
    NONE = "none"  # nothing touches the robot


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
        "Treatment of contact wrenches: measured, unknown and projected out, or none.",
        choices=tuple(mode.value for mode in ContactMode),
    )
    point_contacts: bool = parameter(False, "Whether contacts transmit a force but no moment (point feet).")

    @property
    def contacts(self) -> ContactMode:
        """Treatment of the contact wrenches."""
        return ContactMode(self.contact_wrenches)

    def torque_joints(self, robot: RobotModel) -> tuple[int, ...]:
        """Return the indices of the joints whose measured torque is used.

        Raises:
            ConfigurationError: If a name matches no joint.
        """
        return robot.joints_matching(self.torque_rows, "the torque rows")

    def resolved(self, robot: RobotModel, contacts: Sequence[ContactFrames]) -> "ResolvedRows":
        """Look the rows up in a robot.

        Raises:
            ConfigurationError: If a name matches no joint, or no row is left.
        """
        joints = self.torque_joints(robot)
        base = list(range(robot.n_base)) if self.base_rows else []
        picked = np.array(base + [robot.n_base + j for j in joints], dtype=np.int64)
        names = (BASE_ROWS if base else ()) + tuple(robot.joint_names[j] for j in joints)
        if not names:
            raise ConfigurationError("no measurement row is selected: neither base rows nor joint torques")
        mode = self.contacts if contacts else ContactMode.NONE
        projected = contacts if mode is ContactMode.PROJECTED else ()
        unknown = np.tile(np.arange(6) < (3 if self.point_contacts else 6), len(projected))
        if projected:
            names = tuple(f"projected_{i:02d}" for i in range(len(picked) - int(unknown.sum())))
        if not names:
            raise ConfigurationError(
                f"{len(picked)} rows cannot be freed of {len(projected)} unknown contact wrenches; measure "
                "more joint torques, or the wrenches"
            )
        return ResolvedRows(picked, names, mode, unknown)


@dataclass(frozen=True, eq=False)
class ResolvedRows:
    """Rows by index."""

    picked: Indices  # indices into the generalized forces, shape (m,)
    names: tuple[str, ...]  # name of each row after projection
    contacts: ContactMode  # treatment of the contact wrenches
    # which components of all wrenches are projected out, shape (6 n_contacts,); empty if none is
    unknown: NDArray[np.bool_]

    @property
    def projects(self) -> bool:
        """Whether unknown wrenches are removed by a basis of a null space, so that no row is of one joint."""
        return bool(len(self.unknown))

    def projection(self, J_C: Array) -> Array:
        """Return an orthonormal N, (m, names), with N' J_C' = 0 in picked rows and unknown components.

        Args:
            J_C: Contact Jacobians, shape (6 n_contacts, nv).
        """
        return unmoved(J_C[self.unknown][:, self.picked].T)


def unmoved(C: Array) -> Array:
    """Return an orthonormal N with N' C = 0, shape (..., m, m - c), of full columns C, shape (..., m, c)."""
    N: Array = np.linalg.qr(C, mode="complete")[0][..., C.shape[-1] :]
    return N


FULL_SIZE = 80.0  # mass of a robot with the noise of `DEFAULTS`; heavier ones have the same [kg]
STRONG = 100.0  # torque of the weight of a stretched arm on its joint, at which it has that noise [Nm]
# Assumed standard deviations of a robot of that mass [N, Nm].
DEFAULTS = {"base_force": 2.0, "base_moment": 1.0, "contact_force": 2.0, "torque": 0.5}
CONTACT_LEVER = 0.1  # moment noise of a contact over its force noise: half a foot of that robot [m]


@dataclass(frozen=True)
class MeasurementNoise:
    """Standard deviations of means over one window, unmodelled effects included.

    Negative ones follow from the robot: they are those of a humanoid of `FULL_SIZE`, scaled down for lighter
    robots by the weight (forces) and by the moment of the weight on a lever that grows with its third root
    (moments and torques). Torques of a robot with a fixed base follow `weight_torque`.
    """

    torque: float = numeric(
        *(-1.0, -1e4, 1e4, "Nm"),
        "Standard deviation of a joint torque averaged over one window, unmodelled effects included. "
        "Negative: 0.5 Nm times the robot's mass / 80 kg to the power 4/3, but at most 0.5 Nm; where the "
        "base is fixed, times the torque of its weight on a joint, stretched out, / 100 Nm.",
    )
    base_force: float = numeric(
        *(-1.0, -1e4, 1e4, "N"),
        "Standard deviation of unmodelled forces in the base rows, averaged over one window. Negative: 2 N "
        "times the robot's mass / 80 kg, but at most 2 N.",
    )
    base_moment: float = numeric(
        *(-1.0, -1e4, 1e4, "Nm"),
        "Standard deviation of unmodelled moments in the base rows, averaged over one window. Negative: 1 Nm "
        "times the robot's mass / 80 kg to the power 4/3, but at most 1 Nm.",
    )
    contact_force: float = numeric(
        *(-1.0, -1e4, 1e4, "N"),
        "Standard deviation of the force components of a measured contact wrench, averaged over one window; "
        "that of its moments follows by a lever of 0.1 m times (the robot's mass / 80 kg) to the power 1/3, "
        "but at most 0.1 m. Negative: 2 N times the robot's mass / 80 kg, but at most 2 N.",
    )
    joint_acceleration: float = numeric(
        0.2, 0.0, 1000.0, "rad/s^2", "Standard deviation of the joint accelerations over one window."
    )

    def contact_moment(self, robot: RobotModel) -> float:
        """Return the standard deviation of the moments of a measured contact wrench [Nm]."""
        size: float = min(robot.total_mass / FULL_SIZE, 1.0) ** (1.0 / 3.0)
        return CONTACT_LEVER * size * self.contact_force

    def for_robot(self, robot: RobotModel) -> "MeasurementNoise":
        """Return the noise with the values for a robot in place of negative ones."""
        weight = min(robot.total_mass / FULL_SIZE, 1.0)
        shares = {name: weight if "force" in name else weight ** (4.0 / 3.0) for name in DEFAULTS}
        if not robot.floating_base and robot.n_joints:
            shares["torque"] = weight_torque(robot) / STRONG
        derived = {
            name: share * DEFAULTS[name] for name, share in shares.items() if getattr(self, name) < 0.0
        }
        return replace(self, **derived)
