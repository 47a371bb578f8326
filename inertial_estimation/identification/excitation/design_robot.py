"""The robot and the joints that move in an exciting motion (an arm, or a limb of a hung robot), its rows."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.identifiability import base_parameters
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.parameter_set import parameter_set
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredRows, MeasuredState
from inertial_estimation.models.joint_limits import JointLimits, joint_limits
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.models.link_shapes import SelfCollision
from inertial_estimation.models.measurement_rows import MeasurementNoise
from inertial_estimation.models.robot_config import DriveGains, JointOffsets
from inertial_estimation.models.robot_model import RobotModel, matching
from inertial_estimation.signals import Array

STRUCTURE_STATES = 200  # random states from which the base parameters are determined
EXTRA_CLEARANCE = 0.01  # added to the requested clearance, since the samples are sparse [m]
DIFFERENCE_STEP = 1e-6  # of one-sided differences in position, velocity and acceleration, SI units


class States(NamedTuple):
    """Positions, velocities and accelerations of the moving joints, each of shape (k, n)."""

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class DesignRobot:
    """A robot with a fixed base, and the joints of it that move."""

    config: IdentificationConfig  # of this robot; if it is hung, with fixed base and other joints locked
    robot: RobotModel
    moving: tuple[int, ...]  # indices of the joints that move, in the model's order
    home: Array  # posture of the joints that do not move, shape (n_joints,)
    limits: JointLimits  # of all joints, from the description

    @property
    def moving_names(self) -> tuple[str, ...]:
        """Names of the joints that move."""
        return tuple(self.robot.joint_names[j] for j in self.moving)


def design_robot(config: IdentificationConfig, urdf: str, *, joints: Sequence[str] = ()) -> DesignRobot:
    """Choose the joints that move.

    Joints of a fixed arm that are not chosen rest in the middle of their ranges, and their torques are
    measured as well. The base of a floating robot is held (hung, Tournois IV), one limb moves, and all
    other joints are locked at zero.

    Args:
        config: Identification of the robot from its parameter file.
        urdf: Text of the URDF.
        joints: Joints that move, by name or shell pattern; empty selects all joints of a fixed arm.

    Raises:
        ConfigurationError: If no joint is given for a floating robot, or a pattern matches no joint.
        ~inertial_estimation.errors.ModelError: If the URDF cannot be used.
    """
    config, known = replace(config, payload=""), config.robot
    free = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=known.locked_joints)
    names = free.joint_names
    if known.floating_base and not joints:
        raise ConfigurationError(
            f"the base floats: choose what moves while the trunk is held, --joints out of {listing(names)}"
        )
    chosen = [names[j] for j in matching(joints or ("*",), names, "joint")]
    if known.floating_base:
        return _hung(config, urdf, [name for name in names if name not in chosen])
    limits = joint_limits(free)
    moving = tuple(names.index(name) for name in chosen)
    return DesignRobot(config, free, moving, 0.5 * (limits.lower + limits.upper), limits)


def _hung(config: IdentificationConfig, urdf: str, still: Sequence[str]) -> DesignRobot:
    locked = (*config.robot.locked_joints, *still)
    robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=locked)
    moving_links = [link for link in robot.link_names if robot.link_body(link).joint_id]
    held = replace(
        config.robot,
        floating_base=False,
        locked_joints=locked,
        imu_frame="",
        contacts=(),
        contact_frames=(),
        wrench_frames=(),
        joint_offsets=JointOffsets(),
        drive_gains=DriveGains(),
        nominal_friction=replace(config.robot.nominal_friction, joints=(), terms=(), values=()),
    )
    hung = replace(
        config,
        robot=held,
        rows=replace(config.rows, contact_wrenches="none", torque_rows=("*",)),
        links=tuple(p for p in config.links if fnmatch.filter(moving_links, p)),
        symmetry=(),
        friction=replace(
            config.friction,
            joints=tuple(p for p in config.friction.joints if fnmatch.filter(robot.joint_names, p)),
        ),
    )
    moving = tuple(range(robot.n_joints))
    return DesignRobot(hung, robot, moving, np.zeros(robot.n_joints), joint_limits(robot))


class DesignRows:
    """Rows of the unknowns at states of the moving joints.

    Attributes:
        design: The robot and its moving joints.
        parameters: The unknowns and their relation to the standard parameters.
        row_names: Joints whose torque is measured.
        torque_limits: Torque limit of each row [Nm], infinite where the URDF has none, shape (m,).
        base: Base parameters that motions of this kind determine.
    """

    def __init__(
        self, design: DesignRobot, rng: Generator, *, static: bool, acceleration: float = 5.0
    ) -> None:
        """Find the base parameters from random states.

        Args:
            design: The robot.
            rng: Random generator that draws the states.
            static: Whether the robot is at rest in every state.
            acceleration: Largest acceleration of a drawn state [rad/s^2].

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the parameters or rows do not fit the robot,
                or no parameter can be excited.
        """
        self.design = design
        config, robot, limits = design.config, design.robot, design.limits
        self.parameters = parameter_set(config, robot)
        bodies, friction = self.parameters.bodies, self.parameters.friction
        self._measurement = DynamicsMeasurement(robot, bodies, config.rows, MeasurementNoise(), (), friction)
        self.row_names = self._measurement.row_names
        self._map = self.parameters.to_joint @ self.parameters.E
        self._nominal = self.parameters.to_joint @ self.parameters.nominal
        self.torque_limits: Array = limits.effort[[robot.joint_index(name) for name in self.row_names]]
        self._moving = np.array(design.moving, dtype=int)
        shape = (STRUCTURE_STATES, len(self._moving))
        q = rng.uniform(limits.lower[self._moving], limits.upper[self._moving], shape)
        v = rng.uniform(-1.0, 1.0, shape) * limits.velocity[self._moving]
        a = rng.uniform(-1.0, 1.0, shape) * acceleration
        moves = 0.0 if static else 1.0
        self.base = base_parameters(self.stacked(q, moves * v, moves * a))

    def full(self, moving: Array, rest: Array | float = 0.0) -> Array:
        """Return values of all joints, (k, n_joints), from those that move, (k, n); others are `rest`."""
        values = np.zeros((len(moving), self.design.robot.n_joints)) + rest
        values[:, self._moving] = moving
        return values

    def rows(self, q: Array, v: Array, a: Array) -> Array:
        """Return the rows of all unknowns at states of the moving joints, shape (k, m, unknowns)."""
        return self._at(q, v, a).regressor @ self._map

    def stacked(self, q: Array, v: Array, a: Array) -> Array:
        """Return the rows of all states one below the other, shape (k m, unknowns)."""
        rows = self.rows(q, v, a)
        return rows.reshape(-1, rows.shape[-1])

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques of the measured rows with nominal parameters [Nm], shape (k, m)."""
        rows = self._at(q, v, a)
        return rows.regressor @ self._nominal - rows.value

    def torque_shares(self, q: Array, v: Array, a: Array) -> Array:
        """Return the nominal torques divided by their limits, zero where the URDF has none, shape (k, m)."""
        return self.torques(q, v, a) / self.torque_limits

    def gradient(
        self, q: Array, v: Array, a: Array, G: Array, by_torque: Array
    ) -> tuple[Array, Array, Array]:
        """Return the derivative of f(M, torques), M = A'A of the rows, by every state.

        df = tr(G dM) + <by_torque, dtau>, tr(G dM) = 2 sum_k <A_k G, dA_k>; dA_k and dtau_k by one-sided
        differences.

        Args:
            q: Positions of the moving joints, shape (k, n).
            v: Velocities.
            a: Accelerations.
            G: df/dM, symmetric, shape (n, n) of all unknowns.
            by_torque: df/dtau, shape (k, m).

        Returns:
            df/dq, df/dv, df/da, each of shape (k, n).
        """
        here = self._at(q, v, a)
        weights = 2.0 * (here.regressor @ self._map) @ G @ self._map.T
        weights += by_torque[:, :, None] * self._nominal
        gradients = np.empty((3, *q.shape))
        for which in range(3):
            for j in range(q.shape[1]):
                state = [q, v, a]
                state[which] = state[which].copy()
                state[which][:, j] += DIFFERENCE_STEP
                moved = self._at(*state)
                change = np.einsum("kmp,kmp->k", weights, moved.regressor - here.regressor)
                change -= np.einsum("km,km->k", by_torque, moved.value - here.value)
                gradients[which, :, j] = change / DIFFERENCE_STEP
        return gradients[0], gradients[1], gradients[2]

    def _at(self, q: Array, v: Array, a: Array) -> MeasuredRows:
        state = MeasuredState(self.full(q, self.design.home), self.full(v), self.full(a))
        return self._measurement.rows(state)


class DesignSpace:
    """Robot, rows, limits and collisions that every design needs.

    Attributes:
        design: The robot and its moving joints.
        config: Kind, objective, limits and effort of the design.
        limits: Limits of the moving joints, reduced by the margins.
        rows: Rows of the unknowns.
        collision: Distances between links.
    """

    def __init__(
        self,
        design: DesignRobot,
        config: ExcitationConfig,
        urdf: str,
        mesh_folders: Sequence[str | Path],
        rng: Generator,
    ) -> None:
        self.design, self.config = design, config
        self.limits = design.limits.of(design.moving).within(
            design.moving_names,
            position_margin=config.position_margin,
            velocity_share=config.velocity_share,
        )
        static = config.kind == "poses"
        self.rows = DesignRows(design, rng, static=static, acceleration=config.acceleration_limit)
        self.collision = SelfCollision.from_urdf(
            design.robot, urdf, mesh_folders, rng, config.clearance + EXTRA_CLEARANCE
        )

    def postures(self, q: Array) -> Array:
        """Return the positions of all joints from those that move, shape (k, n)."""
        return self.rows.full(q, self.design.home)

    def clearance(self, q: Array) -> float:
        """Return the smallest distance of links along postures of the moving joints [m], shape (k, n)."""
        if not self.collision.checks:
            return float("inf")
        return min(self.collision.clearance(posture) for posture in self.postures(q))

    def is_free(self, q: Array, clearance: float) -> bool:
        """Whether all postures of the moving joints keep a distance between links [m]."""
        if not self.collision.checks:
            return True
        return not any(self.collision.closer_than(posture, clearance) for posture in self.postures(q))

    def torque_share(self, q: Array, v: Array, a: Array) -> float:
        """Return the largest share of a torque limit at states of the moving joints."""
        return float(np.abs(self.rows.torque_shares(q, v, a)).max())

    def trajectory(self, times: Array, q: Array, v: Array, a: Array) -> JointTrajectory:
        """Return the trajectory of all joints from states of those that move."""
        full = self.rows.full
        return JointTrajectory(self.design.robot.joint_names, times, self.postures(q), full(v), full(a))
