"""Faults of single inputs as causes of an innovation: the directions in which they change the rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from inertial_estimation.estimators.inputs.rows import wrench_stream
from inertial_estimation.models.dynamics_measurement import InputPaths
from inertial_estimation.signals import Array

__all__ = [
    "InputCause",
    "InputKind",
    "InputNames",
    "most_direct_input",
    "single_causes",
    "spatial_causes",
]


@dataclass(frozen=True)
class InputNames:
    """Names of the inputs in messages.

    Attributes:
        joints: Joints in the robot's order.
        base: Velocities of the base, 6 or 0.
        contacts: Contacts whose wrenches are measured, and their places among the robot's contacts.
        acceleration: Source of the base's acceleration; empty for a fixed base.
    """

    joints: tuple[str, ...]
    base: int
    contacts: Mapping[str, int]
    acceleration: str


class InputKind(Enum):
    """What an input measures: its error has six components (wrench, acceleration) or one (effort, motion)."""

    WRENCH = "wrench"
    ACCELERATION = "acceleration"
    EFFORT = "effort"
    MOTION = "motion"


@dataclass(frozen=True, slots=True, eq=False)
class InputCause:
    """Directions in which an error of one input changes the rows.

    Attributes:
        kind: What it measures.
        name: Name in messages.
        columns: Shape (m, 6) or (m, 1).
    """

    kind: InputKind
    name: str
    columns: Array


def spatial_causes(names: InputNames, paths: InputPaths) -> list[InputCause]:
    """Return the causes with six components.

    Args:
        names: Names of the inputs.
        paths: How errors of the inputs reach the rows.
    """
    causes = [
        InputCause(InputKind.WRENCH, wrench_stream(contact), paths.contacts[6 * i : 6 * i + 6].T)
        for contact, i in names.contacts.items()
    ]
    if names.acceleration:
        columns = paths.inertia[:, : names.base]
        causes.append(InputCause(InputKind.ACCELERATION, names.acceleration, columns))
    return [replace(cause, columns=_projected(paths, cause.columns)) for cause in causes]


def single_causes(names: InputNames, paths: InputPaths) -> list[InputCause]:
    """Return the causes with one component.

    Args:
        names: Names of the inputs.
        paths: How errors of the inputs reach the rows.
    """
    positions = paths.picked - names.base
    rows = np.flatnonzero(positions >= 0)
    effort = _projected(paths, np.eye(len(positions))[:, rows])
    motion = _projected(paths, paths.inertia[:, names.base :])
    torques = [names.joints[j] for j in positions[rows].tolist()]
    efforts = [
        InputCause(InputKind.EFFORT, f"the effort of '{joint}' in joint_states", effort[:, [i]])
        for i, joint in enumerate(torques)
    ]
    return efforts + [
        InputCause(InputKind.MOTION, f"the motion of '{joint}' in joint_states", motion[:, [i]])
        for i, joint in enumerate(names.joints)
    ]


def most_direct_input(names: InputNames, innovation: Array, variance: Array, paths: InputPaths | None) -> str:
    """Return the inputs that determine the row of the largest normalised innovation most directly.

    Args:
        names: Names of the inputs.
        innovation: Measured minus predicted, shape (m,).
        variance: Its variances, shape (m,).
        paths: How errors of the inputs reach the rows; None where it is not known.
    """
    if paths is None or paths.projection is not None:
        return "joint_states"
    row = int(np.argmax(innovation**2 / np.maximum(variance, np.finfo(float).tiny)))
    position = int(paths.picked[row]) - names.base
    if position >= 0:
        return f"the effort or motion of '{names.joints[position]}' in joint_states"
    wrenches = [wrench_stream(contact) for contact in names.contacts]
    return " or ".join([names.acceleration, *wrenches])


def _projected(paths: InputPaths, directions: Array) -> Array:
    return directions if paths.projection is None else paths.projection.T @ directions
