"""The measurement equation at many times at once, as the offline identification uses it."""

from dataclasses import dataclass

from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRows:
    """The measurement equation at k times, without the noise: value = regressor @ [pi_1, ..., friction].

    Where unknown wrenches are projected out with the null-space basis N of their Jacobians, the rows hold
    N N' times the equation. N N' is a smooth function of the posture, which N need not be, so the rows can be
    filtered in time. N' times the rows (`basis` holds N) is the equation without its redundant part.

    Attributes:
        regressor: About the joint frames, Pinocchio's order, shape (k, m, 10 n + n_friction).
        value: dtau [Nm, N], shape (k, m).
        measured: S' tau + sum J' lambda [Nm, N], shape (k, m).
        basis: N of each time, shape (k, m, m'), or None where nothing is redundant.
    """

    regressor: Array
    value: Array
    measured: Array
    basis: Array | None = None
