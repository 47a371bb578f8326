"""One reader of a recording, given a stretch of its messages at a time."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from inertial_estimation.recordings.recorded_message import RecordedMessage
from inertial_estimation.recordings.samples import Sample
from inertial_estimation.replay.message_way import MessageWay
from inertial_estimation.signals import BaseEstimate, BaseState

__all__ = ["PipelineLane", "ReplayLane", "Turn"]


class Turn:
    """One message of a stretch, and the estimates that follow from it.

    Attributes:
        message: The message; None for a time behind the last one.
        now_ns: Time of the ticks after it [ns].
        fits: False once it has been read and its fields do not fit together: it is left out.
        made: Estimates of each pipeline after it, in the order of the lanes.
    """

    __slots__ = ("_sample", "fits", "made", "message", "now_ns")

    def __init__(self, message: RecordedMessage | None, now_ns: int) -> None:
        """Begin before the first lane."""
        self.message, self.now_ns, self.fits = message, now_ns, True
        self.made: list[list[Any]] = []
        self._sample: Sample | None = None

    def read(self) -> Sample | None:
        """Return the value of the message; None where its fields do not fit together."""
        if self._sample is None and self.fits and self.message is not None:
            self._sample = self.message.read()
            self.fits = self._sample is not None
        return self._sample


class ReplayLane:
    """What reads the messages of a recording.

    A usual message of a bag takes one compiled call from its bytes into a pipeline, as in the nodes; the
    others are decoded and pushed.

    Attributes:
        ways: The ways of the messages into it, by topic.
    """

    def __init__(self, ways: dict[str, list[MessageWay]]) -> None:
        """Take where messages go."""
        self.ways = ways

    def advance(self, stretch: Iterable[Turn]) -> None:
        """Push the messages of a stretch."""
        for turn in stretch:
            self._push(turn)

    def _push(self, turn: Turn, *, taken: bool | None = None) -> bool:
        """Push a message to all that read its topic; return false where its fields do not fit together.

        Args:
            turn: The message.
            taken: False: none of those takes it serialised; None: not known.
        """
        message = turn.message
        if message is None or not turn.fits:
            return turn.fits
        data = message.data
        for push, take in self.ways.get(message.topic, ()):
            if taken is None and data and take is not None and take(data):
                continue
            sample = turn.read()
            if sample is None:  # and none before has taken it
                return False
            push(sample)
        return turn.fits


class PipelineLane(ReplayLane):
    """A pipeline, ticked after each message.

    Attributes:
        ways: The ways of the messages into it, by topic.
    """

    def __init__(
        self,
        ways: dict[str, list[MessageWay]],
        tick: Callable[[int], list[Any]],
        record: tuple[list[Any], list[float]],
        *,
        push_base: Callable[[BaseState], None] | None = None,
        see: Callable[[Sequence[BaseEstimate]], None] | None = None,
    ) -> None:
        """Take where messages go, and what is made of them.

        Args:
            ways: The ways of the messages into it, by topic.
            tick: Executes the steps that are ready at a time [ns] and returns their estimates.
            record: Where the estimates go, and the time of one step of each tick that made one [ns].
            push_base: Takes the base states of the first lane before each tick; None: they do not.
            see: Called with the estimates of each tick that made one; None: nobody is.
        """
        super().__init__(ways)
        self._tick, self._push_base, self._see = tick, push_base, see
        self._estimates, self._tick_ns = record

    def advance(self, stretch: Iterable[Turn]) -> None:
        """Push each message of a stretch, and tick after it."""
        tick, push_base, clock_ns = self._tick, self._push_base, time.perf_counter_ns
        takes = {topic: own[0].take for topic, own in self.ways.items() if len(own) == 1}
        for turn in stretch:
            made: list[Any] = []
            message = turn.message
            take = takes.get(message.topic) if message is not None and turn.fits else None
            if message is not None and take is not None and message.data:
                pushed = take(message.data) or self._push(turn, taken=False)
            else:
                pushed = self._push(turn)
            if pushed:
                if push_base is not None:
                    for step in turn.made[0]:
                        push_base(step.state)
                begin_ns = clock_ns()
                made = tick(turn.now_ns)
                if made:
                    self._tick_ns.append((clock_ns() - begin_ns) / len(made))
                    self._estimates.extend(made)
                    if self._see is not None:
                        self._see(made)
            turn.made.append(made)
