"""The inverse-dynamics program against oracles: KKT, recursive Newton-Euler, the limits it states."""

import numpy as np
import pinocchio as pin
import pytest
from support.control_robots import config_of

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.control.controller import inner_points
from inertial_estimation.control.inverse_dynamics import (
    FORCE_UNIT,
    FORCE_WEIGHT,
    ContactLoad,
    ProgramBuilder,
    QpSolver,
    make_contacts,
)
from inertial_estimation.control.tasks import Task, com_task, orientation_task, rest_task
from inertial_estimation.models.robot_config import StanceConfig, robot_from_config, stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics

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
        rests = map(rest_task, self.motions(state))
        posture = Task(np.eye(nv)[nv - n :], wanted, np.ones(n))
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


@pytest.fixture(scope="module", params=["talos", "hyq"])
def scene(request: pytest.FixtureRequest) -> ProgramScene:
    return ProgramScene(request.param)


def test_solution_without_active_limit_is_that_of_the_kkt_system(scene: ProgramScene) -> None:
    rng = np.random.default_rng(0)
    _, state = scene.state(rng)
    tasks = scene.tasks(state, rng, 0.01)
    builder, program, solution = scene.solve(state, tasks, scene.loads(200.0, 1e6), 1e6)
    assert solution.solved
    ground = program.C[: -scene.robot.n_joints] @ solution.x
    assert ground.min() > 0.0  # no limit is active: the equality-constrained solution is the solution
    n, m, _ = builder.size
    kkt = np.block([[program.H, program.A.T], [program.A, np.zeros((m, m))]])
    oracle = np.linalg.solve(kkt, np.concatenate([-program.g, program.b]))[:n]
    np.testing.assert_allclose(solution.x, oracle, atol=1e-4)


def test_hessian_is_the_sum_of_the_tasks_squares(scene: ProgramScene) -> None:
    rng = np.random.default_rng(1)
    _, state = scene.state(rng)
    tasks = scene.tasks(state, rng, 0.1)
    builder, program, _ = scene.solve(state, tasks, scene.loads(0.0, 1e6), 1e6)
    x, y = rng.standard_normal((2, builder.size[0]))

    def cost(z: np.ndarray) -> float:
        a, phi = z[: scene.dynamics.nv], z[scene.dynamics.nv :]
        return sum(float(np.sum(t.weight * (t.A @ a - t.b) ** 2)) for t in tasks) + FORCE_WEIGHT * (phi @ phi)

    quadratic = [z @ program.H @ z + 2.0 * program.g @ z for z in (x, y)]
    assert quadratic[0] - quadratic[1] == pytest.approx(cost(x) - cost(y), rel=1e-6)


def test_torques_forces_and_acceleration_obey_newton_and_euler(scene: ProgramScene) -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        base, state = scene.state(rng)
        tasks = scene.tasks(state, rng, 0.1)
        builder, program, solution = scene.solve(state, tasks, scene.loads(200.0, 2e3), 150.0)
        assert solution.solved
        q = scene.robot.configuration(state.q)
        q[3:7] = base.quaternion_xyzw
        model, a = scene.robot.model, solution.x[: scene.dynamics.nv]
        force = pin.rnea(model, model.createData(), q, state.v, a)
        force[6:] -= program.torques(solution.x)
        forces = scene.forces(builder, solution.x)
        for contact, frame, f in zip(scene.contacts, state.frames, forces, strict=True):
            wrench = (f.reshape(-1, 3) @ frame.R_WF.T).ravel() if contact.is_sole else f
            force -= frame.jacobian[: contact.dim].T @ wrench
        assert np.abs(force).max() < 1e-3


def test_friction_pressure_and_torque_limits_hold_under_any_demand_and_are_reached(scene) -> None:
    rng = np.random.default_rng(3)
    limit, tau_max = 900.0, 90.0
    for demand in (0.3, 1.0, 3.0, 10.0):
        _, state = scene.state(rng)
        tasks, loads = scene.tasks(state, rng, demand), scene.loads(200.0, limit)
        builder, program, solution = scene.solve(state, tasks, loads, tau_max, tolerance=1e-6)
        assert solution.solved
        largest = np.abs(program.torques(solution.x)).max()
        assert largest < tau_max + 1e-2
        for contact, f in zip(scene.contacts, scene.forces(builder, solution.x), strict=True):
            assert -1e-2 < f[2] < limit + 1e-2
            assert np.hypot(f[0], f[1]) <= FRICTION * f[2] + 1e-1
            if contact.is_sole and f[2] > 1.0:
                pressure = np.array([-f[4], f[3]]) / f[2]
                low, high = contact.points_C[:, :2].min(axis=0), contact.points_C[:, :2].max(axis=0)
                assert (pressure > low - 1e-3).all()
                assert (pressure < high + 1e-3).all()
    assert largest > tau_max - 0.1


def test_a_foot_that_may_carry_nothing_does_not_push_the_robot(scene):
    """Newton: the other feet carry everything that moves the centre of mass."""
    rng = np.random.default_rng(0)
    _, state = scene.state(rng)
    last = len(scene.contacts) - 1
    tasks = scene.tasks(state, rng, 0.05)[:-1]  # the last foot is free
    loads = [ContactLoad(200.0, 5e3)] * last + [ContactLoad(200.0, 0.0)]
    builder, _program, solution = scene.solve(state, tasks, loads, 500.0)
    assert solution.solved
    a = solution.x[: scene.dynamics.nv]
    axes = [f.R_WF if c.is_sole else np.eye(3) for c, f in zip(scene.contacts, state.frames, strict=True)]
    pushes = [R @ f[:3] for R, f in zip(axes, scene.forces(builder, solution.x), strict=True)]
    wanted = state.mass * (state.com_motion.jacobian @ a + state.com_motion.drift + [0.0, 0.0, 9.81])
    np.testing.assert_allclose(sum(pushes[:last]), wanted, atol=0.05)


def test_forces_within_the_robot_are_those_nearest_to_the_wanted_normal_forces(scene):
    """What moves nothing is left to the reference: the solution differs from it by no internal force."""
    rng = np.random.default_rng(1)
    _, state = scene.state(rng)
    wanted = np.full(len(scene.contacts), 100.0)
    wanted[[0, -1]] = 300.0, 400.0
    loads = [ContactLoad(force, 1e6) for force in wanted]
    builder, program, solution = scene.solve(state, scene.tasks(state, rng, 0.01), loads, 1e6)
    assert solution.solved
    nv = scene.dynamics.nv
    assert (program.C[: -scene.robot.n_joints] @ solution.x).min() > 0.0  # no limit is active
    reference = np.zeros(builder.size[0] - nv)
    ends = np.cumsum([0, *(contact.dim for contact in scene.contacts)])
    reference[ends[:-1] + 2] = wanted / FORCE_UNIT[2]
    B = program.A[:, nv:]
    internal = np.linalg.svd(B)[2][np.linalg.matrix_rank(B) :]
    np.testing.assert_allclose(internal @ (solution.x[nv:] - reference), 0.0, atol=1e-3)
    assert np.abs(internal @ reference).max() > 0.1  # there is something to follow


def test_a_program_that_is_not_finite_is_refused_and_the_next_one_solved(scene: ProgramScene) -> None:
    rng = np.random.default_rng(5)
    _, state = scene.state(rng)
    tasks, loads = scene.tasks(state, rng, 0.01), scene.loads(200.0, 1e4)
    builder, good, _ = scene.solve(state, tasks, loads, 1e3)
    tasks[1] = com_task(state, np.array([np.nan, 0.0]))
    solver = QpSolver(builder.size, 1e-6, (100, 100))
    assert solver.solve(builder.build(state, tasks, scene.motions(state), loads)).status == "not finite"
    assert solver.solve(good).solved


SOLE = (-0.05, 0.15, -0.08, 0.04)  # its centre is neither at the origin nor on an axis
SHARE = 2.0**-0.5 * FRICTION


@pytest.fixture(scope="module")
def sole():
    (contact,) = make_contacts(StanceConfig(soles=SOLE), ["foot"], FRICTION)
    return contact


def admissible(contact, force, spin, at):
    """Whether the ground can give a force at a point of the sole, and a torque about its normal."""
    torque = np.cross(at, force) + np.array([0.0, 0.0, spin])
    return bool((contact.cone @ np.concatenate((force, torque)) >= -1e-9).all())


def test_spin_is_bounded_about_the_middle_of_the_sole(sole):
    """A push through the middle spins nothing, however far the frame's origin is from it."""
    rng, centre = np.random.default_rng(2), np.array([0.05, -0.02, 0.0])
    np.testing.assert_allclose(sole.centre_C, centre)
    bound = SHARE * 0.06  # Coulomb friction at the shorter half side
    for _ in range(200):
        f_z = rng.uniform(10.0, 500.0)
        force = np.array([*(0.99 * SHARE * f_z * rng.uniform(-1.0, 1.0, 2)), f_z])
        assert admissible(sole, force, 0.0, centre)
        for side in (-1.0, 1.0):
            assert admissible(sole, force, side * 0.99 * bound * f_z, centre)
            assert not admissible(sole, force, side * 1.01 * bound * f_z, centre)


def test_pressure_is_bounded_by_the_edges_friction_by_the_force_and_the_ground_never_pulls(sole):
    force, (x0, x1, y0, y1) = np.array([0.0, 0.0, 100.0]), SOLE
    for x, y in ((x0, 0.0), (x1, 0.0), (0.0, y0), (0.0, y1)):
        assert admissible(sole, force, 0.0, np.array([0.999 * x, 0.999 * y, 0.0]))
        assert not admissible(sole, force, 0.0, np.array([1.05 * x, 1.05 * y, 0.0]))
    for axis in (0, 1):
        for share in (-1.0, 1.0):
            tangent = share * SHARE * 100.0 * np.eye(3)[axis]
            assert admissible(sole, force + 0.99 * tangent, 0.0, sole.centre_C)
            assert not admissible(sole, force + 1.01 * tangent, 0.0, sole.centre_C)
    assert not admissible(sole, np.array([0.0, 0.0, -1.0]), 0.0, sole.centre_C)


def test_margin_moves_the_edges_of_a_sole_inwards_and_never_past_its_middle(sole):
    x, y, _ = inner_points(sole).T
    np.testing.assert_allclose([x.min(), x.max(), y.min(), y.max()], [-0.035, 0.135, -0.065, 0.025])
    narrow = sole._replace(points_C=sole.points_C * [1.0, 0.1, 1.0], centre_C=sole.centre_C * [1.0, 0.1, 1.0])
    assert np.ptp(inner_points(narrow)[:, 1]) == pytest.approx(0.75 * np.ptp(narrow.points_C[:, 1]))


def test_the_acceleration_of_a_foot_is_that_of_pinocchio_in_the_axes_of_its_force(scene):
    """J a + J'v in the sole's own axes; a point's in those of the world."""
    rng = np.random.default_rng(3)
    base, state = scene.state(rng, spread=0.7)
    a = rng.standard_normal(scene.dynamics.nv)
    model = scene.robot.model
    q = scene.robot.configuration(state.q)
    q[3:7] = base.quaternion_xyzw
    data = model.createData()
    pin.forwardKinematics(model, data, q, state.v, a)
    for contact, motion, name in zip(scene.contacts, scene.motions(state), scene.frames, strict=True):
        axes = pin.LOCAL if contact.is_sole else pin.LOCAL_WORLD_ALIGNED
        frame = model.getFrameId(name)
        pin.updateFramePlacement(model, data, frame)
        expected = pin.getFrameClassicalAcceleration(model, data, frame, axes).vector[: contact.dim]
        np.testing.assert_allclose(motion.jacobian @ a + motion.drift, expected, atol=1e-9)
        velocity = pin.getFrameVelocity(model, data, frame, axes).vector[: contact.dim]
        np.testing.assert_allclose(motion.velocity, velocity, atol=1e-9)
        assert np.abs(motion.drift).max() > 0.1


def test_the_base_is_turned_by_its_angles_with_their_rates(scene):
    """Error, rate and acceleration of R(roll, pitch, yaw) are those of Pinocchio's functions of angles."""
    rng = np.random.default_rng(7)
    _, state = scene.state(rng, spread=0.7)
    for _ in range(10):
        angles, (rate, acceleration) = rng.uniform(-1.2, 1.2, 3), rng.standard_normal((2, 2))
        task = orientation_task(state, angles.tolist(), rate, acceleration, 100.0)
        jacobian = pin.rpy.computeRpyJacobian(angles, pin.LOCAL_WORLD_ALIGNED)[:, :2]
        error = pin.log3(pin.rpy.rpyToMatrix(*angles) @ state.base.R_WF.T)
        damped = 20.0 * (jacobian @ rate - state.base.velocity[3:])
        wanted = jacobian @ acceleration + 100.0 * error + damped - state.base.drift[3:]
        np.testing.assert_allclose(task.b, wanted, atol=1e-7)
