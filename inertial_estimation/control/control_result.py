"""Result of one tick of the controller."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from inertial_estimation.control.support_target import GaitPhase
from inertial_estimation.control.tasks import TaskStack
from inertial_estimation.signals import Array


class ControlState(Enum):
    """What the torques do.

    Attributes:
        CONTROL: They solve the tasks.
        HOLDING: They are those of the last solution, kept for a moment: this state has none.
        DAMPING: They only slow the joints down: there was no usable state, or no solution for too long.
    """

    CONTROL = "control"
    HOLDING = "holding"
    DAMPING = "damping"


@dataclass(frozen=True, slots=True, eq=False)
class ControlResult:
    """Torques, with the quantities that show whether they can be trusted.

    Positions are relative to the base origin, in world axes. It holds the Jacobians of the tasks: keep
    what is needed of it, not all of them.

    Attributes:
        stamp_ns: Stamp of the joint state answered [ns].
        state: Whether the torques control the robot, are kept, or only damp its joints.
        reason: Why they do not control; empty in control.
        tau: Joint torques [Nm], shape (n_joints,).
        acceleration: Wanted acceleration (base, joints), shape (nv,).
        wrenches_C: Wanted wrench of each contact, in its frame (a point: world axes) [N, Nm],
            shape (n_contacts, 6).
        tasks: What the tasks wanted; None where there were none.
        qp_status: Status the solver reported.
        qp_iterations: Its iterations.
        phase: Phase of the gait; None where there is none: a fixed base, or damping.
        activity: The phase with its foot, for people; empty where there is none.
        com: Centre of mass [m], shape (3,).
        dcm: Divergent component of motion [m], shape (2,).
        dcm_ref: Its reference [m], shape (2,).
        cop: Wanted centre of pressure [m], shape (2,).
        height: Height of the base above the support [m].
        height_ref: Its reference [m].
        q_ref: Reference of the joints [rad], shape (n_joints,).
    """

    stamp_ns: int
    state: ControlState
    reason: str
    tau: Array
    acceleration: Array
    wrenches_C: Array
    tasks: TaskStack | None = None
    qp_status: str = "not run"
    qp_iterations: int = 0
    phase: GaitPhase | None = None
    activity: str = ""
    com: Array = field(default_factory=lambda: np.zeros(3))
    dcm: Array = field(default_factory=lambda: np.zeros(2))
    dcm_ref: Array = field(default_factory=lambda: np.zeros(2))
    cop: Array = field(default_factory=lambda: np.zeros(2))
    height: float = 0.0
    height_ref: float = 0.0
    q_ref: Array = field(default_factory=lambda: np.zeros(0))
