"""Friction that is known: its torques, which are not estimated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from inertial_estimation.models.coulomb import smooth_sign
from inertial_estimation.models.joint_couplings import JointCouplings
from inertial_estimation.models.joint_middles import from_middle
from inertial_estimation.signals import Array

POSITION_TERMS = ("stiffness", "balance_sin", "balance_cos")


def position_factor(term: str, q: Array, middles: Array | None) -> Array:
    """Return what a term of `POSITION_TERMS` is multiplied by, of q's shape.

    Args:
        term: A spring about the middle of the range, or a counterbalance by sine or cosine.
        q: Joint positions [rad], shape (..., n_joints).
        middles: Middle of each joint's range, as `joint_middles` returns them.
    """
    if term == "stiffness":
        return from_middle(q, middles)
    return np.asarray(np.sin(q) if term == "balance_sin" else np.cos(q))


@dataclass(frozen=True, eq=False)
class KnownFriction:
    """Friction that is known and not estimated.

    Attributes:
        values: By term (`models.friction`), shape (n_joints,) each; zero where not known, or estimated.
        smoothing_speed: v_s of the Coulomb term [rad/s].
        couplings: Motors that drive several joints; None for none.
        coupled: Their friction by term, shape (k,) each.
        middles: Middle of each joint's range [rad], NaN where it has no limits, shape (n_joints,).
    """

    values: Mapping[str, Array]
    smoothing_speed: float
    couplings: JointCouplings | None = None
    coupled: Mapping[str, Array] = field(default_factory=dict)
    middles: Array | None = None

    @cached_property
    def needs_load(self) -> bool:
        """Whether the friction depends on the torque that the joint transmits."""
        return "coulomb_load" in self.values and bool(self.values["coulomb_load"].any())

    @cached_property
    def _slope(self) -> Array | None:
        slope = self.values.get("coulomb_slope")
        return slope if slope is not None and slope.any() else None

    def torques(
        self, q: Array, v: Array, a: Array, sign: Array | None = None, load: Array | None = None
    ) -> Array:
        """Return tau_friction.

        Args:
            q: Joint positions [rad], shape (..., n_joints).
            v: Joint velocities [rad/s], shape (..., n_joints).
            a: Joint accelerations [rad/s^2], shape (..., n_joints).
            sign: Smoothed sign of the velocity averaged over the window of the other signals; None computes
                it from `v`.
            load: As in `FrictionModel.regressor`, of v's shape; needed where `needs_load`.

        Returns:
            Torques [Nm], of v's shape.
        """
        sign = smooth_sign(v, self.smoothing_speed) if sign is None else sign
        values = self.values
        coulomb = values["coulomb"]
        if self._slope is not None:
            coulomb = coulomb + self._slope * from_middle(q, self.middles)
        if self.needs_load:
            assert load is not None
            coulomb = coulomb + self.values["coulomb_load"] * np.abs(load)
        torques: Array = coulomb * sign + values["viscous"] * v + values["offset"]
        torques = torques + values["armature"] * a
        for term in POSITION_TERMS:
            if term in values and values[term].any():
                torques = torques + values[term] * position_factor(term, q, self.middles)
        if self.couplings:
            for term, value in self.coupled.items():
                torques = torques + self.couplings.regressor(term, v, a, self.smoothing_speed) @ value
        return torques
