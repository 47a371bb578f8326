"""A robot in its stance with tasks of random demands, and the inverse-dynamics program of one instant."""

import numpy as np
import pinocchio as pin

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.contact_constraints import ForceAxes, force_rows, make_contacts
from inertial_estimation.control.controller_config import ControllerConfig, SolverConfig
from inertial_estimation.control.inverse_dynamics_problem import ProblemBuilder
from inertial_estimation.control.quadratic_program import QuadraticProgram
from inertial_estimation.control.tasks import ComTask, ContactRestTask, PostureTask, TaskStack
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.stance_config import stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from support.control_robots import config_of

FRICTION = 0.6


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

    def tasks(self, state, rng: np.random.Generator, demand: float):
        """Return the posture and the other tasks."""
        n = self.robot.n_joints
        posture = PostureTask(
            state.q + demand * rng.standard_normal(n),
            np.zeros(n),
            np.zeros(n),
            np.full(n, 100.0),
            np.full(n, 20.0),
            np.ones(n),
        )
        rests = [
            ContactRestTask(c.name, rows, 20.0, 1000.0)
            for c, rows in zip(self.contacts, force_rows(self.contacts), strict=True)
        ]
        x, y = 30.0 * demand * rng.standard_normal(2)
        return posture, [ComTask((x, y), 10.0), *rests]

    def stack(self, state, posture, tasks):
        return TaskStack(state, ForceAxes(self.contacts).motions(state), tasks, posture)

    def solve(self, stack, loads, tau_max, tolerance=1e-8, force_weight=1e-3):
        builder = ProblemBuilder(
            self.contacts,
            self.dynamics.nv,
            self.robot.n_joints,
            np.full(self.robot.n_joints, tau_max),
            force_weight,
        )
        problem = builder.build(stack, loads)
        solver = SolverConfig(tolerance, max_iterations=1000, max_inner_iterations=1500)
        program = QuadraticProgram(builder.n, builder.n_base, builder.n_rows, solver)
        return builder, problem, program.solve(problem)

    def forces(self, builder, problem, x):
        """Return the forces of a solution, as many numbers as each contact transmits."""
        _, wrenches = builder.answer(problem, x)
        return [wrench[: c.dim] for c, wrench in zip(self.contacts, wrenches, strict=True)]
