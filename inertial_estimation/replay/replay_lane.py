"""Readers of a recording, given a stretch of its messages at a time."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from inertial_estimation.estimators.inputs.joint_entry import JointEntry
from inertial_estimation.estimators.inputs.message_run import PUSHED, UNREAD, MessageRun
from inertial_estimation.estimators.inputs.row_entry import ANOTHER, STORED
from inertial_estimation.estimators.inputs.sensor_entry import SensorEntry
from inertial_estimation.estimators.inputs.stepper import ReadySteps, Stepper
from inertial_estimation.message_numbers import MessageSeries
from inertial_estimation.recordings.recorded_message import RecordedMessage, Sample
from inertial_estimation.signals import BaseEstimate, BaseState

Made = Mapping[int, Sequence[Any]]
"""Estimates of one pipeline, by the number of the message after which it made them."""


class Stretch:
    """Messages in a row, and those of their values that have been read.

    Attributes:
        messages: The messages.
        clock_offset_ns: From their log times to the times of ticks after them [ns].
        unfit: Numbers of those that have been read and whose fields do not fit together: they are left out.
    """

    def __init__(self, messages: Sequence[RecordedMessage], clock_offset_ns: int) -> None:
        """Begin before the first reader."""
        self.messages, self.clock_offset_ns = messages, clock_offset_ns
        self.unfit: set[int] = set()
        self._samples: dict[int, Sample] = {}

    def read(self, number: int) -> Sample | None:
        """Return the value of a message; None where its fields do not fit together."""
        sample = self._samples.get(number)
        if sample is None and number not in self.unfit:
            sample = self.messages[number].read()
            if sample is None:
                self.unfit.add(number)
            else:
                self._samples[number] = sample
        return sample

    def now_ns(self, number: int) -> int:
        """Return the time of the ticks after a message [ns]."""
        return self.messages[number].log_ns + self.clock_offset_ns

    @property
    def fitting(self) -> Sequence[RecordedMessage]:
        """The messages without those that are left out."""
        if not self.unfit:
            return self.messages
        return [message for k, message in enumerate(self.messages) if k not in self.unfit]

    @cached_property
    def serialised(self) -> MessageSeries:
        """The bytes of the messages."""
        return MessageSeries(message.data for message in self.messages)


class MessageWay(NamedTuple):
    """The way of the messages of one topic into what reads them.

    Attributes:
        push: Takes the value of a message.
        entry: Takes usual messages serialised; None: none is taken so.
    """

    push: Callable[..., None]
    entry: JointEntry | SensorEntry | None = None


class ReplayLane:
    """What reads the messages of a recording.

    Attributes:
        ways: The ways of the messages into it, by topic.
    """

    def __init__(self, ways: dict[str, list[MessageWay]]) -> None:
        """Take where messages go."""
        self.ways = ways

    def read(self, stretch: Stretch) -> None:
        """Push the messages of a stretch."""
        for number, message in enumerate(stretch.messages):
            if message.topic in self.ways:
                self._push(stretch, number)

    def _push(self, stretch: Stretch, number: int) -> bool:
        """Push a message to all that read its topic; return false where its fields do not fit together."""
        message = stretch.messages[number]
        if number in stretch.unfit:
            return False
        for push, entry in self.ways.get(message.topic, ()):
            if entry is not None and message.data and entry.take(message.data):
                continue
            sample = stretch.read(number)
            if sample is None:  # and none before has taken it
                return False
            push(sample)
        return True


class PipelineLane(ReplayLane):
    """A pipeline, ticked after each message.

    Usual messages of a bag are entered by compiled calls from their bytes on, as in the nodes, many by one
    call: up to the message after which a tick makes a step. The others are decoded and pushed.

    Attributes:
        ways: The ways of the messages into it, by topic.
    """

    def __init__(
        self,
        ways: dict[str, list[MessageWay]],
        run: MessageRun,
        tick: Callable[[int], list[Any]],
        record: tuple[list[Any], list[float]],
        *,
        push_base: Callable[[BaseState], None] | None = None,
        see: Callable[[Sequence[BaseEstimate]], None] | None = None,
        every_tick: bool = False,
        stepper: Stepper[Any] | None = None,
    ) -> None:
        """Take where messages go, and what is made of them.

        Args:
            ways: The ways of the messages into it, by topic.
            run: Enters its messages.
            tick: Executes the steps that are ready at a time [ns] and returns their estimates.
            record: Where the estimates go, and the time of one step of each tick that made one [ns].
            push_base: Takes the base states of the first lane before each tick; None: they do not.
            see: Called with the estimates of each tick that made one; None: nobody is.
            every_tick: Whether a tick does something where no step is ready.
            stepper: Runs the steps of the pipeline, where they may be executed once all messages of a stretch
                are entered: the processor then keeps in its caches what each of the two needs; None: a step
                is executed before the next message.
        """
        super().__init__(ways)
        self._run, self._every_tick, self._stepper = run, every_tick, stepper
        self._tick, self._push_base, self._see = tick, push_base, see
        self._estimates, self._tick_ns = record
        entries = {topic: own[0].entry for topic, own in ways.items() if len(own) == 1}
        self._entries = {topic: entry for topic, entry in entries.items() if entry is not None}
        self._ports = dict.fromkeys(ways, PUSHED)
        self._ports |= {topic: run.port(entry) for topic, entry in self._entries.items()}

    def advance(self, stretch: Stretch, base: Made) -> Made:
        """Push the messages of a stretch, and tick after each.

        Args:
            stretch: The messages.
            base: Estimates of the base of the first lane.

        Returns:
            The estimates.
        """
        ports = [
            self._ports.get(message.topic, UNREAD) if message.data else PUSHED for message in stretch.messages
        ]
        for number in stretch.unfit:
            ports[number] = PUSHED
        made: dict[int, Sequence[Any]] = {}
        ready: list[
            tuple[int, ReadySteps, float]
        ] = []  # after which message, and the time they have taken [ns]
        begun, number, count = False, 0, len(ports)
        stops = iter(sorted(base)) if self._push_base is not None else iter(())
        stop = next(stops, count)
        while number < count:
            found = ANOTHER
            if ports[number] != PUSHED:
                if not begun:
                    self._run.begin(ports, stretch.serialised)
                    begun = True
                end = number + 1 if self._every_tick else min(stop + 1, count)
                number, found = self._run.enter(number, end)
            if found not in (STORED, ANOTHER):
                self._entries[stretch.messages[number].topic].judge(found)
            if found != ANOTHER or self._push(stretch, number):
                now_ns, states = stretch.now_ns(number), base.get(number, ())
                if self._stepper is not None:
                    self._begin_steps(self._stepper, now_ns, states, number, ready)
                elif own := self.tick(now_ns, states):
                    made[number] = own
            number += 1
            while stop < number:
                stop = next(stops, count)
        for number, steps, taken_ns in ready:
            assert self._stepper is not None
            begin_ns = time.perf_counter_ns()
            if own := self._stepper.finish(steps):
                made[number] = own
                self._keep(own, taken_ns + time.perf_counter_ns() - begin_ns)
        return made

    def tick(self, now_ns: int, base: Iterable[BaseEstimate] = ()) -> Sequence[Any]:
        """Tick, and return the estimates.

        Args:
            now_ns: Time of the tick [ns].
            base: Estimates of the base that the first lane has made at this time.
        """
        self._take(base)
        begin_ns = time.perf_counter_ns()
        made = self._tick(now_ns)
        if made:
            self._keep(made, time.perf_counter_ns() - begin_ns)
        return made

    def _begin_steps(
        self,
        stepper: Stepper[Any],
        now_ns: int,
        base: Iterable[BaseEstimate],
        number: int,
        ready: list[tuple[int, ReadySteps, float]],
    ) -> None:
        """Read the inputs of the steps that are ready after a message, and put these aside."""
        self._take(base)
        begin_ns = time.perf_counter_ns()
        steps = stepper.begin(now_ns)
        if steps is not None:
            ready.append((number, steps, time.perf_counter_ns() - begin_ns))

    def _take(self, base: Iterable[BaseEstimate]) -> None:
        if self._push_base is not None:
            for step in base:
                self._push_base(step.state)

    def _keep(self, made: Sequence[Any], taken_ns: float) -> None:
        """Keep the estimates of one tick, and how long it has taken."""
        self._tick_ns.append(taken_ns / len(made))
        self._estimates.extend(made)
        if self._see is not None:
            self._see(made)
