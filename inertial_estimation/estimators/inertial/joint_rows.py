"""Joint states as rows of the inertial pipeline: positions, velocities, efforts, signs of friction."""

import numpy as np

from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inputs.rows import JointRow
from inertial_estimation.models.clock_branches import ClockBranches
from inertial_estimation.models.coulomb import CoulombDirection, smooth_sign
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, JointReading, seconds


class InertialJointRows:
    """Converts joint states to rows and integrates the sign of Coulomb friction over consecutive ones.

    With a presliding travel the sign depends on the past motion and is a column of the row. Otherwise it
    is a function of the velocities and is computed where needed.

    Attributes:
        columns: Layout of a row.
        map: Picks, orders and checks the joints.
    """

    def __init__(self, config: InertialPipelineConfig, robot: RobotModel) -> None:
        """Determine the columns that are needed.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If offsets or gains do not fit the robot.
        """
        effort = bool(config.rows.torque_rows)
        self.map = JointMap(robot, config.robot, need_effort=effort, checked=True)
        self._law = config.coulomb_law
        known = config.robot.nominal_friction
        estimated = any(term.startswith("coulomb") for term in config.friction.terms)
        estimated = estimated and bool(config.friction.joints)
        self._needs_sign = estimated or bool(known.coulomb or known.coulomb_slope or known.coulomb_load)
        presliding = self._needs_sign and self._law.presliding > 0.0
        self.columns = JointRow(robot.n_joints, effort=effort, sign=presliding)
        self._directions = ClockBranches(lambda: CoulombDirection(self._law), CoulombDirection.reset)
        self._max_gap_ns = round(config.robot.inputs.max_gap * NANOSECONDS)

    def reset(self) -> None:
        """Discard the positions from which velocities are derived."""
        self.map.reset()

    def row(self, reading: JointReading) -> Array:
        """Return the row of a joint state, shape (width,).

        Raises:
            ~inertial_estimation.errors.MeasurementError: If the reading does not fit the model.
        """
        row = self.map.row(reading)
        if self.columns.sign:
            row = np.concatenate((row, self._direction_after(row[self.columns.v], reading.stamp_ns)))
        return row

    @property
    def sign_speed(self) -> float:
        """Speed over which signs of friction are smoothed [rad/s]; 0 where rows hold them, or need none."""
        return self._law.smoothing_speed if self._needs_sign and not self.columns.sign else 0.0

    def _direction_after(self, v: Array, stamp_ns: int) -> Array:
        """Integrate the sign of Coulomb friction over a step; it begins anew after a gap.

        A row of the stamp before, or of a late one, is dropped: what it says of the sign does not matter.
        """
        if not np.isfinite(v).all():
            return np.full(len(v), np.nan)
        step_ns = self._directions.step_to(stamp_ns, self._max_gap_ns)
        if step_ns is None:
            return smooth_sign(v, self._law.smoothing_speed)
        return self._directions.current.after(v, seconds(step_ns))
