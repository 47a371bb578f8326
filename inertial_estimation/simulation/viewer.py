"""A window that shows a robot: capsules between joints, boxes for inertias, and the ground."""

from typing import Any

import mujoco
import numpy as np

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, BaseState
from inertial_estimation.simulation.ground import Terrain
from inertial_estimation.simulation.robot_build import build_robot, robot_spec
from inertial_estimation.spatial import linear_algebra

CAPSULE_THICKNESS = 0.02  # [m]
LIMB, BODY, FLOOR = (0.35, 0.4, 0.5, 1.0), (0.85, 0.55, 0.2, 0.6), (0.8, 0.82, 0.85, 1.0)
GROUND_CELLS, GROUND_HALF_WIDTH = 200, 5.0  # of uneven ground: samples per side, half its side [m]


class RobotViewer:
    """MuJoCo's window, which shows states of a robot without simulating."""

    def __init__(self, robot: RobotModel, terrain: Terrain) -> None:
        """Open the window.

        Args:
            robot: The robot.
            terrain: The ground it stands on.

        Raises:
            MissingDependencyError: If there is no display to open a window on.
        """
        _check_display()
        import mujoco.viewer

        self._robot = robot
        self._built = build_robot(robot, 0.001)
        self._model = visible_model(robot, terrain)
        self._data: Any = mujoco.MjData(self._model)
        self._window = mujoco.viewer.launch_passive(
            self._model, self._data, show_left_ui=False, show_right_ui=False
        )
        with self._window.lock():  # the usual view is from above and hides the feet
            self._window.cam.azimuth, self._window.cam.elevation = 120.0, -15.0
            self._window.cam.distance = 2.0 * self._model.stat.extent

    @property
    def is_open(self) -> bool:
        """Whether the window is open."""
        return bool(self._window.is_running())

    def show(self, base: BaseState, q: Array) -> None:
        """Show a state.

        Args:
            base: Pose of the base.
            q: Joint positions in the robot's order [rad], shape (n_joints,).
        """
        with self._window.lock():
            if self._robot.floating_base:
                x, y, z, w = base.quaternion_xyzw
                self._data.qpos[:7] = [*base.p_WB, w, x, y, z]
                self._window.cam.lookat[:] = base.p_WB
            self._data.qpos[self._built.qpos] = q
            mujoco.mj_forward(self._model, self._data)
        self._window.sync()

    def close(self) -> None:
        """Close the window."""
        self._window.close()


def visible_model(robot: RobotModel, terrain: Terrain) -> Any:
    """Return the MuJoCo model of a robot with visible shapes.

    Args:
        robot: The robot.
        terrain: The ground.
    """
    model = robot.model
    spec, bodies = robot_spec(robot, 0.001)
    for j in range(1, model.njoints):
        reach = model.jointPlacements[j].translation
        if model.parents[j] and np.linalg.norm(reach) > 1e-3:
            limb = [0.0, 0.0, 0.0, *reach]
            _add(bodies[model.parents[j]], "CAPSULE", LIMB, size=[CAPSULE_THICKNESS, 0.0, 0.0], fromto=limb)
        inertia = model.inertias[j]
        half, R = _equivalent_box(inertia.mass, np.array(inertia.inertia))
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, R.ravel())
        _add(bodies[j], "BOX", BODY, size=half, pos=inertia.lever, quat=quat)
    _add_ground(spec, terrain)
    spec.worldbody.add_light(pos=[0.0, 0.0, 5.0], dir=[0.2, 0.2, -1.0])
    return spec.compile()


def _equivalent_box(mass: float, inertia: Array) -> tuple[Array, Array]:
    """Half sides and axes of the box of even density with the same inertia (or nearly: none is negative)."""
    moments, axes = linear_algebra.eigh(inertia)
    squares = 1.5 * (moments.sum() - 2.0 * moments) / max(mass, 1e-9)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return np.sqrt(np.maximum(squares, 1e-6)), np.ascontiguousarray(axes)


def _add_ground(spec: Any, terrain: Terrain) -> None:
    if terrain.level:
        _add(spec.worldbody, "PLANE", FLOOR, size=[GROUND_HALF_WIDTH, GROUND_HALF_WIDTH, 0.1])
        return
    side = np.linspace(-GROUND_HALF_WIDTH, GROUND_HALF_WIDTH, GROUND_CELLS)
    x, y = np.meshgrid(side, side)
    height, _ = terrain.surface(np.column_stack([x.ravel(), y.ravel()]))
    low, span = float(height.min()), max(float(np.ptp(height)), 1e-3)
    share = (height - low) / span
    size = [GROUND_HALF_WIDTH, GROUND_HALF_WIDTH, span, 0.1]
    spec.add_hfield(name="ground", nrow=GROUND_CELLS, ncol=GROUND_CELLS, size=size, userdata=share)
    _add(spec.worldbody, "HFIELD", FLOOR, hfieldname="ground", pos=[0.0, 0.0, low])


def _add(body: Any, kind: str, colour: tuple[float, ...], **shape: Any) -> None:
    body.add_geom(
        type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"),
        rgba=colour,
        contype=0,
        conaffinity=0,
        mass=0.0,
        **shape,
    )


def _check_display() -> None:
    try:
        import glfw
    except ImportError as error:
        raise MissingDependencyError(f"the viewer needs glfw: {error}") from error
    if not glfw.init():
        raise MissingDependencyError(
            "the viewer needs a display and found none; run without it, or where DISPLAY is set"
        )
