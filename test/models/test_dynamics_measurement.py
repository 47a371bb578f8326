"""The measurement equation against inverse dynamics with gravity and a moving base, for every row set."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.dynamics_measurement import (
    ANGULAR_ACCELERATION,
    PROPER_ACCELERATION,
    DynamicsMeasurement,
    EquationTerms,
    MeasuredState,
)
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.models.imu import ImuMount, ImuToBase
from inertial_estimation.models.measurement_rows import MeasurementNoise, RowsConfig
from inertial_estimation.spatial.inertial_parameters import InertialParameters

FEET = (
    ContactFrames("left", "left_sole_link", "left_sole_link"),
    ContactFrames("right", "right_sole_link", "right_sole_link"),
)
LINKS = ("torso_2_link", "arm_left_5_link", "leg_left_4_link")


def simulated(robot, contacts, rng, *, point=False):
    """Random motion of a robot whose links differ from nominal; torques from RNEA with real gravity."""
    model = robot.model.copy()
    links = {}
    for j in range(1, model.njoints):
        model.inertias[j] = pin.Inertia(
            model.inertias[j].mass * rng.uniform(0.5, 2.0) + 0.1,
            model.inertias[j].lever + rng.normal(0, 0.02, 3),
            model.inertias[j].inertia * rng.uniform(0.5, 2.0) + 1e-3 * np.eye(3),
        )
        links[j] = InertialParameters.from_pinocchio(model.inertias[j])
    q_joints = rng.uniform(-0.5, 0.5, robot.n_joints)
    v, a = rng.normal(size=(2, model.nv))
    q = robot.configuration(q_joints)
    if robot.floating_base:
        q[:3], q[3:7] = rng.normal(size=3), pin.Quaternion(pin.exp3(rng.normal(size=3))).coeffs()
    tau = pin.rnea(model, model.createData(), q, v, a)
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    frames = [robot.frame_id(contact.wrench_frame) for contact in contacts]
    used = 3 if point else 6
    wrenches = np.zeros((len(contacts), 6))
    if contacts:  # the base is not actuated: contacts carry its rows; the null space is random
        J = np.vstack([pin.getFrameJacobian(model, data, f, pin.LOCAL)[:used] for f in frames])
        guess = 10.0 * rng.normal(size=len(J))
        guess += np.linalg.lstsq(J[:, :6].T, tau[:6] - J[:, :6].T @ guess, rcond=None)[0]
        wrenches[:, :used] = guess.reshape(len(contacts), used)
        tau = tau - J.T @ guess
        assert np.abs(tau[:6]).max() < 1e-9
    state = MeasuredState(
        q_joints, v[robot.n_base :], a[robot.n_base :], tau[robot.n_base :], wrenches=wrenches
    )
    if robot.floating_base:
        R_WB = pin.Quaternion(q[3:7]).matrix()
        f_B = a[:3] + np.cross(v[3:6], v[:3]) + R_WB.T @ [0, 0, 9.81]
        state = MeasuredState(state.q, state.v, state.a, state.tau, f_B, v[3:6], a[3:6], wrenches)
    return state, links, tau


def true_vector(robot, bodies, links):
    return np.concatenate([links[body.joint_id].vector for body in bodies])


def all_links(robot):
    names = []
    for j in range(1, robot.model.njoints):
        names.append(next(f.name for f in robot.model.frames if f.parentJoint == j and f.type == pin.BODY))
    return tuple(names)


@pytest.mark.parametrize(
    ("base", "joints", "mode"),
    [
        (True, ("*",), "measured"),
        (True, (), "measured"),
        (False, ("arm_left_*", "torso_*"), "measured"),
        (True, ("*",), "projected"),
        (True, ("leg_*",), "projected"),
    ],
)
def test_true_parameters_leave_no_residual_in_any_row_set(talos, base, joints, mode):
    rng = np.random.default_rng(1)
    bodies = estimated_bodies(talos, all_links(talos))
    measurement = DynamicsMeasurement(talos, bodies, RowsConfig(base, joints, mode), MeasurementNoise(), FEET)
    for _ in range(5):
        state, links, _tau = simulated(talos, FEET, rng)
        equation = measurement.equation(state)
        residual = equation.value - equation.regressor @ true_vector(talos, bodies, links)
        assert len(equation.value) == len(measurement.row_names) > 0
        assert np.abs(residual).max() < 1e-8
        assert np.abs(equation.regressor).max() > 0.1


@pytest.mark.parametrize("mode", ["measured", "projected"])
def test_point_feet_of_a_quadruped_leave_no_residual(hyq, mode):
    rng = np.random.default_rng(2)
    feet = tuple(ContactFrames(name, f"{name}_foot", f"{name}_foot") for name in ("lf", "rf", "lh", "rh"))
    bodies = estimated_bodies(hyq, all_links(hyq))
    rows = RowsConfig(True, ("*",), mode, point_contacts=True)
    measurement = DynamicsMeasurement(hyq, bodies, rows, MeasurementNoise(), feet)
    state, links, _tau = simulated(hyq, feet, rng, point=True)
    equation = measurement.equation(state)
    residual = equation.value - equation.regressor @ true_vector(hyq, bodies, links)
    assert np.abs(residual).max() < 1e-8


def test_a_fixed_arm_uses_the_same_code(panda):
    rng = np.random.default_rng(3)
    bodies = estimated_bodies(panda, all_links(panda))
    measurement = DynamicsMeasurement(panda, bodies, RowsConfig(), MeasurementNoise())
    state, links, tau = simulated(panda, (), rng)
    equation = measurement.equation(state)
    assert np.allclose(equation.regressor @ true_vector(panda, bodies, links), tau, atol=1e-10)
    assert measurement.row_names == panda.joint_names


def test_bodies_not_estimated_enter_with_their_nominal_inertia(talos):
    rng = np.random.default_rng(4)
    few = estimated_bodies(talos, LINKS)
    rows = RowsConfig(True, ("*",), "measured")
    state, _links, _tau = simulated(talos, FEET, rng)
    every = estimated_bodies(talos, all_links(talos))
    nominal = lambda bodies: np.concatenate([b.nominal_J.vector for b in bodies])  # noqa: E731
    equations = [
        DynamicsMeasurement(talos, b, rows, MeasurementNoise(), FEET).equation(state) for b in (few, every)
    ]
    residuals = [e.value - e.regressor @ nominal(b) for e, b in zip(equations, (few, every), strict=True)]
    assert np.allclose(residuals[0], residuals[1], atol=1e-8)


@pytest.mark.parametrize("frame", ["imu_link", "base_link", "head_2_link"])
def test_noise_of_an_imu_reaches_the_base_through_the_joints_in_between(talos, frame):
    """R equals the sum over unit errors of IMU and joint accelerations, each taken to the base anew."""
    rng = np.random.default_rng(9)
    bodies = estimated_bodies(talos, LINKS)
    noise = MeasurementNoise(base_force=1e-6, base_moment=1e-6, torque=1e-6, joint_acceleration=0.5)
    rows = RowsConfig(contact_wrenches="none")
    measurement = DynamicsMeasurement(talos, bodies, rows, noise, imu=ImuMount.on(talos, frame))
    imu, n = ImuToBase(talos, ImuMount.on(talos, frame)), talos.n_joints
    nominal = np.concatenate([body.nominal_J.vector for body in bodies])
    q, v = rng.uniform(-0.5, 0.5, (2, n))
    w_I = rng.normal(size=3)

    def residual(sensed):
        f_B, w_B, wd_B = imu.base_motion((q, v, sensed[6:]), sensed[:3], w_I, sensed[3:6])
        equation = measurement.equation(MeasuredState(q, v, sensed[6:], np.zeros(n), f_B, w_B, wd_B))
        return equation.value - equation.regressor @ nominal, equation.noise

    sensed = rng.normal(size=6 + n)
    centre, R = residual(sensed)
    sigmas = np.array(3 * [PROPER_ACCELERATION] + 3 * [ANGULAR_ACCELERATION] + n * [0.5])
    changes = np.array([residual(sensed + error)[0] - centre for error in np.diag(sigmas)])
    assert np.allclose(changes.T @ changes, R, atol=1e-8 * np.abs(R).max())


def test_mistakes_are_named(talos):
    with pytest.raises(ConfigurationError, match=r"no joint matches .elbow.*leg_left_1_joint.*20 more"):
        RowsConfig(True, ("elbow",)).resolved(talos, ())
    with pytest.raises(ConfigurationError, match="cannot be freed of 2"):
        RowsConfig(True, ("head_*",), "projected").resolved(talos, FEET)


@pytest.mark.parametrize("name", ["panda", "talos"])
def test_friction_that_grows_with_the_load_follows_the_nominal_torque_less_what_contacts_carry(name, request):
    robot, rng = request.getfixturevalue(name), np.random.default_rng(3)
    feet = FEET if robot.floating_base else ()
    state, _links, _tau = simulated(robot, feet, rng)
    v = state.v if not robot.floating_base else np.concatenate((np.zeros(3), state.w_B, state.v))
    a = state.a if not robot.floating_base else np.concatenate((state.f_B, state.wd_B, state.a))
    model, q = robot.model.copy(), robot.configuration(state.q)
    if robot.floating_base:
        model.gravity.linear = np.zeros(3)
    data = model.createData()
    load = pin.rnea(model, data, q, v, a)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    for contact, wrench in zip(feet, state.wrenches, strict=True):
        load -= pin.getFrameJacobian(model, data, robot.frame_id(contact.wrench_frame), pin.LOCAL).T @ wrench
    expected = np.tanh(state.v / 0.5) * np.abs(load[robot.n_base :])
    mode = "measured" if feet else "none"
    last = robot.n_joints - 1
    names = robot.joint_names
    friction = FrictionModel.of((names[0], names[last]), ("coulomb_load",), names, 0.5)
    values = {f"{name}/coulomb_load": 0.1 for name in robot.joint_names}
    known = FrictionModel.of_values(robot.joint_names, values, 0.5)
    rows, bodies = RowsConfig(contact_wrenches=mode), estimated_bodies(robot, all_links(robot)[-2:])
    with_both, without = (
        DynamicsMeasurement(robot, bodies, rows, MeasurementNoise(), feet, friction, known_friction=one)
        for one in (known, None)
    )
    found, plain = with_both.equation(state), without.equation(state)
    columns = np.zeros((robot.model.nv, 2))
    columns[robot.n_base, 0], columns[-1, 1] = expected[0], expected[last]
    np.testing.assert_allclose(found.regressor[:, -2:], columns, atol=1e-9)
    np.testing.assert_allclose(
        (plain.value - found.value)[robot.n_base :], 0.1 * expected, atol=1e-9, err_msg="known friction"
    )


def test_what_is_projected_tells_as_much_as_a_sensor_without_any_accuracy(talos):
    """Information about the parameters, against measured wrenches of a huge variance."""
    bodies = estimated_bodies(talos, LINKS)
    state, _links, _tau = simulated(talos, FEET, np.random.default_rng(4))
    found = []
    for mode in ("projected", "measured"):
        rows = RowsConfig(contact_wrenches=mode)
        equation = DynamicsMeasurement(talos, bodies, rows, MeasurementNoise(), FEET).equation(state)
        J = equation.paths.contacts
        R = equation.noise + (1e8 * J.T @ J if mode == "measured" else 0.0)
        weighted = equation.regressor.T @ np.linalg.inv(R)
        found.append((weighted @ equation.regressor, weighted @ equation.value))
    for projected, unsure in zip(*found, strict=True):
        np.testing.assert_allclose(projected, unsure, atol=1e-5 * np.abs(unsure).max())


@pytest.mark.parametrize("mass", [3.0, 0.0, np.nan])
def test_the_mass_matrix_is_that_of_believed_bodies_and_of_nominal_ones_without_a_mass(talos, mass):
    bodies = estimated_bodies(talos, ("torso_2_link", "arm_left_5_link"))
    terms, model = EquationTerms(talos, bodies), talos.model.copy()
    q = talos.configuration(np.random.default_rng(0).uniform(-1.0, 1.0, talos.n_joints))
    ball = pin.Inertia(abs(mass) if mass else 1.0, np.array([0.1, -0.2, 0.3]), 0.1 * np.eye(3))
    pi = np.concatenate([body.nominal_J.vector for body in bodies])
    pi[:10] = ball.toDynamicParameters() if mass > 0.0 else 1.0
    pi[0] = mass
    nominal = pin.crba(model, model.createData(), q)
    if mass > 0.0:
        model.inertias[bodies[0].joint_id] = ball
    expected = pin.crba(model, model.createData(), q)
    np.testing.assert_allclose(terms.mass_matrix(q, pi), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(terms.mass_matrix(q), nominal, rtol=1e-12, atol=1e-12)
