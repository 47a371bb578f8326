"""Damaged messages through the nodes' readers and into the pipelines: what is not dropped, how long it takes.

Between the valid messages of a scene, damaged copies of them arrive: bits flipped, bytes overwritten,
inserted, removed, lengths replaced, cut, or all bytes random. They are read as a node reads them (own
decoders; rclpy for the rest) and pushed where they read; the pipeline ticks on.

Run from the root of the project: ``python -m benchmarks.message_fuzz --cases 100000``. Exit code 1 if
anything but the documented refusal (MeasurementError) leaves a reader, or anything at all a push or a tick.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import geometry_msgs.msg
import numpy as np
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool, Float64MultiArray

from benchmarks.fault_campaign.messages import MESSAGE_TYPES, Message, damaged
from benchmarks.fault_campaign.pipelines import ADAPTERS, Adapter
from benchmarks.fault_campaign.scenes import SCENES, build_pipeline, recorded
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import MeasurementError
from inertial_estimation.recordings.estimate_messages import base_reference_to_msg
from inertial_estimation.recordings.message_conversion import CONVERSIONS
from inertial_estimation.ros.bag_player import message_class
from inertial_estimation.ros.command_messages import (
    base_reference_from_msg,
    walk_command_from_msg,
    walk_command_to_msg,
)
from inertial_estimation.ros.messages import hold_from_msg, message_reader
from inertial_estimation.signals import BaseReference

FED = ("talos_moving", "talos_arms", "hyq_loaded", "talos_posture")


@dataclass
class Outcome:
    """What became of the damaged messages of one topic type.

    Attributes:
        refused: Refused by the reader.
        read: Read, and pushed.
        escapes: What left a reader, a push or a tick, with one traceback each.
        longest_s: Longest processor time from the bytes to the end of the tick [s].
    """

    refused: int = 0
    read: int = 0
    escapes: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0


@dataclass(frozen=True)
class Input:
    """A topic: what takes its bytes where they are usual, how others are read, and what takes the value."""

    name: str
    read: Callable[[bytes], Any]
    push: Callable[[Any], Any]
    take: Callable[[bytes], bool] = lambda _: False


def taker(pipeline: Any, stream: str) -> Callable[[bytes], bool]:
    """Return what takes the bytes of a stream, as a node passes it to `subscribe`."""
    kind, _, name = stream.partition(":")
    entries = getattr(pipeline, "entries", None)
    if entries is None or kind not in ("imu", "joints", "wrench"):
        return lambda _: False
    entry = {"imu": entries.imu, "joints": entries.joints}.get(kind) or entries.wrenches[name]
    take: Callable[[bytes], bool] = entry.take
    return take


def commands(pipeline: Any) -> list[tuple[Input, bytes]]:
    """The controller's commands: input and a valid message of each."""
    walk = message_reader(Float64MultiArray, walk_command_from_msg)
    base = message_reader(geometry_msgs.msg.PoseStamped, base_reference_from_msg)
    hold = message_reader(Bool, hold_from_msg)
    return [
        (
            Input("walk_command", walk, pipeline.push_walk_command),
            encoded(walk_command_to_msg(WalkCommand(0))),
        ),
        (
            Input("base_reference", base, pipeline.push_base_reference),
            encoded(base_reference_to_msg(BaseReference(0.88), geometry_msgs.msg.PoseStamped())),
        ),
        (Input("hold", hold, pipeline.push_hold), encoded(Bool(data=False))),
    ]


def encoded(message: Any) -> bytes:
    return bytes(serialize_message(message))


class Fuzz:
    """Damaged messages of one scene into its pipeline.

    Attributes:
        outcomes: By topic.
    """

    def __init__(self, scene: str, rng: np.random.Generator) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._rng, self._scene = rng, SCENES[scene]
        self._data = recorded(self._scene)
        self._inputs: dict[str, Input] = {}

    def run(self, cases: int) -> None:
        """Push damaged messages between valid ones; the pipeline is built anew at the end of the scene."""
        left = cases
        while left > 0:
            adapter = ADAPTERS[self._scene.pipeline](
                build_pipeline(self._scene), self._data, self._scene.urdf
            )
            self._inputs = {}
            others = commands(adapter.pipeline) if self._scene.pipeline == "controller" else []
            for count, reading in enumerate(self._data.messages):
                if left <= 0:
                    return
                if type(reading.sample) not in MESSAGE_TYPES:
                    continue
                topic = self._input(adapter, reading)
                message_type = MESSAGE_TYPES[type(reading.sample)]
                message = CONVERSIONS[message_type].to_msg(
                    reading.sample, message_class(message_type)(), "frame"
                )
                data = encoded(message)
                self._take(adapter, topic, damaged(data, self._rng), reading.clock_ns)
                self._push_valid(adapter, topic, data, reading.clock_ns)
                left -= 1
                if others and count % 4 == 0:
                    topic, data = others[count // 4 % len(others)]
                    self._take(adapter, topic, damaged(data, self._rng), reading.clock_ns)
                    left -= 1

    def _input(self, adapter: Adapter, reading: Message) -> Input:
        found = self._inputs.get(reading.stream)
        if found is None:
            read = message_reader(message_class(MESSAGE_TYPES[type(reading.sample)]))
            push, take = adapter.push(reading.stream), taker(adapter.pipeline, reading.stream)
            found = self._inputs[reading.stream] = Input(reading.stream, read, push, take)
        return found

    def _push_valid(self, adapter: Adapter, topic: Input, data: bytes, clock_ns: int) -> None:
        outcome = self.outcomes[topic.name]
        try:
            if not topic.take(data):
                topic.push(topic.read(data))
            adapter.pipeline.tick(clock_ns)
        except Exception as error:  # any: it would end a node
            self._note(outcome, error)

    def _take(self, adapter: Adapter, topic: Input, data: bytes, clock_ns: int) -> None:
        outcome = self.outcomes.setdefault(topic.name, Outcome())
        begin = time.process_time()
        try:
            if not topic.take(data):
                try:
                    value = topic.read(data)
                except MeasurementError:
                    outcome.refused += 1
                    return
                topic.push(value)
            outcome.read += 1
            adapter.pipeline.tick(clock_ns)
        except Exception as error:  # any: it would end a node
            self._note(outcome, error)
        outcome.longest_s = max(outcome.longest_s, time.process_time() - begin)

    @staticmethod
    def _note(outcome: Outcome, error: Exception) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename.rpartition('inertial_estimation/')[2]}:{frame.lineno}"
        outcome.escapes[f"{type(error).__name__} at {place}: {str(error)[:100]}"] += 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10000, help="damaged messages over all pipelines")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    begin, escapes, total = time.process_time(), 0, 0
    print("| pipeline | topic | damaged | refused | read and pushed | escapes | longest [ms] |")
    print("|---|---|---|---|---|---|---|")
    for number, scene in enumerate(FED):
        fuzz = Fuzz(scene, np.random.default_rng([options.seed, number]))
        share = options.cases * (number + 1) // len(FED) - options.cases * number // len(FED)
        fuzz.run(share)
        for topic, found in fuzz.outcomes.items():
            count = sum(found.escapes.values())
            escapes, total = escapes + count, total + found.refused + found.read
            print(
                f"| {SCENES[scene].pipeline} | {topic} | {found.refused + found.read} | {found.refused} | "
                f"{found.read} | {count} | {1e3 * found.longest_s:.1f} |",
                flush=True,
            )
            for text, times in found.escapes.most_common():
                print(f"  {times} times {text}", flush=True)
    print(
        f"{total} damaged messages, {escapes} escapes, {time.process_time() - begin:.0f} s of processor time"
    )
    return 1 if escapes else 0


if __name__ == "__main__":
    sys.exit(main())
