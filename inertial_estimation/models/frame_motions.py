"""Motions of frames and of the centre of mass as rows, read where Pinocchio keeps those of the joints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    warm_up,
)
from inertial_estimation.construction import made_of_checked
from inertial_estimation.models.pinocchio_memory import motion_rows, pose_rows
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    add,
    cross,
    matrix_of,
    product,
    store,
    store_matrix,
    times,
    transposed,
    vector_of,
)

FRAME_ROWS = 6  # of a frame: three of its linear, three of its angular motion
COM_ROWS = 3  # before those of the frames
PLACE_WIDTH = 12  # orientation by rows and position of a frame


@dataclass(frozen=True, slots=True, eq=False)
class FrameMotion:
    """Motion of one frame, world axes, position relative to the base origin.

    Attributes:
        R_WF: Orientation of the frame, shape (3, 3).
        p_BF_W: Position of its origin relative to the base origin, world axes [m], shape (3,).
        velocity: Linear and angular velocity [m/s, rad/s], shape (6,).
        jacobian: J with velocity = J v, shape (6, nv).
        drift: J'v, the acceleration at a = 0, shape (6,).
    """

    R_WF: Array
    p_BF_W: Array
    velocity: Array
    jacobian: Array
    drift: Array


@dataclass(frozen=True, slots=True, eq=False)
class MotionRows:
    """Coordinates of motions, one below the other, with velocity = J v and acceleration = J a + J'v.

    Attributes:
        jacobian: J, shape (r, nv).
        velocity: J v [m/s or rad/s], shape (r,).
        drift: J'v [m/s^2 or rad/s^2], shape (r,).
    """

    jacobian: Array
    velocity: Array
    drift: Array


_frame_motion = made_of_checked(FrameMotion)
_motion_rows = made_of_checked(MotionRows)


class FrameMotions:
    """Reads the motions of the centre of mass and of frames from the memory of Pinocchio.

    Rows are those of the centre of mass (3), then of each frame (6, linear and angular), in world axes.
    """

    def __init__(self, model: pin.Model, data: pin.Data, frame_ids: Sequence[int]) -> None:
        """Find joints and placements of the frames.

        Args:
            model: The model.
            data: What the algorithms write into; it has to be kept by the caller.
            frame_ids: The frames.
        """
        frames = [model.frames[frame] for frame in frame_ids]
        self._carriers = np.array([frame.parentJoint for frame in frames], dtype=np.int64)
        self._placements = np.empty((len(frames), PLACE_WIDTH))
        self._supports = np.zeros((len(frames), model.nv))
        for i, frame in enumerate(frames):
            self._placements[i] = *frame.placement.rotation.ravel(), *frame.placement.translation
            for joint in model.supports[frame.parentJoint]:
                first = model.idx_vs[joint]
                self._supports[i, first : first + model.nvs[joint]] = 1.0
        self._memory = (pose_rows(data.oMi), motion_rows(data.v), motion_rows(data.a), data.J.T)
        self._com = (data.Jcom.T, data.vcom[0], data.acom[0])
        warm_up()

    def now(self) -> tuple[tuple[FrameMotion, ...], MotionRows, Array]:
        """Return the motions that the algorithms have computed last.

        Needed are positions, velocities and accelerations at a = 0 of the joints and of the centre of mass,
        and the Jacobians of both.

        Returns:
            Motion of each frame; the rows; orientation by rows and position of each frame, shape (f, 12).
        """
        count, nv = self._supports.shape
        places, J = np.empty((count, PLACE_WIDTH)), np.empty((COM_ROWS + FRAME_ROWS * count, nv))
        rates = np.empty((2, len(J)))
        velocity, drift = rates[0], rates[1]
        move_frames(
            *self._memory,
            *self._com,
            self._carriers,
            self._placements,
            self._supports,
            places,
            J,
            velocity,
            drift,
        )
        turns, frames, first = places[:, :9].reshape(count, 3, 3), [], COM_ROWS
        for i in range(count):
            rows = slice(first, first + FRAME_ROWS)
            frames.append(_frame_motion(turns[i], places[i, 9:], velocity[rows], J[rows], drift[rows]))
            first += FRAME_ROWS
        return tuple(frames), _motion_rows(J, velocity, drift), places


@compiled
def move_frames(
    poses: Table,
    velocities: Table,
    accelerations: Table,
    Jt: Table,
    com_Jt: Table,
    com_velocity: Column,
    com_drift: Column,
    carriers: Integers,
    placements: Table,
    supports: Table,
    places: MutableTable,
    jacobian: MutableTable,
    velocity: MutableColumn,
    drift: MutableColumn,
) -> None:
    """Write the motions of frames from those of the joints that carry them, and of the centre of mass.

    With the arm r from the joint to the frame, v_F = v_J + w x r and a_F = a_J + w' x r + w x v_F, a_J the
    spatial acceleration of the joint at its origin.

    Args:
        poses: Of all joints, as `pinocchio_memory.pose_rows`.
        velocities: As `pinocchio_memory.motion_rows`, in the axes of the joints.
        accelerations: Spatial ones at a = 0, as the velocities.
        Jt: Transposed Jacobian of all joints at the origin of the world, shape (nv, 6).
        com_Jt: Transposed Jacobian of the centre of mass, shape (nv, 3).
        com_velocity: Its velocity [m/s], shape (3,).
        com_drift: Its acceleration at a = 0 [m/s^2], shape (3,).
        carriers: Joint that carries each frame, shape (f,).
        placements: Of each frame in its joint, orientation by rows and position [m], shape (f, 12).
        supports: 1 where a velocity coordinate moves a frame, else 0, shape (f, nv).
        places: Orientation by rows and position of each frame, shape (f, 12); written.
        jacobian: Shape (3 + 6 f, nv); written.
        velocity: Shape (3 + 6 f,); written.
        drift: Shape (3 + 6 f,); written.
    """
    jacobian[:COM_ROWS] = com_Jt.T
    velocity[:COM_ROWS], drift[:COM_ROWS] = com_velocity, com_drift
    for f in range(len(carriers)):
        first, joint = COM_ROWS + FRAME_ROWS * f, carriers[f]
        R, placement = transposed(matrix_of(poses[joint], 0)), placements[f]
        arm = times(R, vector_of(placement, 9))
        p = add(vector_of(poses[joint], 9), arm)
        w, turn = times(R, vector_of(velocities[joint], 3)), times(R, vector_of(accelerations[joint], 3))
        v = add(times(R, vector_of(velocities[joint], 0)), cross(w, arm))
        a = add(add(times(R, vector_of(accelerations[joint], 0)), cross(turn, arm)), cross(w, v))
        store_matrix(places[f], 0, product(R, matrix_of(placement, 0)))
        store(places[f], 9, p)
        store(velocity, first, v)
        store(velocity, first + 3, w)
        store(drift, first, a)
        store(drift, first + 3, turn)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            moved = Jt[:, i] + Jt[:, 3 + j] * p[k] - Jt[:, 3 + k] * p[j]
            jacobian[first + i] = supports[f] * moved
            jacobian[first + 3 + i] = supports[f] * Jt[:, 3 + i]
