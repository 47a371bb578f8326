"""Velocity of the IMU from the contacts in use, and the ground reaction at each contact."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import cells, zeros
from inertial_estimation.estimators.tilt.contact_weighing import (
    BEGIN_KNOWN,
    BY_POSITIONS,
    EXTENT,
    INFORMATION,
    INITIAL_VARIANCE,
    LOAD_WIDTH,
    MAX_GAP,
    OFF,
    ON,
    UNSENSED,
    USED,
    VARIANCE,
    WRENCHES_KNOWN,
    contact_loads,
    contact_point,
)
from inertial_estimation.estimators.tilt.estimator_memory import (
    CENTRES,
    CONTACTS,
    TRIGGERS,
    WEIGHTS,
    block_of,
)
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.models.contacts import ContactConfig, ContactLoad
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector


class ContactVelocity:
    """State of the contacts, which are weighted by their vertical force and give the velocity of the IMU.

    Attributes:
        row: Numbers of the state and the parameters, for `contact_weighing.weigh`.
        wrenches: Those of the last step that had them, each in its wrench frame [N, Nm], shape (n, 6).
    """

    def __init__(self, config: ContactConfig, names: Sequence[str], max_gap: float, memory: Array) -> None:
        """Begin with no contact in use.

        Args:
            config: Force thresholds and resting point of the contacts.
            names: Names of the contacts.
            max_gap: Longest step over which the motion of a contact point is averaged [s].
            memory: Of the estimator (`estimator_memory`).
        """
        self._names = tuple(names)
        self._names_in_use: dict[float, tuple[str, ...]] = {}
        self.row, self._weights = memory[CONTACTS], memory[WEIGHTS]
        self._triggers, self._centres = block_of(memory, TRIGGERS), block_of(memory, CENTRES)
        self._cells = cells(self.row)
        self._cells[MAX_GAP] = max_gap
        self._no_wrenches = zeros(len(names), 6)
        self.configure(config)
        self.reset()

    def configure(self, config: ContactConfig) -> None:
        """Take parameters, which may have changed at run time."""
        numbers, extended = self._cells, config.point == "centre_of_pressure"
        numbers[ON], numbers[OFF] = config.force_on, config.force_off
        numbers[EXTENT] = config.extent if extended else 0.0
        numbers[BY_POSITIONS] = float(config.velocity == "position_difference")
        numbers[UNSENSED] = float(not config.sensed)

    def reset(self) -> None:
        """Take all contacts out of use and discard their motion."""
        for row in (*self._triggers, *self._centres, self._weights):
            row[:] = zeros(len(row))
        self.wrenches = self._no_wrenches
        numbers = self._cells
        numbers[BEGIN_KNOWN] = numbers[WRENCHES_KNOWN] = numbers[USED] = 0.0
        numbers[VARIANCE], numbers[INFORMATION] = INITIAL_VARIANCE, 1.0

    @property
    def in_use(self) -> tuple[str, ...]:
        """Names of the contacts in use at the last step with joints and wrenches."""
        used = self._cells[USED]
        names = self._names_in_use.get(used)
        if names is None:
            names = tuple(name for i, name in enumerate(self._names) if int(used) >> i & 1)
            self._names_in_use[used] = names
        return names

    @property
    def _shares(self) -> Array:
        """Shares of the contacts at the last step with joints and wrenches, of sum 1 or all zero."""
        shares: Array = self._weights[: len(self._names)]
        return shares

    @property
    def information(self) -> float:
        """Information of the last velocity over the usual one, low where the feet contradict the IMU."""
        return float(self._cells[INFORMATION])

    def remember(self, *, known: bool) -> None:
        """Note at the end of a step whether it had joints, so that the motions at its end are known."""
        self._cells[BEGIN_KNOWN] = float(known)

    def feet(self, state: KinematicState) -> list[Vector | None]:
        """Return the position of each contact point in the IMU frame [m], None for contacts not in use.

        Args:
            state: Kinematics at the end of the step.
        """
        rows = zip(state.motions, self._centres, self._shares, strict=True)
        return [contact_point(motion, centre) if weight > 0.0 else None for motion, centre, weight in rows]

    def loads(self, state: KinematicState) -> tuple[ContactLoad, ...]:
        """Return point, force and weight of every contact; empty before the first wrenches.

        Args:
            state: Kinematics at the time of the last wrenches.
        """
        if not self._cells[WRENCHES_KNOWN]:
            return ()
        found = zeros(len(self._names), LOAD_WIDTH)
        contact_loads(state.imu, state.motions, state.wrench_frames, self._centres, self.wrenches, found)
        rows = zip(self._names, np.asarray(found).tolist(), np.asarray(self._shares).tolist(), strict=True)
        return tuple(ContactLoad(name, tuple(row[:3]), tuple(row[3:]), share) for name, row, share in rows)
