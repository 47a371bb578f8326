"""The begin of a step of the base state's estimator: its readings, and what is judged before the observer.

`begin_step`, `weigh_step`, `guard_step`, then the observer's own step, `judge_step` (`step_judgement.py`) and
`finish_step` (`step_end.py`) are the parts of a step. Each reads and changes rows of `estimator_memory`.
`whole_steps.py` composes them for the usual step of an observer whose arithmetic is compiled, too;
`StepByParts` calls them one by one wherever something else has to be done between them.
"""

from inertial_estimation.compilation import Column, MutableTable, Table, compiled
from inertial_estimation.estimators.tilt.accelerometer_scale import (
    corrected_force,
)
from inertial_estimation.estimators.tilt.contact_weighing import (
    weigh,
)
from inertial_estimation.estimators.tilt.correction_rate import measure_rate, uncorrected
from inertial_estimation.estimators.tilt.estimator_memory import (
    BIAS,
    CHECKS,
    CONTACTS,
    ENABLED,
    FEET,
    FORCE,
    GUARD,
    HOLD,
    MEAN_FORCE,
    MEAN_RATE,
    NOISE,
    OBSERVER,
    RATE,
    READINGS,
    SCALE,
    STEP,
    USED_FORCE,
    VELOCITY,
    ContactTables,
)
from inertial_estimation.estimators.tilt.foot_rotation import REPLACING, check_rate
from inertial_estimation.estimators.tilt.force_hold import ACTIVE
from inertial_estimation.estimators.tilt.gyro_bias import ACROSS
from inertial_estimation.estimators.tilt.gyro_bias import BIAS as GYRO_BIAS
from inertial_estimation.estimators.tilt.imu_readings import DOUBTS, mean_readings
from inertial_estimation.estimators.tilt.imu_readings import RATE as READ_RATE
from inertial_estimation.estimators.tilt.observer_steps import (
    X1,
    X2,
)
from inertial_estimation.estimators.tilt.velocity_guard import (
    judged_readings,
)
from inertial_estimation.models.contact_motions import KinematicTables, relative_motions
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import Vector, add, combine, store, vector_of

__all__ = ["begin_step", "guard_step", "weigh_step"]


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
