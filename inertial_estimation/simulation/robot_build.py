"""Builds a MuJoCo model from a robot model: one body per moving joint, without geometry."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ModelError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.spatial.rotations import quaternion_from_rotation

_PLACEHOLDER = {
    "mass": 1.0,
    "ipos": [0.1, 0.2, 0.3],
    "inertia": [1.0, 1.1, 1.2],
    "iquat": [0.5, 0.5, 0.5, 0.5],
    "explicitinertial": True,
}


@dataclass(frozen=True, eq=False)
class BuiltRobot:
    """A MuJoCo model and its mapping to the robot model."""

    model: Any  # the MuJoCo model
    bodies: tuple[int, ...]  # MuJoCo body of each Pinocchio joint (0: the world)
    qpos: NDArray[np.int64]  # index of each joint's position, in the order of `RobotModel.joint_names`
    dof: NDArray[np.int64]  # index of each joint's velocity


def build_robot(robot: RobotModel, step: float) -> BuiltRobot:
    """Build the MuJoCo model of a robot.

    Links that are fixed to one another are one body, as in `RobotModel`; its frame is that of the
    joint. Neither meshes nor any other geometry is read.

    Returns:
        The model with a step of the integration [s], gravity as in the robot's.

    Raises:
        ModelError: If a body that moves has no inertia.
    """
    _check_inertias(robot)
    model = robot.model
    spec, _ = robot_spec(robot, step)
    compiled = spec.compile()
    ids = tuple(0 if j == 0 else compiled.body(f"body_{j}").id for j in range(model.njoints))
    for j in range(1, model.njoints):
        set_body_inertia(compiled, ids[j], InertialParameters.from_pinocchio(model.inertias[j]))
    names = robot.joint_names
    qpos = np.array([compiled.joint(name).qposadr[0] for name in names], dtype=int)
    dof = np.array([compiled.joint(name).dofadr[0] for name in names], dtype=int)
    return BuiltRobot(compiled, ids, qpos, dof)


def robot_spec(robot: RobotModel, step: float) -> tuple[Any, list[Any]]:
    """Return the bodies and joints of a robot as a MjSpec, and in it the body of each Pinocchio joint.

    Inertias are placeholders; the body of joint 0 is the world. The step is that of the integration [s].
    """
    model, spec = robot.model, mujoco.MjSpec()
    spec.option.timestep = step
    spec.option.gravity = model.gravity.linear
    spec.compiler.degree = False
    bodies = [spec.worldbody]
    for j in range(1, model.njoints):
        placement = model.jointPlacements[j]
        pose = {"pos": placement.translation, "quat": _wxyz(placement.rotation)}
        body = bodies[model.parents[j]].add_body(name=f"body_{j}", **pose, **_PLACEHOLDER)
        bodies.append(body)
        _add_joint(body, model, j)
    return spec, bodies


def _check_inertias(robot: RobotModel) -> None:
    """Raise where a moving body has no inertia, naming every such body by its first link."""
    model, bad = robot.model, []
    for j in range(1, model.njoints):
        inertia = model.inertias[j]
        moments = linear_algebra.eigvalsh(inertia.inertia)
        if not (inertia.mass > 0.0 and moments[0] > 0.0):
            frames = [frame for frame in model.frames if frame.parentJoint == j]
            link = next((frame.name for frame in frames if frame.name in robot.link_names), model.names[j])
            bad.append(f"'{link}' (mass {inertia.mass:g} kg, smallest moment {moments[0]:.3g} kg m^2)")
    if bad:
        raise ModelError(
            f"moving links without inertia cannot be simulated: {', '.join(bad)}; expected a mass and "
            "moments above zero in <inertial>, or lock their joints"
        )


def set_body_inertia(model: Any, body: int, inertia: InertialParameters) -> None:
    """Write the inertia of a body, in its frame, into a MuJoCo model."""
    moments, axes = linear_algebra.eigh(inertia.inertia_Fcm)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    added = inertia.mass - model.body_mass[body]
    model.body_mass[body] = inertia.mass
    model.body_ipos[body] = inertia.com_F
    model.body_iquat[body] = _wxyz(axes)
    model.body_inertia[body] = moments
    model.body_sameframe[body] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE  # else MuJoCo uses the body's axes
    while body:
        model.body_subtreemass[body] += added
        body = model.body_parentid[body]
    model.body_subtreemass[0] += added


def _add_joint(body: Any, model: Any, j: int) -> None:
    if model.nvs[j] == 6:
        body.add_freejoint(name=model.names[j])
        return
    joint = model.joints[j]
    data = joint.createData()
    subspace = np.array(data.S).ravel()
    slide = bool(np.abs(subspace[:3]).max() > 0.5)
    kind = mujoco.mjtJoint.mjJNT_SLIDE if slide else mujoco.mjtJoint.mjJNT_HINGE
    axis = subspace[:3] if slide else subspace[3:]
    body.add_joint(name=model.names[j], type=kind, axis=axis, limited=False)


def _wxyz(R: Array) -> Array:
    x, y, z, w = quaternion_from_rotation(np.asarray(R))
    return np.array([w, x, y, z])
