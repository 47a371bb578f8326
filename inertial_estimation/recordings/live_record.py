"""Record of the messages received from live nodes."""

from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.signals import Array, LinkInertia, OrientationSample
from inertial_estimation.spatial.rotations import vertical_of_quaternion

__all__ = ["LiveRecord", "tilt_angles"]


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
    quaternions = np.array([[a.quaternion_xyzw, b.quaternion_xyzw] for a, b in pairs]).reshape(-1, 2, 4)
    x, y, z, w = np.moveaxis(quaternions, 2, 0)
    verticals = np.stack(vertical_of_quaternion(x, y, z, w), axis=2)
    chord = np.linalg.norm(verticals[:, 0] - verticals[:, 1], axis=1)
    return stamps, 2.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0))
