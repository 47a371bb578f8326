"""Record of the messages received from live nodes."""

from dataclasses import dataclass, field

from inertial_estimation.signals import LinkInertia, OrientationSample

__all__ = ["LiveRecord"]


@dataclass
class LiveRecord:
    """Received messages, in order.

    Attributes:
        payloads: Estimate minus nominal of each link, with its stamp [ns].
        inertias: Published inertia of each link, with its stamp [ns].
        sigmas: Standard deviation of each link's mass [kg], with the stamp of the newest estimate [ns].
        orientations: Base orientations.
        joints: Position of each watched joint [rad], with its stamp [ns].
        complaints: Diagnostics above OK, last message by part.
        facts: Values of the diagnostics, newest by part and key.
    """

    payloads: dict[str, list[tuple[int, LinkInertia]]] = field(default_factory=dict)
    inertias: dict[str, list[tuple[int, LinkInertia]]] = field(default_factory=dict)
    sigmas: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    orientations: list[OrientationSample] = field(default_factory=list)
    joints: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)
    facts: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def newest_ns(self) -> int:
        """Stamp of the newest inertial estimate [ns]; zero before the first."""
        return max((series[-1][0] for series in self.payloads.values() if series), default=0)
