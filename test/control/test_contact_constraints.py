"""What the ground can give, and what is asked of it: feet in the air, internal forces, spin, drift."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from support.control_robots import TICK_NS, home, pipeline_of, push_state
from support.program_scene import FRICTION, ProgramScene

from inertial_estimation.control.contact_constraints import ForceAxes, force_rows, make_contacts
from inertial_estimation.control.control_result import ControlState
from inertial_estimation.control.inverse_dynamics_problem import FORCE_UNIT, ContactDemand
from inertial_estimation.models.stance_config import StanceConfig

pytest.importorskip("example_robot_data")


@pytest.fixture(scope="module", params=["talos", "hyq"])
def scene(request):
    return ProgramScene(request.param)


@pytest.mark.parametrize("load", [ContactDemand(200.0, 0.0), ContactDemand(200.0, 1e4, in_contact=False)])
def test_neither_a_limit_of_zero_nor_a_foot_without_contact_pushes_the_robot(scene, load):
    """Newton: the other feet carry everything that moves the centre of mass."""
    rng = np.random.default_rng(0)
    _, state = scene.state(rng)
    last = len(scene.contacts) - 1
    posture, tasks = scene.tasks(state, rng, 0.05)
    tasks = [task for task in tasks if scene.contacts[last].name not in task.name]
    loads = [ContactDemand(200.0, 5e3)] * last + [load]
    builder, problem, solution = scene.solve(scene.stack(state, posture, tasks), loads, 500.0)
    assert solution.solved
    a = solution.x[: scene.dynamics.nv]
    axes = [m.R_WF if c.is_sole else np.eye(3) for c, m in zip(scene.contacts, state.frames, strict=True)]
    forces = scene.forces(builder, problem, solution.x)
    pushes = [R @ f[:3] for R, f in zip(axes, forces, strict=True)]
    wanted = state.mass * (state.rows.jacobian[:3] @ a + state.rows.drift[:3] + [0.0, 0.0, 9.81])
    np.testing.assert_allclose(sum(pushes[:last]), wanted, atol=0.05)
    if load.in_contact:
        assert np.abs(pushes[last]).max() < 0.05


def test_forces_within_the_robot_are_those_nearest_to_the_wanted_normal_forces(scene):
    """What moves nothing is left to the reference: the solution differs from it by no internal force."""
    rng = np.random.default_rng(1)
    _, state = scene.state(rng)
    wanted = np.full(len(scene.contacts), 100.0)
    wanted[[0, -1]] = 300.0, 400.0
    loads = [ContactDemand(force, 1e6) for force in wanted]
    builder, problem, solution = scene.solve(scene.stack(state, *scene.tasks(state, rng, 0.01)), loads, 1e6)
    assert solution.solved
    n_forces = builder.n - scene.dynamics.nv
    assert (problem.C[: -scene.robot.n_joints] @ solution.x).min() > 0.0  # no limit is active
    reference = np.zeros(n_forces)
    ends = np.cumsum([0, *(contact.dim for contact in scene.contacts)])
    reference[ends[:-1] + 2] = wanted / FORCE_UNIT[2]
    B = problem.A[:, scene.dynamics.nv :]
    internal = np.linalg.svd(B)[2][np.linalg.matrix_rank(B) :]
    difference = internal @ (solution.x[scene.dynamics.nv :] - reference)
    np.testing.assert_allclose(difference, 0.0, atol=1e-3)
    assert np.abs(internal @ reference).max() > 0.1  # there is something to follow


SOLE = (-0.05, 0.15, -0.08, 0.04)  # its centre is neither at the origin nor on an axis


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
    share = 2.0**-0.5 * FRICTION
    bound = share * 0.06  # Coulomb friction at the shorter half side
    for _ in range(200):
        f_z = rng.uniform(10.0, 500.0)
        force = np.array([*(0.99 * share * f_z * rng.uniform(-1.0, 1.0, 2)), f_z])
        assert admissible(sole, force, 0.0, centre)
        for side in (-1.0, 1.0):
            assert admissible(sole, force, side * 0.99 * bound * f_z, centre)
            assert not admissible(sole, force, side * 1.01 * bound * f_z, centre)


def test_the_centre_of_pressure_is_bounded_by_the_edges_of_the_sole(sole):
    force = np.array([0.0, 0.0, 100.0])
    x0, x1, y0, y1 = SOLE
    for inside, outside in (((x0, 0.0), (-0.01, 0.0)), ((x1, 0.0), (0.01, 0.0))):
        point = np.array([*inside, 0.0])
        assert admissible(sole, force, 0.0, 0.999 * point)
        assert not admissible(sole, force, 0.0, point + np.array([*outside, 0.0]))
    for y, step in ((y0, -0.01), (y1, 0.01)):
        assert admissible(sole, force, 0.0, np.array([0.0, 0.999 * y, 0.0]))
        assert not admissible(sole, force, 0.0, np.array([0.0, y + step, 0.0]))


def test_friction_is_bounded_and_the_ground_never_pulls(sole):
    middle, limit = sole.centre_C, 2.0**-0.5 * FRICTION
    for axis in (0, 1):
        for side in (-1.0, 1.0):
            force = np.array([0.0, 0.0, 100.0])
            force[axis] = side * 0.99 * limit * 100.0
            assert admissible(sole, force, 0.0, middle)
            force[axis] = side * 1.01 * limit * 100.0
            assert not admissible(sole, force, 0.0, middle)
    assert not admissible(sole, np.array([0.0, 0.0, -1.0]), 0.0, middle)


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
    motions = ForceAxes(scene.contacts).motions(state)
    places = force_rows(scene.contacts)
    for contact, rows, name in zip(scene.contacts, places, scene.frames, strict=True):
        axes = pin.LOCAL if contact.is_sole else pin.LOCAL_WORLD_ALIGNED
        frame = model.getFrameId(name)
        pin.updateFramePlacement(model, data, frame)
        expected = pin.getFrameClassicalAcceleration(model, data, frame, axes).vector[: contact.dim]
        np.testing.assert_allclose(motions.jacobian[rows] @ a + motions.drift[rows], expected, atol=1e-9)
        velocity = pin.getFrameVelocity(model, data, frame, axes).vector[: contact.dim]
        np.testing.assert_allclose(motions.velocity[rows], velocity, atol=1e-9)
        assert np.abs(motions.drift[rows]).max() > 0.1


class FeetLifted:
    """A gait that takes feet off the ground and is the standing one otherwise."""

    def __init__(self, gait, lifted):
        self._gait, self._lifted = gait, lifted

    def __getattr__(self, name):
        return getattr(self._gait, name)

    def target(self, *args, **options):
        target = self._gait.target(*args, **options)
        capacity = tuple(0.0 if i in self._lifted else c for i, c in enumerate(target.capacity))
        return replace(target, capacity=capacity)


@pytest.mark.parametrize("lifted", [(0, 2), (1, 3)], ids=["left", "right"])
def test_feet_without_capacity_get_no_force_though_the_robot_falls_to_their_side(lifted):
    """Both feet of a side are lifted: every task would gain by pushing with them."""
    pipeline = pipeline_of("hyq")
    controller = pipeline.controller
    controller.gait = FeetLifted(controller.gait, lifted)
    push_state(pipeline, TICK_NS, home(pipeline))
    pipeline.tick(TICK_NS)
    wrenches = pipeline.last.wrenches_C
    assert pipeline.last.state is ControlState.CONTROL
    assert np.abs(wrenches[list(lifted)]).max() < 0.5
    assert np.delete(wrenches, lifted, axis=0)[:, 2].min() > 20.0
