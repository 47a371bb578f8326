"""Comparison of the readings with one another after the observer's step; arithmetic."""

from inertial_estimation.compilation import MutableTable, compiled, inlined
from inertial_estimation.estimators.tilt.accelerometer_scale import (
    learn_scale_in_motion,
)
from inertial_estimation.estimators.tilt.agreement import (
    LENGTH,
    agree,
    disagrees,
    drifted,
)
from inertial_estimation.estimators.tilt.correction_rate import measure_velocity
from inertial_estimation.estimators.tilt.estimator_memory import (
    AGREEMENT,
    BIAS,
    CHECKS,
    ENABLED,
    FEET,
    MEAN_FORCE,
    MEAN_RATE,
    NOISE,
    OBSERVER,
    SCALE,
    STEP,
    VELOCITY,
)
from inertial_estimation.estimators.tilt.foot_rotation import REPLACING
from inertial_estimation.estimators.tilt.gyro_bias import RESTING
from inertial_estimation.estimators.tilt.observer_steps import (
    INNOVATION,
    INTERMEDIATE,
    STAGED,
    VELOCITY_AIDED,
    X1,
    X2,
)
from inertial_estimation.spatial.vectors import vector_of

# What is found, a bit each: the feet replace the gyroscope, the output may be wrong.
GYRO_REPLACED, DOUBT = 1, 2


@compiled
def judge_step(h: float, aided: bool, memory: MutableTable) -> int:
    """Compare the readings with one another after the observer's step; return what was found.

    Args:
        h: Duration of the step [s].
        aided: Whether a contact is in use.
        memory: Of the estimator; changed.
    """
    if memory[CHECKS][ENABLED] == 0.0:
        _measure_velocity(h, memory)
        return 0
    agreement = memory[AGREEMENT]
    _agree(h, aided, memory)
    found = GYRO_REPLACED if memory[FEET][REPLACING] > 0.0 else 0
    if disagrees(agreement) or drifted(agreement):
        found |= DOUBT
    elif memory[FEET][REPLACING] == 0.0:  # noise is what sound readings have
        _measure_velocity(h, memory)
    if aided and memory[BIAS][RESTING] == 0.0:
        learn_scale_in_motion(h, agreement[LENGTH], memory[SCALE])
    return found


@inlined
def _measure_velocity(h: float, memory: MutableTable) -> None:
    observer = memory[OBSERVER]
    if observer[VELOCITY_AIDED] > 0.0:
        innovation, x2 = vector_of(observer, INNOVATION), vector_of(observer, X2)
        measure_velocity(h, innovation, x2, vector_of(memory[STEP], MEAN_FORCE), memory[NOISE])


@inlined
def _agree(h: float, aided: bool, memory: MutableTable) -> None:
    """Compare the observer's vertical with that of a first stage."""
    step, observer = memory[STEP], memory[OBSERVER]
    force = vector_of(step, MEAN_FORCE)
    state = vector_of(observer, X1), vector_of(observer, X2), vector_of(observer, INTERMEDIATE)
    w, y_v, staged = vector_of(step, MEAN_RATE), vector_of(step, VELOCITY), observer[STAGED] > 0.0
    agree(h, w, force, y_v, aided, state, staged, memory[AGREEMENT])
