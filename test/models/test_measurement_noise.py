"""R of the measurement equation against perturbed inputs, for every way contacts enter; known friction."""

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.dynamics_measurement import (
    ANGULAR_ACCELERATION,
    PROPER_ACCELERATION,
    DynamicsMeasurement,
    MeasuredState,
)
from inertial_estimation.models.friction import FrictionModel
from inertial_estimation.models.measurement_rows import MeasurementNoise, RowsConfig
from inertial_estimation.models.robot_model import RobotModel

SENSORS = (pin.SE3(pin.exp3(np.array([0.4, -0.2, 1.0])), np.array([0.02, 0.03, 0.1])),) * 2
NOISE = MeasurementNoise(
    torque=0.3,
    base_force=0.7,
    base_moment=0.4,
    contact_force=2.0,
    joint_acceleration=0.2,
)
MODES = [
    (RowsConfig(True, ("*",), "measured"), "all rows"),
    (RowsConfig(True, (), "measured"), "base rows"),
    (RowsConfig(False, ("leg_left_*", "torso_*"), "measured"), "some joint rows"),
    (RowsConfig(True, ("leg_*",), "projected"), "projected"),
]


@cache
def talos():
    """With force sensors that are turned and moved against the soles."""
    model = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"), floating_base=True).model
    for side, placement in zip(("left", "right"), SENSORS, strict=True):
        sole = model.frames[model.getFrameId(f"{side}_sole_link")]
        at = sole.placement * placement
        model.addFrame(pin.Frame(f"{side}_sensor", sole.parentJoint, at, pin.FrameType.OP_FRAME))
    return RobotModel(model)


CONTACTS = tuple(ContactFrames(side, f"{side}_sole_link", f"{side}_sensor") for side in ("left", "right"))


def random_state(rng, n):
    return MeasuredState(
        rng.uniform(-0.5, 0.5, n),
        rng.normal(size=n),
        rng.normal(size=n),
        rng.normal(size=n),
        np.array([0.0, 0.0, 9.81]) + rng.normal(size=3),
        rng.normal(size=3),
        rng.normal(size=3),
        10.0 * rng.normal(size=(len(CONTACTS), 6)),
    )


def unit_errors(state):
    """Every input of the state moved by its sigma, one after the other."""
    sigmas = {
        "tau": np.full(len(state.q), NOISE.torque),
        "a": np.full(len(state.q), NOISE.joint_acceleration),
        "f_B": np.full(3, PROPER_ACCELERATION),
        "wd_B": np.full(3, ANGULAR_ACCELERATION),
        "wrenches": np.tile(
            3 * [NOISE.contact_force] + 3 * [NOISE.contact_moment(talos())], (len(CONTACTS), 1)
        ),
    }
    for name, sigma in sigmas.items():
        for i in range(sigma.size):
            error = np.zeros(sigma.size)
            error[i] = sigma.ravel()[i]
            yield replace(state, **{name: getattr(state, name) + error.reshape(sigma.shape)})


def moved_by_base_forces(measurement, state):
    """Unmodelled forces on the base are no input: the change one makes is that of its row."""
    equation = measurement.equation(state)
    sigma = np.array(3 * [NOISE.base_force] + 3 * [NOISE.base_moment])
    with_base = measurement.row_names[0] == "base_force_x"
    return np.eye(len(equation.value), 6) * sigma * with_base


@pytest.mark.parametrize("rows", [rows for rows, _ in MODES], ids=[name for _, name in MODES])
def test_covariance_is_the_sum_over_errors_of_every_input(rows):
    rng, robot = np.random.default_rng(0), talos()
    bodies = estimated_bodies(robot, ("torso_2_link", "arm_left_5_link"))
    nominal = np.concatenate([body.nominal_J.vector for body in bodies])
    present = nominal + np.tile(pin.Inertia.FromSphere(3.0, 0.1).toDynamicParameters(), 2)
    measured = rows.contact_wrenches == "measured"
    noise = NOISE if measured else replace(NOISE, base_force=1e-9, base_moment=1e-9)
    measurement = DynamicsMeasurement(robot, bodies, rows, noise, CONTACTS)
    state = random_state(rng, robot.n_joints)

    def residual(at):
        equation = measurement.equation(at)
        return equation.value - equation.regressor @ present

    centre = residual(state)
    changes = [residual(moved) - centre for moved in unit_errors(state)]
    if measured:
        changes += list(moved_by_base_forces(measurement, state).T)
    expected = np.array(changes).T @ np.array(changes)
    R = measurement.equation(state, present).noise
    np.testing.assert_allclose(R, expected, atol=1e-8 * np.abs(expected).max())
    assert np.abs(measurement.equation(state, nominal).noise - R).max() > 1e-3 * np.abs(R).max()
    assert np.linalg.eigvalsh(R).min() > 0.0


def test_a_base_row_s_own_noise_goes_through_the_projection():
    """Rows freed of unknown wrenches mix base rows and joint rows: so do their unmodelled forces."""
    robot, rng = talos(), np.random.default_rng(1)
    bodies = estimated_bodies(robot, ("torso_2_link",))
    silent = dict.fromkeys(vars(NOISE), 1e-9)
    state = random_state(rng, robot.n_joints)
    rows = RowsConfig(True, ("leg_*",), "projected")

    def covariance(loud):
        noise = MeasurementNoise(**{**silent, **loud})
        return DynamicsMeasurement(robot, bodies, rows, noise, CONTACTS).equation(state).noise

    every = {"base_force": 2.0, "base_moment": 3.0, "torque": 0.5}
    of_base = covariance({})  # errors of the base's acceleration, which are constants
    parts = [covariance({name: sigma}) - of_base for name, sigma in every.items()]
    np.testing.assert_allclose(covariance(every) - of_base, sum(parts), atol=1e-9)
    assert all(np.abs(part).max() > 0.01 for part in parts)
    assert np.linalg.matrix_rank(parts[0], tol=1e-6) == 3


def test_a_motor_that_overcomes_known_friction_leaves_the_same_equation():
    """The torque sensor of a robot that rubs shows more; what is left for the bodies is the same."""
    robot, rng = talos(), np.random.default_rng(2)
    terms = ("coulomb", "viscous", "offset", "armature")
    values = dict(zip(terms, rng.uniform(0.5, 2.0, (4, 4)), strict=True))
    named = {f"{j}/{term}": v for term, row in values.items() for j, v in zip(robot.joint_names, row)}  # noqa: B905
    known = FrictionModel.of_values(robot.joint_names, named, 1e-6)
    bodies = estimated_bodies(robot, ("torso_2_link",))
    rows = RowsConfig(True, ("*",), "measured")
    state = random_state(rng, robot.n_joints)
    v, a, rubbing = state.v[:4], state.a[:4], np.zeros(robot.n_joints)
    signals = np.sign(v), v, np.ones(4), a
    rubbing[:4] = sum(values[term] * signal for term, signal in zip(terms, signals, strict=True))
    sent = replace(state, tau=state.tau + rubbing)
    expected = DynamicsMeasurement(robot, bodies, rows, NOISE, CONTACTS).equation(state).value
    rough = DynamicsMeasurement(robot, bodies, rows, NOISE, CONTACTS, known_friction=known)
    estimating = DynamicsMeasurement(robot, bodies, rows, NOISE, CONTACTS, known)
    for equation in (estimating.equation(sent), estimating.rows(stacked(sent))):
        value = equation.value - equation.regressor[..., 10:] @ known.nominal_values
        np.testing.assert_allclose(np.squeeze(value), expected, atol=1e-10)
    np.testing.assert_allclose(rough.equation(sent).value, expected, atol=1e-10)
    np.testing.assert_allclose(rough.rows(stacked(sent)).value[0], expected, atol=1e-10)


def stacked(state):
    """The same state as the only one of many."""
    names = ("q", "v", "a", "tau", "f_B", "w_B", "wd_B", "wrenches")
    return replace(state, **{name: getattr(state, name)[None] for name in names})
