"""Health of the controller, for diagnostics."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.control.control_result import ControlResult, ControlState
from inertial_estimation.control.controller_inputs import ControllerInputs
from inertial_estimation.control.reference_intake import ReferenceIntake
from inertial_estimation.errors import listing
from inertial_estimation.signals import Health, HealthLevel

__all__ = ["ControllerStepCounts", "controller_health"]

NAME = "controller"


@dataclass(slots=True)
class ControllerStepCounts:
    """Numbers of steps since the start.

    Attributes:
        steps: Joint states answered.
        damped: Of them, those answered by damping alone.
        unmatched: Joint states whose base orientation or base state never came.
    """

    steps: int = 0
    damped: int = 0
    unmatched: int = 0


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
    values = {
        "steps": str(counts.steps),
        "steps in damping": str(counts.damped),
        "joint states without base": str(counts.unmatched),
        "joint velocities": inputs.velocity_source,
        "references refused": str(references.refused),
        "references beyond joint limits": str(references.clipped),
    }
    if references.last_refusal:
        values["last refusal"] = references.last_refusal
    stale = inputs.stale(now_ns)
    if stale:
        return Health(NAME, HealthLevel.STALE, f"waiting for {listing(stale)}: no torques are sent", values)
    if last is None:
        message = "no joint state with base orientation and base state of its stamp yet"
        return Health(NAME, HealthLevel.WARN, message, values)
    values |= {
        "state": last.state.value,
        "phase": last.activity,
        "held": "yes" if held else "no",
        "solver": last.qp_status,
        "largest torque [Nm]": f"{np.abs(last.tau).max():.2f}",
        "height [m]": f"{last.height:.4f}",
    }
    if last.state is ControlState.DAMPING:
        return Health(NAME, HealthLevel.ERROR, f"damping: {last.reason}", values)
    return Health(NAME, HealthLevel.OK, f"controlling: {last.activity or 'posture'}", values)
