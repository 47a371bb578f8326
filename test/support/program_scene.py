"""A robot in its stance with tasks of random demands, and the inverse-dynamics program of one instant."""

import numpy as np
import pinocchio as pin

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.control.inverse_dynamics import ContactLoad, ProgramBuilder, QpSolver, make_contacts
from inertial_estimation.control.tasks import Task, com_task, rest_task
from inertial_estimation.models.robot_config import robot_from_config, stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from support.control_robots import config_of

FRICTION = 0.6
ENOUGH = 1000, 1500  # iterations


class ProgramScene:
    """A robot in its stance with tasks of random demands."""

    def __init__(self, name: str) -> None:
        config = config_of(ControllerConfig, name, "whole_body_controller", {})
        setup = robot_from_config(config.robot, read_urdf(config.robot.urdf))
        self.robot, frames = setup.robot, setup.contacts
        self.contacts = make_contacts(config.stance, [frame.name for frame in frames], FRICTION)
        self.frames = [frame.frame for frame in frames]
        self.dynamics = WholeBodyDynamics(self.robot, self.frames)
        self.home = stance_positions(config.stance, self.robot)

    def state(self, rng: np.random.Generator, spread: float = 0.05):
        n = self.robot.n_joints
        base = BaseMotion(
            pin.Quaternion(pin.exp3(spread * rng.standard_normal(3))).coeffs(),
            spread * rng.standard_normal(3),
            spread * rng.standard_normal(3),
        )
        q = self.home + spread * rng.standard_normal(n)
        return base, self.dynamics.compute(base, q, spread * rng.standard_normal(n))

    def motions(self, state):
        return [c.motion(frame) for c, frame in zip(self.contacts, state.frames, strict=False)]

    def tasks(self, state, rng: np.random.Generator, demand: float):
        """Return tasks of joints, centre of mass and contacts."""
        n, nv = self.robot.n_joints, self.dynamics.nv
        wanted = 100.0 * demand * rng.standard_normal(n) - 20.0 * state.v[nv - n :]
        rests = [
            rest_task(c.name, motion) for c, motion in zip(self.contacts, self.motions(state), strict=True)
        ]
        posture = Task("posture", np.eye(nv)[nv - n :], wanted, np.ones(n))
        return [posture, com_task(state, 30.0 * demand * rng.standard_normal(2)), *rests]

    def loads(self, force: float, limit: float):
        return [ContactLoad(force, limit) for _ in self.contacts]

    def solve(self, state, tasks, loads, tau_max, tolerance=1e-8, iterations=ENOUGH):
        builder = ProgramBuilder(self.contacts, self.dynamics.nv, np.full(self.robot.n_joints, tau_max))
        program = builder.build(state, tasks, self.motions(state), loads)
        return builder, program, QpSolver(builder.size, tolerance, iterations).solve(program)

    def forces(self, builder, x):
        """Return the forces of a solution, as many numbers as each contact transmits."""
        return [wrench[: c.dim] for c, wrench in zip(self.contacts, builder.wrenches(x), strict=True)]
