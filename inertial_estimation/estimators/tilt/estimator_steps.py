"""Parts of one step of the base state's estimator, from readings to the numbers of an estimate; arithmetic.

Each part reads and changes rows of `estimator_memory`. `whole_steps.py` composes them for the usual step of
an observer whose arithmetic is compiled, too; `BaseStateEstimator` calls them one by one wherever something
else has to be done between them: a startup, a gyroscope that the feet replace, an observer in Python.
"""

import math

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.estimators.tilt.accelerometer_scale import (
    corrected_force,
    learn_scale_at_rest,
    learn_scale_in_motion,
)
from inertial_estimation.estimators.tilt.agreement import (
    LENGTH,
    agree,
    disagrees,
    drifted,
    learn_usual_sizes,
)
from inertial_estimation.estimators.tilt.base_track import (
    ORIENTATION,
    POSITION,
    advance_base,
    is_referenced,
)
from inertial_estimation.estimators.tilt.contact_weighing import (
    BEGIN_KNOWN,
    UNSENSED,
    USED,
    are_contradictory,
    weigh,
)
from inertial_estimation.estimators.tilt.correction_rate import measure_rate, measure_velocity, uncorrected
from inertial_estimation.estimators.tilt.estimate_numbers import first_defect, write_estimate
from inertial_estimation.estimators.tilt.estimator_memory import (
    AGREEMENT,
    BASE,
    BIAS,
    CHECKS,
    CONTACTS,
    CONTRADICTED,
    DEFECT,
    ENABLED,
    FEET,
    FLOOR,
    FORCE,
    GUARD,
    HOLD,
    MEAN_FORCE,
    MEAN_RATE,
    NOISE,
    OBSERVER,
    OUTLIERS,
    RATE,
    READINGS,
    REST,
    SCALE,
    STEP,
    USED_FORCE,
    VARIANCES,
    VELOCITY,
    ContactTables,
)
from inertial_estimation.estimators.tilt.floor_check import INCLINED_NOW, LEANING_NOW, compare_with_soles
from inertial_estimation.estimators.tilt.foot_rotation import COMPLETE, KNOWN, REPLACING, check_rate
from inertial_estimation.estimators.tilt.foot_rotation import RATE as FEET_RATE
from inertial_estimation.estimators.tilt.force_hold import ACTIVE, advance_hold
from inertial_estimation.estimators.tilt.gyro_bias import ACROSS, ALONG, RESTING, learn_bias
from inertial_estimation.estimators.tilt.gyro_bias import BIAS as GYRO_BIAS
from inertial_estimation.estimators.tilt.imu_readings import DOUBTS, mean_readings
from inertial_estimation.estimators.tilt.imu_readings import RATE as READ_RATE
from inertial_estimation.estimators.tilt.observer_steps import (
    CORRECTION,
    FALLBACK_GAIN,
    GRAVITY_AIDED,
    INNOVATION,
    INTERMEDIATE,
    SENSITIVITY,
    STAGED,
    VELOCITY_AIDED,
    X1,
    X2,
)
from inertial_estimation.estimators.tilt.observer_steps import RATE as CONVERGENCE
from inertial_estimation.estimators.tilt.outlier_frequency import contacts_changed, outliers_seen
from inertial_estimation.estimators.tilt.rest_window import fastest_joint
from inertial_estimation.estimators.tilt.tilt_uncertainty import TILT, YAW, advance_variances
from inertial_estimation.estimators.tilt.velocity_guard import (
    DOUBTED_FOR,
    FORCE_OUTLIERS,
    VELOCITY_OUTLIERS,
    judged_readings,
)
from inertial_estimation.models.contact_motions import KinematicTables, relative_motions
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import ZERO, Vector, add, combine, matrix_of, store, vector_of

__all__ = [
    "CONTACTS_CHANGED",
    "DOUBT",
    "FORCES_CONTRADICT",
    "GYRO_REPLACED",
    "LOADED_TIME",
    "OUTLIER_SEEN",
    "REPORTABLE",
    "SOLES_CONTRADICT",
    "SOLES_LEAN",
    "begin_step",
    "finish_step",
    "guard_step",
    "judge_step",
    "weigh_step",
]

LOADED_TIME = 0.1  # time for which forces may contradict the tilt [s]
ONLINE_RATE_SHARE = 0.1  # largest rate of the bias loop over the observer's slowest rate

# What a step finds, a bit each: other contacts are in use, an outlier is to be counted, forces at the feet
# contradict the tilt, the feet replace the gyroscope, the output may be wrong, the vertical is in doubt; the
# forces are normal to the soles and the vertical is not, the forces lean too far.
CONTACTS_CHANGED, OUTLIER_SEEN, FORCES_CONTRADICT, GYRO_REPLACED, REPORTABLE, DOUBT = 1, 2, 4, 8, 16, 32
SOLES_CONTRADICT, SOLES_LEAN = 64, 128


@compiled
def begin_step(
    h: float,
    imu: Column,
    known: bool,
    kinematics: KinematicTables,
    tables: ContactTables,
    memory: MutableTable,
) -> None:
    """Take the readings of a step, move the contacts, and compare the gyroscope with the feet.

    Args:
        h: Time since the last step [s].
        imu: Specific force then rate, shape (6,).
        known: Whether there are joints, so that `ContactKinematics.forward` was called.
        kinematics: Its tables; the motions of the contacts are written.
        tables: Those of the contacts; changed.
        memory: Of the estimator; changed.
    """
    step, checked = memory[STEP], memory[CHECKS][ENABLED] > 0.0
    force = vector_of(imu, 0)
    if checked:
        force = corrected_force(force, memory[SCALE])
    mean_force, mean_rate = mean_readings(h, force, vector_of(imu, 3), memory[READINGS])
    rate, bias = vector_of(memory[READINGS], READ_RATE), vector_of(memory[BIAS], GYRO_BIAS)
    measure_rate(h, rate, memory[NOISE])
    w = combine(mean_rate, -1.0, bias)
    if known:
        relative_motions(kinematics)
    if checked:
        _triggers, _centres, weights, _none, soles, moved, _anchors, _points, _smoothed = tables
        motions, jumps = (kinematics[6], kinematics[7]), memory[READINGS][DOUBTS]
        w = check_rate(h, w, known, motions, weights, jumps, soles, moved, memory[FEET])
        if memory[FEET][REPLACING] > 0.0:
            rate = add(w, bias)
    store(step, FORCE, force)
    store(step, MEAN_FORCE, mean_force)
    store(step, RATE, rate)
    store(step, MEAN_RATE, w)


@compiled
def weigh_step(
    h: float,
    vertical: Vector,
    judged: bool,
    expected: Vector,
    kinematics: KinematicTables,
    tables: ContactTables,
    wrenches: Table,
    memory: MutableTable,
) -> bool:
    """Weigh the contacts and compute the contact velocity of a step; return whether a contact is in use.

    Args:
        h: Duration of the step [s].
        vertical: The vertical in the IMU frame.
        judged: Whether contacts that contradict the expected velocity lose weight.
        expected: Velocity by the IMU, mean over the step [m/s].
        kinematics: Those of `begin_step`.
        tables: Those of the contacts; changed.
        wrenches: A row for each contact, in its wrench frame [N, Nm].
        memory: Of the estimator; changed.
    """
    triggers, centres, weights, _none, _soles, _moved, _anchors, _points, _smoothed = tables
    w, motions = vector_of(memory[STEP], MEAN_RATE), (kinematics[6], kinematics[7])
    aided, y_v = weigh(
        *(h, vertical, w, judged, expected, motions, kinematics[8], wrenches),
        *(triggers, centres, weights, memory[CONTACTS]),
    )
    store(memory[STEP], VELOCITY, y_v)
    return aided


@compiled
def guard_step(h: float, aided: bool, memory: MutableTable) -> None:
    """Judge specific force and contact velocity before the observer's step.

    Args:
        h: Duration of the step [s].
        aided: Whether a contact is in use.
        memory: Of the estimator; changed.
    """
    step, observer = memory[STEP], memory[OBSERVER]
    if not aided:
        uncorrected(h, memory[BIAS][ACROSS], memory[NOISE])
    force = vector_of(step, MEAN_FORCE)
    if memory[CHECKS][ENABLED] > 0.0:
        x1, x2 = vector_of(observer, X1), vector_of(observer, X2)
        if memory[HOLD][ACTIVE] > 0.0:
            force = (STANDARD_GRAVITY * x2[0], STANDARD_GRAVITY * x2[1], STANDARD_GRAVITY * x2[2])
        w, y_v = vector_of(step, MEAN_RATE), vector_of(step, VELOCITY)
        x1, force, y_v = judged_readings(h, w, force, y_v, aided, (x1, x2), memory[GUARD])
        store(observer, X1, x1)
        store(step, VELOCITY, y_v)
    store(step, USED_FORCE, force)


@compiled
def judge_step(h: float, aided: bool, tracking: bool, wrenches: Table, memory: MutableTable) -> int:
    """Compare the readings with one another after the observer's step; return what was found.

    Args:
        h: Duration of the step [s].
        aided: Whether a contact is in use.
        tracking: Whether the observer determines the vertical, of which a doubt is then left to the caller.
        wrenches: The last ones, a row for each contact [N, Nm].
        memory: Of the estimator; changed.
    """
    if memory[CHECKS][ENABLED] == 0.0:
        _measure_velocity(h, memory)
        return 0
    agreement, held = memory[AGREEMENT], memory[HOLD][ACTIVE] > 0.0
    _agree(h, aided, held, memory)
    found = _count(h, memory) | _compare_forces(h, aided, wrenches, memory)
    if memory[FEET][REPLACING] > 0.0:
        found |= GYRO_REPLACED
    if disagrees(agreement) or drifted(agreement):
        found |= REPORTABLE
    elif not held and memory[FEET][REPLACING] == 0.0:  # noise is what sound readings have
        _measure_velocity(h, memory)
    if not held:
        learn_usual_sizes(h, agreement)
        if aided and memory[BIAS][RESTING] == 0.0:
            learn_scale_in_motion(h, agreement[LENGTH], memory[SCALE])
    contradicted = memory[CHECKS][CONTRADICTED] > LOADED_TIME
    if held or contradicted or disagrees(agreement) or drifted(agreement):
        return found | DOUBT
    if tracking:
        sound = memory[FEET][KNOWN] > 0.0 and memory[FEET][REPLACING] == 0.0
        w, correction = vector_of(memory[STEP], MEAN_RATE), vector_of(memory[OBSERVER], CORRECTION)
        advance_hold(h, w, correction, sound, agreement, memory[HOLD])
    return found


@inlined
def _measure_velocity(h: float, memory: MutableTable) -> None:
    observer = memory[OBSERVER]
    if observer[VELOCITY_AIDED] > 0.0:
        innovation, x2 = vector_of(observer, INNOVATION), vector_of(observer, X2)
        measure_velocity(h, innovation, x2, vector_of(memory[STEP], USED_FORCE), memory[NOISE])


@inlined
def _agree(h: float, aided: bool, held: bool, memory: MutableTable) -> None:
    """Compare the observer's vertical with that of a first stage."""
    step, observer = memory[STEP], memory[OBSERVER]
    force = vector_of(step, MEAN_FORCE if held else USED_FORCE)
    state = vector_of(observer, X1), vector_of(observer, X2), vector_of(observer, INTERMEDIATE)
    w, y_v, staged = vector_of(step, MEAN_RATE), vector_of(step, VELOCITY), observer[STAGED] > 0.0
    agree(h, w, force, y_v, aided, state, staged, held, memory[AGREEMENT])


@inlined
def _count(h: float, memory: MutableTable) -> int:
    """Return whether the contacts have changed and whether there is an outlier to be counted."""
    guard, found = memory[GUARD], 0
    if contacts_changed(memory[CONTACTS][USED], memory[OUTLIERS]):
        found |= CONTACTS_CHANGED
    counts = memory[READINGS][DOUBTS], guard[FORCE_OUTLIERS], guard[VELOCITY_OUTLIERS]
    if outliers_seen(h, guard[DOUBTED_FOR] > 0.0, counts, memory[OUTLIERS]):
        found |= OUTLIER_SEEN
    return found


@inlined
def _compare_forces(h: float, aided: bool, wrenches: Table, memory: MutableTable) -> int:
    """Return whether forces at the feet have contradicted the tilt for a while."""
    checks = memory[CHECKS]
    if aided or not are_contradictory(wrenches, memory[CONTACTS]):
        checks[CONTRADICTED] = 0.0
        return 0
    checks[CONTRADICTED] += h
    return FORCES_CONTRADICT if checks[CONTRADICTED] > LOADED_TIME else 0


@compiled
def finish_step(
    h: float,
    known: bool,
    fresh: bool,
    tracking: bool,
    kinematics: KinematicTables,
    tables: ContactTables,
    wrenches: Table,
    window: MutableTable,
    memory: MutableTable,
    out: MutableColumn,
) -> int:
    """Look at the soles, learn the bias, advance the base and write the estimate; return what was found.

    Args:
        h: Duration of the step [s].
        known: Whether it had joints.
        fresh: Whether it had joints and wrenches, so that the weights are those of this step.
        tracking: Whether the observer determines the vertical.
        kinematics: Those of `begin_step`.
        tables: Those of the contacts; changed.
        wrenches: A row for each contact, in its wrench frame [N, Nm]; only used where fresh.
        window: `RestWindow.readings`; changed.
        memory: Of the estimator; changed.
        out: Written: numbers of the estimate.
    """
    _p, _v, velocities, _j, _f, imu, motions, _before, wrench_frames = kinematics
    triggers, _centres, weights, unweighted, soles, _moved, anchors, points, smoothed = tables
    step, observer, bias, found = memory[STEP], memory[OBSERVER], memory[BIAS], 0
    if known and memory[CHECKS][ENABLED] > 0.0 and memory[CONTACTS][UNSENSED] == 0.0:
        if fresh:
            x2, floor = vector_of(observer, X2), memory[FLOOR]
            compare_with_soles(h, x2, motions, wrench_frames, wrenches, weights, soles, floor)
        found = _seen_of_floor(memory[FLOOR])
    if memory[FEET][REPLACING] == 0.0:
        speed = fastest_joint(h, velocities, smoothed, memory[REST]) if known else math.inf
        _learn(h, speed, tracking, window, memory)
    memory[CONTACTS][BEGIN_KNOWN] = 1.0 if known else 0.0
    _advance_variances(h, memory)
    rates = vector_of(step, RATE), vector_of(step, MEAN_RATE), vector_of(bias, GYRO_BIAS)
    observed, shares = (vector_of(observer, X1), vector_of(observer, X2)), weights if fresh else unweighted
    v_B, w_B, x2_B = advance_base(h, rates, observed, imu, motions, shares, anchors, points, memory[BASE])
    orientation, p_WB = matrix_of(memory[BASE], ORIENTATION), vector_of(memory[BASE], POSITION)
    variances = (memory[VARIANCES][TILT], memory[VARIANCES][YAW]), (bias[ACROSS], bias[ALONG])
    flags = observer[VELOCITY_AIDED], observer[GRAVITY_AIDED], bias[RESTING]
    innovation, motion = vector_of(observer, INNOVATION), (p_WB, v_B, w_B)
    write_estimate(orientation, motion, x2_B, rates[2], innovation, variances, flags, triggers, out)
    step[DEFECT] = first_defect(out)
    return found


@inlined
def _seen_of_floor(floor: MutableColumn) -> int:
    found = 0
    if floor[INCLINED_NOW] > 0.0:
        found |= SOLES_CONTRADICT
    if floor[LEANING_NOW] > 0.0:
        found |= SOLES_LEAN
    return found


@inlined
def _learn(h: float, speed: float, tracking: bool, window: MutableTable, memory: MutableTable) -> None:
    """Learn the bias, and at rest the scale of the accelerometer."""
    step, observer, feet = memory[STEP], memory[OBSERVER], memory[FEET]
    complete, force = feet[COMPLETE] > 0.0, vector_of(step, FORCE)
    readings = vector_of(step, RATE), force, vector_of(feet, FEET_RATE) if complete else ZERO
    x2, correction = vector_of(observer, X2), vector_of(observer, CORRECTION)
    sound, fastest = tracking and observer[VELOCITY_AIDED] > 0.0, ONLINE_RATE_SHARE * observer[CONVERGENCE]
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
