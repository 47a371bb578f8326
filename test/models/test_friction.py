"""Columns of friction, and of slowly varying errors of the sensors against equations that contain them."""

import numpy as np
import pytest
from support.example_robots import panda

from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, MeasuredState
from inertial_estimation.models.friction import (
    FRICTION_TERMS,
    CoulombDirection,
    FrictionConfig,
    FrictionModel,
    NominalFriction,
    friction_deviations,
    friction_model,
)
from inertial_estimation.models.imu import ImuMount, ImuToBase
from inertial_estimation.models.measurement_rows import MeasurementNoise, RowsConfig
from inertial_estimation.models.sensor_errors import SensorErrors

DT = 1e-3
JOINTS = ("a", "b", "c")
PANDA = panda()
KNOWN = NominalFriction(
    ("panda_joint2", "panda_joint4"), ("coulomb", "viscous", "armature"), (1.0, 2.0, 0.3, 0.4, 0.1, 0.2)
)


def test_each_term_acts_on_its_own_joint_by_its_own_signal():
    """q = 3, v = -2, a = 5, middle 1, load -20 of joint c; friction opposes the motion."""
    expected = {
        "coulomb": -1.0,
        "viscous": -2.0,
        "offset": 1.0,
        "armature": 5.0,
        "coulomb_slope": -2.0,
        "coulomb_load": -20.0,
        "stiffness": 2.0,
        "balance_sin": np.sin(3.0),
        "balance_cos": np.cos(3.0),
    }
    assert tuple(expected) == FRICTION_TERMS
    middles = np.array([0.0, np.nan, 1.0])
    model = FrictionModel.of(("a", "c"), FRICTION_TERMS, JOINTS, 1e-3, middles=middles)
    signals = [np.array([9.0, 9.0, x]) for x in (3.0, -2.0, 5.0)]
    F = model.regressor(*signals, load=np.array([9.0, 9.0, -20.0]))
    torque = {name: F[:, i] for i, name in enumerate(model.names)}
    for term, value in expected.items():
        np.testing.assert_allclose(torque[f"c/{term}"], [0.0, 0.0, value], err_msg=term)
        assert not torque[f"a/{term}"][1:].any()
    many = model.regressor(*(np.array([x, -x]) for x in signals), load=np.array(2 * [[9.0, 9.0, -20.0]]))
    np.testing.assert_array_equal(many[0], F)
    assert model.regressor(*signals, sign=np.array([0.0, 0.0, 0.25]))[2, 1] == 0.25


@pytest.mark.parametrize("joints", [(), ("panda_joint2",), ("*",)])
@pytest.mark.parametrize(
    "terms", [("coulomb",), ("viscous", "offset"), ("armature", "coulomb_slope", "viscous")]
)
def test_what_is_estimated_begins_at_what_is_known_and_nothing_counts_twice(joints, terms):
    q, v, a = np.random.default_rng(0).normal(size=(3, PANDA.n_joints))
    _none, all_known = friction_model(FrictionConfig(), PANDA, KNOWN)
    estimated, known = friction_model(FrictionConfig(joints, terms), PANDA, KNOWN)
    torques = np.zeros(PANDA.n_joints) if known is None else known.torques(q, v, a)
    if estimated is not None:
        torques = torques + estimated.regressor(q, v, a) @ estimated.nominal_values
    np.testing.assert_allclose(torques, all_known.torques(q, v, a), atol=1e-14)
    assert np.flatnonzero(torques).tolist() == [1, 3]


def test_the_prior_is_a_share_of_the_limits_of_the_joint():
    friction, _known = friction_model(
        FrictionConfig(("panda_joint1", "panda_joint7"), ("coulomb", "viscous")), PANDA, NominalFriction()
    )
    found = friction_deviations(friction, PANDA, 0.1)
    assert found == pytest.approx([8.7, 1.2, 8.7 / 2.175, 1.2 / 2.61])  # limits in Nm, over those in rad/s


def there_and_back(steps=400):
    """Two joints that go one way at constant speed, then back; the second ten times slower."""
    v = np.concatenate((np.full(steps, 0.5), np.full(steps, -0.5)))
    return np.column_stack((v, 0.1 * v))


def test_after_a_reversal_friction_is_zero_at_the_travel_times_log_two_whatever_the_speed():
    law = NominalFriction(smoothing_speed=1e-4, presliding=2e-3)
    v = there_and_back()
    z = CoulombDirection(law).along(v, DT)
    assert np.abs(z).max() <= 1.0
    for joint in range(2):
        past = np.flatnonzero(z[400:, joint] < 0.0)[0]
        travel = abs(v[-1, joint]) * DT * (past + 1)
        assert travel == pytest.approx(law.presliding * np.log(2.0), abs=1.01 * abs(v[-1, joint]) * DT)


def test_how_a_motion_is_sampled_or_cut_does_not_change_it():
    law = NominalFriction(smoothing_speed=1e-4, presliding=2e-3)
    v = there_and_back()
    whole = CoulombDirection(law).along(v, DT)
    twice = CoulombDirection(law).along(np.repeat(v, 2, axis=0), DT / 2)[1::2]
    np.testing.assert_allclose(twice, whole, atol=1e-9)
    cut = CoulombDirection(law)
    np.testing.assert_array_equal(np.vstack([cut.along(part, DT) for part in np.split(v, 8)]), whole)


def test_a_robot_at_rest_keeps_its_direction_under_the_noise_of_a_sensor_until_it_begins_anew():
    direction = CoulombDirection(NominalFriction(smoothing_speed=0.02, presliding=1e-3))
    direction.along(np.full((500, 1), 0.3), DT)
    noise = 0.001 * np.random.default_rng(2).normal(size=(200, 1))
    assert direction.along(noise, DT)[-1, 0] > 0.7
    direction.reset()
    assert direction.after(np.array([-0.3]), DT)[0] == pytest.approx(-1.0, abs=1e-6)


FEET = tuple(ContactFrames(side, f"{side}_sole_link", f"{side}_sole_link") for side in ("left", "right"))


class Case:
    """A robot that rests or is carried along, what its sensors read, and the errors of these."""

    def __init__(self, robot, links, mode, *, imu=""):
        rng = np.random.default_rng(4)
        self.bodies, self.robot = estimated_bodies(robot, links), robot
        contacts = FEET if robot.floating_base else ()
        mount = ImuMount.on(robot, imu) if imu else None
        selection = RowsConfig(contact_wrenches=mode)
        self.measurement = DynamicsMeasurement(
            robot, self.bodies, selection, MeasurementNoise(), contacts, imu=mount
        )
        self.errors = SensorErrors(
            robot, selection.resolved(robot, contacts), self.bodies, accelerometer=mount is not None
        )
        self.to_base = ImuToBase(robot, mount) if mount else None
        self.q = rng.uniform(-0.5, 0.5, robot.n_joints)
        self.tau, self.f_I = 20.0 * rng.normal(size=robot.n_joints), rng.normal(0.0, 5.0, 3)
        self.wrenches = 50.0 * rng.normal(size=(len(contacts), 6))

    def equation(self, errors):
        """The equation where the sensors have errors, by name."""

        def of(kind, places):
            return np.array([errors.get(f"{kind}/{place}", 0.0) for place in places])

        names, still = self.robot.joint_names, np.zeros(self.robot.n_joints)
        tau = (1.0 + of("torque_gain", names)) * self.tau + of("torque_offset", names)
        state = MeasuredState(self.q, still, still, tau)
        if self.to_base is not None:
            scale = errors.get("accelerometer_scale/imu", 0.0)
            f_I = (1.0 + scale) * self.f_I + of("accelerometer_bias", "xyz")
            base = self.to_base.base_motion((self.q, still, still), f_I, np.zeros(3), np.zeros(3))
            state = MeasuredState(self.q, still, still, tau, *base, self.wrenches)
        return self.measurement.equation(state)

    def residual(self, equation):
        nominal = np.concatenate([body.nominal_J.vector for body in self.bodies])
        return equation.value - equation.regressor[:, : len(nominal)] @ nominal


@pytest.mark.parametrize("mode", ["measured", "projected"])
def test_an_error_of_a_sensor_changes_the_rows_by_its_column(talos, mode):
    case = Case(talos, ("torso_2_link", "arm_left_5_link"), mode, imu="imu_link")
    without, size = case.equation({}), 1e-5
    columns = case.errors.appended(without).regressor[:, 20:]
    assert columns.shape[1] == case.errors.size
    checked = 0
    for i, name in enumerate(case.errors.names):
        if name.startswith("base_"):
            continue
        change = case.residual(case.equation({name: size})) - case.residual(without)
        assert np.allclose(change / size, columns[:, i], atol=1e-3 * (1.0 + np.abs(columns[:, i]).max())), (
            name
        )
        checked += np.abs(columns[:, i]).max() > 1e-3
    assert checked > 15


@pytest.mark.parametrize("mode", ["measured", "projected"])
def test_about_the_true_bias_of_the_accelerometer_rows_are_exact_for_any_bodies(talos, mode):
    """Whatever bodies are believed, and whatever the true ones are; else an error of both stays."""
    case = Case(talos, ("torso_2_link", "arm_left_5_link"), mode, imu="imu_link")
    names, rng = case.errors.names, np.random.default_rng(2)
    values = {
        f"accelerometer_bias/{axis}": value for axis, value in zip("xyz", (0.3, -0.2, 0.4), strict=True)
    }
    e = np.array([values.get(name, 0.0) for name in names])
    nominal = np.concatenate([body.nominal_J.vector for body in case.bodies])
    believed, true = (nominal * rng.uniform(0.7, 1.3, len(nominal)) for _ in range(2))
    clean, faulty = case.equation({}), case.equation(values)

    def residual(state):
        equation = case.errors.appended(case.measurement.equation(state, believed))
        return equation.value - equation.regressor @ np.concatenate((true, e))

    expected = clean.value - clean.regressor @ true
    about = case.errors.about(faulty.state, e)
    assert about.accelerometer.tolist() == [0.3, -0.2, 0.4, 0.0]
    np.testing.assert_allclose(residual(about), expected, atol=1e-9)
    assert np.abs(residual(faulty.state) - expected).max() > 0.1


def test_rows_that_carry_no_body_of_interest_are_left_free(talos):
    case = Case(talos, ("arm_left_5_link",), "measured", imu="imu_link")
    gains = [name.partition("/")[2] for name in case.errors.names if name.startswith("torque_gain")]
    assert gains == ["torso_1_joint", "torso_2_joint", *(f"arm_left_{i}_joint" for i in range(1, 6))]
    columns = case.errors.appended(case.equation({})).regressor
    others = [name not in gains and not name.startswith("base_") for name in case.measurement.row_names]
    assert not columns[others, :10].any()
    assert np.linalg.matrix_rank(columns[others, 10:]) == sum(others) == 25


def test_the_error_of_a_torque_is_that_of_offset_and_gain_together(panda):
    case = Case(panda, ("panda_link5", "panda_link7"), "none")
    errors, rng = case.errors, np.random.default_rng(0)
    values, L = rng.normal(size=errors.size), rng.normal(size=(errors.size,) * 2)
    found, sigmas = errors.of_rows(values, L @ L.T, case.tau)
    samples = (values + rng.normal(size=(20000, errors.size)) @ L.T).T
    rows = errors.appended(case.equation({})).regressor[:, 20:]
    assert errors.rows == case.measurement.row_names
    assert np.allclose(found, rows @ values)
    assert np.allclose((rows @ samples).std(axis=1), sigmas, rtol=0.05)


def test_the_column_of_a_gain_does_not_contain_the_noise_of_the_reading(panda):
    """Their product would have the variance of the noise as its mean: a bias that grows with the data."""
    case = Case(panda, ("panda_link5", "panda_link7"), "none")
    nominal = np.concatenate([body.nominal_J.vector for body in case.bodies])
    of_gain = [name.startswith("torque_gain") for name in case.errors.names]
    noisy = {f"torque_offset/{name}": 5.0 for name in case.robot.joint_names}

    def gains(readings, *phi):
        equation = case.errors.appended(case.equation(readings), *phi)
        return equation.regressor[:, 20:][:, of_gain].sum(axis=1)

    assert np.allclose(gains(noisy) - gains({}), 5.0)
    assert np.allclose(gains(noisy, nominal), gains({}, nominal))
    assert np.allclose(gains({}, nominal), case.tau - case.residual(case.equation({})))


def test_a_wrench_on_the_base_adds_to_the_base_rows(talos):
    case = Case(talos, ("torso_2_link",), "measured", imu="imu_link")
    columns = case.errors.appended(case.equation({})).regressor[:, 10:]
    first = case.errors.names.index("base_force/x")
    assert np.array_equal(columns[:, first : first + 6], np.eye(len(columns))[:, :6])
