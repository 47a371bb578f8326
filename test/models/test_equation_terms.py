"""Terms of the equation of motion against Pinocchio's inverse dynamics, and against finite differences."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.body_reference import estimated_bodies
from inertial_estimation.models.equation_terms import EquationTerms
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel

ROBOTS = {
    "talos_reduced": ("torso_2_link", "arm_left_5_link", "base_link"),
    "panda": ("panda_link1", "panda_link4", "panda_link7"),
}


class Scene:
    """A robot at a random state, and its terms."""

    def __init__(self, name, imu=None):
        rng = np.random.default_rng(0)
        self.robot = RobotModel.from_urdf(
            read_urdf(f"example-robot-data:{name}"), floating_base=name != "panda"
        )
        self.model = self.robot.model.copy()
        if self.robot.floating_base:
            self.model.gravity.linear = np.zeros(3)
        self.frames = ("left_sole_link", "right_sole_link") if self.robot.floating_base else ("panda_link8",)
        self.bodies = estimated_bodies(self.robot, ROBOTS[name])
        self.mount = None if imu is None else ImuMount.on(self.robot, imu)
        contacts = [ContactFrames(frame, frame, frame) for frame in self.frames]
        self.terms = EquationTerms(self.robot, self.bodies, contacts, self.mount)
        self.q = self.robot.configuration(rng.uniform(-1.0, 1.0, self.robot.n_joints))
        self.v, self.a = rng.normal(size=(2, self.model.nv))
        self.terms.move_to(self.q)


@pytest.mark.parametrize("name", ROBOTS)
def test_columns_and_the_rest_add_up_to_the_inverse_dynamics_and_contacts_to_their_forces(name):
    scene = Scene(name)
    A, rest = scene.terms.columns(scene.q, scene.v, scene.a, scene.terms.size + 4)
    assert np.all(A[:, scene.terms.size :] == 0.0)
    data = scene.model.createData()
    expected = pin.rnea(scene.model, data, scene.q, scene.v, scene.a)
    np.testing.assert_allclose(A[:, : scene.terms.size] @ scene.terms.nominal + rest, expected, atol=1e-10)
    wrenches = np.random.default_rng(1).normal(size=(len(scene.frames), 6))
    forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(scene.model.njoints)])
    for frame, wrench in zip(scene.frames, wrenches, strict=True):
        at = scene.model.frames[scene.robot.frame_id(frame)]
        forces[at.parentJoint] += at.placement.act(pin.Force(wrench))
    carried = pin.rnea(scene.model, data, scene.q, scene.v, scene.a, forces)
    np.testing.assert_allclose(
        wrenches.ravel() @ scene.terms.contact_jacobians(), expected - carried, atol=1e-10
    )


@pytest.mark.parametrize("frame", ["base_link", "head_2_link"])
def test_errors_of_an_imu_reach_the_rows_by_the_motion_of_the_base(frame):
    scene = Scene("talos_reduced", imu=frame)
    M = scene.terms.mass_matrix(scene.q)
    found = scene.terms.by_sensed(M)
    data = scene.model.createData()
    imu = scene.robot.frame_id(frame)
    pin.computeJointJacobians(scene.model, data, scene.q)
    J = pin.getFrameJacobian(scene.model, data, imu, pin.LOCAL)  # motion of the IMU by base and joints
    # a_I = J a: with the sensed accelerations s = (a_I, a_joints) it is a = T s, so that forces are M T s
    T = np.eye(scene.model.nv)
    T[:6, :6] = np.linalg.inv(J[:, :6])
    T[:6, 6:] = -T[:6, :6] @ J[:, 6:]
    np.testing.assert_allclose(found, M @ T, atol=1e-9)
    pin.updateFramePlacements(scene.model, data)
    np.testing.assert_allclose(scene.terms.R_BI, data.oMf[imu].rotation, atol=1e-12)


@pytest.mark.parametrize("mass", [3.0, 0.0, -1.0, np.nan])
def test_the_mass_matrix_is_that_of_believed_bodies_and_of_nominal_ones_without_a_mass(mass):
    scene = Scene("talos_reduced")
    ball = pin.Inertia(abs(mass) if mass else 1.0, np.array([0.1, -0.2, 0.3]), 0.1 * np.eye(3))
    pi = np.concatenate([body.nominal_J.vector for body in scene.bodies])
    pi[:10] = ball.toDynamicParameters() if mass > 0.0 else 1.0
    pi[0] = mass
    model = scene.model.copy()
    nominal = pin.crba(model, model.createData(), scene.q)
    if mass > 0.0:
        model.inertias[scene.bodies[0].joint_id] = ball
    expected = pin.crba(model, model.createData(), scene.q)
    np.testing.assert_allclose(scene.terms.mass_matrix(scene.q, pi), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scene.terms.mass_matrix(scene.q), nominal, rtol=1e-12, atol=1e-12)
