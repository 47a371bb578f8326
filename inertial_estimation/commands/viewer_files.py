"""Recordings for the viewer (``--rrd``) of a replay, a simulation and the runs of the demo."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from inertial_estimation.configuration.node_configs import robot_config
from inertial_estimation.models.robot_config import RobotGeometryConfig, robot_from_config
from inertial_estimation.recordings.connection import CLOCK_OFFSET_NS
from inertial_estimation.signals import BaseEstimate, InertialEstimate, seconds
from inertial_estimation.spatial.rotations import rotation_from_quaternion

if TYPE_CHECKING:  # packages of the simulation and the viewer, which a command may do without
    from inertial_estimation.closed_loop.closed_loop import ClosedLoop
    from inertial_estimation.configuration.config_file import ConfigFile
    from inertial_estimation.configuration.pipelines import Pipelines
    from inertial_estimation.models.robot_model import RobotModel
    from inertial_estimation.payload.estimate import PayloadEstimate
    from inertial_estimation.recordings.recorded_topics import RecordedTopics
    from inertial_estimation.recordings.recording import Recording
    from inertial_estimation.replay.payload_response import PayloadScene
    from inertial_estimation.replay.reference import ReplayReference
    from inertial_estimation.simulation.sensors import SensorReadings
    from inertial_estimation.view.demo_run_view import DemoRunView
    from inertial_estimation.view.moments import Moments, Truth
    from inertial_estimation.view.recorded_run import RecordedRun

EstimateT = TypeVar("EstimateT", BaseEstimate, InertialEstimate, "PayloadEstimate")


def replay_view(
    path: Path | None,
    recording: Recording,
    topics: RecordedTopics,
    pipelines: Pipelines,
    reference: ReplayReference,
) -> RecordedRun | None:
    """Return what keeps a replay for the viewer; None without a file.

    Args:
        path: File of the viewer's recording.
        recording: What is replayed.
        topics: Topics of its inputs.
        pipelines: What it is replayed through.
        reference: What it is compared with.
    """
    if path is None:
        return None
    from inertial_estimation.view.moments import Truth

    estimators = (pipelines.tilt, pipelines.inertial, pipelines.payload)
    first = next(pipeline for pipeline in estimators if pipeline is not None)
    origin_ns = _origin_ns(recording, topics)
    true_inertias = reference.truth

    def truth(stamp_ns: int) -> Truth:
        if true_inertias is None:
            return Truth()
        now = np.array([seconds(stamp_ns - origin_ns)])
        return Truth(masses={link: float(true_inertias.masses(link, now)[0]) for link in true_inertias.steps})

    robot, exact = (first.robot, first.config.robot, pipelines.urdf), bool(reference.samples)
    return _recorded_run(path, robot, pipelines, origin_ns, truth, tilt_error=exact)


def _origin_ns(recording: Recording, topics: RecordedTopics) -> int:
    """Stamp at the start of the recording, also where its log times are of another clock [ns]."""
    first = next(iter(recording.entries([topics.joints])), None)
    offset = 0 if first is None else first.sample.stamp_ns - first.log_ns
    return recording.start_ns + (offset if abs(offset) > CLOCK_OFFSET_NS else 0)


@contextmanager
def simulation_view(
    path: Path | None, loop: ClosedLoop, config: RobotGeometryConfig, urdf: str, links: Sequence[str]
) -> Iterator[None]:
    """Show a closed loop while the context lasts, from the hoist on.

    Args:
        path: File of the viewer's recording; None: nothing is shown.
        loop: The loop; a listener that it has stays.
        config: Parameters of the robot.
        urdf: Text of its description.
        links: Links whose true masses are shown.
    """
    if path is None:
        yield
        return
    from inertial_estimation.view.moments import Truth

    simulation = loop.simulation

    def truth(_stamp_ns: int) -> Truth:
        now = simulation.truth(links)
        masses = {link: inertia.mass for link, inertia in now.inertias.items()}
        return Truth(rotation_from_quaternion(now.base.quaternion_xyzw)[2], masses)

    robot, known = (simulation.robot, config, urdf), loop.tilt is not None
    run = _recorded_run(path, robot, loop, simulation.stamp_ns, truth, tilt_error=known)
    loop.on_readings = _Listener(loop, run.moments).take
    yield
    run.write()


def _recorded_run(
    path: Path,
    robot: tuple[RobotModel, RobotGeometryConfig, str],
    of: Pipelines | ClosedLoop,
    origin_ns: int,
    truth: Callable[[int], Truth],
    *,
    tilt_error: bool,
) -> RecordedRun:
    """Return what keeps a robot (model, parameters, URDF), with the panels of the estimators in use."""
    from inertial_estimation.view.blueprint import Panels
    from inertial_estimation.view.recorded_run import RecordedRun

    tilt = of.tilt
    panels = Panels(
        tilt=tilt is not None,
        tilt_error=tilt_error,
        forces=tilt is not None,
        nis=of.inertial is not None,
        masses=of.inertial is not None or of.payload is not None,
    )
    loads = (lambda: tilt.contact_loads) if tilt is not None else tuple
    return RecordedRun(path, *robot, panels=panels, origin_ns=origin_ns, contact_loads=loads, truth=truth)


class _Listener:
    """Takes the readings of a loop for its first listener, and for a view with the estimates before them."""

    def __init__(self, loop: ClosedLoop, moments: Moments) -> None:
        self._loop, self._moments = loop, moments
        self._first = loop.on_readings
        self._base: BaseEstimate | None = None
        self._inertial: InertialEstimate | None = None
        self._payload: PayloadEstimate | None = None

    def take(self, readings: SensorReadings) -> None:
        """Pass readings on."""
        if self._first is not None:
            self._first(readings)
        loop = self._loop
        self._moments.see(
            _new(loop.base, self._base),
            _new(loop.inertias, self._inertial),
            _new(loop.identified, self._payload),
        )
        self._base, self._inertial, self._payload = loop.base, loop.inertias, loop.identified
        if readings.joints is not None:
            self._moments.push_joints(readings.joints)


def _new(newest: EstimateT | None, seen: EstimateT | None) -> list[EstimateT]:
    return [] if newest is None or newest is seen else [newest]


@contextmanager
def demo_view(
    path: Path | None, scene: PayloadScene, adaptations: Sequence[bool], files: ConfigFile, urdf: str
) -> Iterator[Sequence[DemoRunView | None]]:
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
    from inertial_estimation.view.robot_view import rerun_file

    setup = robot_from_config(robot_config(files), urdf)
    panels = Panels(
        tilt=True,
        tilt_error=False,
        forces=True,
        nis=False,
        masses=True,
        further=((ELBOW, "elbow: angle less reference [deg]"),),
    )
    roots = [root_of_run(adaptation) for adaptation in adaptations]
    views = [DemoRunView(setup, urdf, scene, adaptation=adaptation) for adaptation in adaptations]
    yield views
    with rerun_file(path, blueprint(panels, front_eye(setup.robot), roots=roots), "demo") as stream:
        for view in views:
            view.write(stream)
