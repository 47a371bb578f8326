"""The recording for the viewer (``--rrd``) of a replay; the viewer is imported where it is used."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.files.outputs import output_file
from inertial_estimation.recordings.connection import CLOCK_OFFSET_NS
from inertial_estimation.signals import seconds

if TYPE_CHECKING:
    from inertial_estimation.configuration.pipelines import Pipelines
    from inertial_estimation.recordings.recorded_topics import RecordedTopics
    from inertial_estimation.recordings.recording import Recording
    from inertial_estimation.replay.reference import ReplayReference
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

    tilt, robot = pipelines.tilt, (first.robot, first.config.robot, pipelines.urdf)
    loads = (lambda: tilt.contact_loads) if tilt is not None else tuple
    return RecordedRun(path, *robot, origin_ns, loads, truth)
