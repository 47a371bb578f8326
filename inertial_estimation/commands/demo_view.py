"""The runs of the demo side by side in a recording for the viewer (``demo --rrd``)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.replay.payload_response import PayloadScene

if TYPE_CHECKING:
    from inertial_estimation.view.demo_run_view import DemoRunView  # imports the viewer's package


@contextmanager
def demo_view(
    path: Path | None, scene: PayloadScene, adaptations: Sequence[bool], files: ConfigFile, urdf: str
) -> Iterator[Sequence["DemoRunView | None"]]:
    """Write a recording of all runs while the context lasts.

    Args:
        path: The file; None: nothing is shown.
        scene: What happens.
        adaptations: Whether the controller of each run uses the estimated inertias.
        files: Parameter files of robot and scene.
        urdf: Text of the robot's description.

    Yields:
        What shows each run, None without a file.
    """
    if path is None:
        yield [None] * len(adaptations)
        return
    from inertial_estimation.view.blueprint import Panels, blueprint, front_eye
    from inertial_estimation.view.demo_run_view import ELBOW, DemoRunView, root_of_run
    from inertial_estimation.view.rerun_file import rerun_file

    known = {spec.name for spec in iterate_parameters(RobotConfig)}
    config = build_config(RobotConfig, files.anywhere(known), where=files.name)
    setup = robot_from_config(config, urdf)
    panels = Panels(
        tilt=True,
        tilt_error=False,
        forces=True,
        nis=False,
        masses=True,
        further=((ELBOW, "elbow: angle less reference [deg]"),),
    )
    roots = [root_of_run(adaptation) for adaptation in adaptations]
    layout = blueprint(panels, front_eye(setup.robot), roots=roots)
    with rerun_file(path, layout, "demo") as stream:
        views = [DemoRunView(stream, setup, urdf, scene, adaptation=adaptation) for adaptation in adaptations]
        yield views
        for view in views:
            view.finish()
