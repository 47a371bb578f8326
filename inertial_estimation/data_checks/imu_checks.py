"""Checks of an IMU: unit, size and direction of gravity, unit and axes of the gyroscope."""

import itertools

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.data_table import CheckedRobot, DataTable
from inertial_estimation.data_checks.foot_rotation import expected_rate
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import IMU_TOPIC
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import DEGREES

Mask = NDArray[np.bool_]

SCALE_WARNING = 0.05  # relative error of |f| at rest: factory scale errors are below 1 %
MOVING_WARNING = 0.15  # the same for a robot that never rests
SCALE_WRONG = 0.3  # the tilt observer's acceleration of the contact velocity is then off by 3 m/s^2
NO_GRAVITY = 0.2  # of a g; less is a sensor that is silent or whose gravity has been subtracted
TILTED, TURNED = (
    30.0,
    55.0,
)  # between specific force and centre of mass above the feet; [deg]
AT_REST = 0.05  # largest joint speed at rest [rad/s]
RATE_AT_REST = 0.15  # a gyroscope at rest: the bias of cheap sensors is below 0.1 rad/s [rad/s]
TURNING = 0.03  # rms rotation of the base that a gyroscope is compared with [rad/s]
EXPLAINED, UNEXPLAINED = 0.6, 0.2  # shares of the rate that a right and a wrong assumption of axes explain


def signed_permutations() -> Array:
    """Return all 48 matrices that permute axes and change signs, the identity first, shape (48, 3, 3)."""
    signs = itertools.product((1.0, -1.0), repeat=3)
    turns = itertools.product(itertools.permutations(range(3)), signs)
    return np.array([np.diag(sign) @ np.eye(3)[list(order)] for order, sign in turns])


PERMUTATIONS = signed_permutations()


def accelerometer_checks(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Check size and direction of the specific force.

    Args:
        table: The windows.
        robot: The robot.

    Returns:
        The size against gravity, and, for a robot with contacts, the direction against the line from the
        contacts to the centre of mass, which is nearly vertical while the robot stands or walks.
    """
    size = accelerometer_size(table, robot)
    if size is None:
        return []
    silent = size.value < NO_GRAVITY * STANDARD_GRAVITY and not _in_g(size.value)
    if (size.verdict is Verdict.WRONG and silent) or not robot.contacts:
        return [size]
    return [size, _direction(table, _known(table.f_I))]


def accelerometer_size(table: DataTable, robot: CheckedRobot) -> CheckResult | None:
    """Check the size of the specific force against gravity, at rest where the robot rests.

    Args:
        table: The windows.
        robot: The robot.

    Returns:
        The result, None without an IMU.
    """
    known = _known(table.f_I)
    if not robot.imu or not known.any():
        return None
    rest = known & (table.speed < AT_REST)
    still = int(rest.sum()) >= 5
    return _size(float(np.median(np.linalg.norm(table.f_I[rest if still else known], axis=1))), still)


def gyroscope_checks(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Check the angular rate against the rotation of the base over standing feet, and at rest.

    Args:
        table: The windows.
        robot: The robot.

    Returns:
        At most one result; none where nothing tells.
    """
    known = _known(table.w_I)
    if not robot.imu or not known.any():
        return []
    expected = expected_rate(table)
    seen = known & np.isfinite(expected).all(axis=1)
    if seen.sum() >= 10:
        found = _axes(table.w_I[seen], expected[seen])
        if found is not None:
            return [found]
    at_rest = gyroscope_at_rest(table, robot)
    return [at_rest] if at_rest is not None else []


def gyroscope_at_rest(table: DataTable, robot: CheckedRobot) -> CheckResult | None:
    """Check that a gyroscope reads nothing while no joint moves; None where the robot does not rest.

    Args:
        table: The windows.
        robot: The robot.
    """
    rest = _known(table.w_I) & (table.speed < AT_REST)
    if not robot.imu or rest.sum() < 5:
        return None
    rate = float(np.linalg.norm(np.median(table.w_I[rest], axis=0)))
    if rate < RATE_AT_REST:
        return CheckResult("gyroscope", IMU_TOPIC, Verdict.OK, rate, "rad/s", f"{rate:.2g} rad/s at rest")
    said = f"the gyroscope reads {rate:.3g} rad/s while no joint moves"
    remedy = "deg/s, or an uncalibrated bias? The driver must send rad/s; calibrate the gyroscope at rest"
    return CheckResult("gyroscope", IMU_TOPIC, Verdict.WARN, rate, "rad/s", said, remedy)


def _known(values: Array) -> Mask:
    known: Mask = np.isfinite(values).all(axis=1).astype(bool)
    return known


def _in_g(size: float) -> bool:
    return 0.8 < size < 1.25


def _size(size: float, still: bool) -> CheckResult:
    error = size / STANDARD_GRAVITY - 1.0
    when = "at rest" if still else "in the median"
    said = f"the specific force has {size:.4g} m/s^2 {when}, gravity {STANDARD_GRAVITY:.4g}"
    verdict, remedy = Verdict.OK, ""
    if size < NO_GRAVITY * STANDARD_GRAVITY:
        verdict = Verdict.WRONG
        remedy = (
            "in g? The driver must send m/s^2" if _in_g(size) else "sensor silent, or gravity subtracted?"
        )
    elif abs(error) > SCALE_WRONG:
        verdict, remedy = Verdict.WRONG, "check the unit in the driver of imu/data (m/s^2)"
    elif abs(error) > (SCALE_WARNING if still else MOVING_WARNING):
        verdict, remedy = Verdict.WARN, "calibrate the scale of the accelerometer in the driver of imu/data"
    return CheckResult("accelerometer size", IMU_TOPIC, verdict, size, "m/s^2", said, remedy)


def _direction(table: DataTable, known: Mask) -> CheckResult:
    force = table.f_I[known]
    up_I = np.einsum("nji,nj->ni", table.R_BI[known], _up(table)[known])
    angle = _angle(force, up_I)
    said = f"the specific force is {angle:.3g} deg from the line from the contacts to the centre of mass"
    verdict, remedy = Verdict.OK, ""
    if angle > TILTED:
        verdict = Verdict.WRONG if angle > TURNED else Verdict.WARN
        angles = [_angle(force @ S.T, up_I) for S in PERMUTATIONS]
        best = int(np.argmin(angles))
        remedy = "check imu_frame and the joint positions"
        if angles[best] < TILTED:
            remedy = f"check imu_frame, and signs and axes in the driver: ({axis_names(best)}) would fit"
    return CheckResult("accelerometer direction", IMU_TOPIC, verdict, angle, "deg", said, remedy)


def _up(table: DataTable) -> Array:
    """Direction from the loaded contacts to the centre of mass, base axes, shape (N, 3)."""
    load = np.linalg.norm(table.wrenches[:, :, :3], axis=2)
    total = load.sum(axis=1, keepdims=True)
    even = np.full_like(load, 1.0 / load.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(np.isfinite(total) & (total > 0.0), load / total, even)
    line = table.com_B - np.einsum("nk,nki->ni", weights, table.points_B)
    up: Array = line / np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
    return up


def _angle(force: Array, up: Array) -> float:
    """Median angle between two series of vectors [deg]."""
    size = np.maximum(np.linalg.norm(force, axis=1), 1e-9)
    cosines = np.einsum("ni,ni->n", force, up) / size
    return float(np.degrees(np.arccos(np.clip(np.median(cosines), -1.0, 1.0))))


def axis_names(index: int) -> str:
    """Return the axes of a signed permutation in words: "x, -y, z" for entry `index` of `PERMUTATIONS`."""
    rows = PERMUTATIONS[index]
    names = ["xyz"[int(np.argmax(np.abs(row)))] for row in rows]
    return ", ".join(("-" if row.sum() < 0.0 else "") + name for row, name in zip(rows, names, strict=True))


def _axes(measured: Array, expected: Array) -> CheckResult | None:
    """Compare the gyroscope with the rotation of the base; None where the base hardly turns."""
    w, w_kin = measured - np.median(measured, axis=0), expected - np.median(expected, axis=0)
    turning, power = float(np.sqrt(np.mean(w_kin**2) * 3.0)), float(np.sum(w**2))
    if turning < TURNING or not power > 0.0:
        return None

    def explained(S: Array, scale: float) -> float:
        return 1.0 - float(np.sum((w - scale * w_kin @ S) ** 2)) / power

    plain = explained(PERMUTATIONS[0], 1.0)
    said = f"the rotation over the feet explains {100 * plain:.0f} % of the rate"
    if plain > UNEXPLAINED:
        return CheckResult("gyroscope", IMU_TOPIC, Verdict.OK, plain, "", said)
    shares = {
        (index, scale): explained(S, scale)
        for index, S in enumerate(PERMUTATIONS)
        for scale in (1.0, DEGREES, 1.0 / DEGREES)
    }
    (index, scale), best = max(shares.items(), key=lambda item: item[1])
    if best < EXPLAINED:
        return None
    if scale != 1.0:
        said += f", {100 * best:.0f} % if the rate is {scale:.3g} times too large"
        remedy = "deg/s? The driver must send rad/s" if scale > 1.0 else "the driver must send rad/s"
    else:
        said += f", {100 * best:.0f} % with the axes ({axis_names(index)})"
        remedy = "check imu_frame, and signs and axes of the gyroscope in the driver of imu/data"
    return CheckResult("gyroscope", IMU_TOPIC, Verdict.WRONG, plain, "", said, remedy)
