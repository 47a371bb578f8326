"""Faults of single inputs as causes of an innovation: the directions in which they change the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.models.dynamics_measurement import InputPaths
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array


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


def spatial_columns(names: InputNames, paths: InputPaths) -> Array:
    """Return the directions in which an error of each input with six components changes the rows.

    Args:
        names: Names of the inputs.
        paths: How errors of the inputs reach the rows.

    Returns:
        Those of the wrenches, then of the acceleration of a floating base, shape (k, m, 6).
    """
    wrenches = paths.contacts.reshape(-1, 6, paths.contacts.shape[1])[list(names.contacts.values())]
    blocks = [wrenches.transpose(0, 2, 1)]
    if names.acceleration:
        blocks.append(paths.inertia[None, :, : names.base])
    return _projected(paths, np.concatenate(blocks))


def single_columns(names: InputNames, paths: InputPaths) -> Array:
    """Return the directions in which an error of each input with one component changes the rows.

    Args:
        names: Names of the inputs.
        paths: How errors of the inputs reach the rows.

    Returns:
        Those of the efforts that are measured, then of the motions of all joints, shape (j, m, 1).
    """
    efforts = np.eye(len(paths.picked))[paths.picked >= names.base]
    return _projected(paths, np.concatenate((efforts, paths.inertia[:, names.base :].T))[:, :, None])


def input_names(names: InputNames, picked: Indices) -> tuple[str, ...]:
    """Return the names of the inputs in messages, in the order of `spatial_columns` and `single_columns`.

    Args:
        names: Names of the inputs.
        picked: As of the paths of errors.
    """
    spatial = [*(f"{contact}/wrench" for contact in names.contacts), names.acceleration]
    joints = [names.joints[position] for position in (picked - names.base).tolist() if position >= 0]
    efforts = [f"the effort of '{joint}' in joint_states" for joint in joints]
    return (
        *filter(None, spatial),
        *efforts,
        *(f"the motion of '{joint}' in joint_states" for joint in names.joints),
    )


def input_sizes(names: InputNames, picked: Indices, sizes: Mapping[InputKind, Array]) -> tuple[Array, Array]:
    """Return the expected errors of the inputs, in the order of `spatial_columns` and `single_columns`.

    Args:
        names: Names of the inputs.
        picked: As of the paths of errors.
        sizes: Expected error of each kind of input.

    Returns:
        Shapes (k, 1, 6) and (j, 1, 1).
    """
    spatial = [sizes[InputKind.WRENCH]] * len(names.contacts)
    spatial += [sizes[InputKind.ACCELERATION]] * bool(names.acceleration)
    efforts = np.count_nonzero(picked >= names.base)
    single = [sizes[InputKind.EFFORT]] * efforts + [sizes[InputKind.MOTION]] * len(names.joints)
    return np.array(spatial).reshape(-1, 1, 6), np.array(single).reshape(-1, 1, 1)


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
    wrenches = [f"{contact}/wrench" for contact in names.contacts]
    return " or ".join([names.acceleration, *wrenches])


def _projected(paths: InputPaths, directions: Array) -> Array:
    """Return directions (n, k, d) in the rows of the equation, (n, m, d)."""
    return directions if paths.projection is None else np.matmul(paths.projection.T, directions)
