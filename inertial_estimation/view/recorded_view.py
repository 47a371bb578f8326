"""A recording of the viewer for one robot, from the pipelines that estimate it."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import rerun as rr
import rerun.blueprint as rrb

from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.files.outputs import PARTIAL
from inertial_estimation.inputs.robot_inputs import joints_alone
from inertial_estimation.models.robot_config import RobotGeometryConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import ContactLoad
from inertial_estimation.view.blueprint import Panels, blueprint, eye_of
from inertial_estimation.view.estimate_view import EstimateView
from inertial_estimation.view.moment import Truth, nothing_known
from inertial_estimation.view.robot_view import RobotView

APPLICATION = "inertial_estimation"


@contextmanager
def recorded_view(
    path: Path,
    robot: RobotModel,
    config: RobotGeometryConfig,
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
        yield EstimateView(view, joints_alone(robot, config, velocities=False), contact_loads, truth), view
        view.finish()


@contextmanager
def rerun_file(path: Path, blueprint: rrb.Blueprint, name: str) -> Iterator[rr.RecordingStream]:
    """Open a recording that is written to a file as it is made.

    What is logged goes to a file next to the given one, which is given its name at the end; after an error
    or an interrupt nothing is left.

    Args:
        path: The file; an existing one is replaced.
        blueprint: How the viewer lays it out.
        name: Name of the recording in the viewer.

    Yields:
        The stream to log to.
    """
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(4)}.rrd")
    stream = rr.RecordingStream(APPLICATION)
    for clock in (stream.set_log_time_enabled, stream.set_log_tick_enabled):
        clock(False)  # the only time line is that of the data
    try:
        stream.save(partial, default_blueprint=blueprint)
        stream.send_recording_name(name)
        yield stream
        stream.flush()
        stream.disconnect()
        partial.replace(path)
    finally:
        stream.disconnect()
        with suppress(OSError):
            partial.unlink(missing_ok=True)
