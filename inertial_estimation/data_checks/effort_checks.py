"""Checks of joint efforts against the torques of the description: sign, unit, zero, order, silence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.data_table import CheckedRobot, DataTable
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.data_checks.regression import best_assignment, plausible, ridge
from inertial_estimation.signals import Array

FEWEST_WINDOWS = 8
STRONG = 0.04  # share of the joint's effort limit above which a predicted torque exceeds its stiction
VARIED = 0.005  # share by which a predicted torque varies for a fit of its variation
VARIED_SIGMAS = 8.0  # of such a fit
STRONG_UNLIMITED = 0.1  # share of the largest predicted torque, for a joint without effort limit
MOVED = 1e-6  # of a contact by its joints
MOVING = 0.02  # rms speed above which friction is fitted [rad/s]
SLOW = 0.05  # speed over which Coulomb friction changes its sign [rad/s]
FRICTION = 0.25  # prior of friction terms [Nm]
FRICTION_SHARE = 0.2  # at most, of the measured rms: gearboxes lose up to a third
SIGMAS = 4.0
WARN_FACTOR, WRONG_FACTOR = 5.0, 8.0  # a payload or wrong inertias change a torque by less; gears start at 6
SIGN, UNEXPLAINED = 0.15, 0.15  # distance of a factor from -1, and share that it leaves, of a wrong sign
MOST_OF_LOAD = 100.0  # factor beyond which no load that the joint carries is the cause
BEYOND_LIMIT = 3.0  # times the effort limit of the description: peak torques of drives are below
SILENT = 1e-9
RIGHT, LARGE_ZERO = 0.6, 0.65  # with an offset: error of the factor, constant over the rms
ZERO_OF_LIMIT, ZERO_OF_RMS = (
    0.06,
    0.2,
)  # constant of a leg's effort that is no friction, where forces are known
CONSTANT = 0.5  # spread of what is unexplained over its mean, up to which it is a constant
CLOSE, FAR = 0.75, 0.4  # likeness of torques that are the same, and of torques that are not


class _Rows(NamedTuple):
    """Windows in which the torques are known, shape (N, n_joints) each.

    Attributes:
        tau: Measured torques [Nm].
        predicted: Predicted torques [Nm].
        dq: Joint velocities [rad/s].
        legs: Whether a joint is between the base and a contact whose wrench is measured, shape (n_joints,).
    """

    tau: Array
    predicted: Array
    dq: Array
    legs: NDArray[np.bool_]


@dataclass(frozen=True)
class _Fit:
    """measured = factor predicted + friction of one joint.

    Attributes:
        factor: Of the predicted torque.
        sigma: Its standard deviation.
        predicted: Rms of the predicted torque [Nm].
        measured: Rms of the measured torque [Nm].
        strong: Whether the predicted torque stands out from stiction and friction.
        rest: Share of the measured torque that the fit leaves.
        zero: Constant of the effort where it is far beyond friction, else 0 [Nm].
        constant: The same of a leg's joint, whose torque the contact wrenches tell, from smaller ones on.
    """

    factor: float
    sigma: float
    predicted: float
    measured: float
    strong: bool
    rest: float = 1.0
    zero: float = 0.0
    constant: float = 0.0

    @property
    def opposed(self) -> bool:
        return self.strong and self.factor + SIGMAS * self.sigma < 0.0

    def outside(self, bound: float) -> bool:
        size = abs(self.factor)
        if not self.strong:
            return False
        return size - SIGMAS * self.sigma > bound or size + SIGMAS * self.sigma < 1.0 / bound


def effort_checks(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Check every joint's effort against the torque that the description predicts.

    Friction (Coulomb, viscous, constant) is fitted along, so that it does not hide or feign an error.

    Args:
        table: The windows, with correct positions and, for a floating base, accelerometer and wrenches.
        robot: The robot.

    Returns:
        One result for every joint that is wrong, or one that none is; none where nothing tells. What a load
        explains that the description lacks is a warning.
    """
    rows = _known_rows(table)
    return [] if rows is None else _results(rows, list(_fits(rows, robot)), robot)


def telling_joints(table: DataTable, robot: CheckedRobot) -> list[str]:
    """Return the joints whose efforts the windows tell something about, by name."""
    rows = _known_rows(table)
    if rows is None:
        return []
    return [name for name, fit in zip(robot.names, _fits(rows, robot), strict=True) if fit.strong]


def _known_rows(table: DataTable) -> _Rows | None:
    """Return the windows in which the torques are known; None where there are too few."""
    predicted = nominal_torques(table)
    known = np.isfinite(predicted).all(axis=1) & np.isfinite(table.tau).any(axis=1)
    if known.sum() < FEWEST_WINDOWS:
        return None
    wrenches = np.nan_to_num(table.wrenches[known]).any(axis=(0, 2))
    moved = np.abs(table.jacobians[known][:, wrenches, :, table.n_base :]).max(axis=(0, 1, 2), initial=0.0)
    return _Rows(table.tau[known], predicted[known], table.dq[known], moved > MOVED)


def _fits(rows: _Rows, robot: CheckedRobot) -> Iterator[_Fit]:
    """Fit joint after joint; its strong torques are those that exceed its stiction."""
    tau, predicted, dq, legs = rows
    largest = float(np.sqrt(np.mean(predicted**2, axis=0)).max())
    strong = np.where(np.isfinite(robot.effort), STRONG * robot.effort, STRONG_UNLIMITED * largest)
    for j in range(tau.shape[1]):
        fit = _fit(tau[:, j], predicted[:, j], dq[:, j], float(strong[j]))
        constant = _constant(tau[:, j] - predicted[:, j], predicted[:, j], fit, float(robot.effort[j]))
        yield replace(fit, constant=constant) if legs[j] and not fit.zero else fit


def _results(rows: _Rows, fits: list[_Fit], robot: CheckedRobot) -> list[CheckResult]:
    """One result for every joint that is wrong, or one that none is."""
    tau = rows.tau
    swapped = best_assignment(_likeness(tau, rows.predicted, fits), CLOSE, FAR)
    results = [
        result
        for j, fit in enumerate(fits)
        if (result := _judged(j, fit, swapped.get(j), tau[:, j], robot)) is not None
    ]
    confirmed = [fit.factor for fit in fits if fit.strong and fit.factor > 0.0]
    if results or not confirmed:
        return results
    low, high = min(confirmed), max(confirmed)
    span = f"{low:.2g}" if len(confirmed) == 1 else f"{low:.2g} to {high:.2g}"
    said = f"{len(confirmed)} of {len(fits)} joints measure {span} times the predicted torque"
    return [CheckResult("effort", "joint_states", Verdict.OK, low, "", said)]


def _fit(tau: Array, predicted: Array, dq: Array, strong: float) -> _Fit:
    finite = np.isfinite(tau)
    tau, predicted, dq = tau[finite], predicted[finite], dq[finite]
    if len(tau):
        kept = plausible(tau)
        tau, predicted, dq = tau[kept], predicted[kept], dq[kept]
    if len(tau) < FEWEST_WINDOWS:
        return _Fit(0.0, np.inf, 0.0, 0.0, False)
    size, wanted = float(np.sqrt(np.mean(tau**2))), float(np.sqrt(np.mean(predicted**2)))
    friction = min(FRICTION, FRICTION_SHARE * size)  # of a motor's torque it is as small as that torque
    columns, priors = [predicted, np.ones_like(tau)], [np.inf, friction]
    speed = float(np.sqrt(np.mean(dq**2)))
    if speed > MOVING:
        columns += [np.tanh(dq / SLOW), dq / speed]
        priors += [friction] * 2
    if not size > 0.0 or not wanted > 0.0:
        telling = wanted > strong or float(predicted.std()) > VARIED / STRONG * strong
        return _Fit(0.0, 0.0 if wanted > 0.0 else np.inf, wanted, size, telling)
    X, y = np.stack(columns, axis=1) / size, tau / size
    c, sigma = ridge(X, y, np.array(priors))
    varies = float(predicted.std()) > VARIED / STRONG * strong
    varied = varies and abs(c[0]) > VARIED_SIGMAS * sigma[0]
    rest = float(np.sqrt(np.mean((y - X @ c) ** 2)))
    found = _Fit(float(c[0]), float(sigma[0]), wanted, size, wanted > strong or bool(varied), rest)
    return replace(found, zero=_zero(X, y, np.array(priors))) if varies else found


def _zero(X: Array, y: Array, priors: Array) -> float:
    """Return the constant of an effort that is far beyond friction, where the torque varies as predicted."""
    priors[1] = np.inf
    c, sigma = ridge(X, y, priors)
    right = abs(c[0] - 1.0) + SIGMAS * sigma[0] < RIGHT
    return float(c[1]) if right and abs(c[1] * X[0, 1]) > LARGE_ZERO else 0.0


def _constant(difference: Array, predicted: Array, fit: _Fit, limit: float) -> float:
    """Return the mean of measured minus predicted torque where a constant is beyond stiction and explains it.

    A factor would explain what grows with the predicted torque. A load on the leg's own links changes its
    torque by less, one on the rest of the robot is in the contact wrenches.
    """
    known = np.isfinite(difference)
    d, p = difference[known], predicted[known]
    if len(d) < FEWEST_WINDOWS:
        return 0.0
    mean, power = float(np.median(d)), float(p @ p)
    if abs(mean) < max(ZERO_OF_LIMIT * limit, ZERO_OF_RMS * fit.measured):
        return 0.0
    scaled = d - p * float(d @ p) / power if power > 0.0 else d
    rest = float(np.sqrt(np.mean((d - mean) ** 2)))
    return mean if rest < min(CONSTANT * abs(mean), float(np.sqrt(np.mean(scaled**2)))) else 0.0


def _judged(j: int, fit: _Fit, other: int | None, tau: Array, robot: CheckedRobot) -> CheckResult | None:
    name = robot.names[j]
    measured = f"its effort ({fit.measured:.3g} Nm rms)"
    if other is not None:
        said = f"{measured} is the predicted torque of {robot.names[other]}"
        return _wrong(
            "effort order", name, fit.factor, said, "check the order of names and efforts in the driver"
        )
    if not np.isfinite(tau).any():
        said = "it has no finite effort"
        return _wrong("effort silent", name, np.nan, said, "check the driver, or leave it out of torque_rows")
    if fit.zero:
        said = f"its effort is the predicted torque and {fit.zero:+.3g} Nm"
        remedy = "calibrate its zero; or a position's zero, a spring, a load, exchanged joints?"
        return CheckResult("effort zero", name, Verdict.WARN, fit.zero, "Nm", said, remedy)
    if fit.constant:
        said = f"its effort is {fit.constant:+.3g} Nm from the torque that contact forces and motion need"
        remedy = "calibrate its zero; or a spring, a wrong zero of its position, stiction, exchanged joints?"
        return CheckResult("effort zero", name, Verdict.WARN, fit.constant, "Nm", said, remedy)
    if fit.strong and fit.measured < SILENT * fit.predicted:
        said = f"its effort is zero while {fit.predicted:.3g} Nm are predicted"
        return _wrong("effort silent", name, 0.0, said, "check the driver, or leave it out of torque_rows")
    said = f"{measured} is {fit.factor:.3g} +- {fit.sigma:.1g} times the predicted torque"
    limit = float(robot.effort[j])
    carried = 1.0 < abs(fit.factor) < MOST_OF_LOAD and fit.measured < limit
    if fit.outside(WRONG_FACTOR) and not carried:
        return _wrong(
            "effort unit", name, fit.factor, said, f"{_unit(fit.factor)}; set drive_gains of this joint"
        )
    if np.median(np.abs(tau[np.isfinite(tau)])) > BEYOND_LIMIT * limit:
        said = f"{measured} is beyond the effort limit of {limit:g} Nm of the description"
        remedy = "check the unit (Nm) in the driver, or set drive_gains of this joint"
        return _wrong("effort unit", name, fit.measured / limit, said, remedy)
    if fit.opposed and (abs(fit.factor + 1.0) > SIGN or fit.rest > UNEXPLAINED):
        remedy = "is there a load that the description lacks, or is the sign wrong?"
        return CheckResult("effort sign", name, Verdict.WARN, fit.factor, "", said, remedy)
    if fit.opposed:
        remedy = "wrong sign? Correct the driver, or set drive_gains of this joint to -1"
        return _wrong("effort sign", name, fit.factor, said, remedy)
    if fit.outside(WARN_FACTOR):
        remedy = (
            "gear ratio or unit? Set drive_gains of this joint; or is there a load the description lacks?"
        )
        return CheckResult("effort unit", name, Verdict.WARN, fit.factor, "", said, remedy)
    return None


def _wrong(check: str, name: str, value: float, said: str, remedy: str) -> CheckResult:
    return CheckResult(check, name, Verdict.WRONG, value, "", said, remedy)


def _unit(factor: float) -> str:
    size = abs(factor)
    if 500.0 < size < 2000.0:
        return "mNm? Expected Nm"
    if 500.0 < 1.0 / size < 2000.0:
        return "kNm? Expected Nm"
    if size < 1.0:
        return "torque of the motor, before the gear, or a current? Expected Nm at the joint"
    return "check the unit, expected Nm at the joint"


def _likeness(tau: Array, predicted: Array, fits: list[_Fit]) -> Array:
    """One minus the relative distance of measured torque i from predicted torque j, shape (n, n)."""
    tau = np.nan_to_num(tau)
    size_i, size_j = np.linalg.norm(tau, axis=0), np.linalg.norm(predicted, axis=0)
    squares = size_i[:, None] ** 2 + size_j**2 - 2.0 * tau.T @ predicted
    with np.errstate(invalid="ignore", divide="ignore"):
        likeness = 1.0 - np.sqrt(np.maximum(squares, 0.0)) / np.maximum(size_i[:, None], size_j)
    strong = np.array([fit.strong for fit in fits])
    either = strong[:, None] & strong
    kept: Array = np.where(either, np.nan_to_num(likeness, nan=-1.0), -1.0)
    np.fill_diagonal(kept, np.where(strong, np.diag(kept), 1.0))
    return kept
