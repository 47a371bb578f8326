"""Usual messages of all inputs of a pipeline in a row: one compiled call up to the first that needs more.

A recording has its messages at hand, where a node gets one after the other. Both enter each of them by the
same compiled functions (`sensor_entry.enter_reading`, `joint_entry.enter_joints`).
"""

from collections.abc import Sequence
from typing import Any

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
from inertial_estimation.estimators.inputs.input_entries import InputEntries
from inertial_estimation.estimators.inputs.joint_entry import JointEntry, enter_joints
from inertial_estimation.estimators.inputs.ready_steps import tick_is_idle
from inertial_estimation.estimators.inputs.row_entry import ANOTHER, STORED
from inertial_estimation.estimators.inputs.sensor_entry import SensorEntry, enter_reading
from inertial_estimation.message_numbers import MessageSeries

# What a message goes into: nothing of the pipeline; something that takes its value or judges its bytes alone;
# the joint states; then the IMU and each of the wrenches.
UNREAD, PUSHED, JOINTS, SENSORS = range(-2, 2)
LAYOUT_SIZE = 9  # integers of a sensor: its number in the aligner, then its layout


class MessageRun:
    """Enters messages in a row into the aligner of one pipeline."""

    def __init__(self, entries: InputEntries) -> None:
        """Take where readings go.

        Args:
            entries: The ways of all readings of the pipeline.
        """
        self._joints, imu, memory = entries.joints, entries.imu, entries.aligner.memory
        sensors = (*(() if imu is None else (imu,)), *entries.wrenches.values())
        self._sensors: tuple[SensorEntry, ...] = sensors
        layouts = [number for one in sensors for number in (one.number, *one.layout)]
        assert len(layouts) == LAYOUT_SIZE * len(sensors)
        self._layouts: Any = np.array(layouts, dtype=np.int64) if compiling() else layouts
        self._memory: tuple[Any, ...] = memory.n, memory.s, memory.x
        self._messages: tuple[Any, ...] = ()
        warm_up()

    def port(self, entry: JointEntry | SensorEntry) -> int:
        """Return what the messages of an entry of the pipeline go into."""
        if isinstance(entry, JointEntry):
            return JOINTS if entry.usable else PUSHED
        return SENSORS + self._sensors.index(entry)

    def begin(self, ports: Sequence[int], messages: MessageSeries) -> None:
        """Take messages that are to be entered.

        Args:
            ports: What each of them goes into.
            messages: The messages.
        """
        given = np.array(ports, dtype=np.int64) if compiling() else ports
        series = messages.places, messages.words, messages.doubles
        self._messages = self._joints.number, given, *series, self._layouts, *self._joints.memory

    def enter(self, first: int, end: int) -> tuple[int, int]:
        """Enter messages, as if the pipeline were ticked after each, until a tick would do something.

        Args:
            first: Number of the first one.
            end: Number behind the last one.

        Returns:
            Number of the message with which it ends, after which the pipeline is to be ticked, and what
            became of it: STORED; ANOTHER, it has not been entered; or what its entry is to judge.
        """
        return enter_run(first, end, *self._messages, *self._memory)


@compiled
def enter_run(
    first: int,
    end: int,
    k: int,
    ports: Integers,
    places: Integers,
    words: Integers,
    doubles: Column,
    layouts: Integers,
    known: Integers,
    joints: Integers,
    corrections: MutableTable,
    followed: Integers,
    tracks: MutableTable,
    n: Integers,
    s: MutableTable,
    x: MutableColumn,
) -> tuple[int, int]:
    """Enter messages; see `MessageRun.enter`.

    Args:
        first: Number of the first one.
        end: Number behind the last one.
        k: Number of the joint states in the aligner.
        ports: What each message goes into.
        places: Where each is among the words, then the length of each, as `MessageSeries` has them.
        words: The messages.
        doubles: The same as doubles.
        layouts: Of each sensor, its number in the aligner and the layout of its messages.
        known: What is known of the last joint state that was read by name.
        joints: Integers of `JointMap.memory`.
        corrections: Numbers of the same.
        followed: Integers of `JointChecks`; changed.
        tracks: Numbers of the same; changed.
        n: Integers of the aligner; changed.
        s: Figures of its regulators; changed.
        x: Its numbers; changed.
    """
    for i in range(first, end):
        port, found = ports[i], STORED
        if port == PUSHED:
            return i, ANOTHER
        if port != UNREAD:
            length = places[len(ports) + i]
            a, b = places[i], places[i] + (length + 15) // 8
            if port == JOINTS:
                found = enter_joints(
                    length,
                    0,
                    k,
                    words[a:b],
                    doubles[a:b],
                    known,
                    joints,
                    corrections,
                    followed,
                    tracks,
                    n,
                    s,
                    x,
                )
            else:
                j = port - SENSORS
                found = enter_reading(
                    length,
                    0,
                    layouts[j * LAYOUT_SIZE],
                    words[a:b],
                    doubles[a:b],
                    layouts[j * LAYOUT_SIZE + 1 : (j + 1) * LAYOUT_SIZE],
                    n,
                    s,
                    x,
                )
        if found != STORED or i + 1 == end or not tick_is_idle(n):
            return i, found
    return end, STORED
