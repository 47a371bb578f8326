"""Terms of the measurement equation against Pinocchio's regressors and Jacobians, compiled as interpreted."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.compilation import warm_up
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.models import equation_terms, pinocchio_memory, row_covariance
from inertial_estimation.models.body_columns import BodyColumns, contact_placements
from inertial_estimation.models.body_reference import estimated_bodies
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.mass_matrix import MassMatrix
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel

ROBOTS = {
    "talos_reduced": ("torso_2_link", "arm_left_5_link", "base_link"),
    "panda": ("panda_link1", "panda_link4", "panda_link7"),
}


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


class Scene:
    """A robot at a random state, and what the terms are made from."""

    def __init__(self, name, seed=0):
        rng = np.random.default_rng(seed)
        self.robot = RobotModel.from_urdf(
            read_urdf(f"example-robot-data:{name}"), floating_base=name != "panda"
        )
        self.model = self.robot.model.copy()
        self.frames = ("left_sole_link", "right_sole_link") if self.robot.floating_base else ("panda_link8",)
        self.bodies = estimated_bodies(self.robot, ROBOTS[name])
        self.columns = BodyColumns(self.model, self.bodies)
        self.mass_matrix = MassMatrix(self.model, self.bodies)
        self.contacts = contact_placements(self.robot, [ContactFrames(f, f, f) for f in self.frames])
        self.q = self.robot.configuration(rng.uniform(-1.0, 1.0, self.robot.n_joints))
        self.v, self.a = rng.normal(size=(2, self.model.nv))
        self.tau = rng.normal(size=self.robot.n_joints)
        self.wrenches = rng.normal(size=6 * len(self.frames))
        self.M = self.mass_matrix.at(self.q)
        self.rest = self.columns.rest_torques(self.q, self.v, self.a)

    @property
    def inputs(self):
        kinematics = self.mass_matrix.Jt, self.mass_matrix.poses, *self.columns.motion
        return kinematics, self.columns.bodies, self.contacts, (self.rest, self.tau, self.wrenches)

    def outputs(self):
        n_v, more = self.model.nv, 4  # columns of friction follow, which are left alone
        shapes = (n_v, 10 * len(self.bodies) + more), (6 * len(self.frames), n_v), (2, n_v)
        return [np.full(shape, 7.0) for shape in shapes]


@pytest.mark.parametrize("name", ROBOTS)
def test_terms_are_those_of_pinocchio(name):
    scene = Scene(name)
    A, J_C, forces = scene.outputs()
    equation_terms.fill_terms(*scene.inputs, A, J_C, forces)
    model, data = scene.model, scene.model.createData()
    pin.rnea(model, data, scene.q, scene.v, scene.a)
    pin.computeJointJacobians(model, data, scene.q)
    for i, body in enumerate(scene.bodies):
        J = pin.getJointJacobian(model, data, body.joint_id, pin.LOCAL)
        expected = J.T @ pin.jointBodyRegressor(model, data, body.joint_id)
        np.testing.assert_allclose(A[:, 10 * i : 10 * i + 10], expected, rtol=1e-12, atol=1e-12)
    assert np.all(A[:, 10 * len(scene.bodies) :] == 7.0)
    pin.updateFramePlacements(model, data)
    ids = [scene.robot.frame_id(frame) for frame in scene.frames]
    expected = np.vstack([pin.getFrameJacobian(model, data, i, pin.LOCAL) for i in ids])
    np.testing.assert_allclose(J_C, expected, rtol=1e-12, atol=1e-13)
    applied = expected.T @ scene.wrenches
    applied[scene.robot.n_base :] += scene.tau
    np.testing.assert_allclose(forces[1], applied, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(forces[0], applied - scene.rest, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("frame", ["base_link", "head_2_link"])
def test_errors_of_an_imu_reach_the_rows_by_the_motion_of_the_base(frame):
    scene = Scene("talos_reduced")
    mount = ImuMount.on(scene.robot, frame)
    sensed = row_covariance.SensedAccelerations(mount)
    poses, Jt = scene.mass_matrix.poses, scene.mass_matrix.Jt
    found = sensed.effect(poses, Jt, scene.M)
    data = scene.model.createData()
    pin.computeJointJacobians(scene.model, data, scene.q)
    X_BI = (data.oMi[mount.joint_id] * mount.T_JI).toActionMatrix()
    expected = scene.M.copy()
    expected[:, :6] = scene.M[:, :6] @ X_BI
    moving = list(mount.moving)
    expected[:, moving] -= scene.M[:, :6] @ data.J[:, moving]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mass", [3.0, 0.0, -1.0, np.nan])
def test_the_mass_matrix_is_that_of_believed_bodies_and_of_nominal_ones_without_a_mass(mass):
    scene = Scene("talos_reduced")
    ball = pin.Inertia(abs(mass) if mass else 1.0, np.array([0.1, -0.2, 0.3]), 0.1 * np.eye(3))
    pi = np.concatenate([body.nominal_J.vector for body in scene.bodies])
    pi[:10] = ball.toDynamicParameters() if mass > 0.0 else 1.0
    pi[0] = mass
    model = scene.model.copy()
    if mass > 0.0:
        model.inertias[scene.bodies[0].joint_id] = ball
    expected = pin.crba(model, model.createData(), scene.q)
    np.testing.assert_allclose(scene.mass_matrix.at(scene.q, pi), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scene.mass_matrix.at(scene.q), scene.M)


def test_views_show_what_pinocchio_computes():
    scene = Scene("talos_reduced", seed=1)
    data = scene.mass_matrix.data
    v, a = scene.columns.motion
    own = scene.columns._data
    for j in range(scene.model.njoints):
        pose = data.oMi[j]
        np.testing.assert_array_equal(scene.mass_matrix.poses[j, :9].reshape(3, 3).T, pose.rotation)
        np.testing.assert_array_equal(scene.mass_matrix.poses[j, 9:], pose.translation)
        np.testing.assert_array_equal(v[j], own.v[j].vector)
        np.testing.assert_array_equal(a[j], own.a_gf[j].vector)


def test_memory_of_another_layout_is_refused():
    apart = [np.zeros(6), np.zeros(6)]
    with pytest.raises(ModelError, match="expected 48"):
        pinocchio_memory._rows(apart[0], apart[1], 2, 6)


@pytest.mark.parametrize("name", ROBOTS)
def test_compiled_functions_give_the_numbers_of_their_source(name):
    if not hasattr(equation_terms.fill_equation, "py_func"):
        pytest.skip("nothing is compiled here")
    scene = Scene(name, seed=2)
    picked = np.arange(0, scene.model.nv, 2)
    inertia = np.ascontiguousarray(scene.M[picked])
    mount = ImuMount.on(scene.robot, "head_2_link") if scene.robot.floating_base else None
    sensed = row_covariance.SensedAccelerations(mount)
    k, n_v, n_w = len(picked), scene.model.nv, 6 * len(scene.frames)
    sigmas = np.full(n_v, 0.2), np.full(n_w, 0.5), np.full(k, 2.0)
    found = []
    for fill in (equation_terms.fill_equation, equation_terms.fill_equation.py_func):
        more = [sensed.begun(inertia), np.full((n_w, k), 7.0), np.full((k, k), 7.0)]
        outputs = [*scene.outputs(), *more]
        fill(*scene.inputs, (picked, inertia), sensed.imu, sensed.moving, sigmas, *outputs)
        found.append(outputs)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[0][4], found[0][1][:, picked])
    assert np.linalg.eigvalsh(found[0][5]).min() >= 2.0 - 1e-9
