"""Columns of errors of the geometry at the windows of a recording."""

import numpy as np

from inertial_estimation.bring_up.uniform_signals import UniformSignals
from inertial_estimation.models.geometry_slopes import GeometrySlopes
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


class GeometryColumns:
    """Slopes of the base wrench and the torques that are predicted for a window.

    Contact wrenches that are not measured are those of least squares, sum of J' w = M a + c - S' tau.
    """

    def __init__(self, signals: UniformSignals, setup: RobotSetup, *, measured_wrenches: bool) -> None:
        """Prepare the derivatives.

        Args:
            signals: The signals.
            setup: The robot.
            measured_wrenches: Whether the contact wrenches are measured.
        """
        self._signals, self._n_base, self._measured = signals, setup.robot.n_base, measured_wrenches
        self._slopes = GeometrySlopes(setup)

    @property
    def turning(self) -> tuple[str, ...]:
        """Names of the joints that turn, t of them."""
        return self._slopes.turning

    def at(self, i: int) -> Array:
        """Return the columns of an IMU's rotation (floating base, 3), then those of turning joints' offsets.

        Args:
            i: Number of the window.

        Returns:
            Columns of base and joints, shape (nv, 3 + t) or (nv, t).
        """
        table, signals = self._signals.windows, self._signals
        motion = table.q[i], table.dq[i], signals.ddq[i]
        readings = table.f_I[i], table.w_I[i], signals.wd_I[i]
        return self._slopes.at(motion, readings, self._wrenches(i))

    def _wrenches(self, i: int) -> Array:
        """Return the contact wrenches of a window, measured or of least squares, shape (k, 6)."""
        table = self._signals.windows
        wrenches: Array = np.nan_to_num(table.wrenches[i])
        if self._measured or not wrenches.size:
            return wrenches
        J = table.jacobians[i]
        used = slice(0, 3) if table.point_contacts else slice(0, 6)
        acting = np.concatenate((np.zeros(self._n_base), table.tau[i]))
        known = np.isfinite(acting)
        columns = J[:, used].reshape(-1, J.shape[2]).T[known]
        found = linear_algebra.pinv(columns, 1e-6) @ (table.force[i] - acting)[known]
        wrenches[:, used] = found.reshape(len(J), -1)
        return wrenches
