"""Record of the messages received from live nodes."""

from collections import Counter
from dataclasses import dataclass, field

from inertial_estimation.signals import LinkInertia


@dataclass
class LiveRecord:
    """Received messages, in order.

    Attributes:
        inertias: Published inertia of each link, with its stamp [ns].
        joints: Position of each watched joint [rad], with its stamp [ns].
        complaints: Diagnostics above OK, last message by part.
        facts: Values of the diagnostics, newest by part and key.
        reports: Number of diagnostics of each node.
    """

    inertias: dict[str, list[tuple[int, LinkInertia]]] = field(default_factory=dict)
    joints: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)
    facts: dict[tuple[str, str], str] = field(default_factory=dict)
    reports: Counter[str] = field(default_factory=Counter)
