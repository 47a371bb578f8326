"""Bodies: motion from an IMU, centre of mass, mirror images; columns of loads and wrenches on them."""

import numpy as np
import pinocchio as pin
import pytest
from support.leg_robot import MODEL, NAMES, URDF

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.bodies import BodyPlacements, mirror_image
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.imu import ImuMount, ImuToBase
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import LinkInertia

GRAVITY = np.array([0.0, 0.0, -9.81])


def talos_with_an_imu_on_its_base():
    model = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"), floating_base=True).model
    placement = pin.SE3(pin.exp3(np.array([0.3, -0.5, 1.2])), np.array([0.1, -0.2, 0.3]))
    model.addFrame(pin.Frame("base_imu", 1, placement, pin.FrameType.OP_FRAME))
    return RobotModel(model)


@pytest.mark.parametrize("frame", ["base_link", "base_imu", "imu_link", "head_2_link", "left_sole_link"])
def test_motion_of_the_base_is_recovered_from_an_imu_on_any_link(frame):
    robot = talos_with_an_imu_on_its_base()
    model = robot.model
    rng = np.random.default_rng(3)
    q0, v0, a0 = pin.neutral(model), rng.normal(size=model.nv), rng.normal(size=model.nv)
    q0[7:] = rng.uniform(-0.5, 0.5, robot.n_joints)
    q0[3:7] = pin.Quaternion(pin.exp3(rng.normal(size=3))).coeffs()
    h = 1e-4

    def pose(t, frame_id):  # constant acceleration to second order
        q = pin.integrate(model, q0, v0 * t + 0.5 * a0 * t * t)
        data = model.createData()
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, frame_id).copy()

    def motion(frame_id):
        before, now, after = pose(-h, frame_id), pose(0.0, frame_id), pose(h, frame_id)
        acceleration = (after.translation - 2 * now.translation + before.translation) / h**2
        ahead, behind = (pin.log3(now.rotation.T @ p.rotation) for p in (after, before))
        rate, change = (ahead - behind) / (2 * h), (ahead + behind) / h**2
        return now.rotation.T @ (acceleration - GRAVITY), rate, change

    expected = motion(robot.frame_id("base_link"))
    joints = (q0[7:], v0[6:], a0[6:])
    found = ImuToBase(robot, ImuMount.on(robot, frame)).base_motion(joints, *motion(robot.frame_id(frame)))
    for value, truth in zip(found, expected, strict=True):
        assert np.allclose(value, truth, atol=2e-5)


ROBOT = RobotModel.from_urdf(URDF)
Q = np.random.default_rng(3).uniform(-1.0, 1.0, len(NAMES))


def test_nominal_centre_is_pinocchios() -> None:
    bodies = BodyPlacements(ROBOT)
    bodies.update(Q)
    expected = pin.centerOfMass(MODEL, MODEL.createData(), ROBOT.configuration(Q))
    np.testing.assert_allclose(bodies.com_B(), expected, atol=1e-12)


def test_a_heavier_link_pulls_the_centre_towards_itself() -> None:
    bodies = BodyPlacements(ROBOT)
    bodies.update(Q)
    data = MODEL.createData()
    pin.framesForwardKinematics(MODEL, data, ROBOT.configuration(Q))
    com_L = np.array([0.1, 0.2, 0.3])
    loaded = bodies.com_B([LinkInertia("arm", 1e9, com_L, np.eye(3))])
    np.testing.assert_allclose(loaded, data.oMf[MODEL.getFrameId("arm")].act(com_L), atol=1e-5)


S = np.diag([1.0, -1.0, 1.0])


def cloud_parameters(masses, points):
    """Parameters of point masses about the origin."""
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    moments = [inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.array([masses.sum(), *(masses @ points), *moments])


@pytest.mark.parametrize("left", ["arm_left_2_link", "arm_left_7_link", "leg_left_4_link", "leg_left_6_link"])
def test_the_map_mirrors_a_cloud_of_points_in_a_mirrored_posture(talos, left):
    right = left.replace("left", "right")
    image = mirror_image(talos, left, right)
    rng = np.random.default_rng(0)
    q = np.zeros(talos.n_joints)
    for j, name in enumerate(talos.joint_names):
        if "left" in name:
            other = talos.joint_index(name.replace("left", "right"))
            partner = name.replace("_joint", "_link")
            sign = 1.0
            if partner in talos.link_names:
                sign = mirror_image(talos, partner, partner.replace("left", "right")).joint_sign
            q[j] = rng.uniform(-0.5, 0.5)
            q[other] = sign * q[j]
    model, data = talos.model, talos.model.createData()
    pin.framesForwardKinematics(model, data, talos.configuration(q))
    T_l, T_r = (data.oMf[talos.frame_id(link)] for link in (left, right))
    masses, points_l = rng.uniform(0.1, 1.0, 12), rng.normal(size=(12, 3))
    points_r = np.array([T_r.actInv(S @ T_l.act(p)) for p in points_l])
    expected = cloud_parameters(masses, points_r)
    found = image.parameters @ cloud_parameters(masses, points_l)
    assert found == pytest.approx(expected, abs=5e-3 * np.abs(expected).max())


@pytest.mark.parametrize("right", ["leg_right_1_link", "arm_right_4_link"])
def test_other_links_are_no_mirror_images(talos, right):
    with pytest.raises(ConfigurationError, match=f"'arm_left_3_link' and '{right}' are no mirror images"):
        mirror_image(talos, "arm_left_3_link", right)


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
