"""The measurement equation against inverse dynamics with gravity and a moving base, for every row set."""

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.candidate_columns import CandidateColumns
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
from inertial_estimation.models.predicted_forces import GeometrySlopes, PredictedForces, gravity_columns
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.spatial.inertial_parameters import InertialParameters

FEET = (
    ContactFrames("left", "left_sole_link", "left_sole_link"),
    ContactFrames("right", "right_sole_link", "right_sole_link"),
)
LINKS = ("torso_2_link", "arm_left_5_link", "leg_left_4_link")
MEASURED = RowsConfig(True, ("*",), "measured")


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
    joints = q_joints, v[robot.n_base :], a[robot.n_base :], tau[robot.n_base :]
    if not robot.floating_base:
        return MeasuredState(*joints, wrenches=wrenches), links
    f_B = a[:3] + np.cross(v[3:6], v[:3]) + pin.Quaternion(q[3:7]).matrix().T @ [0, 0, 9.81]
    return MeasuredState(*joints, f_B, v[3:6], a[3:6], wrenches), links


def nominal_vector(bodies):
    return np.concatenate([body.nominal_J.vector for body in bodies])


def every_body(robot):
    return estimated_bodies(robot, robot.links_matching(("*",), "'links'"))


LEGS = ("lf", "rf", "lh", "rh")
HYQ_FEET = tuple(ContactFrames(f"{leg}_foot", f"{leg}_foot", f"{leg}_foot") for leg in LEGS)
POINTS = {"point_contacts": True}


@pytest.mark.parametrize(
    ("name", "contacts", "rows"),
    [
        ("talos", FEET, RowsConfig(True, ("*",), "measured")),
        ("talos", FEET, RowsConfig(True, (), "measured")),
        ("talos", FEET, RowsConfig(False, ("arm_left_*", "torso_*"), "measured")),
        ("talos", FEET, RowsConfig(True, ("*",), "projected")),
        ("talos", FEET, RowsConfig(True, ("leg_*",), "projected")),
        ("hyq", HYQ_FEET, RowsConfig(True, ("*",), "measured", **POINTS)),
        ("hyq", HYQ_FEET, RowsConfig(True, ("*",), "projected", **POINTS)),
        ("panda", (), RowsConfig()),
    ],
)
def test_true_parameters_leave_no_residual_in_any_row_set(request, name, contacts, rows):
    robot, rng = request.getfixturevalue(name), np.random.default_rng(1)
    bodies = every_body(robot)
    measurement = DynamicsMeasurement(robot, bodies, rows, MeasurementNoise(), contacts)
    for _ in range(3):
        state, links = simulated(robot, contacts, rng, point=rows.point_contacts)
        equation = measurement.equation(state)
        residual = equation.value - equation.regressor @ np.concatenate(
            [links[b.joint_id].vector for b in bodies]
        )
        assert len(equation.value) == len(measurement.row_names) > 0
        assert np.abs(residual).max() < 1e-8
        assert np.abs(equation.regressor).max() > 0.1
    if not contacts:
        assert measurement.row_names == robot.joint_names
        np.testing.assert_allclose(measurement.proper_acceleration(state), [0.0, 0.0, 9.81])  # one g upwards


def test_bodies_not_estimated_enter_with_their_nominal_inertia(talos):
    state, _links = simulated(talos, FEET, np.random.default_rng(4))
    residuals = []
    for bodies in (estimated_bodies(talos, LINKS), every_body(talos)):
        measurement = DynamicsMeasurement(talos, bodies, MEASURED, MeasurementNoise(), FEET)
        equation = measurement.equation(state)
        residuals.append(equation.value - equation.regressor @ nominal_vector(bodies))
    np.testing.assert_allclose(*residuals, atol=1e-8)


@pytest.mark.parametrize("frame", ["imu_link", "base_link", "head_2_link"])
def test_noise_of_an_imu_reaches_the_base_through_the_joints_in_between(talos, frame):
    """R equals the sum over unit errors of IMU and joint accelerations, each taken to the base anew."""
    rng = np.random.default_rng(9)
    bodies = estimated_bodies(talos, LINKS)
    noise = MeasurementNoise(base_force=1e-6, base_moment=1e-6, torque=1e-6, joint_acceleration=0.5)
    rows = RowsConfig(contact_wrenches="none")
    measurement = DynamicsMeasurement(talos, bodies, rows, noise, imu=ImuMount.on(talos, frame))
    imu, n = ImuToBase(talos, ImuMount.on(talos, frame)), talos.n_joints
    nominal = nominal_vector(bodies)
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


@pytest.mark.parametrize("name", ["panda", "talos"])
def test_friction_that_grows_with_the_load_follows_the_nominal_torque_less_what_contacts_carry(name, request):
    robot, rng = request.getfixturevalue(name), np.random.default_rng(3)
    feet = FEET if robot.floating_base else ()
    state, _links = simulated(robot, feet, rng)
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
    last, names = robot.n_joints - 1, robot.joint_names
    friction = FrictionModel.of((names[0], names[last]), ("coulomb_load",), names, 0.5)
    known = FrictionModel.of_values(names, {f"{name}/coulomb_load": 0.1 for name in names}, 0.5)
    rows = RowsConfig(contact_wrenches="measured" if feet else "none")
    bodies = every_body(robot)[-2:]
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
    state, _links = simulated(talos, FEET, np.random.default_rng(4))
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
    pi = nominal_vector(bodies)
    pi[:10] = ball.toDynamicParameters() if mass > 0.0 else 1.0
    pi[0] = mass
    nominal = pin.crba(model, model.createData(), q)
    if mass > 0.0:
        model.inertias[bodies[0].joint_id] = ball
    expected = pin.crba(model, model.createData(), q)
    for phi, M in ((pi, expected), (None, nominal)):
        terms.move_to(q, phi)
        np.testing.assert_allclose(terms.mass_matrix, M, rtol=1e-12, atol=1e-12)


SENSORS = (pin.SE3(pin.exp3(np.array([0.4, -0.2, 1.0])), np.array([0.02, 0.03, 0.1])),) * 2
NOISE = MeasurementNoise(
    torque=0.3, base_force=0.7, base_moment=0.4, contact_force=2.0, joint_acceleration=0.2
)
MODES = {
    "all rows": MEASURED,
    "base rows": RowsConfig(True, (), "measured"),
    "some joint rows": RowsConfig(False, ("leg_left_*", "torso_*"), "measured"),
    "projected": RowsConfig(True, ("leg_*",), "projected"),
}


@cache
def talos_with_sensors():
    """With force sensors that are turned and moved against the soles."""
    model = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"), floating_base=True).model
    for side, placement in zip(("left", "right"), SENSORS, strict=True):
        sole = model.frames[model.getFrameId(f"{side}_sole_link")]
        at = sole.placement * placement
        model.addFrame(pin.Frame(f"{side}_sensor", sole.parentJoint, at, pin.FrameType.OP_FRAME))
    return RobotModel(model)


CONTACTS = tuple(ContactFrames(side, f"{side}_sole_link", f"{side}_sensor") for side in ("left", "right"))


def random_state(rng, n, many=(), contacts=2):
    q = rng.uniform(-0.5, 0.5, (*many, n))
    v, a, tau = rng.normal(size=(3, *many, n))
    f_B, w_B, wd_B = rng.normal(size=(3, *many, 3))
    wrenches = 10.0 * rng.normal(size=(*many, contacts, 6))
    return MeasuredState(q, v, a, tau, f_B + np.array([0.0, 0.0, 9.81]), w_B, wd_B, wrenches)


def taken(state, index):
    """One of many states; with None the same state as the only one of many."""
    names = ("q", "v", "a", "tau", "f_B", "w_B", "wd_B", "wrenches")
    return replace(state, **{name: getattr(state, name)[index] for name in names})


def unit_errors(state):
    """Every input of the state moved by its sigma, one after the other."""
    sigmas = {
        "tau": np.full(len(state.q), NOISE.torque),
        "a": np.full(len(state.q), NOISE.joint_acceleration),
        "f_B": np.full(3, PROPER_ACCELERATION),
        "wd_B": np.full(3, ANGULAR_ACCELERATION),
        "wrenches": np.tile(
            3 * [NOISE.contact_force] + 3 * [NOISE.contact_moment(talos_with_sensors())], (len(CONTACTS), 1)
        ),
    }
    for name, sigma in sigmas.items():
        for i in range(sigma.size):
            error = np.zeros(sigma.size)
            error[i] = sigma.ravel()[i]
            yield replace(state, **{name: getattr(state, name) + error.reshape(sigma.shape)})


def moved_by_base_forces(paths):
    """Unmodelled forces on the base are no input: the change one makes is that of its row, then projected."""
    sigma = np.array(3 * [NOISE.base_force] + 3 * [NOISE.base_moment])
    change = sigma * (paths.picked[:, None] == np.arange(6))
    return change if paths.projection is None else paths.projection.T @ change


@pytest.mark.parametrize("rows", MODES.values(), ids=MODES)
def test_covariance_is_the_sum_over_errors_of_every_input(rows):
    rng, robot = np.random.default_rng(0), talos_with_sensors()
    bodies = estimated_bodies(robot, ("torso_2_link", "arm_left_5_link"))
    nominal = nominal_vector(bodies)
    present = nominal + np.tile(pin.Inertia.FromSphere(3.0, 0.1).toDynamicParameters(), 2)
    measurement = DynamicsMeasurement(robot, bodies, rows, NOISE, CONTACTS)
    state = random_state(rng, robot.n_joints)

    def residual(at):
        equation = measurement.equation(at)
        return equation.value - equation.regressor @ present

    centre = residual(state)
    changes = [residual(moved) - centre for moved in unit_errors(state)]
    changes += list(moved_by_base_forces(measurement.equation(state).paths).T)
    expected = np.array(changes).T @ np.array(changes)
    R = measurement.equation(state, present).noise
    np.testing.assert_allclose(R, expected, atol=1e-8 * np.abs(expected).max())
    assert np.abs(measurement.equation(state, nominal).noise - R).max() > 1e-3 * np.abs(R).max()
    assert np.linalg.eigvalsh(R).min() > 0.0


@pytest.mark.parametrize("rows", MODES.values(), ids=MODES)
def test_a_load_in_the_rows_is_what_its_body_takes_more(rows):
    """Also where rows are projected; at rest it presses as the force of its weight does."""
    robot, links = talos_with_sensors(), ("torso_2_link", "arm_left_5_link")
    bodies, candidates = estimated_bodies(robot, links), CandidateColumns(robot, links)
    measurement = DynamicsMeasurement(robot, bodies, rows, NOISE, CONTACTS)
    state = random_state(np.random.default_rng(3), robot.n_joints)
    equation = measurement.equation(state)
    causes = measurement.causes(candidates, state, equation.paths.projection)
    down = -9.80665 * state.f_B / np.linalg.norm(state.f_B)
    for k, body in enumerate(bodies):
        of_body = equation.regressor[:, 10 * k : 10 * k + 10]
        ball = pin.Inertia(2.0, np.array(body.nominal_J.com_F), np.zeros((3, 3)))
        np.testing.assert_allclose(
            of_body @ ball.toDynamicParameters(), 2.0 * causes.loads[k][:, 0], atol=1e-9
        )
        np.testing.assert_allclose(causes.weights[k][:, 0], causes.wrenches[k][:, :3] @ down, atol=1e-9)


def test_where_all_bodies_are_estimated_they_explain_all_that_is_measured():
    robot = talos_with_sensors()
    measurement = DynamicsMeasurement(robot, every_body(robot), MEASURED, NOISE, CONTACTS)
    state = random_state(np.random.default_rng(5), robot.n_joints)
    equation = measurement.equation(state)
    np.testing.assert_allclose(equation.value, equation.measured, atol=1e-9)
    hanging = measurement.equation(replace(state, wrenches=None))
    np.testing.assert_array_equal(hanging.measured, [*np.zeros(6), *state.tau])
    np.testing.assert_array_equal(measurement.proper_acceleration(state), state.f_B)
    unmeasured = measurement.equation(replace(state, tau=None))
    pressed = equation.paths.contacts.T @ state.wrenches.ravel()
    np.testing.assert_allclose(unmeasured.measured, pressed, atol=1e-9)


def test_a_motor_that_overcomes_known_friction_leaves_the_same_equation():
    """The torque sensor of a robot that rubs shows more; what is left for the bodies is the same."""
    robot, rng = talos_with_sensors(), np.random.default_rng(2)
    terms = ("coulomb", "viscous", "offset", "armature")
    values = dict(zip(terms, rng.uniform(0.5, 2.0, (4, 4)), strict=True))
    named = {f"{j}/{term}": v for term, row in values.items() for j, v in zip(robot.joint_names, row)}  # noqa: B905
    known = FrictionModel.of_values(robot.joint_names, named, 1e-6)
    bodies = estimated_bodies(robot, ("torso_2_link",))
    state = random_state(rng, robot.n_joints)
    v, a, rubbing = state.v[:4], state.a[:4], np.zeros(robot.n_joints)
    signals = np.sign(v), v, np.ones(4), a
    rubbing[:4] = sum(values[term] * signal for term, signal in zip(terms, signals, strict=True))
    sent = replace(state, tau=state.tau + rubbing)
    expected = DynamicsMeasurement(robot, bodies, MEASURED, NOISE, CONTACTS).equation(state).value
    rough = DynamicsMeasurement(robot, bodies, MEASURED, NOISE, CONTACTS, known_friction=known)
    estimating = DynamicsMeasurement(robot, bodies, MEASURED, NOISE, CONTACTS, known)
    for equation in (estimating.equation(sent), estimating.rows(taken(sent, None))):
        value = equation.value - equation.regressor[..., 10:] @ known.nominal_values
        np.testing.assert_allclose(np.squeeze(value), expected, atol=1e-10)
    np.testing.assert_allclose(rough.equation(sent).value, expected, atol=1e-10)
    np.testing.assert_allclose(rough.rows(taken(sent, None)).value[0], expected, atol=1e-10)


@pytest.mark.parametrize("mode", ["measured", "projected", "none"])
@pytest.mark.parametrize("links", [("trunk",), ("trunk", "lf_upperleg", "rh_lowerleg", "rf_hipassembly")])
def test_rows_are_those_of_the_equation(hyq, mode, links):
    friction = FrictionModel.of(hyq.joint_names[:5:4], ("coulomb", "viscous", "armature"), hyq.joint_names)
    bodies, selection = estimated_bodies(hyq, links), RowsConfig(contact_wrenches=mode, **POINTS)
    measurement = DynamicsMeasurement(hyq, bodies, selection, MeasurementNoise(), HYQ_FEET, friction)
    states = random_state(np.random.default_rng(0), hyq.n_joints, (5,), contacts=4)
    rows = measurement.rows(states)
    for i in range(5):
        equation = measurement.equation(taken(states, i))
        A, value, measured = rows.regressor[i], rows.value[i], rows.measured[i]
        if rows.basis is not None:
            N = rows.basis[i]
            assert pytest.approx(A, abs=1e-10) == N @ (N.T @ A)
            A, value, measured = N.T @ A, N.T @ value, N.T @ measured
        assert pytest.approx(equation.regressor, abs=1e-9) == A
        assert value == pytest.approx(equation.value, abs=1e-9)
        assert measured == pytest.approx(equation.measured, abs=1e-9)


def test_noise_that_is_not_stated_follows_from_the_robot_and_stated_noise_does_not():
    heavy, light = talos_with_sensors(), RobotModel.from_urdf(read_urdf("example-robot-data:go2"))
    arm = RobotModel.from_urdf(read_urdf("example-robot-data:ur5_robot"), floating_base=False)
    largest = MeasurementNoise().for_robot(heavy)
    assert (largest.torque, largest.base_force, largest.base_moment) == (0.5, 2.0, 1.0)
    small = MeasurementNoise().for_robot(light)
    assert small.base_force / largest.base_force == pytest.approx(light.total_mass / 80.0)
    assert small.torque / small.base_force < largest.torque / largest.base_force  # a shorter lever, too
    # its weight takes 61 Nm at the shoulder (8.4 kg at 0.28 m, 2.3 kg at 0.68 m, 2.6 kg at 0.85 m); the chain
    # is longer by the lateral offsets of its links
    assert 0.5 * 0.61 < MeasurementNoise().for_robot(arm).torque < 1.4 * 0.5 * 0.61
    stated = MeasurementNoise(0.1, 0.0, 0.3, 0.0, 0.0)
    assert stated.for_robot(light) == stated.for_robot(arm) == stated


def test_a_robot_of_one_joint_has_forces_levers_and_slopes():
    arm = link_xml("arm", 2.0, com="0 0 -0.5")
    robot = RobotModel.from_urdf(
        robot_xml(link_xml("base"), arm, joint_xml("swing", "base", "arm")), floating_base=False
    )
    forces, angle, zero = PredictedForces(robot), np.array([0.7]), np.zeros(1)
    state = forces.at(angle, zero, zero, None)
    g = -robot.model.gravity.linear[2]
    np.testing.assert_allclose(state.force, [2.0 * g * 0.5 * np.sin(0.7)], rtol=1e-9)
    along = gravity_columns(robot, angle)
    np.testing.assert_allclose(along @ [0.0, 0.0, -g], state.force, rtol=1e-9)
    assert forces.levers().shape == (1, 3)
    slopes = GeometrySlopes(RobotSetup(robot, (), None))
    slope = slopes.at((angle, zero, zero), (np.zeros(3),) * 3, np.zeros((0, 6)))
    np.testing.assert_allclose(slope, [[2.0 * g * 0.5 * np.cos(0.7)]], rtol=1e-9)


def test_slopes_of_the_geometry_are_differences_of_predicted_forces():
    """With an IMU in the torso, beyond two joints."""
    robot, rng = talos_with_sensors(), np.random.default_rng(3)
    imu, wrenches = ImuMount.on(robot, "torso_2_link"), rng.normal(size=(2, 6))
    forces, to_base = PredictedForces(robot, CONTACTS), ImuToBase(robot, imu)
    motion, readings = rng.uniform(-0.5, 0.5, (3, robot.n_joints)), rng.normal(size=(3, 3))

    def predicted(turn, offsets):
        q, (R, dq, ddq) = motion[0] + offsets, (pin.exp3(turn), *motion[1:])
        state = forces.at(q, dq, ddq, to_base.base_motion((q, dq, ddq), *(readings @ R.T)))
        return state.force - np.einsum("kij,ki->j", state.jacobians, wrenches)

    slopes, h, n = GeometrySlopes(RobotSetup(robot, CONTACTS, imu)), 1e-5, robot.n_joints
    steps = h * np.eye(3 + n)
    expected = [(predicted(d[:3], d[3:]) - predicted(-d[:3], -d[3:])) / (2.0 * h) for d in steps]
    turning = [robot.joint_names.index(name) for name in slopes.turning]
    found = slopes.at(tuple(motion), tuple(readings), wrenches)
    np.testing.assert_allclose(found, np.transpose(expected)[:, [0, 1, 2, *np.add(3, turning)]], atol=0.05)
