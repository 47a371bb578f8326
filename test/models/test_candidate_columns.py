"""Columns of loads and wrenches against inverse dynamics of a robot that carries or feels them."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.models.candidate_columns import CandidateColumns

LINKS = ("base_link", "torso_2_link", "arm_left_5_link", "leg_right_6_link")


@pytest.fixture(scope="module")
def motion(talos):
    rng = np.random.default_rng(0)
    model = talos.model.copy()
    model.gravity.linear = np.zeros(3)
    q = talos.configuration(rng.uniform(-1, 1, talos.n_joints))
    v, a = rng.normal(size=(2, model.nv))
    v[:3] = 0.0
    return model, q, v, a


@pytest.mark.parametrize("index", range(len(LINKS)))
def test_a_point_mass_changes_inverse_dynamics_by_its_columns(talos, motion, index):
    model, q, v, a = motion
    candidates = CandidateColumns(talos, LINKS)
    body = talos.link_body(LINKS[index])
    mass, point_L = 2.3, np.array([0.03, -0.04, 0.1])
    loaded = model.copy()
    loaded.appendBodyToJoint(body.joint_id, pin.Inertia(mass, point_L, np.zeros((3, 3))), body.T_JL)
    change = pin.rnea(loaded, loaded.createData(), q, v, a) - pin.rnea(model, model.createData(), q, v, a)
    r = body.T_JL.act(point_L) - body.nominal_J.lever
    amplitude = mass * np.array([1.0, *r])
    # The inertia of a point about the centre of mass is quadratic in r and has no column.
    about = mass * (r @ r * np.eye(3) - np.outer(r, r))
    second = np.concatenate((np.zeros(4), about[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]))
    Y = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a)
    block = Y[:, 10 * (body.joint_id - 1) : 10 * body.joint_id]
    explained = candidates.at(q, v, a).loads[index] @ amplitude + block @ second
    np.testing.assert_allclose(explained, change, atol=1e-9)
    found_mass, found_point = candidates.load_in_link(index, amplitude)
    assert found_mass == mass
    np.testing.assert_allclose(found_point, point_L, atol=1e-12)


def test_the_spread_of_a_body_is_that_of_points_with_its_inertia(talos):
    candidates = CandidateColumns(talos, LINKS)
    for i, link in enumerate(LINKS):
        inertia = talos.link_body(link).nominal_J
        spread = candidates.spreads[i]
        about_com = inertia.mass * (np.trace(spread) * np.eye(3) - spread)
        np.testing.assert_allclose(about_com, inertia.inertia, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("index", range(len(LINKS)))
def test_a_force_on_a_point_changes_the_rows_by_its_columns(talos, motion, index):
    """The robot feels the force, so the torques its model explains become smaller by J' f."""
    model, q, v, a = motion
    candidates = CandidateColumns(talos, LINKS)
    force_L, point_L = np.array([10.0, -20.0, 5.0]), np.array([0.02, 0.05, -0.1])
    frame = talos.frame_id(LINKS[index])
    data = model.createData()
    J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
    effect = -J.T @ np.concatenate((force_L, np.cross(point_L, force_L)))
    causes = candidates.at(q, v, a)
    pin.framesForwardKinematics(model, data, q)
    R_BL = data.oMf[frame].rotation
    body = talos.link_body(LINKS[index])
    com_L = body.T_JL.actInv(body.nominal_J.lever)
    wrench = np.concatenate((R_BL @ force_L, R_BL @ np.cross(point_L - com_L, force_L)))
    np.testing.assert_allclose(causes.wrenches[index] @ wrench, effect, atol=1e-10)
    force, torque, point = candidates.wrench_in_link(index, wrench, causes.R_BJ[index])
    np.testing.assert_allclose(force, force_L, atol=1e-12)
    np.testing.assert_allclose(torque, np.cross(point_L, force_L), atol=1e-12)
    along = np.cross(point - point_L, force_L)
    np.testing.assert_allclose(along, 0.0, atol=1e-10)  # on the line of action


def test_columns_of_chosen_rows_are_those_of_all_rows(talos, motion):
    _model, q, v, a = motion
    candidates, rows = CandidateColumns(talos, LINKS), np.array([0, 5, 7, 20])
    chosen, whole = candidates.at(q, v, a, rows), candidates.at(q, v, a)
    for name in ("loads", "weights", "wrenches"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(whole, name)[:, rows])


def test_weights_are_the_loads_of_a_robot_at_rest(talos, motion):
    _model, q, v, a = motion
    candidates = CandidateColumns(talos, LINKS)
    still = np.zeros_like(a)
    still[:3] = 9.80665 * a[:3] / np.linalg.norm(a[:3])
    moving = candidates.at(q, v, a)
    np.testing.assert_allclose(moving.weights, candidates.at(q, np.zeros_like(v), still).loads, atol=1e-12)
    assert np.abs(moving.weights - moving.loads).max() > 0.1
