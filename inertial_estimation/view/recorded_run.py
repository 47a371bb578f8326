"""One run of a robot in a recording of the viewer, from the pipelines that estimate it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.inputs.robot_inputs import joints_alone
from inertial_estimation.models.robot_config import RobotGeometryConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.reference import ReferenceErrors
from inertial_estimation.signals import ContactLoad
from inertial_estimation.view.blueprint import blueprint, eye_of
from inertial_estimation.view.moments import Moments, Truth
from inertial_estimation.view.robot_view import RobotView, rerun_file


class RecordedRun:
    """Keeps the moments of a run, and writes them.

    Attributes:
        moments: Takes joint states and estimates.
    """

    def __init__(
        self,
        path: Path,
        robot: RobotModel,
        config: RobotGeometryConfig,
        urdf: str,
        origin_ns: int,
        contact_loads: Callable[[], Sequence[ContactLoad]] = tuple,
        truth: Callable[[int], Truth] = lambda _stamp_ns: Truth(),
    ) -> None:
        """Start without moments.

        Args:
            path: The file.
            robot: Model of the robot.
            config: Its parameters.
            urdf: Text of its description.
            origin_ns: Stamp that is zero on the time line [ns].
            contact_loads: Returns the newest contact points and forces.
            truth: Returns what is true at a stamp [ns].
        """
        self.moments = Moments(joints_alone(robot, config, velocities=False), contact_loads, truth)
        self._path, self._robot, self._urdf = path, robot, urdf
        self._origin_ns = origin_ns

    def write(self, errors: ReferenceErrors | None = None) -> None:
        """Write the file, with the tilt of a reference where there is one."""
        robot = self._robot
        with rerun_file(self._path, robot.model.name) as stream:
            view = RobotView(stream, robot, self._urdf, origin_ns=self._origin_ns, folders=mesh_folders())
            if self.moments.found:
                view.show(self.moments.found)
            if errors is not None:
                good = errors.trusted
                view.show_truth(errors.stamps_ns[good], errors.reference[good], errors.errors[good])
            view.tell(self.moments.events)
            stream.send_blueprint(blueprint(view.panels, eye_of(robot)))
