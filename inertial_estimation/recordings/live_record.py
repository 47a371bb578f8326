"""Record of the messages received from live nodes."""

from collections import Counter
from dataclasses import dataclass, field

from inertial_estimation.signals import LinkInertia


@dataclass
class LiveRecord:
    """Received messages, in order."""

    # published inertia of each link, with its stamp [ns]
    inertias: dict[str, list[tuple[int, LinkInertia]]] = field(default_factory=dict)
    # position of each watched joint [rad], with its stamp [ns]
    joints: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)  # diagnostics above OK, last message by part
    # values of the diagnostics, newest by part and key
    facts: dict[tuple[str, str], str] = field(default_factory=dict)
    reports: Counter[str] = field(default_factory=Counter)  # number of diagnostics of each node
