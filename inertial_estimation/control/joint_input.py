"""The way of a joint state to the controller: from its bytes in one compiled call, or by name."""

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    compiled,
    compiling,
    warm_up,
)
from inertial_estimation.construction import made_of_checked
from inertial_estimation.message_numbers import UNUSUAL, stamp_of
from inertial_estimation.models.joint_map import NAMED, NAMES, JointMap
from inertial_estimation.models.joint_message import (
    COUNT,
    OF_MAP,
    JointMessage,
    efforts_of,
    in_order,
)
from inertial_estimation.signals import JointReading, JointSample

_joint_sample = made_of_checked(JointSample)


class JointInput:
    """Maps joint states to the model's joint order; usual messages of known names in one compiled call."""

    def __init__(self, joints: JointMap, n_joints: int) -> None:
        """Know no names.

        Args:
            joints: The joints of the model; positions and velocities are needed, efforts are not.
            n_joints: Their number.
        """
        self._joints, self._n = joints, n_joints
        self._message, self._unread = JointMessage(), False
        # without a compiler, loops over numbers are slower than the way by name
        self._usable = compiling()
        warm_up()

    def taken(self, data: bytes) -> JointSample | None:
        """Return the joint state of a serialised message; None where its value is to be passed to `sample`.

        Args:
            data: A message of type sensor_msgs/JointState.
        """
        if not self._usable or self._joints.deriving:
            return None
        message, joints, row = self._message, self._joints.memory, np.empty(2 * self._n)
        length = message.hold(data)
        stamp_ns = usual_joints(
            length, message.words, message.doubles, message.known, joints.n, joints.x, row
        )
        self._unread = stamp_ns == UNUSUAL
        if self._unread:
            return None
        row.setflags(write=False)
        return _joint_sample(stamp_ns, row[: self._n], row[self._n :], None)

    def sample(self, reading: JointReading) -> JointSample:
        """Return a joint state that is read by name, and learn where messages of these names have numbers.

        Raises:
            ~inertial_estimation.errors.MeasurementError: As `JointMap.sample` does.
        """
        unread, self._unread = self._unread, False
        sample = self._joints.sample(reading)
        if self._usable and unread and self._message.note(reading.names, self._joints.memory.cells[NAMES]):
            self._message.learn(reading.stamp_ns)
        return sample


@compiled
def usual_joints(
    length: int,
    words: Integers,
    doubles: Column,
    known: Integers,
    joints: Integers,
    corrections: MutableTable,
    row: MutableColumn,
) -> int:
    """Read a joint state whose names are known and whose velocities are measured.

    Args:
        length: Length of its message behind the encapsulation [bytes].
        words: The message.
        doubles: The same as doubles.
        known: What is known of the last message that was read by name.
        joints: Integers of `JointMap.memory`.
        corrections: Numbers of the same.
        row: Positions and velocities in the model's order, shape (2 n_joints,); written.

    Returns:
        The stamp [ns]; UNUSUAL where the message is to be read by name.
    """
    named, first = joints[NAMED], known[COUNT] + 2
    if known[OF_MAP] != joints[NAMES] or efforts_of(length, named, words, known) < 0:
        return UNUSUAL
    q, v = doubles[first : first + named], doubles[first + named + 1 : first + 2 * named + 1]
    stamp = stamp_of(words)
    if stamp < 0 or not in_order(q, v, doubles[:0], row, joints, corrections):
        return UNUSUAL
    return stamp
