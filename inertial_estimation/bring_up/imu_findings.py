"""The IMU: unit and scale of the accelerometer, time offset, unit and axes of the gyroscope, mounting."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.cause import Cause, CauseKind
from inertial_estimation.bring_up.delay_findings import delay_finding, lag_verdict
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding, plain
from inertial_estimation.bring_up.imu_mounting import (
    FEWEST,
    AxesFit,
    added_frame,
    fit_gyroscope,
    gravity_angle,
    gravity_pair,
    ground_normal,
    nearest_axes,
)
from inertial_estimation.bring_up.lag_search import Lag
from inertial_estimation.bring_up.sensor_axes import likely_accelerometer_axes
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.time_offsets import gyroscope_lag
from inertial_estimation.bring_up.wrench_findings import contact_lean
from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.foot_rotation import expected_rate
from inertial_estimation.data_checks.imu_checks import (
    NO_GRAVITY,
    PERMUTATIONS,
    SCALE_WARNING,
    accelerometer_size,
    axis_names,
    gyroscope_at_rest,
)
from inertial_estimation.models.geometry_slopes import joints_between
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import IMU_TOPIC, RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import skew
from inertial_estimation.spatial.vectors import DEGREES

TURNED_WARN, TURNED = math.radians(7.0), math.radians(14.0)  # rotation of a mounting that is no tolerance
TILT_WARN, TILTED = math.radians(8.0), math.radians(16.0)  # of gravity against the ground under the feet
TILT_CONFIRMED = math.radians(3.5)  # the same where the contact forces lean against it by that angle, too
CONFIRMS = 0.3  # share of that angle by which both may differ
AGREES = 0.25  # share of that angle by which contact forces may lean against the accelerometer that is right
EXPLAINS = 0.5  # share of the rate that feet and joints explain, from which they tell the axes
SIGMAS = 4.0
SCALE_WARN = 0.15  # relative error of a gyroscope's scale
CLOSE = math.radians(5.0)  # within which one assumption explains gravity as well as another


def accelerometer_findings(case: Case) -> list[Finding]:
    """Check the size of the specific force: unit, scale, gravity subtracted, silence."""
    if case.streams.imu is None:
        return []
    result = accelerometer_size(case.signals.windows, case.robot)
    if result is None:
        return []
    if not result.failed:
        result = _size_in_motion(case, result)
    if not result.failed:
        return [plain(result)]
    factor = result.value / STANDARD_GRAVITY
    if result.value < NO_GRAVITY * STANDARD_GRAVITY and not 0.08 < factor < 0.13:
        return [plain(result)]
    scale = STANDARD_GRAVITY if 0.08 < factor < 0.13 else 1.0 / factor
    return [Finding(result, partial(RobotStreams.scaled_imu, factors=np.array([scale] * 3 + [1.0] * 3)))]


def _size_in_motion(case: Case, result: CheckResult) -> CheckResult:
    """Judge the mean specific force along the normal of the ground, in which motion cancels out."""
    if not case.setup.contacts:
        return result
    table, normal_B = case.signals.table, ground_normal(case.signals, case.setup)
    along = np.einsum("ni,nij,nj->n", normal_B, table.R_BI, table.f_I)
    along = along[np.isfinite(along)]
    if len(along) < FEWEST or gravity_angle(case.signals, normal_B, np.eye(3)) > TILT_WARN:
        return result
    mean = float(along.mean())
    if abs(mean / STANDARD_GRAVITY - 1.0) < SCALE_WARNING:
        return result
    said = f"the mean specific force is {mean:.4g} m/s^2 upwards, gravity {STANDARD_GRAVITY:.4g}"
    remedy = "calibrate the scale of the accelerometer in the driver of imu/data"
    return replace(result, verdict=Verdict.WARN, value=mean, sentence=said, remedy=remedy)


def gyroscope_lag_findings(case: Case) -> tuple[list[Finding], Lag | None]:
    """Find how late the IMU is against the joint states, whatever its unit and axes."""
    if case.streams.imu is None:
        return [], None
    lag = gyroscope_lag(case.signals, expected_rate(case.signals.table))
    verdict = lag_verdict(lag)
    if lag is None or verdict is None:
        why = "the base hardly turns over standing feet, so nothing dates the angular rate"
        return [cannot_tell("IMU delay", IMU_TOPIC, why)], lag
    found = delay_finding(
        "IMU delay",
        IMU_TOPIC,
        lag,
        verdict,
        f"it comes {lag.words} against the joint states",
        parameter="inputs.imu_delay",
        present_s=case.config.inputs.imu_delay,
        inputs=[IMU_TOPIC],
    )
    return [found], lag


def mounting_findings(case: Case) -> list[Finding]:
    """Check unit and axes of the gyroscope and the mounting of the IMU.

    Where the rate over standing feet tells, gyroscope and gravity are explained together: by a rotation of
    the IMU, by axes of the gyroscope alone, or by axes of the accelerometer alone. Otherwise gravity tells.
    """
    if case.streams.imu is None:
        return []
    signals = case.signals
    expected = expected_rate(signals.table)
    fit = fit_gyroscope(signals.table.w_I, expected)
    normal_B = ground_normal(signals, case.setup) if case.setup.contacts else None
    tilt = math.nan if normal_B is None else gravity_angle(signals, normal_B, np.eye(3))
    if fit is None or fit.score < EXPLAINS or not _turns(expected) or not _varies(signals.table.w_I):
        found = _by_gravity(case, normal_B, tilt)
        at_rest = gyroscope_at_rest(signals.windows, case.robot)
        return [*found, *([plain(at_rest)] if at_rest is not None else []), _untold()]
    found = _scale(fit)
    turned = fit.angle > max(TURNED_WARN, SIGMAS * fit.sigma) and fit.score - fit.as_described > 0.05
    if not turned:
        said = f"the rotation over the feet explains {100 * fit.as_described:.0f} % of the rate"
        found.append(finding("gyroscope axes", IMU_TOPIC, Verdict.OK, math.degrees(fit.angle), "deg", said))
        return [*found, *_by_gravity(case, normal_B, tilt)]
    after = math.nan if normal_B is None else gravity_angle(signals, normal_B, fit.R.T)
    mounted = (
        not fit.flips
        and fit.full
        and (math.isnan(tilt) or (after < max(CLOSE, tilt - CLOSE) and after < TILT_WARN))
    )
    if mounted:
        return [*found, _mounting(case, fit, after)]
    return [*found, _gyroscope_axes(fit), *_by_gravity(case, normal_B, tilt)]


def _turns(expected: Array) -> bool:
    known = np.isfinite(expected).all(axis=1)
    return bool(known.any()) and float(np.sqrt(np.mean(expected[known] ** 2) * 3.0)) > 0.03


def _varies(w_I: Array) -> bool:
    """Return whether no axis is silent, which is another check's."""
    known = w_I[np.isfinite(w_I).all(axis=1)]
    return bool((np.ptp(known, axis=0) > 0.0).all())


def _untold() -> Finding:
    why = "the base hardly turns over standing feet: let the robot squat, lean and twist on both feet"
    return cannot_tell("gyroscope axes", IMU_TOPIC, why)


def _scale(fit: AxesFit) -> list[Finding]:
    """Judge the unit of the gyroscope."""
    factor = fit.scale
    said = f"the gyroscope reads {factor:.3g} times the rotation over the feet"
    if abs(math.log(factor)) < SCALE_WARN:
        return [finding("gyroscope scale", IMU_TOPIC, Verdict.OK, factor, "", said)]
    gross = not 0.5 < factor < 2.0
    remedy = "check its scale in the driver of imu/data, expected rad/s"
    if abs(math.log(factor / DEGREES)) < 0.4:
        remedy = "deg/s? The driver must send rad/s"
    elif abs(math.log(factor * DEGREES)) < 0.4:
        remedy = "divided by 57.3 once too often? The driver must send rad/s"
    verdict = Verdict.WRONG if gross else Verdict.WARN
    mend = partial(RobotStreams.scaled_imu, factors=np.array([1.0] * 3 + [1.0 / factor] * 3))
    return [finding("gyroscope scale", IMU_TOPIC, verdict, factor, "", said, remedy, mend=mend)]


def _mounting(case: Case, fit: AxesFit, after: float) -> Finding:
    R_IS = _exact(fit.R).T
    angle = math.degrees(fit.angle)
    said = f"its axes are turned by {angle:.0f} deg (sigma {math.degrees(fit.sigma):.3g}) against "
    said += f"'{case.robot.imu}'"
    if not math.isnan(after):
        said += f"; so turned, gravity is {math.degrees(after):.3g} deg from the normal of the ground"
    values, rpy = added_frame(case.config, R_IS)
    named = nearest_axes(R_IS)
    as_axes = f" (its axes are {named} of the readings)" if named else ""
    remedy = (
        f"correct the pose of the link in the description{as_axes}, or add a frame with roll, pitch and yaw "
        f"{rpy[0]:g}, {rpy[1]:g}, {rpy[2]:g} (frames.poses) and name it as imu_frame"
    )
    return finding(
        "IMU mounting",
        IMU_TOPIC,
        Verdict.WRONG if fit.angle > TURNED else Verdict.WARN,
        angle,
        "deg",
        said,
        remedy,
        mend=partial(RobotStreams.turned_imu, force=R_IS, rate=R_IS),
        parameters=values,
    )


def _gyroscope_axes(fit: AxesFit) -> Finding:
    R = _exact(fit.R).T
    named = nearest_axes(R)
    said = (
        f"the rotation over the feet explains {100 * fit.as_described:.0f} % of the rate, "
        f"{100 * fit.score:.0f} % " + (f"with the axes ({named})" if named else "with other axes")
    )
    remedy = (
        "correct signs and axes of the gyroscope alone in the driver of imu/data; the accelerometer is right"
    )
    if not fit.full:
        remedy = "check the axes of the gyroscope in the driver; let the robot turn about all three axes"
    value = math.degrees(fit.angle)
    return finding(
        "gyroscope axes",
        IMU_TOPIC,
        Verdict.WRONG,
        value,
        "deg",
        said,
        remedy,
        mend=partial(RobotStreams.turned_imu, rate=R),
    )


def _by_gravity(case: Case, normal_B: Array | None, tilt: float) -> list[Finding]:
    """Judge the direction of the specific force against the ground under the feet."""
    pair = None if normal_B is None else gravity_pair(case.signals, normal_B)
    if normal_B is None or pair is None or math.isnan(tilt):
        why = "no contact stands on the ground, so nothing says where down is"
        return [cannot_tell("accelerometer direction", IMU_TOPIC, why)]
    degrees = math.degrees(tilt)
    said = f"the mean specific force is {degrees:.3g} deg from the normal of the ground under the feet"
    lean = contact_lean(case)
    confirmed = abs(lean - tilt) < CONFIRMS * tilt
    if confirmed:
        said += f", and {math.degrees(lean):.3g} deg from the sum of the contact forces"
    if tilt >= (TILT_CONFIRMED if confirmed else TILT_WARN):
        if not lean < AGREES * tilt:
            return [_tilted(case, pair, said, tilt, confirmed=confirmed)]
        said += ", and the contact forces lean as the accelerometer does: the ground slopes"
    return [finding("accelerometer direction", IMU_TOPIC, Verdict.OK, degrees, "deg", said)]


def _tilted(case: Case, pair: tuple[Array, Array], said: str, tilt: float, *, confirmed: bool) -> Finding:
    """Return the finding that gravity has the wrong direction, with the axes that would make it right.

    Where soles and contact forces agree against the accelerometer, the whole IMU is turned.
    """
    f, n = pair
    away = np.arccos(np.clip(np.einsum("kij,j,i->k", PERMUTATIONS, f, n), -1.0, 1.0))
    near = away < (TILT_WARN if tilt >= TILT_WARN else 0.0)  # a small tilt is no other axes
    fits = likely_accelerometer_axes(case, np.flatnonzero(near).tolist())
    remedy = (
        "check the pose of imu_frame in the description, the joint positions, and whether the ground is level"
    )
    if fits:
        axes = " or ".join(f"({axis_names(i)})" for i in fits[:3])
        remedy = f"check imu_frame, and the axes of the accelerometer in the driver: {axes} would fit"
    R = PERMUTATIONS[fits[0]] if fits else _shortest(f, n)
    mend = partial(RobotStreams.turned_imu, force=R, rate=R if confirmed and not fits else None)
    parameters = added_frame(case.config, R)[0] if confirmed and not fits else {}
    verdict, degrees = Verdict.WRONG if tilt > TILTED else Verdict.WARN, math.degrees(tilt)
    result = CheckResult("accelerometer direction", IMU_TOPIC, verdict, degrees, "deg", said, remedy)
    small = confirmed and tilt < TILTED
    explained_by = partial(_turns_imu, robot=case.setup) if small else None
    return Finding(result, mend, parameters=parameters, exact=False, explained_by=explained_by)


def _turns_imu(cause: Cause, robot: RobotSetup) -> bool:
    """Return whether a cause turns the IMU: its mounting, or a joint between the base and it."""
    if cause.kind is CauseKind.IMU:
        return True
    if cause.kind is not CauseKind.OFFSET or robot.imu is None:
        return False
    return robot.robot.joint_index(cause.subject) in joints_between(robot.robot, robot.imu)


def _exact(R: Array) -> Array:
    """Return the signed permutation near an orthogonal matrix, or the matrix itself."""
    if not nearest_axes(R):
        return R
    exact: Array = PERMUTATIONS[int(np.argmax(np.einsum("kij,ij->k", PERMUTATIONS, R)))]
    return exact


def _shortest(f: Array, n: Array) -> Array:
    """Return the smallest rotation that turns one unit vector into another one."""
    K, cosine = skew(np.cross(f, n)), float(f @ n)
    R: Array = np.eye(3) + K + K @ K / max(1.0 + cosine, 1e-9)
    return R
