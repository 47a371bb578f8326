"""What was heard from live nodes."""

from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.signals import Array, LinkInertia, OrientationSample

__all__ = ["LiveRecord", "tilt_angles"]


@dataclass
class LiveRecord:
    """Messages heard, in order.

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


def tilt_angles(orientations: list[OrientationSample], truth: list[OrientationSample]) -> tuple[Array, Array]:
    """Return the angle between estimated and true vertical at the stamps both have.

    Args:
        orientations: Estimated orientations.
        truth: True ones.

    Returns:
        Stamps [ns] as floats, and angles [rad], each of shape (n,).
    """
    known = {sample.stamp_ns: sample for sample in truth}
    pairs = [(sample, known[sample.stamp_ns]) for sample in orientations if sample.stamp_ns in known]
    stamps = np.array([sample.stamp_ns for sample, _ in pairs], dtype=np.float64)
    estimated = np.array([_vertical(sample.quaternion_xyzw) for sample, _ in pairs]).reshape(-1, 3)
    true = np.array([_vertical(sample.quaternion_xyzw) for _, sample in pairs]).reshape(-1, 3)
    chord = np.linalg.norm(estimated - true, axis=1)
    return stamps, 2.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0))


def _vertical(quaternion_xyzw: Array) -> tuple[float, float, float]:
    x, y, z, w = (quaternion_xyzw / np.linalg.norm(quaternion_xyzw)).tolist()
    return 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
