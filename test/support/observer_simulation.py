"""A body that swings in the world: exact IMU readings and velocities for tests of observers."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

G = np.array([0.0, 0.0, 9.80665])


@dataclass
class Body:
    """Position and rotation vector are sums of sinusoids; derivatives are central differences.

    Times may be one, or many: results then have a first axis of so many.
    """

    seed: int = 0
    sway: float = 0.1
    turn: float = 0.5

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        self.amplitude = np.concatenate((self.sway * rng.normal(size=3), self.turn * rng.normal(size=3)))
        self.frequency = rng.uniform(1.0, 4.0, 6)
        self.phase = rng.uniform(0.0, 6.28, 6)

    def _coordinates(self, t):
        return self.amplitude * np.sin(np.multiply.outer(t, self.frequency) + self.phase)

    def position(self, t):
        return self._coordinates(t)[..., :3]

    def rotation(self, t):
        return Rotation.from_rotvec(self._coordinates(t)[..., 3:]).as_matrix()

    def velocity_I(self, t, d=1e-4):
        return turned_back(self.rotation(t), self.position(t + d) - self.position(t - d)) / (2 * d)

    def rate(self, t, d=1e-4):
        turned = np.swapaxes(self.rotation(t - d), -1, -2) @ self.rotation(t + d)
        return Rotation.from_matrix(turned).as_rotvec() / (2 * d)

    def force(self, t, d=1e-3):
        a = (self.position(t + d) - 2 * self.position(t) + self.position(t - d)) / d**2
        return turned_back(self.rotation(t), a + G)

    def vertical(self, t):
        return self.rotation(t)[..., 2, :]


def turned_back(R, a_W):
    return np.einsum("...ji,...j->...i", R, a_W)
