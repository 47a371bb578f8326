"""The runs of the demo side by side in a recording for the viewer (``demo --rrd``)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from inertial_estimation.commands.demo_nodes import PARAMETER_FILES
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.parameters import build_config, iterate_parameters
from inertial_estimation.replay.payload_response import PayloadScene

if TYPE_CHECKING:
    from inertial_estimation.view.demo_run_view import DemoRunView  # imports the viewer's package

__all__ = ["demo_view"]


@contextmanager
def demo_view(
    path: Path | None, scene: PayloadScene, adaptations: Sequence[bool]
) -> Iterator[Sequence["DemoRunView | None"]]:
    """Write a recording of all runs while the context lasts.

    Args:
        path: The file; None: nothing is shown.
        scene: What happens.
        adaptations: Whether the controller of each run uses the estimated inertias.

    Yields:
        What shows each run, None without a file.
    """
    if path is None:
        yield [None] * len(adaptations)
        return
    from inertial_estimation.view.blueprint import Panels, blueprint, front_eye
    from inertial_estimation.view.demo_run_view import ELBOW, DemoRunView, root_of_run
    from inertial_estimation.view.rerun_file import rerun_file

    file = load_configs(PARAMETER_FILES)
    known = {spec.name for spec in iterate_parameters(RobotConfig)}
    config = build_config(RobotConfig, file.anywhere(known), where=file.name)
    urdf = read_urdf(config.urdf)
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
