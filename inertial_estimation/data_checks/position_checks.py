"""Checks of joint positions and velocities: units, turns, limits, signs, order."""

import math

import numpy as np

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.data_table import CheckedRobot, DataTable
from inertial_estimation.data_checks.regression import best_assignment, correlations, scale_factor
from inertial_estimation.spatial.vectors import DEGREES

LIMIT_MARGIN = 0.2  # limits of descriptions are rounded, and zero positions are off by some degrees [rad]
FAR = 0.8  # no zero position of a robot that was put together is off by as much [rad]
TURN_MARGIN = 0.35  # a position a turn less may be this far outside its limits [rad]
MOVING = 0.05  # rms speed above which a sent velocity is compared with the positions [rad/s]
TRAVEL = 0.02  # standard deviation of the position, more than an encoder flickers [rad]
LARGEST_FACTOR = 3.0  # of a sent velocity; filters lower it, none of them to a third of a slow motion
LIKE, UNLIKE = 0.9, 0.5  # correlation of signals that are the same, and of signals that are not
IN_DEGREES = "degrees? The driver must send radians"
FASTEST_POSITION = 30.0  # a joint that moves faster is a position in degrees, or a wrong stamp [rad/s]


def position_checks(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Check positions against the limits of the description.

    Args:
        table: The windows.
        robot: The robot.

    Returns:
        One result for every joint outside its limits, or one that all are inside. A single joint that its
        other sign brings inside has that (`joint sign`): units are wrong of many joints.
    """
    low, high = np.quantile(table.q, (0.02, 0.98), axis=0)  # single wrong readings are the inputs' matter
    beyond = np.maximum(robot.lower - low, high - robot.upper)
    outside = np.flatnonzero(beyond > LIMIT_MARGIN).tolist()
    if not outside:
        worst = float(beyond.max(initial=-np.inf))
        return [CheckResult("joint positions", "joint_states", Verdict.OK, worst, "rad", "within the limits")]
    degrees = [j for j in outside if beyond[j] > FAR and _fits(low[j] / DEGREES, high[j] / DEGREES, robot, j)]
    results = []
    for j in outside:
        far = float(beyond[j])
        where = f"{low[j]:.4g} to {high[j]:.4g} rad is {far:.3g} rad outside the limits of the description"
        turns = _turns(low[j], high[j], robot, j)
        verdict = Verdict.WRONG if far > FAR else Verdict.WARN
        check = "joint positions"
        remedy = "check its zero position (joint_offsets), the order of the names and the description"
        if j in degrees and len(degrees) > 1:
            remedy = IN_DEGREES
        elif turns:
            offset = -2.0 * math.pi * turns
            remedy = f"off by {turns:+d} turn(s)? Add {offset:.5g} to joint_offsets of this joint"
        elif far > FAR and len(degrees) <= 1 and _fits(-high[j], -low[j], robot, j):
            check = "joint sign"
            remedy = "the other sign? Correct it in the driver, or the axis in the description"
            remedy += f", or {IN_DEGREES}" if j in degrees else ""
        elif j in degrees:
            remedy = IN_DEGREES
        results.append(CheckResult(check, robot.names[j], verdict, far, "rad", where, remedy))
    return results


def turns_off(table: DataTable, robot: CheckedRobot, joint: str) -> int:
    """Return by how many turns the positions of a joint are off, 0 where no turn brings them in its limits.

    Args:
        table: The windows.
        robot: The robot.
        joint: Name of the joint.
    """
    j = robot.names.index(joint)
    low, high = np.quantile(table.q[:, j], (0.02, 0.98)).tolist()
    return _turns(low, high, robot, j)


def velocity_checks(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Check the velocities that were sent against the slopes of the positions.

    Args:
        table: The windows.
        robot: The robot.

    Returns:
        One result for every joint whose velocity does not fit, or one that all do; none where no joint moves
        or no velocity is sent.
    """
    sent = np.isfinite(table.v).all(axis=1)
    dq, v = table.dq[sent], table.v[sent]
    if len(v) < 5 or not v.any():
        return []  # none sent, or all zero: they are derived from the positions
    fastest = np.quantile(np.abs(table.dq), 0.9, axis=0)
    travels = table.q.std(axis=0) > TRAVEL
    moving = np.flatnonzero((np.sqrt(np.mean(dq**2, axis=0)) > MOVING) & travels)
    if not len(moving):
        return []
    corr = correlations(v[:, moving], dq[:, moving])
    swapped = best_assignment(corr, LIKE, UNLIKE)
    results = []
    for i, j in enumerate(moving):
        k, sigma = scale_factor(v[:, j], dq[:, j])
        name = robot.names[j]
        if i in swapped:
            other = robot.names[moving[swapped[i]]]
            said = f"its velocity follows the position of {other} (correlation {corr[i, swapped[i]]:.2f})"
            remedy = "check the order of names and velocities in the driver of joint_states"
            results.append(_velocity(name, float(corr[i, swapped[i]]), said, remedy))
        elif k + 5.0 * sigma < 0.0:
            said = f"its velocity is {k:.3g} times the slope of its position: the sign is wrong"
            results.append(_velocity(name, k, said, "correct the sign in the driver of joint_states"))
        elif k - 5.0 * sigma > LARGEST_FACTOR or k + 5.0 * sigma < 1.0 / LARGEST_FACTOR:
            said = f"its velocity is {k:.3g} times the slope of its position"
            results.append(_velocity(name, k, said, _unit_remedy(k, float(fastest[j]))))
    if results:
        return results
    worst = float(np.diag(corr).min())
    said = f"velocities fit the positions of {len(moving)} moving joints (correlation {worst:.2f} or more)"
    return [CheckResult("joint velocities", "joint_states", Verdict.OK, worst, "", said)]


def _velocity(name: str, value: float, said: str, remedy: str) -> CheckResult:
    return CheckResult("joint velocities", name, Verdict.WRONG, value, "", said, remedy)


def _unit_remedy(factor: float, fastest: float) -> str:
    if 0.5 < factor / DEGREES < 2.0:
        return "deg/s? The driver must send rad/s"
    if 0.5 < factor * DEGREES < 2.0 or fastest > FASTEST_POSITION:
        return "positions in degrees? The driver must send radians"
    if abs(factor) < 0.01:
        return "the driver sends no velocity of this joint; or set inputs.joint_velocity to 'derived'"
    return "check unit and gear ratio in the driver, or set inputs.joint_velocity to 'derived'"


def _fits(low: float, high: float, robot: CheckedRobot, j: int) -> bool:
    return bool(low > robot.lower[j] - TURN_MARGIN and high < robot.upper[j] + TURN_MARGIN)


def _turns(low: float, high: float, robot: CheckedRobot, j: int) -> int:
    """Return by how many turns a position is off, 0 where turns do not bring it within the limits."""
    turn = 2.0 * math.pi
    for turns in (1, -1, 2, -2):
        if _fits(low - turns * turn, high - turns * turn, robot, j):
            return turns
    return 0
