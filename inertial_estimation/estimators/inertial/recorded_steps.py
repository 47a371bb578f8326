"""Measurement equations of a recording, computed once and filtered many times with other parameters.

What the rows of an equation are made from (readings, kinematics, regressors) does not depend on the noise,
the prior, the gate or the watch. An `InertialPipeline` that keeps its steps therefore gives everything that a
search for better parameters needs: a run of the filter costs a fraction of a replay.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from inertial_estimation.errors import ConfigurationError, InertialEstimationError, listing
from inertial_estimation.estimators.inertial.estimate_defect import estimate_defect
from inertial_estimation.estimators.inertial.estimation_model import EstimationModel
from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_estimator import InertialEstimator, MeasuredStep
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.signals import InertialEstimate

FREE_PARAMETERS = (
    *("noise", "noise_adaptation", "row_weights", "prior", "process", "gate", "watch", "filter"),
    *("convention", "hand_over_rate", "calibrate_at_start", "calibration_window", "rest_speed"),
    *("sensor_errors", "information_period", "enabled"),
)


class RecordedSteps:
    """The steps that a pipeline has kept, to be filtered with other parameters.

    Attributes:
        steps: The measurements, in the order of the recording.
    """

    def __init__(self, pipeline: InertialPipeline) -> None:
        """Take the steps of a pipeline.

        Args:
            pipeline: One with a list `kept_steps`, which has read the recording.

        Raises:
            ConfigurationError: If it has kept none.
        """
        if not pipeline.kept_steps:
            raise ConfigurationError(
                "the pipeline has kept no steps, expected one whose kept_steps was set to a list before the "
                "readings were pushed, and a recording with all inputs"
            )
        self.steps: tuple[MeasuredStep, ...] = tuple(pipeline.kept_steps)
        self._config, self._names = pipeline.config, pipeline.input_names
        self._recorded_with = pipeline.model

    def updates(
        self, config: InertialPipelineConfig, learn_until_ns: int | None = None
    ) -> Iterator[tuple[MeasuredStep, FilterUpdate]]:
        """Filter all steps with other parameters; a step that fails gives none.

        Args:
            config: The parameters; those of `FREE_PARAMETERS`, `friction.prior` and the odds and sizes of
                `locator` may differ from the pipeline's.
            learn_until_ns: Stamp from which on the parameters are frozen and only innovations computed [ns];
                None: never.

        Yields:
            Each step and the outcome of its update, with innovation, NIS and log-determinant.

        Raises:
            ConfigurationError: If other parameters differ, on which the equations depend.
        """
        for step, update, _estimator in self._filtered(config, learn_until_ns):
            yield step, update

    def estimates(self, config: InertialPipelineConfig) -> Iterator[InertialEstimate]:
        """Filter all steps with other parameters and hand the estimates over, as the pipeline would.

        Args:
            config: As for `updates`.

        Yields:
            The estimates of the pipeline with these parameters.

        Raises:
            ConfigurationError: If other parameters differ, on which the equations depend.
        """
        for step, update, estimator in self._filtered(config):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                estimate = estimator.estimate(step, update)
            if estimate_defect(estimate):
                estimator.return_to_good()
            else:
                yield estimate

    def _filtered(
        self, config: InertialPipelineConfig, learn_until_ns: int | None = None
    ) -> Iterator[tuple[MeasuredStep, FilterUpdate, InertialEstimator]]:
        fixed = self.dependent(config)
        if fixed:
            raise ConfigurationError(
                f"the recorded equations depend on {listing(fixed)}, expected the values of the pipeline "
                f"that kept them; {listing(FREE_PARAMETERS)} may differ"
            )
        base, failed = self._recorded_with, False
        model = EstimationModel.build(config, base.setup, base.imu, base.urdf)
        estimator = InertialEstimator(config, model, self._names)
        for kept in self.steps:
            if kept.restarted:
                estimator.forget()
            if learn_until_ns is not None and kept.stamp_ns >= learn_until_ns:
                estimator.learning = False
            equation = estimator.model.measurement.restated(kept.equation, estimator.believed())
            step = replace(kept, equation=equation, dt=1.0 / config.rate if failed else kept.dt)
            try:
                with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                    update = estimator.update(step)
            except (ArithmeticError, ValueError, InertialEstimationError):
                estimator.return_to_good()
                failed = True
                continue
            failed = False
            yield step, update, estimator

    def dependent(self, config: InertialPipelineConfig) -> list[str]:
        """Return which parameters differ on which the equations depend; empty if none does."""
        own = self._config
        free = {name: getattr(own, name) for name in FREE_PARAMETERS}
        locator = replace(own.locator, candidates=config.locator.candidates)
        friction = replace(config.friction, prior=own.friction.prior)
        same = replace(config, **free, locator=locator, friction=friction)
        return [name for name in vars(own) if getattr(same, name) != getattr(own, name)]
