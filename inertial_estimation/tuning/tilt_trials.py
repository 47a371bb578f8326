"""The tilt observer over a recording with other gains."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.estimators.tilt.recorded_observer import FREE_SECTIONS, RecordedObserver
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.tilt_scores import TiltScore
from inertial_estimation.tuning.trials import Report, Trials, Values


class TiltTrials(Trials):
    """Observes a recording again and again: from kept steps, where these do not depend on what differs.

    The steps are kept with the default gains of the observer, so that bad ones in the parameter files do not
    spoil them. Trials of observers that cannot be run over kept steps are replays.

    Attributes:
        config: The parameters in effect.
        recorded: The kept steps.
    """

    def __init__(
        self, run: RecordedRun, division: Division, score: Callable[[RecordedObserver], TiltScore]
    ) -> None:
        """Replay the recording once.

        Args:
            run: The recording.
            division: Its parts and blocks.
            score: Returns what judges the estimates, given the kept steps.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If no steps could be kept.
        """
        self._run, self.division = run, division
        self.config: TiltPipelineConfig = run.configs[TILT_NODE]
        default = TiltPipelineConfig()
        observer = self.config.observer if self.config.observer in FREE_SECTIONS else default.observer
        gains = {name: getattr(default, name) for name in FREE_SECTIONS[observer]}
        values = parameter_values(replace(self.config, observer=observer, **gains))
        own = parameter_values(self.config)
        changed = [(TILT_NODE, name, value) for name, value in values.items() if value != own[name]]
        kept = run.replayed(changed, only=[TILT_NODE])
        assert kept.pipelines.tilt is not None
        assert kept.observer_steps is not None
        self.recorded = RecordedObserver(kept.observer_steps, kept.pipelines.tilt.config)
        self._score = score(self.recorded)

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the tilt with other parameters; see `Trials.scores`."""
        found = self._score.of(*self.tilts(values), self.division.part_end_ns(parts - 1))
        return self.checked(found, parts)

    def tilts(self, values: Values) -> tuple[NDArray[np.int64], Array]:
        """Return stamps [ns] and verticals in the base frame, shapes (n,) and (n, 3), of a trial."""
        config = build_config(TiltPipelineConfig, {**parameter_values(self.config), **values})
        return self.replayed(values) if self.recorded.dependent(config) else self.recorded.tilts(config)

    def replayed(self, values: Values) -> tuple[NDArray[np.int64], Array]:
        """Return the same of a replay through the pipeline itself."""
        overrides = [(TILT_NODE, name, value) for name, value in values.items()]
        base = self._run.replayed(overrides, only=[TILT_NODE]).run.base
        stamps = np.array([estimate.state.stamp_ns for estimate in base], dtype=np.int64)
        return stamps, np.array([estimate.tilt_B for estimate in base]).reshape(-1, 3)
