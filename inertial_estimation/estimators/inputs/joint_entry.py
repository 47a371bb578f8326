"""The way of a usual joint state from its bytes to the aligner."""

from collections.abc import Callable
from typing import Any

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    compiled,
    compiling,
    warm_up,
)
from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inputs.aligner_memory import ROW, part_of, stream_of
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.row_entry import ANOTHER, REFUSED, STORED, accept
from inertial_estimation.estimators.inputs.rows import JOINTS
from inertial_estimation.message_numbers import stamp_of
from inertial_estimation.models.drop_reasons import DropReason, misfit
from inertial_estimation.models.joint_checks import FOLLOWS, check_joints
from inertial_estimation.models.joint_map import EFFORT, NAMED, NAMES, ORDER, READY, JointMap
from inertial_estimation.models.joint_message import (
    COUNT,
    OF_MAP,
    JointMessage,
    efforts_of,
    in_order,
)
from inertial_estimation.signals import Array, JointReading

GIVEN, WITHOUT_EFFORT = -1, -2  # in place of the length of a message: the numbers are those of a joint state


class JointEntry:
    """Takes joint states: usual ones of known names in one compiled call each, all others by name.

    Attributes:
        usable: Whether compiled calls take usual ones here.
        number: Number of the input in the aligner.
        memory: What is known of the last message that was read by name, integers and numbers of the mapping
            of the joints and of their checks; empty where compiled calls take none.
    """

    def __init__(
        self,
        joints: JointMap,
        aligner: SignalAligner,
        make_row: Callable[[JointReading], Array] | None = None,
    ) -> None:
        """Take where joint states go.

        Args:
            joints: The joints of the model.
            aligner: The aligned inputs.
            make_row: Returns the row of a joint state, or raises MeasurementError; None: that of `joints`.
        """
        self._make_row = make_row or joints.row
        self._message, self._joints, self._aligner = JointMessage(), joints, aligner
        memory, mapping, self._check = aligner.memory, joints.memory, joints.checks
        self.memory: tuple[Any, ...] = ()
        if self._check is not None:
            self.memory = self._message.known, mapping.n, mapping.x, self._check.n, self._check.x
        self._numbers = self._message.words, self._message.doubles
        self._aligned = memory.n, memory.s, memory.x
        self._stream, self._unread = aligner.stream(JOINTS), False
        self._stream.remark = lambda: joints.remark
        self.number = self._stream.number
        # without a compiler, loops over numbers are slower than the way of all other joint states
        fits = self._stream.spec.width == joints.width
        self.usable = compiling() and self._check is not None and fits
        warm_up()

    def take(self, data: bytes) -> bool:
        """Take a serialised message; return whether it has been taken, else its value is to be pushed."""
        if not self.usable:
            return False
        found = self._enter(self._message.hold(data), 0)
        if found == STORED:
            return True
        self._unread = found == ANOTHER
        return not self._unread and self.judge(found)

    def push(self, reading: JointReading) -> None:
        """Take a joint state; one that does not fit the model is dropped and counted."""
        if self.take_reading(reading):
            return
        try:
            row = self._make_row(reading)
        except MeasurementError as error:
            self._aligner.count_drop(JOINTS, misfit(error), str(error))
        else:
            self._aligner.push(JOINTS, reading.stamp_ns, row)
        self.discard_wrong()
        self.learn(reading)

    def discard_wrong(self) -> None:
        """Discard all readings of all inputs if the first joint states of all have proved wrong."""
        if self._check is not None and self._check.begins:
            self._aligner.clear()

    def take_reading(self, reading: JointReading) -> bool:
        """Take a joint state; return whether it has been taken, else it is to be read by name."""
        velocity, effort, names, known = reading.velocity, reading.effort, reading.names, self._message.names
        if velocity is None or not self.usable or (names is not known and names != known):
            return False
        if self._unread:  # it is the one that `take` has not taken
            return False
        doubles, n = self._message.doubles, len(names)
        doubles[1 : n + 1], doubles[n + 2 : 2 * n + 2] = reading.position, velocity
        if effort is not None:
            doubles[2 * n + 3 : 3 * n + 3] = effort
        found = self._enter(GIVEN if effort is not None else WITHOUT_EFFORT, reading.stamp_ns)
        return found == STORED or (found != ANOTHER and self.judge(found))

    def learn(self, reading: JointReading) -> None:
        """Note the names of a joint state that has been read by name, and where its message has numbers."""
        unread, self._unread = self._unread, False
        message, joints, names = self._message, self._joints, reading.names
        if not self.usable or not joints.memory.cells[READY] or joints.names != names:
            return
        if not message.note(names, joints.memory.cells[NAMES]):
            return
        if unread:
            message.learn(reading.stamp_ns)

    def _enter(self, length: int, stamp_ns: int) -> int:
        memory = (*self._numbers, *self.memory, *self._aligned)
        return int(enter_joints(length, stamp_ns, self.number, *memory))

    def judge(self, found: int) -> bool:
        """Treat a joint state that is not usual; return True.

        Args:
            found: What `enter_joints` has found.
        """
        if found == REFUSED:
            assert self._check is not None
            self._aligner.count_drop(JOINTS, DropReason.SENSOR_FAULT, self._check.text)
            self.discard_wrong()
        else:
            newest = self._aligner.memory.streams[self.number].newest
            self._aligner.judge(self._stream, found, *newest)
        return True


@compiled
def enter_joints(
    length: int,
    stamp: int,
    k: int,
    words: Integers,
    doubles: Column,
    known: Integers,
    joints: Integers,
    corrections: MutableTable,
    followed: Integers,
    tracks: MutableTable,
    n: Integers,
    s: MutableTable,
    x: MutableColumn,
) -> int:
    """Take a joint state into the aligner, if it is usual.

    Args:
        length: Length of its message behind the encapsulation [bytes]; GIVEN or WITHOUT_EFFORT: none, its
            numbers are given where those of a message without strings would be.
        stamp: Its stamp where its numbers are given [ns].
        k: Number of its input in the aligner.
        words: Its message.
        doubles: The same as doubles.
        known: What is known of the last message that was read by name.
        joints: Integers of `JointMap.memory`.
        corrections: Numbers of the same.
        followed: Integers of `JointChecks`; changed.
        tracks: Numbers of the same; changed.
        n: Integers of the aligner; changed.
        s: Figures of its regulators; changed.
        x: Its numbers; changed.

    Returns:
        What became of its row, as `row_entry.accept`; REFUSED where it contradicts those before; ANOTHER
        where it is to be read by name, and nothing has changed.
    """
    named = joints[NAMED]
    if joints[READY] == 0 or known[OF_MAP] != joints[NAMES]:
        return ANOTHER
    first, efforts = 1, 0 if length == WITHOUT_EFFORT else named
    if length >= 0:
        first, efforts = known[COUNT] + 2, efforts_of(length, named, words, known)
        stamp = stamp_of(words)
    if efforts < 0 or (efforts == 0 and joints[EFFORT] != 0):
        return ANOTHER
    q, v = doubles[first : first + named], doubles[first + named + 1 : first + 2 * named + 1]
    tau = doubles[first + 2 * named + 2 : first + 2 * named + 2 + efforts]
    row, m = part_of(ROW, stream_of(k, n), x), len(joints) - ORDER
    if not in_order(q, v, tau, row, joints, corrections):
        return ANOTHER
    follows = check_joints(stamp, row[:m], row[m : 2 * m], True, followed, tracks) == FOLLOWS
    return accept(stamp, k, n, s, x) if follows else REFUSED
