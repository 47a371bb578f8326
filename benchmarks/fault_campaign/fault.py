"""What a fault is drawn from: a generator of random numbers, clean readings, a beginning and a duration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.fault_campaign.readings import CHANNELS, Reading, nanoseconds, with_channel
from inertial_estimation.signals import NANOSECONDS, Array

Change = Callable[[Array], Array]


@dataclass(frozen=True)
class Fault:
    """Readings with a fault in them.

    Attributes:
        readings: In order of arrival.
        begin_ns: Arrival of the first reading that is wrong, late or lost [ns].
        end_ns: Arrival of the last one [ns].
        streams: Streams concerned.
        text: What was done, for people.
    """

    readings: tuple[Reading, ...]
    begin_ns: int
    end_ns: int
    streams: tuple[str, ...]
    text: str

    @property
    def duration_s(self) -> float:
        """From the first to the last reading concerned [s]."""
        return (self.end_ns - self.begin_ns) / NANOSECONDS


@dataclass
class Draw:
    """Random choices of one case, and helpers to change the readings within the fault's time.

    Attributes:
        rng: Source of every choice.
        readings: Clean readings, from before the fault to the end.
        begin_ns: Arrival from which the fault acts [ns].
        end_ns: Arrival until which it acts [ns].
        notes: What was chosen, for people.
        streams: Streams concerned.
    """

    rng: np.random.Generator
    readings: list[Reading]
    begin_ns: int
    end_ns: int
    notes: list[str] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)

    @property
    def duration_s(self) -> float:
        """Length of the fault [s]."""
        return (self.end_ns - self.begin_ns) / NANOSECONDS

    def set_duration(self, duration_s: float) -> None:
        """Let the fault last another time [s]."""
        self.end_ns = self.begin_ns + nanoseconds(duration_s)

    def present(self, *kinds: str) -> list[str]:
        """Return the streams of some kinds ("wrench" is that of every contact), in order."""
        found = {reading.stream: None for reading in self.readings[:400]}
        return [name for name in found if not kinds or name.partition(":")[0] in kinds]

    def pick(self, *kinds: str) -> str:
        """Choose one stream of some kinds, and note it."""
        chosen = str(self.rng.choice(self.present(*kinds)))
        self.streams.append(chosen)
        return chosen

    def pick_channel(self, *kinds: str) -> tuple[str, str]:
        """Choose one stream of some kinds with numbers, and one vector in it."""
        with_numbers = {r.stream for r in self.readings[:400] if type(r.sample) in CHANNELS}
        choices = [s for s in self.present(*kinds) if s in with_numbers]
        stream = str(self.rng.choice(choices))
        self.streams.append(stream)
        sample = self.first_sample(stream)
        channel = str(
            self.rng.choice([c for c, f in CHANNELS[type(sample)].items() if f.get(sample) is not None])
        )
        self.notes.append(f"{channel} of {stream}")
        return stream, channel

    def log_uniform(self, low: float, high: float) -> float:
        """Choose a number, uniformly in its logarithm."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def first_sample(self, stream: str) -> Any:
        """Return the sample of the first reading of a stream."""
        return next(reading.sample for reading in self.readings if reading.stream == stream)

    def acts(self, reading: Reading) -> bool:
        """Whether a reading arrives within the fault's time."""
        return self.begin_ns <= reading.arrival_ns < self.end_ns

    def column(self, size: int) -> Array:
        """Choose all columns of a vector, or one; as a mask, shape (size,)."""
        mask = np.zeros(size, dtype=bool)
        mask[slice(None) if self.rng.random() < 0.4 else int(self.rng.integers(size))] = True
        return mask

    def change(self, stream: str, channel: str, change: Change, most: int | None = None) -> list[Reading]:
        """Change one vector of a stream while the fault acts, at `most` in so many readings."""
        found, changed = [], 0
        for reading in self.readings:
            concerned = reading.stream == stream and self.acts(reading)
            if concerned and (most is None or changed < most):
                changed += 1
                found.append(with_channel(reading, channel, change))
            else:
                found.append(reading)
        return found

    def masked(self, stream: str, channel: str, change: Change, most: int | None = None) -> list[Reading]:
        """Change the chosen columns (one, or all) of one vector of a stream while the fault acts."""
        sample = self.first_sample(stream)
        value = CHANNELS[type(sample)][channel].get(sample)
        assert value is not None
        mask = self.column(len(value))
        self.notes.append("all columns" if mask.all() else f"column {int(mask.argmax())}")
        return self.change(stream, channel, lambda v: np.where(mask, change(v), v), most)

    def turned(self, stream: str, channels: Sequence[str], R: Array) -> list[Reading]:
        """Turn some vectors of a stream while the fault acts.

        Args:
            stream: The stream.
            channels: The vectors.
            R: Rotation from their axes to those in which they are sent, shape (3, 3).
        """

        def turn(reading: Reading) -> Reading:
            for channel in channels:
                reading = with_channel(reading, channel, lambda v: R @ v)
            return reading

        return self.each(stream, turn)

    def each(self, stream: str | Sequence[str], act: Callable[[Reading], Reading | None]) -> list[Reading]:
        """Replace every reading of some streams while the fault acts; None removes it."""
        chosen = (stream,) if isinstance(stream, str) else tuple(stream)
        found = []
        for reading in self.readings:
            if reading.stream in chosen and self.acts(reading):
                replaced = act(reading)
                if replaced is not None:
                    found.append(replaced)
            else:
                found.append(reading)
        return found


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: Its name.
        make: Returns the readings with the fault; notes in the draw what it did.
        needs: Kinds of streams of which a scene must have one; empty: any.
        pipelines: Pipelines it applies to; empty: all.
        duration_s: Shortest and longest duration [s], drawn uniformly in the logarithm.
        undetectable: By pipeline ("*": all), why the data cannot reveal it in principle.
    """

    name: str
    make: Callable[[Draw], list[Reading]]
    needs: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()
    duration_s: tuple[float, float] = (0.02, 2.0)
    undetectable: Mapping[str, str] = field(default_factory=dict)

    def applies(self, pipeline: str, streams: Sequence[str]) -> bool:
        """Whether a scene of a pipeline with some kinds of streams can have it."""
        chosen = not self.pipelines or pipeline in self.pipelines
        return chosen and (not self.needs or any(need in streams for need in self.needs))

    def why_undetectable(self, pipeline: str) -> str:
        """Return why the data cannot reveal it; empty: they can."""
        return self.undetectable.get(pipeline, self.undetectable.get("*", ""))

    def inject(self, rng: np.random.Generator, readings: Sequence[Reading], begin_ns: int) -> Fault:
        """Put a fault into clean readings.

        Args:
            rng: Source of every choice.
            readings: Clean readings.
            begin_ns: When it begins [ns].
        """
        low, high = np.log(self.duration_s)
        duration_ns = nanoseconds(float(np.exp(rng.uniform(low, high))))
        draw = Draw(rng, list(readings), begin_ns, begin_ns + duration_ns)
        found = self.make(draw)
        found.sort(key=lambda reading: reading.arrival_ns)
        clean = {id(reading) for reading in readings}
        touched = [r.arrival_ns for r in found if id(r) not in clean and r.arrival_ns >= begin_ns]
        end_ns = min(draw.end_ns, max(touched)) if touched else draw.end_ns
        text = f"{self.name}: {', '.join(draw.notes)}" if draw.notes else self.name
        return Fault(tuple(found), begin_ns, max(end_ns, begin_ns), tuple(draw.streams), text)
