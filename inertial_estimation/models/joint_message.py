"""Serialised joint states of known names, where compiled functions find their numbers."""

import math
import struct

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    inlined,
    integers,
)
from inertial_estimation.message_numbers import (
    MessageNumbers,
    aligned,
    is_plain,
    low_half,
    meant_bytes,
    names_of,
    stamp_of,
)
from inertial_estimation.models.joint_map import CORRECTED, EFFORT, GAIN, OFFSET, ORDER, usable_velocity

NAME_OF_FRAME = 12  # offset of it in a message [bytes]

# Integers of what is known of the last message that was read by name: number of the set of its names in the
# map; number of words from the name of its frame on to its first position, these, and which
# bits of them mean something.
MOST_WORDS = 4096
MOST_JOINTS = 2048  # whose numbers have room in the memory of a message
OF_MAP, COUNT, WORDS = range(3)
MEANT = WORDS + MOST_WORDS


class JointMessage(MessageNumbers):
    """The last serialised joint state, and what is known of the last one that was read by name.

    Attributes:
        known: Integers of what is known, as compiled functions read them.
        known_cells: The same, as Python reads and writes them.
        names: Names of the last joint state that was read by name.
    """

    def __init__(self) -> None:
        """Know nothing."""
        super().__init__()
        self.known, self.known_cells = integers(MEANT + MOST_WORDS)
        self.names: tuple[str, ...] = ()

    def note(self, names: tuple[str, ...], of_map: int) -> bool:
        """Note the names of a joint state that has been read by name; return whether there is room for them.

        Args:
            names: Its names; where a message has its numbers is forgotten if they differ from those before.
            of_map: Number of the set of these names in the map.
        """
        if len(names) > MOST_JOINTS:
            return False
        if names != self.names:
            self.names, self.known_cells[COUNT] = names, 0
        self.known_cells[OF_MAP] = of_map
        return True

    def learn(self, stamp_ns: int) -> None:
        """Note the words before the first position, if the message is the one that has been read by name.

        Args:
            stamp_ns: Stamp of the joint state that has been read [ns].
        """
        known, words, body, names = self.known_cells, self.cells, self.body, self.names
        if stamp_of(words) != stamp_ns:
            return
        try:
            found, end = names_of(body, NAME_OF_FRAME + low_half(words, NAME_OF_FRAME - 4))
        except (struct.error, UnicodeDecodeError):
            return
        end = aligned(end, 4)
        count, most = aligned(end + 4, 8) // 8 - 1, min(MOST_WORDS, len(body) // 8 - 1)
        if found == names and low_half(words, end) == len(names) and count <= most:
            known[COUNT] = count
            meant = np.frombuffer(meant_bytes(body), np.int64, count, 8)
            known[MEANT : MEANT + count] = meant.data
            known[WORDS : WORDS + count] = (np.asarray(words[2 : 2 + count]) & meant).data


@inlined
def efforts_of(length: int, named: int, words: Integers, known: Integers) -> int:
    """Return how many efforts a message has whose names are known; -1 where it is of another layout.

    Args:
        length: Length of the message behind the encapsulation [bytes].
        named: Number of its joints.
        words: The message.
        known: What is known of the last message that was read by name.
    """
    count = known[COUNT]
    velocities = 8 * (count + 1 + named)  # offsets of the numbers of velocities and of efforts
    efforts = velocities + 8 * (named + 1)
    if count == 0 or named == 0 or not is_plain(length, words) or length < efforts + 4:
        return -1
    for i in range(count):
        if words[2 + i] & known[MEANT + i] != known[WORDS + i]:
            return -1
    if low_half(words, velocities) != named:
        return -1
    found = low_half(words, efforts)
    return found if found == 0 or (found == named and length >= efforts + 8 * (named + 1)) else -1


@inlined
def in_order(
    q: Column, v: Column, tau: Column, row: MutableColumn, joints: Integers, corrections: MutableTable
) -> bool:
    """Write the joints in the model's order, corrected; return whether velocities and efforts are usual.

    Args:
        q: Positions as sent [rad or m].
        v: Velocities as sent [rad/s or m/s].
        tau: Efforts as sent [Nm or N]; none where they are not needed.
        row: Positions, velocities and, where they are needed, efforts; written.
        joints: Integers of `JointMap.memory`.
        corrections: Numbers of the same.
    """
    m, usual = len(joints) - ORDER, usable_velocity(v)
    for i in range(m):
        place = joints[ORDER + i]
        row[i], row[m + i] = q[place], v[place]
        if joints[EFFORT] != 0:
            row[2 * m + i] = tau[place]
    if joints[CORRECTED] != 0:
        row[:m] += corrections[OFFSET, :m]
        row[2 * m :] *= corrections[GAIN, : len(row) - 2 * m]
    for i in range(2 * m, len(row)):
        usual = usual and abs(row[i]) < math.inf
    return usual
