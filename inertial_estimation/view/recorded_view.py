"""A recording of the viewer for one robot, from the pipelines that estimate it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.models.contacts import ContactLoad
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.view.blueprint import Panels, blueprint, eye_of
from inertial_estimation.view.estimate_view import EstimateView
from inertial_estimation.view.moment import Truth, nothing_known
from inertial_estimation.view.rerun_file import rerun_file
from inertial_estimation.view.robot_view import RobotView


@contextmanager
def recorded_view(
    path: Path,
    robot: RobotModel,
    config: RobotConfig,
    urdf: str,
    *,
    panels: Panels,
    origin_ns: int,
    contact_loads: Callable[[], Sequence[ContactLoad]] = tuple,
    truth: Callable[[int], Truth] = nothing_known,
) -> Iterator[tuple[EstimateView, RobotView]]:
    """Write a recording while the context lasts.

    Args:
        path: The file.
        robot: Model of the robot.
        config: Its parameters.
        urdf: Text of its description.
        panels: Time series that the recording has.
        origin_ns: Stamp that is zero on the time line [ns].
        contact_loads: Returns the newest contact points and forces.
        truth: Returns what is true at a stamp [ns].

    Yields:
        What takes the estimates, and what they are shown on.
    """
    name = robot.model.name
    with rerun_file(path, blueprint(panels, eye_of(robot)), name) as stream:
        view = RobotView(stream, robot, urdf, origin_ns=origin_ns, folders=mesh_folders())
        yield EstimateView(view, JointMap(robot, config, need_velocity=False), contact_loads, truth), view
        view.finish()
