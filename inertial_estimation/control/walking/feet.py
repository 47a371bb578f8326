"""Feet on the ground: centres, headings, what they mean for the base."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.contact_constraints import Contact
from inertial_estimation.models.whole_body_dynamics import FrameMotion
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import yaw_of


def inner_points(contact: Contact, margin: float) -> Array:
    """Return the corners of a sole moved inwards by a margin, in the contact frame [m], shape (k, 3).

    Args:
        contact: The contact.
        margin: Distance taken off every side [m]; at most to the centre.
    """
    arms = contact.points_C - contact.centre_C
    return contact.centre_C + np.copysign(np.maximum(np.abs(arms) - margin, 0.0), arms)


class SolePlaces:
    """Where the contacts are: their centres, and the corners of their support with a margin taken off."""

    def __init__(self, contacts: Sequence[Contact], margin: float) -> None:
        """Take centres and corners.

        Args:
            contacts: The contacts, in the order of the frames of the state.
            margin: Distance taken off every side of a sole [m]; at most to the centre.
        """
        inner = [inner_points(contact, margin) for contact in contacts]
        counts = np.array([len(points) for points in inner], dtype=np.int64)
        self._owners = np.repeat(np.arange(len(inner), dtype=np.int64), counts)
        self._points = np.concatenate([np.zeros((0, 3)), *inner])
        self._centres = np.array([contact.centre_C for contact in contacts]).reshape(-1, 3)

    def now(self, places: Array) -> tuple[list[Array], Array]:
        """Return centres and corners relative to the base origin, world axes.

        Args:
            places: Orientation by rows and position of the contact frames, which come first, shape (f, 12).

        Returns:
            Centre of each contact [m], shape (3,) each; corners in the horizontal plane [m], shape (k, 2).
        """
        R, p = places[:, :9].reshape(-1, 3, 3), places[:, 9:]
        m, owners = len(self._centres), self._owners
        centres = p[:m] + np.einsum("nij,nj->ni", R[:m], self._centres)
        corners: Array = p[owners, :2] + np.einsum("kij,kj->ki", R[owners, :2], self._points)
        return list(centres), corners

    def standing(self, corners: Array, capacity: Sequence[float]) -> Array:
        """Return the corners of the contacts that carry.

        Args:
            corners: All corners, shape (k, 2).
            capacity: How much of its full force each contact may take, 0 (in the air) to 1.
        """
        return corners if all(capacity) else corners[np.array(capacity)[self._owners] > 0.0]


def mean_angle(angles: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean of angles on the circle [rad]."""
    x = sum(w * math.cos(a) for a, w in zip(angles, weights, strict=True))
    y = sum(w * math.sin(a) for a, w in zip(angles, weights, strict=True))
    return math.atan2(y, x)


def heading(contacts: Sequence[Contact], motions: Sequence[FrameMotion], home: Sequence[Array]) -> float:
    """Return the heading of feet on the ground [rad].

    Soles have a heading of their own: their mean. Points have none; together they are turned as a whole
    against their home places, by the angle that fits best in least squares.

    Args:
        contacts: Contacts on the ground.
        motions: Motions of their frames.
        home: Horizontal places of the contacts at heading zero [m], each of shape (2,).
    """
    if contacts[0].is_sole:
        return mean_angle([yaw_of(motion.R_WF) for motion in motions], [1.0] * len(contacts))
    now = np.array([motion.p_BF_W[:2] for motion in motions])
    then = np.array(home)
    now, then = now - now.mean(axis=0), then - then.mean(axis=0)
    cross = float(np.sum(then[:, 0] * now[:, 1] - then[:, 1] * now[:, 0]))
    return math.atan2(cross, float(np.sum(then * now)))


def load_shares(centres: Sequence[Array], capacity: Sequence[float], pressure: Array) -> list[float]:
    """Return the share of the weight each contact should carry for a centre of pressure.

    One contact takes all of it, two share by the projection on the line between them, more by the
    least-norm solution of sum s = 1, sum s p = pressure. None gets more than its capacity allows.

    Args:
        centres: Centre of each contact [m], shape (2,) or (3,).
        capacity: 0 (in the air) to 1.
        pressure: Centre of pressure [m], shape (2,).
    """
    standing = [i for i, c in enumerate(capacity) if c > 0.0]
    shares = [0.0] * len(capacity)
    if len(standing) == 1:
        shares[standing[0]] = 1.0
    elif len(standing) == 2:
        first, second = standing
        ax, ay = centres[first][:2].tolist()
        bx, by = centres[second][:2].tolist()
        px, py = pressure.tolist()
        ux, uy = bx - ax, by - ay
        along = ((px - ax) * ux + (py - ay) * uy) / max(ux * ux + uy * uy, 1e-9)
        shares[second] = min(1.0, max(0.0, along))
        shares[first] = 1.0 - shares[second]
    elif standing:
        A = np.vstack((np.ones(len(standing)), np.array([centres[i][:2] - pressure for i in standing]).T))
        solution = A.T @ linear_algebra.solve(A @ A.T + 1e-9 * np.eye(3), np.array([1.0, 0.0, 0.0]))
        for i, share in zip(standing, solution.tolist(), strict=True):
            shares[i] = min(1.0, max(0.0, share))
    shares = [min(share, c) for share, c in zip(shares, capacity, strict=True)]
    total = sum(shares)
    return [share / total for share in shares] if total > 0.0 else shares
