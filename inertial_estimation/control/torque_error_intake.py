"""Takes estimated errors of joint torques: what a joint takes more than the model with its inertias says."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.signals import Array, Health, HealthLevel

__all__ = ["TorqueErrorIntake"]

LARGEST_SHARE = 0.1  # of a joint's torque limit: larger ones are no errors of a sensor


class TorqueErrorIntake:
    """Keeps the newest errors by joint; they vary slowly, so the last ones stay in use.

    A set is refused as a whole when a joint is unknown, or an error is not finite or larger than a tenth of
    the joint's torque limit.

    Attributes:
        errors: In force [Nm], shape (n_joints,).
        refused: Number of sets refused, by reason.
        refusal: Why the last set was refused; empty where it was not.
    """

    def __init__(self, names: Sequence[str], limits: Array) -> None:
        """Begin without errors.

        Args:
            names: Names of the joints.
            limits: Their torque limits [Nm], shape (n_joints,).
        """
        self._index = {name: i for i, name in enumerate(names)}
        self._largest = LARGEST_SHARE * limits
        self.reset()

    def reset(self) -> None:
        """Return to no errors."""
        self.errors: Array = np.zeros(len(self._index))
        self.refused: Counter[str] = Counter()
        self.refusal = ""

    def push(self, errors: Mapping[str, float]) -> None:
        """Take errors by joint; joints that are not named have none.

        Args:
            errors: Torque as read less that of the model [Nm], by joint.
        """
        self.refusal = self._reason(errors)
        if self.refusal:
            self.refused[self.refusal] += 1
            return
        taken = np.zeros(len(self._index))
        for name, error in errors.items():
            taken[self._index[name]] = error
        self.errors = taken

    def health(self) -> list[Health]:
        """Say why sets were refused; nothing where none was."""
        if not self.refused:
            return []
        level = HealthLevel.WARN if self.refusal else HealthLevel.OK
        message = f"refused: {self.refusal}; the last good ones stay in use" if self.refusal else "received"
        values = {f"refused: {reason}": str(count) for reason, count in self.refused.items()}
        return [Health("torque_errors", level, message, values)]

    def _reason(self, errors: Mapping[str, float]) -> str:
        if any(name not in self._index for name in errors):
            return "unknown joints"
        sizes = {name: abs(error) for name, error in errors.items()}
        if not all(size <= self._largest[self._index[name]] for name, size in sizes.items()):  # NaN as well
            return "beyond a tenth of the torque limits"
        return ""
