"""The begin of a step of the base state's estimator: its readings, and what is judged before the observer.

`begin_step`, `weigh_step`, `guard_step`, then the observer's own step, `judge_step` (`step_judgement.py`) and
`finish_step` (`step_end.py`) are the parts of a step. Each reads and changes rows of `estimator_memory`.
`whole_steps.py` composes them for the usual step of an observer whose arithmetic is compiled, too;
`StepByParts` calls them one by one wherever something else has to be done between them.
"""

from inertial_estimation.compilation import Column, MutableTable, Table, compiled, inlined
from inertial_estimation.estimators.tilt.accelerometer_scale import (
    corrected_force,
)
from inertial_estimation.estimators.tilt.contact_weighing import (
    weigh,
)
from inertial_estimation.estimators.tilt.correction_rate import measure_rate, uncorrected
from inertial_estimation.estimators.tilt.estimator_memory import (
    BIAS,
    CENTRES,
    CHECKS,
    CONTACTS,
    ENABLED,
    FEET,
    FORCE,
    MEAN_FORCE,
    MEAN_RATE,
    MOVED,
    NOISE,
    OBSERVER,
    RATE,
    READINGS,
    SCALE,
    SOLES,
    STEP,
    TRIGGERS,
    VELOCITY,
    VELOCITY_WRONG_FOR,
    WEIGHTS,
    block_of,
)
from inertial_estimation.estimators.tilt.foot_rotation import REPLACING, check_rate
from inertial_estimation.estimators.tilt.gyro_bias import ACROSS
from inertial_estimation.estimators.tilt.gyro_bias import BIAS as GYRO_BIAS
from inertial_estimation.estimators.tilt.imu_readings import RATE as READ_RATE
from inertial_estimation.estimators.tilt.imu_readings import mean_readings
from inertial_estimation.estimators.tilt.observer_steps import LARGEST_LANDING, X1
from inertial_estimation.models.contact_motions import (
    BEFORE,
    MOTIONS,
    WRENCH_FRAMES,
    Kinematics,
    relative_motions,
    rows_of_contacts,
)
from inertial_estimation.spatial.vectors import Vector, add, combine, distance, store, vector_of

LONGEST_WRONG = 0.1  # time for which the contacts contradict a velocity of the observer that is kept [s]


@compiled
def begin_step(
    h: float,
    imu: Column,
    known: bool,
    kinematics: Kinematics,
    memory: MutableTable,
) -> None:
    """Take the readings of a step, move the contacts, and compare the gyroscope with the feet.

    Args:
        h: Time since the last step [s].
        imu: Specific force then rate, shape (6,).
        known: Whether there are joints, so that `ContactKinematics.forward` was called.
        kinematics: What that returns; the motions of the contacts are written.
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
        w = _compared_rate(h, w, known, kinematics[2], memory)
        if memory[FEET][REPLACING] > 0.0:
            rate = add(w, bias)
    store(step, FORCE, force)
    store(step, MEAN_FORCE, mean_force)
    store(step, RATE, rate)
    store(step, MEAN_RATE, w)


@inlined
def _compared_rate(h: float, w: Vector, known: bool, table: Table, memory: MutableTable) -> Vector:
    """Return the rate of the gyroscope, or that of the feet where it is wrong."""
    moved = block_of(memory, MOVED)
    n = len(moved)
    weights, soles = memory[WEIGHTS][:n], memory[SOLES][:n]
    motions = rows_of_contacts(table, MOTIONS), rows_of_contacts(table, BEFORE)
    return check_rate(h, w, known, motions, weights, soles, moved, memory[FEET])


@compiled
def weigh_step(
    h: float,
    vertical: Vector,
    judged: bool,
    expected: Vector,
    table: Table,
    wrenches: Table,
    memory: MutableTable,
) -> bool:
    """Weigh the contacts and compute the contact velocity of a step; return whether a contact is in use.

    Args:
        h: Duration of the step [s].
        vertical: The vertical in the IMU frame.
        judged: Whether contacts that contradict the expected velocity lose weight.
        expected: Velocity by the IMU, mean over the step [m/s].
        table: Of the kinematics.
        wrenches: A row for each contact, in its wrench frame [N, Nm].
        memory: Of the estimator; changed.
    """
    motions = rows_of_contacts(table, MOTIONS), rows_of_contacts(table, BEFORE)
    w, wrench_frames = vector_of(memory[STEP], MEAN_RATE), rows_of_contacts(table, WRENCH_FRAMES)
    aided, y_v = weigh(
        *(h, vertical, w, judged, expected, motions, wrench_frames, wrenches),
        *(block_of(memory, TRIGGERS), block_of(memory, CENTRES), memory[WEIGHTS], memory[CONTACTS]),
    )
    store(memory[STEP], VELOCITY, y_v)
    return aided


@compiled
def guard_step(h: float, aided: bool, memory: MutableTable) -> None:
    """Let the observer's velocity begin anew where the contacts have contradicted it for a while.

    Feet that contradict the observer's velocity have little weight in it, whether they slip or the velocity
    is wrong, after an outlier of the accelerometer. A contradiction that lasts is one of the velocity.

    Args:
        h: Duration of the step [s].
        aided: Whether a contact is in use.
        memory: Of the estimator; changed.
    """
    observer, checks, y_v = memory[OBSERVER], memory[CHECKS], vector_of(memory[STEP], VELOCITY)
    if not aided:
        uncorrected(h, memory[BIAS][ACROSS], memory[NOISE])
    if not aided or distance(vector_of(observer, X1), y_v) <= LARGEST_LANDING:
        checks[VELOCITY_WRONG_FOR] = 0.0
    else:
        checks[VELOCITY_WRONG_FOR] += h
    if checks[ENABLED] > 0.0 and checks[VELOCITY_WRONG_FOR] > LONGEST_WRONG:
        store(observer, X1, y_v)
