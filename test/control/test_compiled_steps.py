"""Compiled functions of the controller against numpy and Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from support.program_scene import ProgramScene

from inertial_estimation.control.contact_constraints import ForceAxes, force_rows
from inertial_estimation.control.inverse_dynamics_problem import fill_objective, fill_rows, read_solution
from inertial_estimation.control.tasks.base_orientation import base_turn
from inertial_estimation.control.walking.feet import SolePlaces, inner_points

RNG = np.random.default_rng(5)


def rotation():
    return pin.exp3(RNG.standard_normal(3))


def python_source(function):
    """The function as it runs where nothing is compiled."""
    return getattr(function, "py_func", function)


def both_ways(function, *arguments):
    """Call a function compiled and as Python function; check that both write and return the same."""
    copies = [np.copy(value) if isinstance(value, np.ndarray) else value for value in arguments]
    returned = function(*arguments)
    np.testing.assert_allclose(np.ravel(python_source(function)(*copies) or ()), np.ravel(returned or ()))
    for one, other in zip(arguments, copies, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
    return returned


def test_motions_in_the_axes_of_a_sole_are_those_of_pinocchio():
    scene = ProgramScene("talos")
    _, state = scene.state(np.random.default_rng(2))
    found = ForceAxes(scene.contacts).motions(state)
    for motion, rows in zip(state.frames, force_rows(scene.contacts), strict=True):
        turned = np.kron(np.eye(2), motion.R_WF.T)
        np.testing.assert_allclose(found.jacobian[rows], turned @ motion.jacobian, atol=1e-14)
        np.testing.assert_allclose(found.velocity[rows], turned @ motion.velocity, atol=1e-13)
        np.testing.assert_allclose(found.drift[rows], turned @ motion.drift, atol=1e-13)


@pytest.mark.parametrize("name", ["talos", "hyq"])
def test_motions_of_frames_are_those_of_pinocchio(name):
    scene, axes = ProgramScene(name), pin.LOCAL_WORLD_ALIGNED
    base, state = scene.state(np.random.default_rng(4), spread=0.5)
    model, configuration = scene.robot.model, scene.robot.configuration(state.q)
    configuration[3:7] = base.quaternion_xyzw
    data = model.createData()
    pin.forwardKinematics(model, data, configuration, state.v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data, configuration)
    names = [*scene.frames, scene.robot.base_link]
    for frame, motion, place in zip(names, (*state.frames, state.base), state.places, strict=True):
        number = model.getFrameId(frame)
        T = pin.updateFramePlacement(model, data, number)
        np.testing.assert_allclose(motion.R_WF, T.rotation, atol=1e-14)
        np.testing.assert_allclose(motion.p_BF_W, T.translation, atol=1e-14)
        np.testing.assert_array_equal(place, [*motion.R_WF.ravel(), *motion.p_BF_W])
        velocity = pin.getFrameVelocity(model, data, number, axes)
        np.testing.assert_allclose(motion.velocity, velocity.vector, atol=1e-14)
        drift = pin.getFrameClassicalAcceleration(model, data, number, axes)
        np.testing.assert_allclose(motion.drift, drift.vector, atol=1e-13)
        J = pin.getFrameJacobian(model, data, number, axes)
        np.testing.assert_allclose(motion.jacobian, J, atol=1e-14)


def test_centres_and_corners_of_soles_are_those_of_their_frames():
    scene = ProgramScene("talos")
    _, state = scene.state(np.random.default_rng(8), spread=0.4)
    centres, corners = SolePlaces(scene.contacts, 0.02).now(state.places)
    expected = []
    for contact, motion, centre in zip(scene.contacts, state.frames, centres, strict=True):
        np.testing.assert_allclose(centre, motion.p_BF_W + motion.R_WF @ contact.centre_C, atol=1e-15)
        expected += [(motion.p_BF_W + motion.R_WF @ point)[:2] for point in inner_points(contact, 0.02)]
    np.testing.assert_allclose(corners, expected, atol=1e-15)
    soles = SolePlaces(scene.contacts, 0.02)
    np.testing.assert_array_equal(soles.standing(corners, (1.0, 0.3)), corners)
    np.testing.assert_array_equal(soles.standing(corners, (0.0, 1.0)), corners[4:])


def test_the_turn_of_the_base_is_that_of_its_angles():
    for _ in range(20):
        R, (roll, pitch, yaw) = rotation(), RNG.uniform(-1.2, 1.2, 3)
        rate, acceleration = RNG.standard_normal((2, 2))
        place = np.array([*R.ravel(), 0.0, 0.0, 0.0])
        error, w, dw = base_turn(place, roll, pitch, yaw, rate, acceleration)
        R_ref = pin.rpy.rpyToMatrix(roll, pitch, yaw)
        np.testing.assert_allclose(pin.exp3(np.array(error)) @ R, R_ref, atol=1e-9)
        jacobian = pin.rpy.computeRpyJacobian(np.array([roll, pitch, yaw]), pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(w, jacobian[:, :2] @ rate, atol=1e-12)
        np.testing.assert_allclose(dw, jacobian[:, :2] @ acceleration, atol=1e-12)


def test_programs_are_filled_alike_compiled_and_not():
    rng, nv, n_joints, k, r = np.random.default_rng(7), 10, 4, 9, 15
    n, m, base = nv + k, 5, nv - n_joints
    demand = np.column_stack((rng.integers(0, r + k, 7).astype(float), rng.standard_normal((7, 5))))
    loads, ends = np.array([[100.0, 900.0, 1.0], [0.0, 0.0, 0.0]]), np.array([0, 6, k])
    J, contact_J = rng.standard_normal((r, nv)), rng.standard_normal((k, nv))
    motions = (J, *rng.standard_normal((2, r)), contact_J, *rng.standard_normal((2, k)))
    posture = rng.standard_normal((8, n_joints))
    H, g = np.empty((n, n)), np.empty(n)
    both_ways(fill_objective, demand, *motions, *posture, np.ones(n), loads, ends, 0.1, H, g)
    np.testing.assert_allclose(H, H.T)
    M, h, unit, constant = (rng.standard_normal(shape) for shape in ((nv, nv), nv, k, (m, n)))
    A, C, limits = np.empty((base, n)), np.empty((m + n_joints, n)), np.empty((2, m + n_joints))
    tau_max = np.full(n_joints, 50.0)
    both_ways(fill_rows, M, h, contact_J, unit, tau_max, constant, loads, ends, A, C, *limits)
    forces = np.vstack((contact_J[:6], np.zeros((3, nv)))).T * unit
    np.testing.assert_allclose(np.vstack((A, C[m:])), np.hstack((M, -forces)), atol=1e-12)
    x, tau, wrenches = rng.standard_normal(n), np.empty(n_joints), np.empty((2, 6))
    both_ways(read_solution, x, C[m:], h[base:], np.full(n_joints, 0.5), unit, ends, tau, wrenches)
    np.testing.assert_allclose(tau, np.clip(C[m:] @ x + h[base:], -0.5, 0.5))
    f = x[nv:] * unit
    np.testing.assert_array_equal(wrenches, [f[:6], [*f[6:], 0.0, 0.0, 0.0]])
    assert limits[:, :m].tolist() == [[0.0] * 3 + [-np.inf] * 2, [np.inf] * 3 + [9.0, 0.0]]
