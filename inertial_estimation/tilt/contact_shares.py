"""Which contacts carry the robot, and with which share of its weight, by whatever sensors it has."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.contacts import ContactInput, ContactSource
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.models.contact_kinematics import ContactView
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup, WrenchAxes
from inertial_estimation.signals import Array

CLOSED = 0.05  # of the weight, from which a contact is used
STANDING = 0.15  # of the weight, which the contacts together carry at least: else the robot flies


class ContactUse(NamedTuple):
    """The contacts at the last update, as the estimates carry them.

    Attributes:
        names: Of those that carry the robot.
        forces: Vertical force at each, pushing up positive [N]; NaN: not known.
        shares: Share of each in the weight.
    """

    names: tuple[str, ...]
    forces: tuple[float, ...]
    shares: tuple[float, ...]


class ContactShares:
    """Vertical forces of all contacts, and their shares.

    Attributes:
        names: Names of the contacts.
        forces: Vertical force at each at the last update, pushing up positive [N]; NaN: not known, shape
            (n,).
        shares: Share of each in the weight, of sum one or zero, shape (n,).
        use: The same as tuples.
    """

    def __init__(self, setup: RobotSetup, sources: Mapping[str, ContactSource], timeout: float) -> None:
        """Begin without a reading.

        Args:
            setup: The robot.
            sources: Where each contact's force comes from.
            timeout: Age beyond which a planner's wish is old [s].
        """
        self.names, self._sources = setup.contact_names, dict(sources)
        self._weight, self._timeout = STANDARD_GRAVITY * setup.robot.total_mass, timeout
        self.reset()

    def reset(self) -> None:
        """Forget all forces."""
        self.forces = np.full(len(self.names), np.nan)
        self._take()

    def _take(self) -> None:
        """Compute the shares from the forces."""
        forces = self.forces.tolist()
        used = [max(force - CLOSED * self._weight, 0.0) if force == force else 0.0 for force in forces]
        total = sum(used)
        closed = total > (STANDING - CLOSED) * self._weight
        shares = [force / total if closed else 0.0 for force in used]
        carrying = tuple(name for name, share in zip(self.names, shares, strict=True) if share > 0.0)
        self.use = ContactUse(carrying, tuple(forces), tuple(shares))
        self.shares = np.array(shares)

    @property
    def by_torques(self) -> bool:
        """Whether the force at a contact comes from joint torques."""
        return ContactSource.JOINT_TORQUES in self._sources.values()

    def update(
        self,
        inputs: RobotInputs,
        rows: Mapping[str, Array | None],
        time_ns: int,
        view: ContactView,
        up_I: Array,
        torques: Array | None,
    ) -> None:
        """Read the forces at one time.

        Args:
            inputs: The inputs, for the axes of wrenches and for planned ones.
            rows: Rows of the contacts' streams at that time, None where missing.
            time_ns: That time [ns].
            view: Kinematics of the contacts.
            up_I: The vertical in the IMU frame, shape (3,).
            torques: Vertical forces that follow from joint torques [N], shape (n,); None where not known.
        """
        up_B = view.R_BI @ up_I
        for k, name in enumerate(self.names):
            source, value = self._sources.get(name, ContactSource.NONE), float("nan")
            if source is ContactSource.JOINT_TORQUES:
                value = value if torques is None else float(torques[k])
            elif name in inputs.contacts:
                contact = inputs.contacts[name]
                stream = contact.stream.spec.name
                row = rows.get(stream)
                if source is ContactSource.DESIRED:
                    row = inputs.aligner.latest(stream, time_ns, self._timeout)
                if row is not None:
                    value = self._vertical(contact, row, view.R_BI @ view.wrench_rotations[k], up_B)
            self.forces[k] = value
        self._take()

    def _vertical(self, contact: ContactInput, row: Array, R_BF: Array, up_B: Array) -> float:
        if contact.source is ContactSource.SWITCH:
            return self._weight * float(row[0])
        if len(row) == 1:
            return float(row[0])
        if contact.axes is WrenchAxes.WORLD:
            return float(row[2])
        return float(up_B @ contact.axes.in_base(row[:3], R_BF))
