"""Kinds of faults: small functions over a stream of messages, registered under their names."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.fault_campaign.messages import VECTORS, Message, nanoseconds
from inertial_estimation.signals import NANOSECONDS, Array

SENSORS = ("imu", "joints", "wrench")
INPUTS = (*SENSORS, "base_state", "orientation")
LOOKED_AT = 400  # first messages, in which every stream of a scene occurs
Change = Callable[[Array], Array]


@dataclass(frozen=True)
class Fault:
    """Messages with a fault in them.

    Attributes:
        messages: In order of arrival.
        begin_ns: Arrival of the first message that is wrong, late or lost [ns].
        end_ns: Arrival of the last one [ns].
        streams: Streams concerned.
        text: What was done, for people.
    """

    messages: tuple[Message, ...]
    begin_ns: int
    end_ns: int
    streams: tuple[str, ...]
    text: str

    @property
    def duration_s(self) -> float:
        """From the first to the last message concerned [s]."""
        return (self.end_ns - self.begin_ns) / NANOSECONDS


@dataclass
class Injection:
    """The random choices of one case, and the edits that a kind of fault makes within its time.

    Attributes:
        rng: Source of every choice.
        messages: Clean messages, from before the fault to the end of the data.
        begin_ns: Arrival from which the fault acts [ns].
        end_ns: Arrival until which it acts [ns].
        notes: What was chosen, for people.
        streams: Streams concerned.
    """

    rng: np.random.Generator
    messages: list[Message]
    begin_ns: int
    end_ns: int
    notes: list[str] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    _by_stream: dict[str, list[Message]] = field(default_factory=dict)

    @property
    def duration_s(self) -> float:
        """Length of the fault [s]."""
        return (self.end_ns - self.begin_ns) / NANOSECONDS

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

    def values(self, stream: str, vector: str) -> Array:
        """Return one vector of all messages of a stream that carry it, shape (n, size)."""
        found = (VECTORS[type(m.sample)][vector].get(m.sample) for m in self.of(stream))
        return np.array([value for value in found if value is not None])

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        names: tuple[str, ...] = self.of("joints")[0].sample.names
        return names

    def stream(self, *kinds: str) -> str:
        """Choose one stream of some kinds."""
        chosen = str(self.rng.choice(self.present(*kinds)))
        self.notes.append(chosen)
        return chosen

    def one_or_all(self, *kinds: str, share: float = 0.3) -> list[str]:
        """Choose one stream of some kinds, or all of them with a probability."""
        every = self.present(*kinds)
        chosen = every if self.rng.random() < share else [str(self.rng.choice(every))]
        self.notes.append(", ".join(chosen))
        return chosen

    def vector(self, *kinds: str) -> tuple[str, str]:
        """Choose one stream of some kinds with numbers, and one vector in it."""
        with_numbers = [s for s in self.present(*kinds) if type(self.of(s)[0].sample) in VECTORS]
        stream = str(self.rng.choice(with_numbers))
        sample = self.of(stream)[0].sample
        sent = [name for name, v in VECTORS[type(sample)].items() if v.get(sample) is not None]
        chosen = str(self.rng.choice(sent))
        self.notes.append(f"{chosen} of {stream}")
        return stream, chosen

    def log_uniform(self, low: float, high: float) -> float:
        """Choose a number, uniformly in its logarithm."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def sign(self) -> float:
        """Choose a sign."""
        return float(self.rng.choice([-1.0, 1.0]))

    def some(self, *choices: Any) -> Any:
        """Choose one of several things, and note it where it is a text or a number."""
        chosen = choices[int(self.rng.integers(len(choices)))]
        if isinstance(chosen, str | float | int):
            self.notes.append(f"{chosen:.3g}" if isinstance(chosen, float) else str(chosen))
        return chosen

    def column(self, size: int) -> Array:
        """Choose all columns of a vector, or one; as a mask, shape (size,)."""
        mask = np.zeros(size, dtype=bool)
        mask[slice(None) if self.rng.random() < 0.4 else int(self.rng.integers(size))] = True
        self.notes.append("all columns" if mask.all() else f"column {int(mask.argmax())}")
        return mask

    def edit(
        self,
        streams: str | Sequence[str],
        act: Callable[[Message], Message | Sequence[Message]],
        most: int | None = None,
    ) -> list[Message]:
        """Replace messages of some streams while the fault acts, by one or by several; none removes them.

        Args:
            streams: The streams.
            act: Returns what arrives in place of a message.
            most: At most so many messages are replaced; None: all.
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
            found += [replaced] if isinstance(replaced, Message) else replaced
        return found

    def change(self, stream: str, vector: str, change: Change) -> list[Message]:
        """Change one vector of a stream while the fault acts."""
        return self.edit(stream, lambda m: m.with_values(lambda _, v: change(v), vector))

    def masked(self, stream: str, vector: str, change: Change, most: int | None = None) -> list[Message]:
        """Change one number of a vector, or all of them, while the fault acts."""
        mask = self.column(self.values(stream, vector).shape[1])
        change_some = lambda _, v: np.where(mask, change(v), v)  # noqa: E731
        return self.edit(stream, lambda m: m.with_values(change_some, vector), most)

    def scaled(self, streams: str | Sequence[str], factor: float, *vectors: str) -> list[Message]:
        """Scale vectors of some streams, all that are not named, while the fault acts."""
        return self.edit(streams, lambda m: m.with_values(lambda _, v: factor * v, *vectors))


Make = Callable[[Injection], list[Message]]


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: Its name.
        text: What happens, in one line.
        make: Returns the messages with the fault; notes in the injection what it did.
        needs: Kinds of streams of which a scene must have one; empty: any.
        pipelines: Pipelines it applies to; empty: all.
        duration_s: Shortest and longest duration [s], drawn uniformly in the logarithm.
        hidden: Why the data cannot reveal it in principle; empty: they can.
        hidden_in: Pipelines whose data cannot reveal it; empty: all.
    """

    name: str
    text: str
    make: Make
    needs: tuple[str, ...]
    pipelines: tuple[str, ...] = ()
    duration_s: tuple[float, float] = (0.02, 2.0)
    hidden: str = ""
    hidden_in: tuple[str, ...] = ()

    def applies(self, pipeline: str, streams: Sequence[str]) -> bool:
        """Whether a scene of a pipeline with some kinds of streams can have it."""
        chosen = not self.pipelines or pipeline in self.pipelines
        return chosen and (not self.needs or any(need in streams for need in self.needs))

    def is_hidden(self, pipeline: str) -> bool:
        """Whether the data of a pipeline cannot reveal it."""
        return bool(self.hidden) and (not self.hidden_in or pipeline in self.hidden_in)

    def inject(self, rng: np.random.Generator, messages: Sequence[Message], begin_ns: int) -> Fault:
        """Put a fault into clean messages from a time on [ns]; the generator is the source of every choice."""
        low, high = np.log(self.duration_s)
        duration_ns = nanoseconds(float(np.exp(rng.uniform(low, high))))
        injection = Injection(rng, list(messages), begin_ns, begin_ns + duration_ns)
        found = self.make(injection)
        found.sort(key=lambda message: message.arrival_ns)
        clean = {id(message) for message in messages}
        touched = [m.arrival_ns for m in found if id(m) not in clean and m.arrival_ns >= begin_ns]
        end_ns = min(injection.end_ns, max(touched)) if touched else injection.end_ns
        text = f"{self.name}: {', '.join(injection.notes)}"
        return Fault(tuple(found), begin_ns, max(end_ns, begin_ns), tuple(injection.streams), text)


KINDS: dict[str, Kind] = {}
"""All kinds of faults, by name; complete once `kinds` is imported."""


def kind(*needs: str, **properties: Any) -> Callable[[Make], Make]:
    """Register a function as a kind of fault; its docstring, one line, says what happens.

    Args:
        needs: Kinds of streams of which a scene must have one; none: any.
        properties: Further attributes of `Kind`.
    """

    def register(make: Make) -> Make:
        name, text = make.__name__, str(make.__doc__)
        KINDS[name] = Kind(name, text, make, needs, **properties)
        return make

    return register
