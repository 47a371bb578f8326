"""Recordings for the viewer (``--rrd``) of a replay and a simulation.

Packages of the simulation and the viewer, which a command may do without, are imported where they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.files.outputs import output_file
from inertial_estimation.models.robot_config import RobotGeometryConfig
from inertial_estimation.recordings.connection import CLOCK_OFFSET_NS
from inertial_estimation.signals import ContactLoad, seconds
from inertial_estimation.spatial.rotations import rotation_from_quaternion

if TYPE_CHECKING:
    from inertial_estimation.closed_loop.closed_loop import ClosedLoop
    from inertial_estimation.configuration.pipelines import Pipelines
    from inertial_estimation.recordings.recorded_topics import RecordedTopics
    from inertial_estimation.recordings.recording import Recording
    from inertial_estimation.replay.reference import ReplayReference
    from inertial_estimation.simulation.sensors import SensorReadings
    from inertial_estimation.view.moments import Truth
    from inertial_estimation.view.robot_view import RecordedRun


def checked_rrd(path: Path | None) -> Path | None:
    """Return the file of ``--rrd`` if it can be written; None without the option.

    Raises:
        MissingDependencyError: If the viewer's package is not installed.
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
    """
    if path is None:
        return None
    try:
        importlib.import_module("rerun")
    except ImportError as error:
        needed = "--rrd needs the extra 'view': pip install 'inertial_estimation[view]'"
        raise MissingDependencyError(needed) from error
    return output_file(path, ".rrd", "--rrd")


def replay_view(
    path: Path | None,
    recording: Recording,
    topics: RecordedTopics,
    pipelines: Pipelines,
    reference: ReplayReference,
) -> RecordedRun | None:
    """Return what keeps the replay of a recording through pipelines for the viewer; None without a path."""
    if path is None:
        return None
    from inertial_estimation.view.moments import Truth
    from inertial_estimation.view.robot_view import RecordedRun

    estimators = (pipelines.tilt, pipelines.inertial, pipelines.payload)
    first = next(pipeline for pipeline in estimators if pipeline is not None)
    entry = next(iter(recording.entries([topics.joints])), None)
    offset = 0 if entry is None else entry.sample.stamp_ns - entry.log_ns
    origin_ns = recording.start_ns + (offset if abs(offset) > CLOCK_OFFSET_NS else 0)
    inertias = reference.truth

    def truth(stamp_ns: int) -> Truth:
        if inertias is None:
            return Truth()
        now = np.array([seconds(stamp_ns - origin_ns)])
        return Truth(masses={link: float(inertias.masses(link, now)[0]) for link in inertias.steps})

    robot = (first.robot, first.config.robot, pipelines.urdf)
    return RecordedRun(path, *robot, origin_ns, _loads(pipelines), truth)


@contextmanager
def simulation_view(
    path: Path | None, loop: ClosedLoop, config: RobotGeometryConfig, urdf: str, links: Sequence[str]
) -> Iterator[None]:
    """Show a closed loop while the context lasts, from the hoist on; without a path, nothing.

    Args:
        path: File of the viewer's recording.
        loop: The loop; a listener that it has stays.
        config: Parameters of the robot.
        urdf: Text of its description.
        links: Links whose true masses are shown.
    """
    if path is None:
        yield
        return
    from inertial_estimation.view.moments import Truth
    from inertial_estimation.view.robot_view import RecordedRun

    simulation, first = loop.simulation, loop.on_readings

    def truth(_stamp_ns: int) -> Truth:
        now = simulation.truth(links)
        masses = {link: inertia.mass for link, inertia in now.inertias.items()}
        return Truth(rotation_from_quaternion(now.base.quaternion_xyzw)[2], masses)

    robot = (simulation.robot, config, urdf)
    run = RecordedRun(path, *robot, simulation.stamp_ns, _loads(loop), truth)
    seen: list[Any] = [None, None, None]

    def take(readings: SensorReadings) -> None:
        if first is not None:
            first(readings)
        newest = [loop.base, loop.inertias, loop.identified]
        new: list[Any] = [[] if a is None or a is b else [a] for a, b in zip(newest, seen, strict=True)]
        run.moments.see(*new)
        seen[:] = newest
        if readings.joints is not None:
            run.moments.push_joints(readings.joints)

    loop.on_readings = take
    yield
    run.write()


def _loads(of: Pipelines | ClosedLoop) -> Callable[[], Sequence[ContactLoad]]:
    """Return what gives the newest contact points and forces."""
    tilt = of.tilt
    return (lambda: tilt.contact_loads) if tilt is not None else tuple
