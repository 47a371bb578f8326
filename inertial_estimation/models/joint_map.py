"""Joint states by name to the model's joint order."""

import numpy as np

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, JointReading, JointSample

__all__ = ["JointMap"]


class JointMap:
    """Maps joint states, as a robot names and orders them, to the model's joint order, and corrects them.

    The mapping is looked up again whenever the names change.
    """

    def __init__(
        self, robot: RobotModel, config: RobotConfig | None = None, *, need_effort: bool = False
    ) -> None:
        """Resolve the corrections.

        Args:
            robot: The model.
            config: Its parameters, for offsets of positions and gains of drives; None: there are none.
            need_effort: Whether efforts are picked as well.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If offsets or gains do not fit the robot.
        """
        self._robot = robot
        self._need_effort = need_effort
        given = config or RobotConfig()
        corrections = joint_corrections(given.joint_offsets, given.drive_gains, robot)
        self._corrections = None if corrections.trivial else corrections
        self._names: tuple[str, ...] | None = None
        self._order = np.empty(0, dtype=int)
        self.name_changes = 0

    def sample(self, reading: JointReading) -> JointSample:
        """Pick and order the model's joints; joints the model does not have are left out.

        Args:
            reading: Joint state by name.

        Returns:
            Joint state in the model's order; `tau` is None where effort was not asked for.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a joint of the model, its velocity, or an
                effort that is needed, is not there.
        """
        return JointSample(reading.stamp_ns, *self._picked(reading))

    def row(self, reading: JointReading) -> Array:
        """Return what `sample` holds as one row: positions, velocities and, where needed, efforts.

        Args:
            reading: Joint state by name.

        Returns:
            Numbers in the model's order, shape (2 n_joints,) or (3 n_joints,).

        Raises:
            ~inertial_estimation.errors.MeasurementError: As `sample` does.
        """
        return np.concatenate(self._picked(reading))

    def _picked(self, reading: JointReading) -> list[Array]:
        if reading.names != self._names:
            self._look_up(reading.names)
        self._check_fields(reading)
        fields = (reading.position, reading.velocity, reading.effort if self._need_effort else None)
        picked = [field[self._order] for field in fields if field is not None]
        if self._corrections is not None:
            picked[0] = picked[0] + self._corrections.offset
            picked[2:] = [effort * self._corrections.gain for effort in picked[2:]]
        return picked

    def _look_up(self, names: tuple[str, ...]) -> None:
        where = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._robot.joint_names if name not in where]
        if missing:
            raise MeasurementError(
                f"the joint state misses {listing(missing)} (lock them if they do not move); "
                f"it has {listing(names)}"
            )
        self.name_changes += self._names is not None
        self._names = names
        self._order = np.array([where[name] for name in self._robot.joint_names], dtype=int)

    def _check_fields(self, reading: JointReading) -> None:
        if reading.velocity is None:
            raise MeasurementError("the joint state has no velocity, which the model needs")
        if self._need_effort and reading.effort is None:
            raise MeasurementError("the joint state has no effort, but joint torque rows are selected")
