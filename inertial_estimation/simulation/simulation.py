"""A simulated robot: applies torques and returns sensor readings and the true state."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import mujoco
import numpy as np

from inertial_estimation.errors import ConfigurationError, MeasurementError, listing
from inertial_estimation.models.contacts import FALLEN_RAD
from inertial_estimation.models.robot_config import joint_corrections, stance_positions
from inertial_estimation.models.robot_model import LinkBody, RobotModel
from inertial_estimation.signals import Array, BaseState, LinkInertia, frozen_array
from inertial_estimation.simulation.actuators import check_stance
from inertial_estimation.simulation.config import SimulationConfig
from inertial_estimation.simulation.disturbances import Attachment, Disturbance, MassWaveform, Push
from inertial_estimation.simulation.physics import RobotPhysics, stand_at_rest
from inertial_estimation.simulation.robot_build import set_body_inertia
from inertial_estimation.simulation.sensors import SensorReadings, SensorSuite, TrueReadings
from inertial_estimation.spatial.inertial_parameters import InertialParameters

FALLEN_HEIGHT_SHARE = 0.6  # share of its initial height; with its centre of mass below, the robot has fallen


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """True values of all estimated quantities.

    Equation of motion, in Pinocchio's coordinates, M and h of `inertias`:
    M a + h = [0; tau_link] + sum of J_C' wrench_C + pushes.
    """

    stamp_ns: int  # time [ns]
    base: BaseState  # pose and twist of the base; the origin for a fixed base
    q: Array  # joint positions in the model's order [rad], shape (n_joints,)
    v: Array  # joint velocities [rad/s], shape (n_joints,)
    a: Array  # generalised acceleration in Pinocchio's coordinates, shape (nv,)
    tau_motor: Array  # motor torques, after limits [Nm], shape (n_joints,)
    # torques on the links, after rotor inertia, friction and end stops [Nm], shape (n_joints,)
    tau_link: Array
    wrenches_C: Mapping[str, Array]  # wrench of the ground by contact, in its frame [N, Nm], shape (6,) each
    depths: Mapping[str, Array]  # depths of each contact's points [m]
    points_W: Mapping[str, Array]  # each contact's points in the world [m], shape (k, 3)
    inertias: Mapping[str, LinkInertia]  # inertia of the body of every requested link, by link
    com_W: Array  # centre of mass in the world [m], shape (3,)
    com_velocity_W: Array  # its velocity [m/s], shape (3,)
    total_mass: float  # mass of the robot with all it carries [kg]

    def __post_init__(self) -> None:
        for name in ("q", "v", "a", "tau_motor", "tau_link", "com_W", "com_velocity_W"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name)))


class DisturbedRobot:
    """Applies the masses, payloads and forces of disturbances to a robot."""

    def __init__(self, physics: RobotPhysics, disturbances: Sequence[Disturbance], step: float) -> None:
        """Resolve the links; the step is that of the integration [s].

        Raises:
            ~inertial_estimation.errors.ModelError: If a link does not exist.
            ConfigurationError: If the body of a link whose inertia changes does not move, or two waveforms
                overlap on one body.
        """
        self._physics, self._step = physics, step
        self._pushes: list[tuple[Push, LinkBody]] = []
        self._loads: dict[int, list[MassWaveform | Attachment]] = {}  # by joint
        self._masses: dict[int, list[float | None]] = {}  # present mass of each of these loads [kg]
        for d in disturbances:
            body = physics.robot.link_body(d.link)
            if isinstance(d, Push):
                self._pushes.append((d, body))
            elif body.joint_id == 0:
                raise ConfigurationError(f"link '{d.link}' is bolted to the world: its inertia has no effect")
            else:
                self._loads.setdefault(body.joint_id, []).append(d)
        for loads in self._loads.values():
            _check_one_at_a_time([load for load in loads if isinstance(load, MassWaveform)])

    def set_inertias(self, time: float) -> bool:
        """Set the inertias of the bodies at a time since the release [s]; return whether any changed."""
        changed = False
        for joint, loads in self._loads.items():
            masses = [load.mass(time) for load in loads]
            if masses != self._masses.get(joint):
                self._masses[joint], changed = masses, True
                set_body_inertia(self._physics.model, self._physics.built.bodies[joint], self._inertia(joint))
        return changed

    def push(self, time: float) -> None:
        """Apply the forces of the step that begins at a time [s]."""
        if self._pushes:
            self._physics.clear_pushes()
        for push, body in self._pushes:
            force = push.force_at(time, self._step)
            if force is None:
                continue
            index = self._physics.built.bodies[body.joint_id]
            R_WJ = self._physics.data.xmat[index].reshape(3, 3)
            point_W = self._physics.data.xpos[index] + R_WJ @ body.T_JL.act(np.asarray(push.point_L))
            force_W = R_WJ @ body.T_JL.rotation @ force if push.frame == "link" else force
            self._physics.push(index, point_W, force_W)

    def link_inertia(self, link: str) -> LinkInertia:
        """Return the present inertia of the body of a link, in the link's frame.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
        """
        body = self._physics.robot.link_body(link)
        return self._inertia(body.joint_id).expressed_in(body.T_JL.inverse()).of_link(link)

    def _inertia(self, joint: int) -> InertialParameters:
        """Return the present inertia of a body in the frame of its joint."""
        robot = self._physics.robot
        nominal = InertialParameters.from_pinocchio(robot.model.inertias[joint])
        own, added = nominal.vector, np.zeros(10)
        for load, mass in zip(self._loads.get(joint, ()), self._masses.get(joint, ()), strict=False):
            if mass is not None and isinstance(load, MassWaveform):
                own = nominal.vector * (mass / nominal.mass)
            elif mass is not None and isinstance(load, Attachment):
                added = added + load.inertia.expressed_in(robot.link_body(load.link).T_JL).vector
        return InertialParameters.from_vector(own + added)


def _check_one_at_a_time(waves: Sequence[MassWaveform]) -> None:
    ordered = sorted(waves, key=lambda wave: wave.start)
    for first, second in pairwise(ordered):
        if second.start < first.stop:
            raise ConfigurationError(
                f"the mass waveforms of '{first.link}' (until {first.stop:g} s) and '{second.link}' (from "
                f"{second.start:g} s) overlap on one body, expected one at a time"
            )


class Simulation:
    """A simulated robot with ground, actuators, sensors and disturbances.

    Until the first `apply` the robot hangs from a hoist with its weight already on its feet: time runs, and
    the sensors measure a robot at rest without disturbing forces. Times of disturbances are relative to the
    release; on the hoist the robot has its inertias at the release.

    Attributes:
        robot: Model that the names refer to.
        released: Whether the robot has been released from the hoist.
    """

    def __init__(self, config: SimulationConfig, urdf: str, disturbances: Sequence[Disturbance] = ()) -> None:
        """Build the robot from the text of a URDF, whose meshes are not needed, and place it on the ground.

        Raises:
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist, a moving link
                has no inertia, or the robot cannot stand in its stance.
            ConfigurationError: If rate, delays and step do not fit, or the stance is out of its bounds.
        """
        self._config = config
        self._physics = RobotPhysics(config, urdf)
        self.robot: RobotModel = self._physics.robot
        self._stance = stance_positions(config.stance, self.robot)
        check_stance(self.robot, self._stance)
        self._disturbed = DisturbedRobot(self._physics, disturbances, config.step)
        self._true = TrueReadings(self._physics, config.sensors.effort_at)
        self.reset()

    def reset(self) -> None:
        """Reset to the start, with the same initial state and the same noise."""
        robot, config = self.robot, self._config
        self._steps, self._release_step, self.released = 0, 0, False
        corrections = joint_corrections(config.robot.joint_offsets, config.robot.drive_gains, robot)
        self._suite = SensorSuite(self._true, robot.joint_names, config, corrections)
        self._disturbed.set_inertias(0.0)
        stand_at_rest(self._physics, self._stance)
        self._forces_W: Array | None = None  # ground forces at this instant; None: not computed yet
        self._start_height = float(self._physics.data.subtree_com[0, 2])
        self._suite.begin(self._instant())

    @property
    def stamp_ns(self) -> int:
        """Current simulated time [ns]."""
        return self._steps * self._config.step_ns

    @property
    def period_ns(self) -> int:
        """Period of the readings [ns]."""
        return self._suite.period * self._config.step_ns

    @property
    def fallen(self) -> bool:
        """Whether the centre of mass is below 0.6 of its height at the start, or the base is tilted."""
        if not self.robot.floating_base:
            return False
        low = self._physics.data.subtree_com[0, 2] < FALLEN_HEIGHT_SHARE * self._start_height
        return bool(low or self._physics.R_WB[2, 2] < math.cos(FALLEN_RAD))

    def apply(self, tau: Array) -> None:
        """Hold these joint torques until the next call; the first call releases the robot.

        Args:
            tau: Torques in the model's joint order [Nm], shape (n_joints,).

        Raises:
            MeasurementError: If the shape is wrong or a number is not finite.
        """
        torques = frozen_array("joint torques", tau, (self.robot.n_joints,))
        if not np.isfinite(torques).all():
            bad = [self.robot.joint_names[i] for i in np.flatnonzero(~np.isfinite(torques))]
            raise MeasurementError(f"the torques of {listing(bad)} are not finite")
        if not self.released:
            self._instant()
            self._forces_W = None
            self.released, self._release_step = True, self._steps
        self._set_brake(0.0)
        self._physics.actuators.command(torques)

    def brake(self, damping: float) -> None:
        """Brake all joints until the next `apply`: the motors give no torque, the brakes -damping v.

        Args:
            damping: Damping of the brakes [Nms/rad].
        """
        self._physics.actuators.command(np.zeros(self.robot.n_joints))
        self._set_brake(damping)

    def advance(self, duration_ns: int) -> list[SensorReadings]:
        """Advance in time.

        Args:
            duration_ns: A multiple of the step [ns].

        Returns:
            The readings that arrive during this time, in order; the stamp at the end is included, that at
            the beginning is not.

        Raises:
            ConfigurationError: If the duration is no multiple of the step.
            ~inertial_estimation.errors.InertialEstimationError: If the motion diverges.
        """
        steps, rest = divmod(duration_ns, self._config.step_ns)
        if rest or steps < 0:
            raise ConfigurationError(
                f"cannot advance by {duration_ns} ns, expected a multiple of the step, "
                f"{self._config.step_ns} ns"
            )
        arrived: list[SensorReadings] = []
        for _ in range(steps):
            self._step()
            readings = self._suite.arrived(self._steps)
            if readings is not None:
                arrived.append(readings)
        return arrived

    def truth(self, links: Sequence[str] = ()) -> GroundTruth:
        """Return the current true state, with the inertias of the bodies of some links.

        Raises:
            ~inertial_estimation.errors.ModelError: If a link does not exist.
        """
        physics, data = self._physics, self._physics.data
        forces = self._instant()
        mujoco.mj_subtreeVel(physics.model, data)
        ground, places = physics.ground, {patch.name: patch.where for patch in physics.patches}
        return GroundTruth(
            self.stamp_ns,
            physics.base_state(self.stamp_ns),
            physics.q,
            physics.v,
            physics.acceleration,
            physics.actuators.tau,
            physics.tau_link,
            self._true.wrenches(forces),
            {name: ground.depth[where].copy() for name, where in places.items()},
            {name: ground.position_W[where].copy() for name, where in places.items()},
            {link: self._disturbed.link_inertia(link) for link in links},
            data.subtree_com[0],
            data.subtree_linvel[0],
            float(physics.model.body_mass[1:].sum()),
        )

    def _set_brake(self, damping: float) -> None:
        physics = self._physics
        if damping != physics.actuators.brake:
            physics.actuators.brake = damping
            physics.refresh()
            self._forces_W = None

    def _step(self) -> None:
        if self.released:
            self._disturbed.push(self._time)
            self._physics.step()
            self._forces_W = None
        self._steps += 1
        if self._disturbed.set_inertias(self._time):
            self._physics.refresh()
        self._suite.measure(self._steps, self._instant)

    @property
    def _time(self) -> float:
        """Time since the release [s]; zero on the hoist."""
        return (self._steps - self._release_step) * self._config.step if self.released else 0.0

    def _instant(self) -> Array:
        """Compute the current accelerations and torques, and return the forces on the contact points."""
        if self._forces_W is None:
            self._forces_W = self._physics.accelerate() if self.released else self._physics.rest()
        return self._forces_W
