"""The inverse-dynamics program against oracles: KKT, recursive Newton-Euler, the limits it states."""

import numpy as np
import pinocchio as pin
import pytest
from support.program_scene import FRICTION, ProgramScene

from inertial_estimation.control.contact_constraints import Contact
from inertial_estimation.control.controller_config import SolverConfig
from inertial_estimation.control.inverse_dynamics_problem import ContactDemand
from inertial_estimation.control.quadratic_program import QuadraticProgram
from inertial_estimation.models.whole_body_dynamics import FrameMotion
from inertial_estimation.signals import Array

pytest.importorskip("example_robot_data")


@pytest.fixture(scope="module", params=["talos", "hyq"])
def scene(request: pytest.FixtureRequest) -> ProgramScene:
    return ProgramScene(request.param)


def world_wrench(contact: Contact, motion: FrameMotion, force: Array) -> Array:
    """Force and torque about the contact's origin in world axes [N, Nm], shape (6,)."""
    if not contact.is_sole:
        return np.concatenate((force, np.zeros(3)))
    wrench: Array = (force.reshape(2, 3) @ motion.R_WF.T).reshape(6)
    return wrench


def loads(scene: ProgramScene, share: float, limit: float) -> list[ContactDemand]:
    return [ContactDemand(share, limit) for _ in scene.contacts]


def test_solution_without_active_limit_is_that_of_the_kkt_system(scene: ProgramScene) -> None:
    rng = np.random.default_rng(0)
    _, state = scene.state(rng)
    wide = loads(scene, 200.0, 1e6)
    builder, problem, solution = scene.solve(scene.stack(state, *scene.tasks(state, rng, 0.01)), wide, 1e6)
    assert solution.solved
    force_rows = problem.C[: -scene.robot.n_joints] @ solution.x
    assert force_rows.min() > 0.0  # no limit is active: the equality-constrained solution is the solution
    n, m = builder.n, builder.n_base
    kkt = np.block([[problem.H, problem.A.T], [problem.A, np.zeros((m, m))]])
    oracle = np.linalg.solve(kkt, np.concatenate([-problem.g, problem.b]))[:n]
    np.testing.assert_allclose(solution.x, oracle, atol=1e-4)


def test_hessian_is_the_sum_of_the_tasks_squares(scene: ProgramScene) -> None:
    rng = np.random.default_rng(1)
    _, state = scene.state(rng)
    builder, problem, _ = scene.solve(
        scene.stack(state, *scene.tasks(state, rng, 0.1)), loads(scene, 0.0, 1e6), 1e6
    )
    x, y = rng.standard_normal((2, builder.n))

    def cost(z: np.ndarray) -> float:
        total = 0.0
        for rows in problem.tasks.rows.values():
            a = z[: builder.n - sum(c.dim for c in scene.contacts)]
            reached = a[-len(rows.b) :] if rows.A is None else rows.A @ a
            total += float(rows.weight @ (reached - rows.b) ** 2)
        return total + 1e-3 * float(np.sum(z[len(a) :] ** 2))

    quadratic = [z @ problem.H @ z + 2.0 * problem.g @ z for z in (x, y)]
    assert quadratic[0] - quadratic[1] == pytest.approx(cost(x) - cost(y), rel=1e-6)


def test_torques_forces_and_acceleration_obey_newton_and_euler(scene: ProgramScene) -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        base, state = scene.state(rng)
        builder, problem, solution = scene.solve(
            scene.stack(state, *scene.tasks(state, rng, 0.1)), loads(scene, 200.0, 2e3), 150.0
        )
        assert solution.solved
        robot = scene.robot
        configuration = robot.configuration(state.q)
        configuration[3:7] = base.quaternion_xyzw
        nv = scene.dynamics.nv
        tau = problem.tau_rows @ solution.x + problem.tau_offset
        data = robot.model.createData()
        force = pin.rnea(robot.model, data, configuration, state.v, solution.x[:nv])
        force[6:] -= tau
        forces = scene.forces(builder, problem, solution.x)
        for contact, motion, f in zip(scene.contacts, state.frames, forces, strict=True):
            force -= motion.jacobian.T @ world_wrench(contact, motion, f)
        assert np.abs(force).max() < 1e-3


def test_friction_pressure_and_torque_limits_hold_under_any_demand(scene: ProgramScene) -> None:
    rng = np.random.default_rng(3)
    limit, tau_max = 900.0, 90.0
    for demand in (0.3, 1.0, 3.0, 10.0):
        _, state = scene.state(rng)
        builder, problem, solution = scene.solve(
            scene.stack(state, *scene.tasks(state, rng, demand)),
            loads(scene, 200.0, limit),
            tau_max,
            tolerance=1e-6,
        )
        assert solution.solved
        tau = problem.tau_rows @ solution.x + problem.tau_offset
        assert np.abs(tau).max() < tau_max + 1e-2
        for contact, f in zip(scene.contacts, scene.forces(builder, problem, solution.x), strict=True):
            assert -1e-2 < f[2] < limit + 1e-2
            assert np.hypot(f[0], f[1]) <= FRICTION * f[2] + 1e-1
            if contact.is_sole and f[2] > 1.0:
                pressure = np.array([-f[4], f[3]]) / f[2]
                low, high = contact.points_C[:, :2].min(axis=0), contact.points_C[:, :2].max(axis=0)
                assert (pressure > low - 1e-3).all()
                assert (pressure < high + 1e-3).all()


def test_limits_were_reached_by_those_demands(scene: ProgramScene) -> None:
    rng = np.random.default_rng(3)
    _, state = scene.state(rng)
    _, problem, solution = scene.solve(
        scene.stack(state, *scene.tasks(state, rng, 10.0)), loads(scene, 200.0, 900.0), 90.0
    )
    tau = problem.tau_rows @ solution.x + problem.tau_offset
    assert np.abs(tau).max() > 89.9


def test_a_foot_in_the_air_carries_nothing() -> None:
    talos, rng = ProgramScene("talos"), np.random.default_rng(4)
    _, state = talos.state(rng)
    posture, tasks = talos.tasks(state, rng, 0.05)
    builder, problem, solution = talos.solve(
        talos.stack(state, posture, tasks[:2]),  # the second foot is free
        [ContactDemand(880.0, 2e3), ContactDemand(0.0, 0.0, in_contact=False)],
        300.0,
    )
    assert solution.solved
    left, right = talos.forces(builder, problem, solution.x)
    assert np.abs(right).max() < 1e-2
    assert left[2] > 300.0


def test_a_program_that_is_not_finite_is_refused_and_the_next_one_solved(scene: ProgramScene) -> None:
    rng = np.random.default_rng(5)
    _, state = scene.state(rng)
    posture, tasks = scene.tasks(state, rng, 0.01)
    builder, good, _ = scene.solve(scene.stack(state, posture, tasks), loads(scene, 200.0, 1e4), 1e3)
    tasks[0].acceleration = (np.nan, 0.0)
    bad = builder.build(scene.stack(state, posture, tasks), loads(scene, 200.0, 1e4))
    program = QuadraticProgram(builder.n, builder.n_base, builder.n_rows, SolverConfig(1e-6, 100))
    assert program.solve(bad).status == "not finite"
    assert program.solve(good).solved


def test_iterations_exhausted_is_said(scene: ProgramScene) -> None:
    rng = np.random.default_rng(6)
    _, state = scene.state(rng)
    builder, problem, _ = scene.solve(
        scene.stack(state, *scene.tasks(state, rng, 10.0)), loads(scene, 200.0, 900.0), 30.0
    )
    program = QuadraticProgram(builder.n, builder.n_base, builder.n_rows, SolverConfig(1e-10, 1))
    assert program.solve(problem).status == "iterations exhausted"
