"""Takes estimated errors of the model: what a joint or the base takes more than the model says."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sensor_error_config import weight_of
from inertial_estimation.signals import Array, Health, HealthLevel

LARGEST_SHARE = 0.1  # of a torque limit, or of the weight: larger ones are no errors of a model


class TorqueErrorIntake:
    """Keeps the newest errors by row; they vary slowly, so the last ones stay in use.

    Rows are those of the base (`BASE_ROWS`, along and about its axes) and joints. A set is refused as a whole
    when a row is unknown, or an error is not finite or larger than a tenth of the joint's torque limit, or of
    the weight.

    Attributes:
        errors: In force [N, Nm], shape (nv,).
        refused: Number of sets refused, by reason.
        refusal: Why the last set was refused; empty where it was not.
    """

    def __init__(self, robot: RobotModel, limits: Array) -> None:
        """Begin without errors.

        Args:
            robot: The robot.
            limits: Torque limits of its joints [Nm], shape (n_joints,).
        """
        of_base = BASE_ROWS if robot.floating_base else ()
        self._index = {name: i for i, name in enumerate((*of_base, *robot.joint_names))}
        wrench = np.repeat(weight_of(robot), 3)[: len(of_base)]
        self._largest: Array = LARGEST_SHARE * np.concatenate((wrench, limits))
        self.reset()

    def reset(self) -> None:
        """Return to no errors."""
        self.errors: Array = np.zeros(len(self._index))
        self.refused: Counter[str] = Counter()
        self.refusal = ""

    def push(self, errors: Mapping[str, float]) -> None:
        """Take errors by row; rows that are not named have none.

        Args:
            errors: Force or torque as read less that of the model [N, Nm], by base row or joint.
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
            return "unknown rows"
        sizes = {name: abs(error) for name, error in errors.items()}
        if not all(size <= self._largest[self._index[name]] for name, size in sizes.items()):  # NaN as well
            return "beyond a tenth of torque limits or weight"
        return ""
