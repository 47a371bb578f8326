"""Health of the controller, for diagnostics."""

import numpy as np

from inertial_estimation.control.control_result import ControlResult, ControlState
from inertial_estimation.control.control_supervisor import ControllerStepCounts
from inertial_estimation.control.controller_inputs import ControllerInputs
from inertial_estimation.control.reference_intake import ReferenceIntake
from inertial_estimation.errors import listing
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.signals import Health, HealthLevel, seconds

NAME = "controller"


def controller_health(
    last: ControlResult | None,
    counts: ControllerStepCounts,
    references: ReferenceIntake,
    inputs: ControllerInputs,
    now_ns: int,
    *,
    held: bool,
) -> Health:
    """Return what the controller does, and what keeps it from control.

    Args:
        last: Result of the last step; None before the first.
        counts: Numbers of steps.
        references: References taken and refused.
        inputs: The inputs.
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


def _counted(
    counts: ControllerStepCounts, references: ReferenceIntake, inputs: ControllerInputs
) -> dict[str, str]:
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
    last: ControlResult | None, counts: ControllerStepCounts, inputs: ControllerInputs, now_ns: int
) -> tuple[HealthLevel, str]:
    stale = inputs.stale(now_ns)
    if stale:
        return HealthLevel.STALE, f"waiting for {listing(stale)}: no torques are sent"
    if last is None:
        return HealthLevel.WARN, "no joint state with base orientation and base state of its stamp yet"
    unanswered, unmatched = seconds(now_ns - last.stamp_ns), inputs.unmatched()
    if unanswered > inputs.timeout:
        missing = f": no {listing(unmatched)} of the newest joint state's stamp" if unmatched else ""
        return HealthLevel.ERROR, f"no joint state has been answered for {unanswered:.2f} s{missing}"
    if last.state is ControlState.DAMPING:
        return HealthLevel.ERROR, f"damping: {last.reason}"
    if last.state is ControlState.HOLDING:
        return HealthLevel.WARN, f"holding the last torques: {last.reason}"
    if counts.last_fault_ns is not None and 0 <= now_ns - counts.last_fault_ns < REPORTED_NS:
        ago = seconds(now_ns - counts.last_fault_ns)
        return HealthLevel.WARN, f"controlling again after a fault {ago:.1f} s ago: {counts.last_fault}"
    return HealthLevel.OK, f"controlling: {last.activity or 'posture'}"
