"""Bodies: motion from an IMU, centre of mass, mirror images, columns of loads; whole-body dynamics."""

import numpy as np
import pinocchio as pin
import pytest
from support.leg_robot import MODEL, NAMES, URDF

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.bodies import (
    BodyPlacements,
    BodyReference,
    carries_loads,
    estimated_bodies,
    mirror_image,
)
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.imu import ImuMount, ImuToBase
from inertial_estimation.models.predicted_forces import PredictedForces, gravity_columns
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.whole_body_dynamics import BaseMotion, DynamicsState, WholeBodyDynamics
from inertial_estimation.signals import LinkInertia
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

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


def test_the_centre_of_mass_is_pinocchios_also_with_another_body_of_a_link() -> None:
    bodies, loaded = BodyPlacements(ROBOT), MODEL.copy()
    bodies.update(Q)
    joint, arm = MODEL.getJointId("elbow"), pin.Inertia(5.0, np.array([0.1, 0.2, 0.3]), np.eye(3))
    loaded.inertias[joint] = arm
    for model, others in ((MODEL, []), (loaded, [LinkInertia("arm", arm.mass, arm.lever, arm.inertia)])):
        expected = pin.centerOfMass(model, model.createData(), ROBOT.configuration(Q))
        np.testing.assert_allclose(bodies.com_B(others), expected, atol=1e-12)


@pytest.mark.parametrize("link", ["torso_2_link", "arm_left_5_link"])
def test_coordinates_of_a_body_are_about_its_centre_in_units_of_its_size(talos, link):
    body, described = BodyReference.of_link(talos, link), talos.link_body(link)
    in_link = described.T_JL.actInv(described.nominal_J).toDynamicParameters()
    np.testing.assert_allclose(body.to_joint @ body.nominal_C, body.nominal_J.vector, atol=1e-12)
    np.testing.assert_allclose(body.to_link @ body.nominal_C, in_link, atol=1e-9)
    np.testing.assert_allclose(body.from_joint @ body.to_joint, np.eye(10), atol=1e-12)
    np.testing.assert_allclose(body.nominal_C[1:4], 0.0, atol=1e-12)
    assert np.trace(pseudo_inertia(body.nominal_C)[:3, :3]) == pytest.approx(body.nominal_C[0])


def test_loads_are_carried_by_trunks_and_by_the_last_body_of_a_limb(talos):
    bodies = estimated_bodies(talos, ("torso_2_link", "arm_left_5_link", "arm_left_7_link"))
    assert [carries_loads(talos, body, bodies) for body in bodies] == [True, False, True]
    assert carries_loads(talos, bodies[1], bodies[:2])


S = np.diag([1.0, -1.0, 1.0])


def cloud_parameters(masses, points):
    """Parameters of point masses about the origin."""
    bodies = (pin.Inertia(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True))
    return sum(body.toDynamicParameters() for body in bodies)


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


def test_weights_are_the_loads_of_a_robot_at_rest(talos, motion):
    _model, q, v, a = motion
    candidates = CandidateColumns(talos, LINKS)
    still = np.zeros_like(a)
    still[:3] = 9.80665 * a[:3] / np.linalg.norm(a[:3])
    moving = candidates.at(q, v, a)
    np.testing.assert_allclose(moving.weights, candidates.at(q, np.zeros_like(v), still).loads, atol=1e-12)
    assert np.abs(moving.weights - moving.loads).max() > 0.1


FRAMES = ("left_sole_link", "right_sole_link")
STEP = 1e-6


@pytest.fixture(scope="module")
def moving(talos) -> tuple[np.ndarray, np.ndarray]:
    """A random configuration of the whole robot and its velocity."""
    rng = np.random.default_rng(0)
    q = pin.integrate(talos.model, pin.neutral(talos.model), 0.4 * rng.standard_normal(talos.model.nv))
    q[:3] = 0.0
    return q, rng.standard_normal(talos.model.nv)


def compute(dynamics: WholeBodyDynamics, q: np.ndarray, v: np.ndarray) -> DynamicsState:
    base = BaseMotion(q[3:7], v[:3], v[3:6])
    return dynamics.compute(base, dynamics.robot.joint_positions(q), v[6:])


def test_rotors_add_to_the_joints_alone(talos, moving) -> None:
    plain = compute(WholeBodyDynamics(talos, FRAMES), *moving)
    geared = compute(WholeBodyDynamics(talos, FRAMES, armature=0.2), *moving)
    added = np.diag(np.r_[np.zeros(6), np.full(talos.n_joints, 0.2)])
    np.testing.assert_allclose(geared.M - plain.M, added, atol=1e-12)


def test_velocities_and_drifts_are_derivatives(talos, moving) -> None:
    q, v = moving
    dynamics = WholeBodyDynamics(talos, FRAMES)
    state = compute(dynamics, q, v)
    before, after = (compute(dynamics, pin.integrate(talos.model, q, s * STEP * v), v) for s in (-1.0, 1.0))
    for frame, earlier, later in zip(
        (*state.frames, state.base), (*before.frames, before.base), (*after.frames, after.base), strict=True
    ):
        np.testing.assert_allclose(frame.jacobian @ v, frame.velocity, atol=1e-12)
        np.testing.assert_allclose((later.velocity - earlier.velocity) / (2 * STEP), frame.drift, atol=1e-6)
        turned = pin.log3(later.R_WF @ earlier.R_WF.T) / (2 * STEP)
        np.testing.assert_allclose(turned, frame.velocity[3:], atol=1e-6)
    np.testing.assert_allclose(
        (after.com_motion.velocity - before.com_motion.velocity) / (2 * STEP),
        state.com_motion.drift,
        atol=1e-6,
    )
    np.testing.assert_allclose(state.com_motion.jacobian @ v, state.com_motion.velocity, atol=1e-12)


def test_replaced_inertia_is_that_of_a_model_with_the_load_attached(talos, moving) -> None:
    link = "arm_left_5_link"
    body = talos.link_body(link)
    load = pin.Inertia(4.0, np.array([0.03, 0.0, -0.1]), np.diag([0.02, 0.025, 0.015]))
    loaded = talos.model.copy()
    loaded.appendBodyToJoint(body.joint_id, load, body.T_JL)
    whole = body.T_JL.actInv(body.nominal_J) + load  # the link's body with the load, in the link's frame
    dynamics = WholeBodyDynamics(talos, FRAMES)
    dynamics.set_inertias({link: LinkInertia(link, whole.mass, whole.lever, whole.inertia)})
    q, v = moving
    state = compute(dynamics, q, v)
    a = np.random.default_rng(2).standard_normal(talos.model.nv)
    oracle = pin.rnea(loaded, loaded.createData(), q, v, a)
    np.testing.assert_allclose(state.M @ a + state.h, oracle, atol=1e-10)
    assert state.mass == pytest.approx(talos.total_mass + 4.0)
    np.testing.assert_allclose(state.com, pin.centerOfMass(loaded, loaded.createData(), q), atol=1e-12)


@pytest.mark.parametrize("j", [0, 3, 6])
def test_levers_are_slopes_of_the_torque_of_a_joint_by_the_centre_of_mass_it_moves(j):
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:panda"), floating_base=False)
    rng, still = np.random.default_rng(j), np.zeros(robot.n_joints)
    q, shift = rng.standard_normal(robot.n_joints), 1e-3 * rng.standard_normal(3)
    data, moved = robot.model.createData(), robot.model.copy()
    pin.computeSubtreeMasses(robot.model, data)
    own = moved.inertias[j + 1]
    moved.inertias[j + 1] = pin.Inertia(
        own.mass, own.lever + data.mass[j + 1] / own.mass * shift, own.inertia
    )
    before, after = (
        pin.rnea(m, m.createData(), robot.configuration(q), still, still) for m in (robot.model, moved)
    )
    forces = PredictedForces(robot)
    forces.at(q, still, still, None)
    assert (after - before)[j] == pytest.approx(forces.levers()[j] @ shift, abs=1e-12)


def test_torques_of_gravity_of_any_direction_are_those_of_inverse_dynamics():
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:panda"), floating_base=False)
    rng, model = np.random.default_rng(1), robot.model.copy()
    q, model.gravity.linear = rng.standard_normal(robot.n_joints), rng.standard_normal(3)
    torques = pin.computeGeneralizedGravity(model, model.createData(), robot.configuration(q))
    np.testing.assert_allclose(gravity_columns(robot, q) @ model.gravity.linear, torques, atol=1e-12)
