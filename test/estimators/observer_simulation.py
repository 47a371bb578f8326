"""A body that swings in the world: exact IMU readings and velocities for tests of observers."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

G = np.array([0.0, 0.0, 9.80665])


@dataclass
class Body:
    """Position and rotation vector are sums of sinusoids; derivatives are central differences."""

    seed: int = 0
    sway: float = 0.1
    turn: float = 0.5

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        self.amplitude = np.concatenate((self.sway * rng.normal(size=3), self.turn * rng.normal(size=3)))
        self.frequency = rng.uniform(1.0, 4.0, 6)
        self.phase = rng.uniform(0.0, 6.28, 6)

    def _coordinates(self, t):
        return self.amplitude * np.sin(self.frequency * t + self.phase)

    def position(self, t):
        return self._coordinates(t)[:3]

    def rotation(self, t):
        return Rotation.from_rotvec(self._coordinates(t)[3:]).as_matrix()

    def velocity_I(self, t, d=1e-4):
        return self.rotation(t).T @ (self.position(t + d) - self.position(t - d)) / (2 * d)

    def rate(self, t, d=1e-4):
        turned = self.rotation(t - d).T @ self.rotation(t + d)
        return Rotation.from_matrix(turned).as_rotvec() / (2 * d)

    def force(self, t, d=1e-3):
        a = (self.position(t + d) - 2 * self.position(t) + self.position(t - d)) / d**2
        return self.rotation(t).T @ (a + G)

    def vertical(self, t):
        return self.rotation(t)[2]


def vec(a):
    return tuple(float(x) for x in a)


def angle(a, b):
    """Angle between two directions [rad], accurate when small."""
    a, b = np.asarray(a), np.asarray(b)
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def run(observer, body, duration, h=0.005, bias=(0, 0, 0), start=0.0, visit=None):
    """Drive an observer along a body with readings at the middle of each step."""
    for k in range(round(duration / h)):
        t = start + k * h
        middle = t + 0.5 * h
        observer.step(h, vec(body.rate(middle) + bias), vec(body.force(middle)), vec(body.velocity_I(middle)))
        if visit is not None:
            visit(t + h)
    return start + round(duration / h) * h
