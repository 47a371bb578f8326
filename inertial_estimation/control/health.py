"""Diagnostics of the controller: one entry per part, the first condition that holds gives its message."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.controller import ControlResult, ControlState
from inertial_estimation.control.inertia_intake import InertiaIntake, TorqueErrorIntake
from inertial_estimation.control.supervisor import ControllerStepCounts
from inertial_estimation.errors import listing
from inertial_estimation.inputs.stream import REPORTED_NS
from inertial_estimation.signals import Health, HealthLevel, seconds

Condition = tuple[bool, HealthLevel, str]


def _lately(then_ns: int | None, now_ns: int) -> bool:
    return then_ns is not None and 0 <= now_ns - then_ns < REPORTED_NS


def _entry(name: str, values: dict[str, str], *conditions: Condition) -> Health:
    """Return the entry of the first condition that holds."""
    level, message = next((level, message) for holds, level, message in conditions if holds)
    return Health(name, level, message, values)


def controller_health(
    last: ControlResult | None,
    counts: ControllerStepCounts,
    values: dict[str, str],
    lost: Sequence[str],
    timeout: float,
    now_ns: int,
) -> Health:
    """Return the state of the controller, and what keeps it from controlling the robot.

    Args:
        last: Result of the last step; None before the first.
        counts: Numbers of steps.
        values: Further figures by name.
        lost: Names of the required inputs that never arrived or are lost.
        timeout: Age from which on an input counts as lost [s].
        now_ns: Time now on the clock of the stamps [ns].
    """
    values |= {
        "steps": str(counts.steps),
        "steps in damping": str(counts.damped),
        "steps with the last torques": str(counts.held),
        "gaps": str(counts.gaps),
        "joint states without base": str(counts.unmatched),
        **{f"fault: {cause.value}": str(number) for cause, number in counts.faults.items()},
    }
    if counts.last_fault:
        values["last fault"] = counts.last_fault
    stale, warn, error = HealthLevel.STALE, HealthLevel.WARN, HealthLevel.ERROR
    waiting = f"waiting for {listing(lost)}: no torques are sent"
    if last is None:
        none = "no joint state with a base state of its time yet"
        return _entry("controller", values, (bool(lost), stale, waiting), (True, warn, none))
    age, ago = seconds(now_ns - last.stamp_ns), seconds(now_ns - (counts.last_fault_ns or 0))
    values |= {
        "state": last.state.value,
        "phase": last.activity,
        "solver": last.qp_status,
        "largest torque [Nm]": f"{np.abs(last.tau).max():.2f}",
        "height [m]": f"{last.height:.4f}",
    }
    damps, late = last.state is ControlState.DAMPING, age > timeout
    lately, again = _lately(counts.last_fault_ns, now_ns), f"controlling again after a fault {ago:.1f} s ago"
    return _entry(
        "controller",
        values,
        (bool(lost) and (late or not damps), stale, waiting),
        (late, error, f"no joint state has been answered for {age:.2f} s"),
        (damps, error, f"damping: {last.reason}"),
        (last.state is ControlState.HOLDING, warn, f"holding the last torques: {last.reason}"),
        (lately, warn, f"{again}: {counts.last_fault}"),
        (True, HealthLevel.OK, f"controlling: {last.activity or 'posture'}"),
    )


def inertia_health(intake: InertiaIntake, timeout: float, now_ns: int, *, used: bool) -> Health:
    """Report which inertias are in force.

    Args:
        intake: Intake of the estimated inertias.
        timeout: Age of the last set from which on the estimates count as stopped [s].
        now_ns: Time now on the clock of the stamps [ns].
        used: Whether the controller computes with the received inertias.
    """
    values = {"sets applied": str(intake.applied)}
    values |= {f"refused: {reason}": str(count) for reason, count in sorted(intake.refused.items())}
    values |= {"last refusal": intake.refusal} if intake.refusal else {}
    age, applied = 0.0, intake.applied_ns is not None
    if intake.applied_ns is not None:
        age = seconds(now_ns - intake.applied_ns)
        values["age [s]"] = f"{age:.3f}"
    lately = _lately(intake.refusal_ns, now_ns)
    refused = f"; refused: {intake.refusal}"
    ok, warn = HealthLevel.OK, HealthLevel.WARN
    return _entry(
        "link_inertias",
        values,
        (not intake.links, ok, "nominal inertias: no link is expected"),
        (not applied, warn, "nominal inertias: no complete set has arrived"),
        (
            age > timeout,
            warn,
            f"inertias stopped {age:.2f} s ago: the last ones are kept{refused if lately else ''}",
        ),
        (lately, warn, f"the last good inertias are kept{refused}"),
        (used, ok, "estimated inertias in force"),
        (True, ok, "nominal inertias: inertias.applied is false"),
    )


def torque_error_health(intake: TorqueErrorIntake) -> list[Health]:
    """Report why sets of torque errors were refused; empty if none was."""
    if not intake.refused:
        return []
    values = {f"refused: {reason}": str(count) for reason, count in intake.refused.items()}
    refused = f"refused: {intake.refusal}; the last good ones stay in use"
    conditions = (bool(intake.refusal), HealthLevel.WARN, refused), (True, HealthLevel.OK, "received")
    return [_entry("torque_errors", values, *conditions)]


class StepTimes:
    """Counts the steps that took longer than a period; the caller measures their durations."""

    def __init__(self, period: float) -> None:
        """Begin without a step; the period is the time that a step may take [s]."""
        self._period, self._overruns, self._longest = period, 0, 0.0
        self._last_overrun_ns: int | None = None
        self._recent: deque[float] = deque(maxlen=round(seconds(REPORTED_NS) / period))

    def add(self, duration: float, stamp_ns: int) -> None:
        """Take the duration of a step [s], and the stamp of the state it answered [ns]."""
        self._recent.append(duration)
        self._longest = max(self._longest, duration)
        if duration > self._period:
            self._overruns += 1
            self._last_overrun_ns = stamp_ns

    def health(self, now_ns: int) -> Health:
        """Report how long the steps take, at a time on the clock of the stamps [ns]."""
        values = {"overruns": str(self._overruns), "longest [ms]": f"{1e3 * self._longest:.2f}"}
        if self._recent:
            values["p99 [ms]"] = f"{1e3 * float(np.percentile(np.array(self._recent), 99.0)):.2f}"
        late = f"{self._overruns} steps took longer than the period, {1e3 * self._period:.2f} ms"
        conditions = (_lately(self._last_overrun_ns, now_ns), HealthLevel.WARN, late)
        return _entry("step time", values, conditions, (True, HealthLevel.OK, "within the period"))
