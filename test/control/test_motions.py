"""Motions of frames and soles, and the turn of the base, against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from support.program_scene import ProgramScene

from inertial_estimation.control.contact_constraints import ForceAxes, force_rows
from inertial_estimation.control.tasks.base_orientation import base_turn
from inertial_estimation.control.walking.feet import SolePlaces, inner_points

RNG = np.random.default_rng(5)


def rotation():
    return pin.exp3(RNG.standard_normal(3))


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
