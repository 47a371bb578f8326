"""The motion from pose to pose: quintics in joint space with rest in between, free of collisions."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.design_rows import DesignRows
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.self_collision import SelfCollision
from inertial_estimation.signals import Array
from inertial_estimation.spatial.minimum_jerk import minimum_jerk_derivatives

CHECK_SPACING = 0.05  # between the postures of a path that are checked for collisions [rad]
# Largest speed and acceleration of the quintic from 0 to 1.
QUINTIC_PEAK_SPEED, QUINTIC_PEAK_ACCELERATION = 1.875, 10.0 / np.sqrt(3.0)


@dataclass(frozen=True, eq=False)
class PosePath:
    """Poses in the order in which they are visited.

    Attributes:
        stops: Postures of the moving joints, shape (k, n).
        held: Whether each stop is a measured pose and not only a waypoint, length k.
        visited: Index of the pose at each measured stop.
        left_out: Indices of poses to which no path without collision was found.
    """

    stops: Array
    held: tuple[bool, ...]
    visited: tuple[int, ...]
    left_out: tuple[int, ...]

    def sampled(
        self, limits: JointLimits, acceleration: float, dwell: float, step: float
    ) -> tuple[Array, Array, Array, Array]:
        """Return times, positions, velocities and accelerations.

        Args:
            limits: Speeds of the moving joints.
            acceleration: Largest acceleration [rad/s^2].
            dwell: Duration for which a measured pose is held [s].
            step: Time between samples [s].

        Returns:
            Times, shape (k,), and three arrays of shape (k, n).
        """
        pieces: list[tuple[Array, Array, Array]] = []
        for i, (stop, held) in enumerate(zip(self.stops, self.held, strict=True)):
            if held:
                rest = np.zeros((max(1, round(dwell / step)), len(stop)))
                pieces.append((rest + stop, rest, rest))
            if i + 1 < len(self.stops):
                pieces.append(_quintic(stop, self.stops[i + 1], limits, acceleration, step))
        end = np.zeros((1, self.stops.shape[1]))
        pieces.append((end + self.stops[-1], end, end))
        q, v, a = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
        times: Array = step * np.arange(len(q), dtype=np.float64)
        return times, q, v, a


def path_through(
    poses: Array, rows: DesignRows, collision: SelfCollision, clearance: float, ways: Array
) -> PosePath:
    """Order poses so that consecutive ones are near, and avoid collisions by one waypoint in between.

    Args:
        poses: Poses of the moving joints, shape (p, n).
        rows: The moving joints, and the posture of the others.
        collision: Distances between links.
        clearance: Smallest allowed distance [m].
        ways: Postures that may serve as waypoints, shape (w, n).

    Raises:
        ConfigurationError: If there is no pose.
    """
    if not len(poses):
        raise ConfigurationError("there are no poses to visit")
    left = list(range(1, len(poses)))
    stops, held, visited = [poses[0]], [True], [0]
    while left:
        here = stops[-1]
        near = sorted(left, key=lambda i: float(np.abs(poses[i] - here).max()))
        straight = (i for i in near if _free(here, poses[i], rows, collision, clearance))
        target = next(straight, None)
        if target is None:
            around = (
                (i, w)
                for i in near
                for w in ways[:20]
                if _both_free(here, w, poses[i], rows, collision, clearance)
            )
            found = next(around, None)
            if found is None:
                break
            target, way = found
            stops.append(way)
            held.append(False)
        stops.append(poses[target])
        held.append(True)
        visited.append(target)
        left.remove(target)
    return PosePath(np.array(stops), tuple(held), tuple(visited), tuple(left))


def _both_free(
    start: Array, way: Array, end: Array, rows: DesignRows, collision: SelfCollision, clearance: float
) -> bool:
    return _free(start, way, rows, collision, clearance) and _free(way, end, rows, collision, clearance)


def _free(start: Array, end: Array, rows: DesignRows, collision: SelfCollision, clearance: float) -> bool:
    if not collision.checks:
        return True
    count = 2 + int(np.abs(end - start).max() / CHECK_SPACING)
    shares = np.linspace(0.0, 1.0, count)[:, None]
    postures = rows.full(start + shares * (end - start), rows.design.home)
    return not any(collision.closer_than(posture, clearance) for posture in postures)


def _quintic(
    start: Array, end: Array, limits: JointLimits, acceleration: float, step: float
) -> tuple[Array, Array, Array]:
    """Return the samples from the start up to the end, the end excluded."""
    way = end - start
    shortest = max(
        float((QUINTIC_PEAK_SPEED * np.abs(way) / limits.velocity).max()),
        float(np.sqrt(QUINTIC_PEAK_ACCELERATION * np.abs(way) / acceleration).max()),
    )
    count = max(1, int(np.ceil(shortest / step)))
    duration = count * step
    u = np.arange(count)[:, None] / count
    s, s1, s2 = minimum_jerk_derivatives(u)
    return start + s * way, s1 / duration * way, s2 / duration**2 * way
