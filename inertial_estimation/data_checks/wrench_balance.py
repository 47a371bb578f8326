"""The balance of the whole robot: contact wrenches against weight and motion, whatever the joints' efforts.

    sum_k G_k w_k = needed,      G_k = (J_k' of the base), needed = (M a + c of the base)

A constant zero of each sensor's channels is fitted along: then only what varies tells, and neither a sensor's
zero nor a load looks like another wiring of the sensors.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.data_table import CheckedRobot, DataTable
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

WINDOWS, FEWEST = 200, 20
LEVER = 0.3  # at which moments count as much as forces [m]
ZERO, NOISE = 0.1, 0.02  # of a sensor's channel, of what is balanced, in weights
EXPLAINS, BALANCED = 0.5, 0.15  # of the imbalance, in weights: more must not be left by what is right
IMBALANCE = 0.01  # in weights, that it must explain
ALIKE = 1.2  # times what the best leaves, up to which another one is not told from it


class WrenchBalance:
    """Needed and carried wrenches of the base in some windows, in weights, moments over `LEVER`.

    Attributes:
        wrenches: Readings of the contacts [N, Nm], shape (N, k, 6).
        f_I: Specific force in IMU axes [m/s^2], shape (N, 3).
    """

    def __init__(self, table: DataTable, kept: NDArray[np.int64]) -> None:
        """Take windows in which everything is known.

        Args:
            table: The windows of a robot with a floating base.
            kept: Numbers of those that are taken.
        """
        weight = float(np.median(np.linalg.norm(table.force[kept, :3], axis=1)))
        scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3) / weight
        self._needed = table.force[kept, :6] * scale
        self._maps = np.einsum("nkiv,v->nkvi", table.jacobians[kept][..., :6], scale)  # (N, k, 6, 6)
        self.wrenches, self.f_I = table.wrenches[kept], table.f_I[kept]
        self._R_BI, self._com_B = table.R_BI[kept], table.com_B[kept]
        self._mass, self._scale = table.mass, scale
        n, k = self.wrenches.shape[:2]
        self._zeros = self._maps.transpose(0, 2, 1, 3).reshape(6 * n, 6 * k)
        prior = np.tile(np.array([1.0] * 3 + [LEVER] * 3) * weight * ZERO, k)
        information = self._zeros.T @ self._zeros + np.diag((NOISE / prior) ** 2)
        self._covariance = linear_algebra.inv(information)

    @classmethod
    def kept(cls, table: DataTable) -> NDArray[np.int64] | None:
        """Return the windows in which everything is known, at most `WINDOWS`; None where they are too few."""
        if table.n_base != 6 or not table.wrenches.shape[1]:
            return None
        known = np.isfinite(table.force[:, :6]).all(axis=1) & np.isfinite(table.wrenches).all(axis=(1, 2))
        kept = np.flatnonzero(known)
        return kept[:: max(1, len(kept) // WINDOWS)] if len(kept) >= FEWEST else None

    def imbalance(self, f_I: Array | None, wrenches: Array) -> Array:
        """Return what is not balanced, shape (6 N,).

        Args:
            f_I: Another specific force [m/s^2], shape (N, 3); None: as it is.
            wrenches: Readings [N, Nm], shape (N, k, 6).
        """
        needed = self._needed if f_I is None else self._needed + self.needed_by(f_I - self.f_I)
        unbalanced: Array = (needed - self.carried(wrenches)).ravel()
        return unbalanced

    def left(self, f_I: Array | None, wrenches: Array) -> float:
        """Return the rms of what is not balanced, zeros fitted along [weights]; arguments as above."""
        r = self.imbalance(f_I, wrenches)
        return math.sqrt(max(float(self.product(r, r)), 0.0) / len(self._needed))

    def needed_by(self, f_I: Array) -> Array:
        """Return what a specific force [m/s^2], shape (N, 3), adds to the wrench that is needed, (N, 6)."""
        force = self._mass * np.einsum("nij,nj->ni", self._R_BI, f_I)
        added: Array = np.hstack((force, np.cross(self._com_B, force))) * self._scale
        return added

    def carried(self, wrenches: Array) -> Array:
        """Return the wrench of readings, shape (N, k, 6), on the base, shape (N, 6)."""
        carried: Array = np.einsum("nkvi,nki->nv", self._maps, wrenches)
        return carried

    def product(self, a: Array, b: Array) -> Array:
        """Return a' b of what the sensors' zeros do not explain."""
        product: Array = a.T @ b - (a.T @ self._zeros) @ self._covariance @ (self._zeros.T @ b)
        return product


def exchanged_contacts(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Find two contacts that have each other's readings.

    Args:
        table: The windows, with a correct accelerometer.
        robot: The robot.

    Returns:
        The result of the one exchange that balances the robot; none where none does, or several do.
    """
    kept = WrenchBalance.kept(table)
    pairs = list(itertools.combinations(range(table.wrenches.shape[1]), 2))
    if kept is None or not pairs:
        return []
    balance = WrenchBalance(table, kept)
    before = balance.left(None, balance.wrenches)
    if before < IMBALANCE:
        return []
    tried = []
    for a, b in pairs:
        wrenches = balance.wrenches.copy()
        wrenches[:, [a, b]] = wrenches[:, [b, a]]
        tried.append((balance.left(None, wrenches), a, b))
    (best, a, b), *others = sorted(tried)
    alike = any(left < ALIKE * best for left, _a, _b in others)
    if alike or best > min(EXPLAINS * before, BALANCED) or before**2 - best**2 < IMBALANCE**2:
        return []
    first, second = robot.contacts[a], robot.contacts[b]
    said = (
        f"the contact wrenches miss the balance of the robot by {100 * before:.2g} % of the weight, by "
        f"{100 * best:.2g} % if '{first}' and '{second}' were exchanged"
    )
    remedy = "check the topics or the wiring of the force sensors: each has the other's readings"
    subject = f"{first}/wrench"
    return [CheckResult("contact names", subject, Verdict.WRONG, 100 * before, "%", said, remedy)]
