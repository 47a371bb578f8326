"""Terms of the dynamics against recursive Newton-Euler, differences and a loaded model."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.predicted_forces import PredictedForces, gravity_columns
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.whole_body_dynamics import BaseMotion, DynamicsState, WholeBodyDynamics
from inertial_estimation.signals import LinkInertia

FRAMES = ("left_sole_link", "right_sole_link")
STEP = 1e-6


@pytest.fixture(scope="module")
def motion(talos) -> tuple[np.ndarray, np.ndarray]:
    """A random configuration of the whole robot and its velocity."""
    rng = np.random.default_rng(0)
    q = pin.integrate(talos.model, pin.neutral(talos.model), 0.4 * rng.standard_normal(talos.model.nv))
    q[:3] = 0.0
    return q, rng.standard_normal(talos.model.nv)


def compute(dynamics: WholeBodyDynamics, q: np.ndarray, v: np.ndarray) -> DynamicsState:
    base = BaseMotion(q[3:7], v[:3], v[3:6])
    return dynamics.compute(base, dynamics.robot.joint_positions(q), v[6:])


def test_rotors_add_to_the_joints_alone(talos, motion) -> None:
    plain = compute(WholeBodyDynamics(talos, FRAMES), *motion)
    geared = compute(WholeBodyDynamics(talos, FRAMES, armature=0.2), *motion)
    added = np.diag(np.r_[np.zeros(6), np.full(talos.n_joints, 0.2)])
    np.testing.assert_allclose(geared.M - plain.M, added, atol=1e-12)


def test_velocities_and_drifts_are_derivatives(talos, motion) -> None:
    q, v = motion
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


def test_replaced_inertia_is_that_of_a_model_with_the_load_attached(talos, motion) -> None:
    link = "arm_left_5_link"
    body = talos.link_body(link)
    load = pin.Inertia(4.0, np.array([0.03, 0.0, -0.1]), np.diag([0.02, 0.025, 0.015]))
    loaded = talos.model.copy()
    loaded.appendBodyToJoint(body.joint_id, load, body.T_JL)
    whole = body.T_JL.actInv(body.nominal_J) + load  # the link's body with the load, in the link's frame
    dynamics = WholeBodyDynamics(talos, FRAMES)
    dynamics.set_inertias({link: LinkInertia(link, whole.mass, whole.lever, whole.inertia)})
    q, v = motion
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
