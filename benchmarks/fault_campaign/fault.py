"""Kinds of faults: small functions over a stream of messages, registered under their names."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.fault_campaign.messages import MESSAGE_TYPES, Message, nanoseconds
from inertial_estimation.signals import NANOSECONDS, Array

SENSORS = ("imu", "joints", "wrench")
INPUTS = (*SENSORS, "base_state")
LOOKED_AT = 400  # first messages, in which every stream of a scene occurs
Change = Callable[[Array], Array]
Stamp = Callable[[Message, int], int]


@dataclass(frozen=True)
class Fault:
    """Messages with a fault in them."""

    messages: tuple[Message, ...]  # in order of arrival
    begin_ns: int  # arrival of the first message that is wrong, late or lost
    end_ns: int  # arrival of the last one
    streams: tuple[str, ...]  # those concerned
    text: str  # what was done, for people

    @property
    def duration_s(self) -> float:
        """From the first to the last message concerned [s]."""
        return (self.end_ns - self.begin_ns) / NANOSECONDS


@dataclass
class Injection:
    """The random choices of one case, all noted, and the edits that a kind of fault makes within its time."""

    rng: np.random.Generator  # source of every choice
    messages: list[Message]  # clean, from before the fault to the end of the data
    begin_ns: int  # arrival from which the fault acts
    end_ns: int  # arrival until which it acts
    notes: list[str] = field(default_factory=list)  # what was chosen, for people
    streams: list[str] = field(default_factory=list)  # those concerned
    last_ns: int = 0  # arrival of the last message concerned
    _by_stream: dict[str, list[Message]] = field(default_factory=dict)

    def acts(self, message: Message) -> bool:
        """Whether a message arrives within the fault's time."""
        return self.begin_ns <= message.arrival_ns < self.end_ns

    def elapsed_s(self, message: Message) -> float:
        """Return the time since the fault began at which a message arrives [s]."""
        return (message.arrival_ns - self.begin_ns) / NANOSECONDS

    def present(self, *kinds: str) -> list[str]:
        """Return the streams of some kinds ("wrench" is that of every contact), in order."""
        found = {message.stream: None for message in self.messages[:LOOKED_AT]}
        return [name for name in found if not kinds or name.partition(":")[0] in kinds]

    def of(self, stream: str) -> list[Message]:
        """Return the clean messages of a stream."""
        if stream not in self._by_stream:
            self._by_stream[stream] = [m for m in self.messages if m.stream == stream]
        return self._by_stream[stream]

    def newest(self, stream: str, arrival_ns: int) -> Message:
        """Return the last clean message of a stream that has arrived by a time [ns], or its first one."""
        found = self.of(stream)
        return found[max(0, bisect_right(found, arrival_ns, key=lambda m: m.arrival_ns) - 1)]

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.of("joints")[0].sample.names

    def some(self, *choices: Any) -> Any:
        """Choose one of several things, and note it where it is a text or a number."""
        chosen = choices[int(self.rng.integers(len(choices)))]
        if isinstance(chosen, str | float | int):
            self.notes.append(f"{chosen:.3g}" if isinstance(chosen, float) else str(chosen))
        return chosen

    def stream(self, *kinds: str) -> str:
        """Choose one stream of some kinds."""
        return str(self.some(*self.present(*kinds)))

    def one_or_all(self, *kinds: str, share: float = 0.3) -> list[str]:
        """Choose one stream of some kinds, or all of them with a probability."""
        if self.rng.random() >= share:
            return [self.stream(*kinds)]
        self.notes.append("all")
        return self.present(*kinds)

    def vector(self, *kinds: str) -> tuple[str, str]:
        """Choose one stream of some kinds with numbers, and one vector in it."""
        stream = self.some(*(s for s in self.present(*kinds) if type(self.of(s)[0].sample) in MESSAGE_TYPES))
        return stream, self.some(*self.of(stream)[0].vectors)

    def uniform(self, low: float, high: float) -> float:
        """Choose a number."""
        return float(self.some(float(self.rng.uniform(low, high))))

    def log_uniform(self, low: float, high: float) -> float:
        """Choose a number, uniformly in its logarithm."""
        return float(self.some(float(np.exp(self.rng.uniform(np.log(low), np.log(high))))))

    def sign(self) -> float:
        """Choose a sign."""
        return float(self.some(-1.0, 1.0))

    def integer(self, low: int, high: int) -> int:
        """Choose an integer, both ends included."""
        return int(self.some(int(self.rng.integers(low, high + 1))))

    def axis(self) -> Array:
        """Choose a direction, shape (3,)."""
        found: Array = self.rng.normal(size=3)
        return found / np.linalg.norm(found)

    def columns(self, stream: str, vector: str) -> Array:
        """Choose all columns of a vector, or one; as a mask, shape (size,)."""
        size = len(next(m.vectors[vector] for m in self.of(stream)))
        one = self.some(*range(size)) if self.rng.random() < 0.6 else None
        return np.array([one in (None, i) for i in range(size)])

    def edit(
        self,
        streams: str | Sequence[str],
        act: Callable[[Message], Message | Sequence[Message]],
        most: int | None = None,
    ) -> list[Message]:
        """Replace messages of some streams while the fault acts, at most so many (None: all).

        `act` returns what arrives in place of a message: one, several or none.
        """
        chosen = (streams,) if isinstance(streams, str) else tuple(streams)
        self.streams += [stream for stream in chosen if stream not in self.streams]
        found: list[Message] = []
        count = 0
        for message in self.messages:
            if message.stream not in chosen or not self.acts(message) or count == most:
                found.append(message)
                continue
            count += 1
            replaced = act(message)
            new = [replaced] if isinstance(replaced, Message) else replaced
            self.last_ns = max(self.last_ns, *(m.arrival_ns for m in (message, *new)))
            found += new
        return found

    def change(self, streams: str | Sequence[str], change: Change, *vectors: str) -> list[Message]:
        """Change vectors of some streams, all that are not named, while the fault acts."""
        return self.edit(streams, lambda m: m.with_values(lambda _, v: change(v), *vectors))


@dataclass(frozen=True)
class Kind:
    """A kind of fault."""

    name: str
    text: str  # what happens, in one line
    make: Callable[[Injection], list[Message]]  # returns the messages with the fault
    needs: tuple[str, ...]  # kinds of streams of which a scene must have one; empty: any
    pipelines: tuple[str, ...] = ()  # those it applies to; empty: all
    duration_s: tuple[float, float] = (0.02, 2.0)  # shortest and longest, drawn uniformly in the logarithm
    hidden: str = ""  # why the data cannot reveal it in principle; empty: they can
    hidden_in: tuple[str, ...] = ()  # pipelines whose data cannot; empty: all

    def applies(self, pipeline: str, streams: Sequence[str]) -> bool:
        """Whether a scene of a pipeline with some kinds of streams can have it."""
        chosen = not self.pipelines or pipeline in self.pipelines
        return chosen and (not self.needs or any(need in streams for need in self.needs))

    def is_hidden(self, pipeline: str) -> bool:
        """Whether the data of a pipeline cannot reveal it."""
        return bool(self.hidden) and (not self.hidden_in or pipeline in self.hidden_in)

    def inject(self, rng: np.random.Generator, messages: Sequence[Message], begin_ns: int) -> Fault:
        """Put a fault into clean messages from a time on [ns], every choice by a generator."""
        low, high = np.log(self.duration_s)
        duration_ns = nanoseconds(float(np.exp(rng.uniform(low, high))))
        injection = Injection(rng, list(messages), begin_ns, begin_ns + duration_ns)
        found = sorted(self.make(injection), key=lambda message: message.arrival_ns)
        text = f"{self.name}: {', '.join(injection.notes)}"
        return Fault(tuple(found), begin_ns, max(injection.last_ns, begin_ns), tuple(injection.streams), text)


KINDS: dict[str, Kind] = {}
"""All kinds of faults, by name; complete once `kinds` is imported."""


def kind(*needs: str, **properties: Any) -> Callable[[Any], Any]:
    """Register a function as a kind of fault; its docstring, one line, says what happens.

    Args:
        needs: Kinds of streams of which a scene must have one; none: any.
        properties: Further attributes of `Kind`.
    """

    def register(make: Any) -> Any:
        KINDS[make.__name__] = Kind(make.__name__, str(make.__doc__), make, needs, **properties)
        return make

    return register


def vector_kind(
    name: str,
    text: str,
    make: Callable[[Injection, str], Change],
    *needs: str,
    whole: bool = False,
    **properties: Any,
) -> None:
    """Register a change of a vector of a stream of some kinds (none: any) as a kind of fault.

    One of its numbers is changed, or all of them; if `whole`, always all. `make` returns the change, given
    an injection and the name of the vector.
    """

    def changed(f: Injection) -> list[Message]:
        stream, vector = f.vector(*needs)
        change = make(f, vector)
        mask = np.array(True) if whole else f.columns(stream, vector)
        return f.change(stream, lambda v: np.where(mask, change(v), v), vector)

    KINDS[name] = Kind(name, text, changed, needs, **properties)


def stamp_kind(name: str, text: str, make: Callable[[Injection, int], Stamp]) -> None:
    """Register a change of the stamps of one stream, or of all, as a kind of fault.

    `make` returns the change, given an injection and the first stamp [ns].
    """

    def changed(f: Injection) -> list[Message]:
        streams = f.one_or_all(*INPUTS)
        stamps_ns = [m.sample.stamp_ns for m in f.messages if m.stream in streams and f.acts(m)]
        stamp = make(f, min(stamps_ns, default=0))
        return f.edit(streams, lambda m: m.stamped(stamp(m, m.sample.stamp_ns)))

    KINDS[name] = Kind(name, text, changed, ())
