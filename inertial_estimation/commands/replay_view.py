"""A replay as a recording for the viewer (``replay --rrd``)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.replay.metrics import TiltErrors
from inertial_estimation.replay.replay_driver import CLOCK_OFFSET_NS
from inertial_estimation.replay.replay_metrics import ReplayReference
from inertial_estimation.replay.replay_watcher import ReplayWatcher
from inertial_estimation.signals import seconds

if TYPE_CHECKING:
    from inertial_estimation.view.robot_view import RobotView  # imports the viewer's package


@dataclass(frozen=True)
class ReplayView:
    """What a replay shows.

    Attributes:
        watcher: Looks on while the recording is replayed; None: nobody does.
        view: Where it is shown, None without ``--rrd``.
    """

    watcher: ReplayWatcher | None = None
    view: "RobotView | None" = None

    def show_reference(self, errors: TiltErrors | None) -> None:
        """Add the reference after its alignment, which needs the whole replay; None: there is none."""
        if self.view is not None and errors is not None:
            good = errors.trusted
            stamps = errors.stamps_ns[good]
            self.view.show_truth(stamps, errors.reference_B[good], errors.errors[good])


@contextmanager
def replay_view(
    path: Path | None,
    recording: Recording,
    topics: RecordedTopics,
    pipelines: Pipelines,
    reference: ReplayReference,
) -> Iterator[ReplayView]:
    """Show a replay while the context lasts.

    Args:
        path: File of the viewer's recording; None: nothing is shown.
        recording: What is replayed.
        topics: Topics of its inputs.
        pipelines: What it is replayed through.
        reference: What it is compared with.

    Yields:
        What is shown.
    """
    if path is None:
        yield ReplayView()
        return
    from inertial_estimation.view.blueprint import Panels
    from inertial_estimation.view.moment import Truth
    from inertial_estimation.view.recorded_view import recorded_view

    tilt = pipelines.tilt
    estimators = (tilt, pipelines.inertial, pipelines.payload)
    first = next(pipeline for pipeline in estimators if pipeline is not None)
    origin_ns = _origin_ns(recording, topics)
    true_inertias = reference.truth

    def truth(stamp_ns: int) -> Truth:
        if true_inertias is None:
            return Truth()
        now = np.array([seconds(stamp_ns - origin_ns)])
        return Truth(masses={link: float(true_inertias.masses(link, now)[0]) for link in true_inertias.steps})

    panels = Panels(
        tilt=tilt is not None,
        tilt_error=bool(reference.samples),
        forces=tilt is not None,
        nis=pipelines.inertial is not None,
        masses=pipelines.inertial is not None or pipelines.payload is not None,
    )
    with recorded_view(
        path,
        first.robot,
        first.config.robot,
        pipelines.urdf,
        panels=panels,
        origin_ns=origin_ns,
        contact_loads=(lambda: tilt.contact_loads) if tilt is not None else tuple,
        truth=truth,
    ) as (estimates, view):
        yield ReplayView(estimates, view)


def _origin_ns(recording: Recording, topics: RecordedTopics) -> int:
    """Stamp at the start of the recording, also where its log times are of another clock [ns]."""
    first = next(iter(recording.entries([topics.joints])), None)
    offset = 0 if first is None else first.sample.stamp_ns - first.log_ns
    return recording.start_ns + (offset if abs(offset) > CLOCK_OFFSET_NS else 0)
