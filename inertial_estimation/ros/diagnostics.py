"""Publishes the health of a node once per second, and logs changes of its level."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from inertial_estimation.errors import counted
from inertial_estimation.recordings.watch_record import REPORT_PERIOD
from inertial_estimation.ros.messages import health_to_msg
from inertial_estimation.ros.qos import create_output
from inertial_estimation.signals import Health, HealthLevel

TOPIC = "/diagnostics"
WAITING_PERIODS = 5  # number of reports without a message before a hint, and between two log lines
SILENT_PERIODS = 2  # number of reports without a message from which a required input counts as silent


@dataclass
class InputCounter:
    """Counters of received, lost and malformed messages of one topic."""

    topic: str
    required: bool = False  # whether the pipeline has no output without it
    publishers: Callable[[], int] = lambda: 1  # returns the current number of publishers
    received: int = 0  # number of received messages
    lost: int = 0  # number of messages lost on the network or from a full queue
    malformed: int = 0  # number of messages with inconsistent fields
    _newest_malformed: str = ""
    _silent_periods: int = 0
    _last_sequence: int | None = None
    _before: tuple[int, int, int] = (0, 0, 0)  # received, lost, malformed at the last report

    def count(self, received: int, sequence: int | None) -> None:
        """Count messages; `sequence` is the publisher's sequence number of the last one (None: unknown)."""
        self.received += received
        if sequence is None:
            return
        if self._last_sequence is not None and sequence > self._last_sequence:  # else it has restarted
            self.lost += max(0, sequence - self._last_sequence - received)
        self._last_sequence = sequence

    def count_malformed(self, reason: str) -> None:
        """Count one message that could not be converted."""
        self.malformed, self._newest_malformed = self.malformed + 1, reason

    def silent_publisher(self) -> str:
        """Return a hint if a publisher is connected but no message has arrived for some time; else nothing.

        The publisher may have nothing to send, or the middleware fails: with Fast DDS's shared memory, a
        process that was killed can cut off its successor (docs/robustness.md).
        """
        if self.received or self._silent_periods < WAITING_PERIODS or not self.publishers():
            return ""
        return ", though a publisher is connected (if it sends: start this node again)"

    def health(self) -> Health:
        """Report lost and malformed messages, and silence; to be called once per second of the steady clock.

        Ages of readings are on the clock of the stamps and show no silence if that clock has stopped, too.
        """
        if self.publishers() > 1:  # sequence numbers of several publishers are mixed and show no loss
            self.lost, self._last_sequence = self._before[1], None
        counts = self.received, self.lost, self.malformed
        received, lost, malformed = np.subtract(counts, self._before).tolist()
        self._before, self._silent_periods = counts, 0 if received else self._silent_periods + 1
        values = {name: str(getattr(self, name)) for name in ("received", "lost", "malformed")}
        level, message = HealthLevel.OK, "messages arrive"
        if not self.received:
            message = f"no message yet{self.silent_publisher()}"
            level = HealthLevel.WARN if self.required else HealthLevel.OK
        elif self.required and self._silent_periods >= SILENT_PERIODS:
            level = HealthLevel.ERROR
            message = f"no message for {self._silent_periods * REPORT_PERIOD:g} s, by the machine's own clock"
        elif malformed:
            level = HealthLevel.WARN
            message = f"{counted(malformed, 'malformed message')}: {self._newest_malformed}"
        elif lost:
            level = HealthLevel.WARN
            message = f"{counted(lost, 'message')} lost on the network or from a full queue"
        return Health(f"topic {self.topic}", level, message, values)


class Diagnostics:
    """The report of a node on `/diagnostics`, once per second, and its log of missing inputs.

    Attributes:
        hardware_id: Name of the robot in its description; empty before the node has a description.
    """

    def __init__(self, node: Node) -> None:
        """Create the publisher."""
        self._node, self._publisher = node, create_output(node, DiagnosticArray, TOPIC)
        self._levels: dict[str, HealthLevel] = {}
        self._periods, self.hardware_id = 0, ""
        self._missing: list[str] = []

    def publish(self, parts: Sequence[Health], missing: list[str]) -> None:
        """Publish the health of every component; log changes of level, and missing inputs."""
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        name = self._node.get_fully_qualified_name().lstrip("/")  # /diagnostics is shared by all robots
        array.status = [health_to_msg(part, name, self.hardware_id) for part in parts]
        self._publisher.publish(array)
        logger = self._node.get_logger()
        self._periods += 1
        if self._periods > 1:  # in the first period publishers may not have been discovered
            news, self._missing = missing != self._missing, missing
            if missing and (news or self._periods % WAITING_PERIODS == 0):
                logger.warning(f"waiting for: {', '.join(missing)}")
            elif news:
                logger.info("all inputs have arrived")
        if not missing:
            self._log_changes(parts)

    def _log_changes(self, parts: Sequence[Health]) -> None:
        for part in parts:
            before = self._levels.get(part.name, HealthLevel.OK)
            self._levels[part.name] = part.level
            if part.level == before:
                continue
            dropped = [f"{name} ({n})" for name, n in part.values.items() if name.startswith("dropped: ")]
            text = f"{part.name}: {part.message}" + (f" [{'; '.join(dropped)}]" if dropped else "")
            log_health(self._node, part.level, text if part.level else f"recovered: {text}")


def log_health(node: Node, level: HealthLevel, text: str) -> None:
    """Log a sentence with the severity of a health level."""
    logger = node.get_logger()
    if level == HealthLevel.OK:
        logger.info(text)
    elif level == HealthLevel.ERROR:
        logger.error(text)
    else:
        logger.warning(text)
