"""Record of the messages received from live nodes."""

from collections import Counter
from dataclasses import dataclass, field

from inertial_estimation.signals import BaseState, JointReading, LinkInertia, WrenchSample


@dataclass
class HeardRobot:
    """Messages about the whole robot since they were last taken, in order.

    Attributes:
        contacts: Contacts whose wrenches are heard.
        joints: Joint states.
        bases: Base states.
        wrenches: Newest wrench of each contact.
    """

    contacts: tuple[str, ...]
    joints: list[JointReading] = field(default_factory=list)
    bases: list[BaseState] = field(default_factory=list)
    wrenches: dict[str, WrenchSample] = field(default_factory=dict)


@dataclass
class LiveRecord:
    """Received messages, in order.

    Attributes:
        payloads: Estimate minus nominal of each link, with its stamp [ns].
        inertias: Published inertia of each link, with its stamp [ns].
        sigmas: Standard deviation of each link's mass [kg], with the stamp of the newest estimate [ns].
        joints: Position of each watched joint [rad], with its stamp [ns].
        complaints: Diagnostics above OK, last message by part.
        facts: Values of the diagnostics, newest by part and key.
        reports: Number of diagnostics of each node.
        robot: The whole robot's messages, None where they are not wanted.
    """

    payloads: dict[str, list[tuple[int, LinkInertia]]] = field(default_factory=dict)
    inertias: dict[str, list[tuple[int, LinkInertia]]] = field(default_factory=dict)
    sigmas: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    joints: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)
    facts: dict[tuple[str, str], str] = field(default_factory=dict)
    reports: Counter[str] = field(default_factory=Counter)
    robot: HeardRobot | None = None

    @property
    def newest_ns(self) -> int:
        """Stamp of the newest inertial estimate [ns]; zero before the first."""
        return max((series[-1][0] for series in self.payloads.values() if series), default=0)
