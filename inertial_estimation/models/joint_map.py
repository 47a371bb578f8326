"""Joint states by name to the model's joint order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.compilation import Column, compiled, inlined, integers, warm_up
from inertial_estimation.errors import (
    DuplicateJointError,
    MeasurementError,
    PositionFaultError,
    listing,
)
from inertial_estimation.models.joint_checks import JointChecks
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.joint_velocity import JointVelocity
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, JointReading, JointSample

# Integers: whether velocities are measured, so that compiled functions may take joint states; joints that are
# named, number of the set of names, whether efforts are needed, whether joints are corrected. Then the place
# of each joint of the model among the names.
READY, NAMED, NAMES, EFFORT, CORRECTED, ORDER = range(6)
OFFSET, GAIN = range(2)  # rows of numbers by joint: offset of its position, gain of its drive


@dataclass(frozen=True, eq=False)
class JointMemory:
    """Where compiled functions find the mapping.

    Attributes:
        n: Integers.
        cells: The same, as Python reads and writes them.
        x: Rows of numbers, shape (2, n_joints).
    """

    n: Any
    cells: Any
    x: Array


class JointMap:
    """Maps joint states, as a robot names and orders them, to the model's joint order, and corrects them.

    The mapping is recomputed whenever the names change. Velocities that are not sent are derived from the
    positions, according to `inputs.joint_velocity` (`JointVelocity`).

    Attributes:
        memory: Where compiled functions find the mapping.
        checks: Compares joint states with those before, and refuses some; None: nothing does.
        name_changes: Number of times that the names have changed.
    """

    def __init__(
        self,
        robot: RobotModel,
        config: RobotConfig | None = None,
        *,
        need_velocity: bool = True,
        need_effort: bool = False,
        checked: bool = False,
    ) -> None:
        """Resolve the corrections.

        Args:
            robot: The model.
            config: Its parameters, for offsets of positions, gains of drives and where velocities come from;
                None: the defaults.
            need_velocity: Whether velocities are picked, or derived.
            need_effort: Whether efforts are picked as well.
            checked: Whether joint states are compared with those before, and refused where they jump or
                stand still (`JointChecks`).

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If offsets or gains do not fit the robot.
        """
        warm_up()
        self._robot = robot
        self._need_effort = need_effort
        given = config or RobotConfig()
        corrections = joint_corrections(given.joint_offsets, given.drive_gains, robot)
        x: Array = np.stack((corrections.offset, corrections.gain))
        self.memory = JointMemory(*integers(ORDER + robot.n_joints), x)
        self.memory.cells[EFFORT], self.memory.cells[CORRECTED] = need_effort, not corrections.trivial
        self._velocity = JointVelocity(robot, given.inputs) if need_velocity else None
        self.checks = JointChecks(robot, given.inputs) if checked and need_velocity else None
        self._names: tuple[str, ...] | None = None
        self._index: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.name_changes = 0

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the joints in the last joint state that has been mapped."""
        return self._names

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return (1 + (self._velocity is not None) + self._need_effort) * self._robot.n_joints

    @property
    def deriving(self) -> bool:
        """Whether velocities may have to be derived, so that every joint state is needed."""
        return self._velocity is not None and self._velocity.watching

    @property
    def velocity_source(self) -> str:
        """Human-readable source of the velocities of the last joint state."""
        return self._velocity.source if self._velocity is not None else "not used"

    def reset(self) -> None:
        """Forget the positions velocities are derived from."""
        if self._velocity is not None:
            self._velocity.reset()
        if self.checks is not None:
            self.checks.reset()

    @property
    def remark(self) -> str:
        """What is doubtful about the positions although they are used; empty where nothing is."""
        return self.checks.remark if self.checks is not None else ""

    def sample(self, reading: JointReading) -> JointSample:
        """Pick and order the model's joints; joints the model does not have are left out.

        Args:
            reading: Joint state by name.

        Returns:
            Joint state in the model's order; `tau` is None unless effort is needed.

        Raises:
            ~inertial_estimation.errors.PositionFaultError: If positions are checked and contradict those of
                the joint states before.
            ~inertial_estimation.errors.DuplicateJointError: If a joint of the model is named more than once,
                even with equal values: which publisher is right cannot be known, and the next message may
                have other values.
            ~inertial_estimation.errors.MeasurementError: If a joint of the model, its velocity (see
                `JointVelocity.of`), or an effort that is needed, is not there.
        """
        assert self._velocity is not None, "a sample has velocities"
        return JointSample(reading.stamp_ns, *self.row(reading).reshape(-1, self._robot.n_joints))

    def row(self, reading: JointReading) -> Array:
        """Return the fields of `sample` as one row: positions and, where needed, velocities and efforts.

        Args:
            reading: Joint state by name.

        Returns:
            Numbers in the model's order, shape (k n_joints,), k from 1 to 3.

        Raises:
            ~inertial_estimation.errors.MeasurementError: As `sample` does.
        """
        if reading.names is not self._names and reading.names != self._names:
            self._look_up(reading.names)
        velocity, sent = self._velocity, reading.velocity
        fields = [reading.position]
        if velocity is not None:
            fields.append(reading.position if sent is None else sent)  # placeholder for derived velocities
        if self._need_effort:
            fields.append(self._effort(reading))
        row: Array = np.concatenate(fields)[self._index]
        if self.memory.cells[CORRECTED]:
            self._correct(row)
        if velocity is not None:
            self._fill_velocities(row, reading.stamp_ns, velocity, sent)
        return row

    def _fill_velocities(
        self, row: Array, stamp_ns: int, velocity: JointVelocity, sent: Array | None
    ) -> None:
        n, checks = self._robot.n_joints, self.checks
        q, v = row[:n], row[n : 2 * n]
        usable = sent is not None and not velocity.watching and _usable(sent)
        fault = "" if checks is None else checks.fault(stamp_ns, q, v if usable else None)
        if fault:
            raise PositionFaultError(fault)
        if not usable:
            v[:] = velocity.of(stamp_ns, q, None if sent is None else v)
            if checks is not None:
                checks.note_derived(v)
        self.memory.cells[READY] = not velocity.watching

    def _effort(self, reading: JointReading) -> Array:
        if reading.effort is None:
            raise MeasurementError("the joint state has no effort, but joint torques are needed")
        return reading.effort

    def _correct(self, row: Array) -> None:
        n, corrections = self._robot.n_joints, self.memory.x
        row[:n] += corrections[OFFSET, :n]
        if self._need_effort:
            with np.errstate(over="ignore"):  # what overflows is beyond every range
                row[-n:] *= corrections[GAIN, :n]

    def _look_up(self, names: tuple[str, ...]) -> None:
        where = {name: i for i, name in enumerate(names)}
        if len(where) != len(names):
            twice = [name for name in self._robot.joint_names if names.count(name) > 1]
            if twice:
                raise DuplicateJointError(f"the joint state names {listing(twice)} more than once")
        missing = [name for name in self._robot.joint_names if name not in where]
        if missing:
            raise MeasurementError(
                f"the joint state misses {listing(missing)} (lock them if they do not move); "
                f"it has {listing(names)}"
            )
        self.name_changes += self._names is not None
        self._names, cells = names, self.memory.cells
        cells[NAMED] = len(names)
        cells[NAMES] += 1
        order = np.array([where[name] for name in self._robot.joint_names], dtype=np.int64)
        for k, place in enumerate(order.tolist()):
            cells[ORDER + k] = place
        fields = 1 + (self._velocity is not None) + self._need_effort
        self._index = np.concatenate([order + k * len(names) for k in range(fields)])


@inlined
def usable_velocity(velocity: Column) -> bool:
    """Whether velocities are neither all zero nor NaN; a dot product would overflow for absurd ones."""
    return bool(np.any(velocity)) and not bool(np.isnan(velocity).any())


@compiled
def _usable(velocity: Column) -> bool:
    return usable_velocity(velocity)
