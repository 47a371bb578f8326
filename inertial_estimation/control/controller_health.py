"""Health of the controller, for diagnostics."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.control_result import ControlResult, ControlState
from inertial_estimation.control.control_supervisor import ControllerStepCounts
from inertial_estimation.control.reference_intake import ReferenceIntake
from inertial_estimation.errors import listing
from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.signals import Health, HealthLevel, seconds

NAME = "controller"


class InputsNow(NamedTuple):
    """State of the inputs at a time."""

    lost: Sequence[str]  # names of the required ones that never came or are lost
    timeout: float  # age from which they are [s]
    velocity_source: str  # where joint velocities come from, for people


def controller_health(
    last: ControlResult | None,
    counts: ControllerStepCounts,
    references: ReferenceIntake,
    inputs: InputsNow,
    now_ns: int,
    *,
    held: bool,
) -> Health:
    """Return what the controller does, and what keeps it from control.

    Args:
        last: Result of the last step; None before the first.
        counts: Numbers of steps.
        references: References taken and refused.
        inputs: What is to be said of the inputs.
        now_ns: Time now on the clock of the stamps [ns].
        held: Whether the gait is requested to stand.
    """
    values = _counted(counts, references, inputs)
    if last is not None:
        values |= {
            "state": last.state.value,
            "phase": last.activity,
            "held": "yes" if held else "no",
            "solver": last.qp_status,
            "largest torque [Nm]": f"{np.abs(last.tau).max():.2f}",
            "height [m]": f"{last.height:.4f}",
        }
    level, message = _verdict(last, counts, inputs, now_ns)
    return Health(NAME, level, message, values)


def _counted(counts: ControllerStepCounts, references: ReferenceIntake, inputs: InputsNow) -> dict[str, str]:
    values = {
        "steps": str(counts.steps),
        "steps in damping": str(counts.damped),
        "steps with the last torques": str(counts.held),
        "gaps": str(counts.gaps),
        "take-overs": str(counts.take_overs),
        "joint states without base": str(counts.unmatched),
        "joint velocities": inputs.velocity_source,
        "references refused": str(references.refused),
        "references beyond joint limits": str(references.clipped),
    }
    values |= {f"fault: {cause.value}": str(counts.faults[cause]) for cause in counts.faults}
    last = {
        "last take-over": counts.take_over,
        "last fault": counts.last_fault,
        "last refusal": references.last_refusal,
    }
    return values | {name: text for name, text in last.items() if text}


def _verdict(
    last: ControlResult | None, counts: ControllerStepCounts, inputs: InputsNow, now_ns: int
) -> tuple[HealthLevel, str]:
    age = math.inf if last is None else seconds(now_ns - last.stamp_ns)
    damps = last is not None and last.state is ControlState.DAMPING and age <= inputs.timeout
    if inputs.lost and not damps:
        return HealthLevel.STALE, f"waiting for {listing(inputs.lost)}: no torques are sent"
    if last is None:
        return HealthLevel.WARN, "no joint state with a base state of its time yet"
    if age > inputs.timeout:
        return HealthLevel.ERROR, f"no joint state has been answered for {age:.2f} s"
    if last.state is ControlState.DAMPING:
        return HealthLevel.ERROR, f"damping: {last.reason}"
    if last.state is ControlState.HOLDING:
        return HealthLevel.WARN, f"holding the last torques: {last.reason}"
    if counts.last_fault_ns is not None and 0 <= now_ns - counts.last_fault_ns < REPORTED_NS:
        ago = seconds(now_ns - counts.last_fault_ns)
        return HealthLevel.WARN, f"controlling again after a fault {ago:.1f} s ago: {counts.last_fault}"
    return HealthLevel.OK, f"controlling: {last.activity or 'posture'}"
