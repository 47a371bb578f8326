"""All inputs of a robot, and what their readings say of values that are held."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from inertial_estimation.compilation import integers
from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.data_checks.checked_input import SECTION, CheckedInput, numbers_kept
from inertial_estimation.data_checks.held_values import HeldValues
from inertial_estimation.models.robot_config import IMU_TOPIC
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample

JOINTS = "joint_states"
PLURALS = ("positions", "velocities", "efforts")
IMU_AXES = (
    "specific force x",
    "specific force y",
    "specific force z",
    "angular rate x",
    "angular rate y",
    "angular rate z",
)
WRENCH_AXES = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
SENSOR_NUMBERS = numbers_kept(1, len(WRENCH_AXES))  # of the IMU or a wrench


class CheckedInputs:
    """What the checks of the data keep of every reading of all inputs.

    Attributes:
        joints: Of the joint states.
        imu: Of the IMU.
        wrenches: Of the wrenches, by contact.
        n: Integers of the IMU and then of each wrench, SECTION of each.
        x: Their numbers, SENSOR_NUMBERS of each.
    """

    def __init__(self, contacts: Iterable[str], max_gap_s: float, *, forgets: bool) -> None:
        """Begin without a reading.

        Args:
            contacts: Names of the contacts.
            max_gap_s: Longest step of stamps that is no gap [s].
            forgets: Whether the last seconds count rather than all readings, for values that are held.
        """

        def of(name: str, quantity: str) -> HeldValues:
            return HeldValues(name, quantity, forgets=forgets)

        names = {contact: f"{contact}/wrench" for contact in contacts}
        self.n, cells = integers(SECTION * (1 + len(names)))
        self.x: Array = np.zeros(SENSOR_NUMBERS * (1 + len(names)))

        def room(k: int) -> tuple[Any, Any, Array]:
            own, numbers = slice(k * SECTION, (k + 1) * SECTION), slice(k * SENSOR_NUMBERS, None)
            return self.n[own], cells[own], self.x[numbers][:SENSOR_NUMBERS]

        self.joints = CheckedInput(JOINTS, max_gap_s, [of(JOINTS, quantity) for quantity in PLURALS])
        self.imu = CheckedInput(IMU_TOPIC, max_gap_s, [of(IMU_TOPIC, "readings")], IMU_AXES, room(0))
        self.wrenches = {
            contact: CheckedInput(name, max_gap_s, [of(name, "readings")], WRENCH_AXES, room(k))
            for k, (contact, name) in enumerate(names.items(), 1)
        }

    def __iter__(self) -> Iterator[CheckedInput]:
        yield from (self.joints, self.imu, *self.wrenches.values())

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state."""
        parts = (reading.position, reading.velocity, reading.effort)
        self.joints.push(reading.stamp_ns, parts, reading.names)

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        row = np.concatenate((sample.specific_force_I, sample.angular_rate_I))
        self.imu.push(sample.stamp_ns, (row,), IMU_AXES)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of one of the contacts."""
        self.wrenches[contact].push(sample.stamp_ns, (sample.wrench_F,), WRENCH_AXES)

    def results(self) -> list[CheckResult]:
        """Return what is held now; nothing where nothing is."""
        found = self.joints.results()
        for wrench in self.wrenches.values():
            found += wrench.results()
        return [*found, *self.imu.results()]
