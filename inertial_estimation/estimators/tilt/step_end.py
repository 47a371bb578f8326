"""The end of a step of the base state's estimator: gyroscope bias, base, numbers of the estimate."""

import math

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.estimators.tilt.accelerometer_scale import (
    learn_scale_at_rest,
)
from inertial_estimation.estimators.tilt.base_track import (
    ORIENTATION,
    POSITION,
    advance_base,
    is_referenced,
)
from inertial_estimation.estimators.tilt.contact_weighing import BEGIN_KNOWN
from inertial_estimation.estimators.tilt.estimate_numbers import first_defect, write_estimate
from inertial_estimation.estimators.tilt.estimator_memory import (
    ANCHORS,
    BASE,
    BIAS,
    CHECKS,
    CONTACTS,
    DEFECT,
    ENABLED,
    FEET,
    FORCE,
    MEAN_RATE,
    OBSERVER,
    POINTS,
    RATE,
    REST,
    SCALE,
    SMOOTHED,
    STEP,
    TRIGGERS,
    UNWEIGHTED,
    VARIANCES,
    WEIGHTS,
    block_of,
)
from inertial_estimation.estimators.tilt.foot_rotation import COMPLETE, REPLACING
from inertial_estimation.estimators.tilt.foot_rotation import RATE as FEET_RATE
from inertial_estimation.estimators.tilt.gyro_bias import ACROSS, ALONG, RESTING, learn_bias
from inertial_estimation.estimators.tilt.gyro_bias import BIAS as GYRO_BIAS
from inertial_estimation.estimators.tilt.observer_steps import (
    CORRECTION,
    FALLBACK_GAIN,
    GRAVITY_AIDED,
    INNOVATION,
    SENSITIVITY,
    VELOCITY_AIDED,
    VELOCITY_GAIN,
    X1,
    X2,
)
from inertial_estimation.estimators.tilt.observer_steps import RATE as CONVERGENCE
from inertial_estimation.estimators.tilt.rest_window import fastest_joint, is_full
from inertial_estimation.estimators.tilt.tilt_uncertainty import TILT, YAW, advance_variances
from inertial_estimation.models.contact_motions import (
    IMU,
    MOTIONS,
    VELOCITIES,
    rows_of_contacts,
)
from inertial_estimation.spatial.vectors import ZERO, combine, matrix_of, norm, vector_of

ONLINE_RATE_SHARE = 0.1  # largest rate of the bias loop over the observer's slowest rate

# What is found, a bit that `step_judgement` does not use: `RestWindow.readings` has no room for another
# reading.
WINDOW_FULL = 4


@compiled
def finish_step(
    h: float,
    known: bool,
    fresh: bool,
    tracking: bool,
    table: Table,
    window: MutableTable,
    memory: MutableTable,
    out: MutableColumn,
) -> int:
    """Learn the bias, advance the base and write the estimate; return what was found.

    Args:
        h: Duration of the step [s].
        known: Whether it had joints.
        fresh: Whether it had joints and wrenches, so that the weights are those of this step.
        tracking: Whether the observer determines the vertical.
        table: Of the kinematics.
        window: `RestWindow.readings`; changed.
        memory: Of the estimator; changed.
        out: Written: numbers of the estimate.
    """
    motions, triggers = rows_of_contacts(table, MOTIONS), block_of(memory, TRIGGERS)
    shares = memory[WEIGHTS if fresh else UNWEIGHTED][: len(motions)]
    step, observer, bias, found = memory[STEP], memory[OBSERVER], memory[BIAS], 0
    if memory[FEET][REPLACING] == 0.0:
        speed = math.inf
        if known:
            speed = fastest_joint(h, table[VELOCITIES], memory[SMOOTHED], memory[REST])
        _learn(h, speed, _lever(motions, shares), tracking, window, memory)
        if is_full(window, memory[REST]):
            found = WINDOW_FULL
    memory[CONTACTS][BEGIN_KNOWN] = 1.0 if known else 0.0
    _advance_variances(h, memory)
    rates = vector_of(step, RATE), vector_of(step, MEAN_RATE), vector_of(bias, GYRO_BIAS)
    observed = vector_of(observer, X1), vector_of(observer, X2)
    anchors, points = block_of(memory, ANCHORS), block_of(memory, POINTS)
    v_B, w_B, x2_B = advance_base(
        h, rates, observed, table[IMU], motions, shares, anchors, points, memory[BASE]
    )
    orientation, p_WB = matrix_of(memory[BASE], ORIENTATION), vector_of(memory[BASE], POSITION)
    variances = (memory[VARIANCES][TILT], memory[VARIANCES][YAW]), (bias[ACROSS], bias[ALONG])
    flags = observer[VELOCITY_AIDED], observer[GRAVITY_AIDED], bias[RESTING]
    innovation, motion = vector_of(observer, INNOVATION), (p_WB, v_B, w_B)
    write_estimate(orientation, motion, x2_B, rates[2], innovation, variances, flags, triggers, out)
    step[DEFECT] = first_defect(out)
    return found


@inlined
def _lever(motions: Table, shares: Column) -> float:
    """Return the distance of the IMU from the contacts in use [m]."""
    mean = ZERO
    for i in range(len(motions)):
        mean = combine(mean, shares[i], vector_of(motions[i], 9))
    return norm(mean)


@inlined
def _learn(
    h: float, speed: float, lever: float, tracking: bool, window: MutableTable, memory: MutableTable
) -> None:
    """Learn the bias, and at rest the scale of the accelerometer.

    The contact velocity of an IMU at a distance L from the foot it turns about contains L b, so that a change
    of the bias is seen again as one of the vertical, k L times, k the angular velocity by which the observer
    turns it for an innovation of 1 m/s. With gains k_v and k on velocity and vertical and the rate r of the
    bias loop, the errors obey

        s^3 + (k_v - r k L) s^2 + g0 k s + g0 k r = 0,

    which is stable where r (1 + k L) < k_v (Routh). The rate is therefore a share of the slowest one of the
    observer over 1 + k L.
    """
    step, observer, feet = memory[STEP], memory[OBSERVER], memory[FEET]
    complete, force = feet[COMPLETE] > 0.0, vector_of(step, FORCE)
    readings = vector_of(step, RATE), force, vector_of(feet, FEET_RATE) if complete else ZERO
    x2, correction = vector_of(observer, X2), vector_of(observer, CORRECTION)
    sound = tracking and observer[VELOCITY_AIDED] > 0.0
    fastest = ONLINE_RATE_SHARE * observer[CONVERGENCE] / (1.0 + observer[VELOCITY_GAIN] * lever)
    learn_bias(
        *(h, readings, complete, x2, sound, correction, (speed, fastest)),
        *(window, memory[REST], memory[BIAS]),
    )
    if memory[CHECKS][ENABLED] > 0.0 and memory[BIAS][RESTING] > 0.0:
        learn_scale_at_rest(h, force, memory[SCALE])


@inlined
def _advance_variances(h: float, memory: MutableTable) -> None:
    """Advance the variances of the orientation by the correction that the step had."""
    observer, bias, rate, sensitivity = memory[OBSERVER], memory[BIAS], 0.0, 0.0
    if observer[VELOCITY_AIDED] > 0.0:
        rate, sensitivity = observer[CONVERGENCE], observer[SENSITIVITY]
    elif observer[GRAVITY_AIDED] > 0.0:
        rate, sensitivity = observer[FALLBACK_GAIN], 1.0 / observer[FALLBACK_GAIN]
    of_bias, referenced = (bias[ACROSS], bias[ALONG]), is_referenced(memory[BASE])
    advance_variances(h, rate, sensitivity, of_bias, referenced, memory[VARIANCES])
