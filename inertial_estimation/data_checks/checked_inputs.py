"""What the checks of the data keep of every reading: counts of its stamps, and whether values are held."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.data_checks.held_values import HeldValues
from inertial_estimation.data_checks.stream_statistics import StreamStatistics
from inertial_estimation.models.robot_config import IMU_TOPIC
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample

BLOCK = 256  # readings that are looked at at once
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


class CheckedInput:
    """What is kept of one input.

    Attributes:
        statistics: Counts of its stamps.
    """

    def __init__(self, name: str, max_gap_s: float, quantities: Sequence[str]) -> None:
        """Begin without a reading.

        Args:
            name: The input.
            max_gap_s: Longest step of its stamps that is no gap [s].
            quantities: What the parts of its readings are, in the plural.
        """
        self.statistics = StreamStatistics(name, max_gap_s)
        self._held = [HeldValues(name, quantity) for quantity in quantities]
        self._names: tuple[str, ...] = ()
        self._stamps: list[int] = []
        self._parts: list[Sequence[Array | None]] = []

    def push(self, stamp_ns: int, parts: Sequence[Array | None], names: tuple[str, ...]) -> None:
        """Take a reading.

        Args:
            stamp_ns: Its stamp [ns].
            parts: Its numbers; None for parts that it does not have.
            names: Of the numbers of a part.
        """
        self.statistics.push(stamp_ns)
        if names is not self._names and names != self._names:
            self._count()
            self._names, self._stamps, self._parts = names, [], []
        self._stamps.append(stamp_ns)
        self._parts.append(parts)
        if len(self._stamps) > BLOCK:
            self._count()

    def push_rows(self, times_ns: NDArray[np.int64], parts: Sequence[Array], names: tuple[str, ...]) -> None:
        """Take readings in a row, whose stamps are counted elsewhere.

        Args:
            times_ns: Their times [ns], shape (m,).
            parts: Their numbers, shape (m, n) each.
            names: Of the numbers of a part.
        """
        self._names = names
        for held, rows in zip(self._held, parts, strict=True):
            held.push(times_ns, rows)

    def results(self) -> list[CheckResult]:
        """Return what is held; nothing where nothing is."""
        self._count()
        return [result for held in self._held for result in held.results(self._names)]

    def _count(self) -> None:
        """Count the changes in the readings that are kept, and keep the last of them alone."""
        if len(self._stamps) < 2:
            return
        stamps = np.array(self._stamps, dtype=np.int64)
        for k, held in enumerate(self._held):
            rows = [parts[k] for parts in self._parts]
            if all(row is not None for row in rows):
                held.push(stamps, np.array(rows))
        self._stamps, self._parts = self._stamps[-1:], self._parts[-1:]


class CheckedInputs:
    """What is kept of all inputs of a robot.

    Attributes:
        joints: Of the joint states.
        imu: Of the IMU.
        wrenches: Of the wrenches, by contact.
    """

    def __init__(self, contacts: Iterable[str], max_gap_s: float) -> None:
        """Begin without a reading.

        Args:
            contacts: Names of the contacts.
            max_gap_s: Longest step of stamps that is no gap [s].
        """
        self.joints = CheckedInput(JOINTS, max_gap_s, PLURALS)
        self.imu = CheckedInput(IMU_TOPIC, max_gap_s, ("readings",))
        self.wrenches = {
            contact: CheckedInput(f"{contact}/wrench", max_gap_s, ("readings",)) for contact in contacts
        }

    def __iter__(self) -> Iterator[CheckedInput]:
        yield from (self.joints, self.imu, *self.wrenches.values())

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state."""
        self.joints.push(
            reading.stamp_ns, (reading.position, reading.velocity, reading.effort), reading.names
        )

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        row = np.concatenate((sample.specific_force_I, sample.angular_rate_I))
        self.imu.push(sample.stamp_ns, (row,), IMU_AXES)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of one of the contacts."""
        self.wrenches[contact].push(sample.stamp_ns, (sample.wrench_F,), WRENCH_AXES)

    def results(self) -> list[CheckResult]:
        """Return what is held; nothing where nothing is."""
        found = self.joints.results()
        for wrench in self.wrenches.values():
            found += wrench.results()
        return [*found, *self.imu.results()]
