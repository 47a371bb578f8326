"""Smoothed signs of joint velocities, on which Coulomb friction depends, averaged over windows."""

from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.models.coulomb import CoulombDirection, CoulombLaw, smooth_sign
from inertial_estimation.signals import NANOSECONDS, Array, seconds


class FrictionSigns:
    """Signs of the rows of joint states, which with a presliding travel are integrated over the rows."""

    def __init__(self, law: CoulombLaw, joints: Ring, v: slice, max_gap: float) -> None:
        """Begin without a row of a ring of joint states; a gap [s] between two of them begins anew.

        The slice has the columns of the velocities.
        """
        self._law, self._joints, self._v, self._max_gap_ns = law, joints, v, round(max_gap * NANOSECONDS)
        self._direction = CoulombDirection(law)
        self._integrated = Ring(v.stop - v.start) if law.presliding > 0.0 else None
        self._next, self._clears = 0, joints.clears
        self._last_ns: int | None = None  # time of the last row

    @classmethod
    def of(
        cls, config: InertialPipelineConfig, joints: Ring, v: slice, max_gap: float
    ) -> "FrictionSigns | None":
        """Return the signs that a pipeline needs; None where no friction depends on them."""
        known = config.robot.nominal_friction
        estimated = any(term.startswith("coulomb") for term in config.friction.terms)
        estimated = estimated and bool(config.friction.joints)
        if not (estimated or known.coulomb or known.coulomb_slope or known.coulomb_load):
            return None
        return cls(config.coulomb_law, joints, v, max_gap)

    def follow(self) -> None:
        """Integrate over the joint states that have come since the last call."""
        joints, signs = self._joints, self._integrated
        if signs is None:
            return
        if joints.clears != self._clears:
            self._clears, self._last_ns = joints.clears, None
            signs.clear()
        for index in range(max(self._next - joints.moved, joints.begin), joints.end):
            time_ns, v = joints.time[index], joints.rows[index, self._v]
            step_ns = 0 if self._last_ns is None else time_ns - self._last_ns
            if not 0 < step_ns <= self._max_gap_ns:
                self._direction.reset()
            signs.append(time_ns, time_ns, self._direction.after(v, seconds(step_ns)))
            self._last_ns = time_ns
        self._next = joints.total

    def mean(self, centre_ns: int, half_ns: int, weights: Array) -> Array:
        """Return the mean sign over a window of joint states with their weights, shape (n_joints,)."""
        begin, end = centre_ns - half_ns, centre_ns + half_ns
        if self._integrated is not None:
            return weights @ self._integrated.window(begin, end)[1]
        v = self._joints.window(begin, end)[1][:, self._v]
        return weights @ smooth_sign(v, self._law.smoothing_speed)
