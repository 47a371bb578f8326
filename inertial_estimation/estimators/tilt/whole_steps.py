"""The usual step of an estimator in one call, by the observer; arithmetic.

A step is usual where joints and wrenches are there, the observer determines the vertical and nothing
contradicts. What is unusual shows in the middle of a step: the call ends where the caller has to continue.
"""

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.estimators.tilt.agreement import stretched
from inertial_estimation.estimators.tilt.contact_weighing import INFORMATION, UNSENSED
from inertial_estimation.estimators.tilt.correction_rate import DENSITY_SEEN, white_density
from inertial_estimation.estimators.tilt.estimator_memory import (
    AGREEMENT,
    BIAS,
    CHECKS,
    CONTACTS,
    ENABLED,
    FEET,
    MEAN_FORCE,
    MEAN_RATE,
    NOISE,
    OBSERVER,
    OWN,
    STEP,
    VELOCITY,
)
from inertial_estimation.estimators.tilt.foot_rotation import is_unusual
from inertial_estimation.estimators.tilt.gyro_bias import ACROSS
from inertial_estimation.estimators.tilt.kalman_advance import (
    SEEN,
    advance_kalman,
    expected_velocity,
    store_kalman_rates,
)
from inertial_estimation.estimators.tilt.kalman_observer import KalmanObserver
from inertial_estimation.estimators.tilt.observer_steps import RATE, SENSITIVITY, X1, X2
from inertial_estimation.estimators.tilt.step_begin import begin_step, guard_step, weigh_step
from inertial_estimation.estimators.tilt.step_end import finish_step
from inertial_estimation.estimators.tilt.step_judgement import DOUBT, judge_step
from inertial_estimation.estimators.tilt.two_stage_observer import (
    TwoStageObserver,
    advance_two_stage,
    follow_noise,
    two_stage_rate,
    two_stage_sensitivity,
)
from inertial_estimation.models.contact_motions import Kinematics
from inertial_estimation.spatial.vectors import store, vector_of

# Where a call has ended, in addition to what `judge_step` and `finish_step` have found: after `begin_step`,
# after `judge_step`, at the end of the step.
BEGUN, JUDGED, FINISHED = 8, 16, 32


@compiled
def kalman_whole_step(
    h: float,
    imu: Column,
    kinematics: Kinematics,
    wrenches: Table,
    window: MutableTable,
    memory: MutableTable,
    out: MutableColumn,
) -> int:
    """Make a step of an estimator with the Kalman observer; arguments are those of its parts."""
    begin_step(h, imu, True, kinematics, memory)
    if _is_unusual(memory):
        return BEGUN
    shared, own, step, checked = memory[OBSERVER], memory[OWN], memory[STEP], memory[CHECKS][ENABLED] > 0.0
    w = vector_of(step, MEAN_RATE)
    expected = expected_velocity(h, w, vector_of(step, MEAN_FORCE), shared, own)
    aided = weigh_step(h, vector_of(shared, X2), checked, expected, kinematics[2], wrenches, memory)
    density, information = white_density(memory[NOISE][DENSITY_SEEN]), memory[CONTACTS][INFORMATION]
    store(own, SEEN, (density, memory[BIAS][ACROSS], information))
    guard_step(h, aided, memory)
    advance_kalman(h, w, vector_of(step, MEAN_FORCE), vector_of(step, VELOCITY), aided, shared, own)
    found = judge_step(h, aided, memory)
    if found & DOUBT:
        return found | JUDGED
    store_kalman_rates(shared, own)
    end = finish_step(h, True, True, True, kinematics[2], window, memory, out)
    return found | end | FINISHED


@compiled
def two_stage_whole_step(
    h: float,
    imu: Column,
    kinematics: Kinematics,
    wrenches: Table,
    window: MutableTable,
    memory: MutableTable,
    out: MutableColumn,
) -> int:
    """Make a step of an estimator with the two-stage observer; arguments are those of its parts."""
    begin_step(h, imu, True, kinematics, memory)
    if _is_unusual(memory):
        return BEGUN
    shared, own, step = memory[OBSERVER], memory[OWN], memory[STEP]
    judged = memory[CHECKS][ENABLED] > 0.0 and memory[CONTACTS][UNSENSED] > 0.0
    vertical, expected = vector_of(shared, X2), vector_of(shared, X1)
    aided = weigh_step(h, vertical, judged, expected, kinematics[2], wrenches, memory)
    if aided:
        follow_noise(h, memory[BIAS][ACROSS], memory[NOISE], own)
    guard_step(h, aided, memory)
    w, force, y_v = vector_of(step, MEAN_RATE), vector_of(step, MEAN_FORCE), vector_of(step, VELOCITY)
    advance_two_stage(h, w, force, y_v, aided, shared, own)
    found = judge_step(h, aided, memory)
    if found & DOUBT:
        return found | JUDGED
    shared[RATE], shared[SENSITIVITY] = two_stage_rate(own), two_stage_sensitivity(own)
    end = finish_step(h, True, True, True, kinematics[2], window, memory, out)
    return found | end | FINISHED


@inlined
def _is_unusual(memory: MutableTable) -> bool:
    """Return whether a step needs more than its readings after `begin_step`."""
    return is_unusual(memory[FEET]) or stretched(memory[AGREEMENT])


WHOLE_STEPS = {KalmanObserver: kalman_whole_step, TwoStageObserver: two_stage_whole_step}
