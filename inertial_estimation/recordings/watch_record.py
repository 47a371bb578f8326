"""Record of the newest telemetry and health reports of live nodes, with their arrival times."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from inertial_estimation.recordings.tables import number
from inertial_estimation.signals import Health, HealthLevel

# Period of a node's reports by the steady clock [s], so that a node that waits for /clock reports, too
REPORT_PERIOD = 1.0
SILENT_AFTER = 2.5 * REPORT_PERIOD  # time without a report after which a node is silent; window of rates [s]


class InputState(NamedTuple):
    """State of one input as reported by the nodes that read it; the worst one if they differ."""

    topic: str  # relative name of the topic
    level: HealthLevel  # severity
    rate_hz: float | None  # rate of its stamps [Hz]; None while unknown
    # Time since the stamp of the newest reading [s]; None before the first one. It keeps growing if the node
    # stops reporting, or if readings stop together with the clock of a simulation.
    age_s: float | None
    message: str  # report of the node about the input


@dataclass
class NodeRecord:
    """Record of one node; all times are on one steady clock [s]."""

    figures: Mapping[str, float] = field(default_factory=dict)  # newest telemetry by name
    telemetry_s: float | None = None  # arrival time of the newest telemetry; None before the first message
    health: dict[str, Health] = field(default_factory=dict)  # newest report of each component
    reported_s: float | None = None  # arrival time of the newest report; None before the first one
    _counts: deque[tuple[float, int]] = field(default_factory=deque)
    _newest: dict[str, tuple[str, float, float]] = field(default_factory=dict)  # count, arrival, age then

    def add_telemetry(self, now_s: float, figures: Mapping[str, float], count: int = 1) -> None:
        """Store the newest telemetry of `count` messages that have arrived by now [s]."""
        self.figures, self.telemetry_s = figures, now_s
        self._counts.append((now_s, count))

    def add_report(self, now_s: float, parts: Iterable[Health]) -> None:
        """Store a report of the node, which covers all its components."""
        self.health = {part.name: part for part in parts}
        self.reported_s = now_s
        for part in self.health.values():
            received, age = part.values.get("received"), number(part.values.get("age [s]", "unknown"))
            known = self._newest.get(part.name)
            if received is not None and age is not None and (known is None or known[0] != received):
                self._newest[part.name] = (received, now_s, age)

    def rate_hz(self, now_s: float) -> float:
        """Return the rate of the telemetry over the last 2.5 s [Hz]."""
        while self._counts and now_s - self._counts[0][0] > SILENT_AFTER:
            self._counts.popleft()
        if len(self._counts) < 2:
            return 0.0
        (first_s, first), *_rest = self._counts
        arrived = sum(count for _, count in self._counts) - first
        return arrived / max(self._counts[-1][0] - first_s, 1e-3)

    def age_s(self, now_s: float) -> float | None:
        """Return the age of the newest estimate [s]: that on publication plus the time since; None before."""
        if self.telemetry_s is None:
            return None
        return self.figures.get("age [s]", 0.0) + now_s - self.telemetry_s

    def silent_s(self, now_s: float) -> float:
        """Return the time for which a report of the node is overdue [s]; 0 while reports arrive."""
        if self.reported_s is None:
            return 0.0
        silence = now_s - self.reported_s
        return silence if silence > SILENT_AFTER else 0.0

    def inputs(self, now_s: float) -> list[InputState]:
        """Return the state of every input that has a stamp."""
        return [self._input(part, now_s) for part in self.health.values() if "rate [Hz]" in part.values]

    def _input(self, part: Health, now_s: float) -> InputState:
        rate, age = number(part.values["rate [Hz]"]), number(part.values.get("age [s]", "unknown"))
        level, message = part.level, part.message
        if age is not None and part.name in self._newest:
            _received, arrived_s, age_then = self._newest[part.name]
            stood_s = now_s - arrived_s
            if stood_s > SILENT_AFTER:
                age = max(age, age_then + stood_s)
                if level == HealthLevel.OK:
                    level, message = HealthLevel.WARN, f"nothing new for {stood_s:.0f} s"
        return InputState(part.name, level, rate, age, message)


@dataclass
class WatchRecord:
    """Record of all nodes."""

    # by full name without the leading slash, in the order in which they were found
    nodes: dict[str, NodeRecord] = field(default_factory=dict)

    def node(self, name: str) -> NodeRecord:
        """Return the record of a node; it is created for a new node."""
        return self.nodes.setdefault(name.lstrip("/"), NodeRecord())

    def with_figure(self, figure: str) -> list[tuple[str, NodeRecord]]:
        """Return the nodes, by name, whose telemetry has a figure."""
        return [(name, node) for name, node in self.nodes.items() if figure in node.figures]

    def inputs(self, now_s: float) -> list[InputState]:
        """Return one state per topic, that of the worst level, of equal ones that of the oldest input."""
        found: dict[str, InputState] = {}
        for name, node in self.nodes.items():
            namespace = name.rpartition("/")[0]
            for state in node.inputs(now_s):
                topic = f"{namespace}/{state.topic}" if namespace else state.topic
                known = found.get(topic)
                if known is None or _badness(state) > _badness(known):
                    found[topic] = state._replace(topic=topic)
        return list(found.values())


def _badness(state: InputState) -> tuple[int, float]:
    return int(state.level), state.age_s or 0.0


@dataclass
class LiveRecord:
    """What the live nodes of a demo have published of one link and one joint, in order."""

    masses: list[tuple[int, float]] = field(default_factory=list)  # of the link's body [kg], with stamps [ns]
    positions: list[tuple[int, float]] = field(default_factory=list)  # of the joint [rad], with stamps [ns]
    reports: dict[str, Health] = field(default_factory=dict)  # newest of each component, by "node: part"
