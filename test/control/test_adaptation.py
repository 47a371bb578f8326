"""Inertias in the controller follow its errors, stay possible, and return to the estimates."""

import numpy as np
import pytest
from support.arm_robot import URDF

from inertial_estimation.control.adaptation import CompositeAdaptation, natural_step
from inertial_estimation.control.config import AdaptationConfig
from inertial_estimation.control.controller import ControlResult, ControlState
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import urdf_with_mass
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import JointSample, LinkInertia
from inertial_estimation.spatial.inertial_parameters import (
    InertialParameters,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
)

STEP = 3e-3
LINK = "lower"
FREE = np.array([np.inf, np.inf])


def arm():
    return RobotModel.from_urdf(URDF, floating_base=False)


def adaptation(limits=FREE, **values):
    dynamics = WholeBodyDynamics(arm(), ())
    config = build_config(AdaptationConfig, {"gain": 1.0, **values})
    return CompositeAdaptation(config, dynamics, (LINK,), limits), dynamics


def joints(q, v, stamp_ns=0):
    return JointSample(stamp_ns, np.array(q, dtype=float), np.array(v, dtype=float), np.zeros(2))


def result(wanted, state=ControlState.CONTROL, tau=(0.0, 0.0)):
    return ControlResult(0, state, "", np.array(tau), np.array(wanted, dtype=float), np.zeros((0, 6)))


def body(rng):
    A = rng.normal(size=(4, 4))
    return A @ A.T + 0.1 * np.eye(4)


def test_a_step_is_the_natural_gradient_and_stays_possible_however_large_the_slope():
    rng = np.random.default_rng(0)
    J, slope = body(rng), rng.normal(size=10)
    L = np.einsum("a,aij->ij", slope, [dual(unit) for unit in np.eye(10)])
    size = 1e-6
    rate = (natural_step(J, slope, size) - J) / size
    np.testing.assert_allclose(rate, -J @ L @ J, rtol=1e-4, atol=1e-4)
    for _ in range(500):
        J = natural_step(J, 1e6 * rng.normal(size=10), 1.0)
        assert np.linalg.eigvalsh(J).min() > 0.0


def dual(unit):
    """The symmetric matrix with tr(L J(pi)) = unit' pi, found by solving for its ten entries."""
    rows, targets = [], []
    for k in range(10):
        basis = np.zeros(10)
        basis[k] = 1.0
        J = pseudo_inertia(basis)
        rows.append([J[i, j] * (1.0 if i == j else 2.0) for i in range(4) for j in range(i, 4)])
        targets.append(unit[k])
    entries, L = np.linalg.solve(np.array(rows), np.array(targets)), np.zeros((4, 4))
    L[np.triu_indices(4)] = entries
    L += np.triu(L, 1).T
    return L


def test_the_regressor_of_a_body_is_the_derivative_of_the_torques():
    dynamics, rng = WholeBodyDynamics(arm(), ()), np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 2))
    Y = dynamics.regressors(None, q, v, a, (LINK,))[LINK]
    pi, base = np.array([1.5, 0.1, 0.02, -0.03, 0.05, 0.001, 0.06, 0.002, 0.0, 0.055]), np.zeros(2)
    for factor, sign in ((1.0, 1.0), (0.5, -1.0)):
        value = InertialParameters.from_vector(factor * pi)
        dynamics.set_inertias({LINK: LinkInertia(LINK, value.mass, value.com_F, value.inertia_Fcm)})
        state = dynamics.compute(None, q, v)
        base = base + sign * (state.M @ a + state.h)
    np.testing.assert_allclose(base, Y @ (0.5 * pi), atol=1e-12)


@pytest.mark.parametrize(("weight", "seconds"), [(0.0, 4.0), (0.3, 4.0)])
def test_an_arm_with_an_unknown_load_learns_to_hold_it(weight, seconds):
    """The true arm, simulated here, is heavier than the controller believes; it must not sag for good."""
    heavy = urdf_with_mass(URDF, arm(), LINK, 3.0)
    truth = WholeBodyDynamics(RobotModel.from_urdf(heavy, floating_base=False), ())
    adapting, believed = adaptation(gain=1.0, prediction_weight=weight)
    stiffness = 50.0
    q, v, sag = np.zeros(2), np.zeros(2), []
    for _tick in range(round(seconds / STEP)):
        wanted = -stiffness * q - 2.0 * np.sqrt(stiffness) * v
        state, real = believed.compute(None, q, v), truth.compute(None, q, v)
        tau = state.M @ wanted + state.h
        sliding = v + np.sqrt(stiffness) * q
        believed.set_inertias(adapting.advance(STEP, None, joints(q, v), sliding, result(wanted)))
        v = v + STEP * np.linalg.solve(real.M, tau - real.h)
        q = q + STEP * v
        sag.append(abs(q[1]))
    assert max(sag) > 0.05
    assert sag[-1] < 0.1 * max(sag)
    moment = adapting.inertias[LINK].mass * adapting.inertias[LINK].com_L[0]
    assert moment == pytest.approx(3.0 * 0.1, rel=0.1), "what it learns of a load that it holds is its moment"


@pytest.mark.parametrize(
    ("state", "tau"),
    [
        (ControlState.DAMPING, (0.0, 0.0)),
        (ControlState.HOLDING, (0.0, 0.0)),
        (ControlState.CONTROL, (0.0, 9.9999)),
    ],
)
def test_nothing_is_learned_without_control_or_at_a_limit(state, tau):
    adapting, _dynamics = adaptation(np.array([10.0, 10.0]))
    before = adapting.inertias[LINK].mass
    for _ in range(50):
        adapting.advance(STEP, None, joints([0.1, 0.2], [1.0, 1.0]), np.ones(2), result([1, 1], state, tau))
    assert adapting.inertias[LINK].mass == before


def test_what_was_adapted_follows_the_estimates_and_decays_to_them():
    adapting, _dynamics = adaptation()
    for _ in range(20):
        adapting.advance(STEP, None, joints([0.1, 0.2], [0, 0]), np.array([1.0, 1.0]), result([0, 0]))
    described = InertialParameters.from_pinocchio(arm().link_body(LINK).nominal_J)
    ratio = adapting.inertias[LINK].mass / described.mass
    assert abs(ratio - 1.0) > 0.02
    heavy = LinkInertia(LINK, 2.0 * described.mass, described.com_F, 2.0 * described.inertia_Fcm)
    adapting.set_estimates({LINK: heavy})
    assert adapting.inertias[LINK].mass == pytest.approx(2.0 * ratio * described.mass)
    for _ in range(400):
        adapting.advance(10 * STEP, None, joints([0.1, 0.2], [0, 0]), np.zeros(2), result([0, 0]))
    np.testing.assert_allclose(
        pseudo_inertia(_vector(adapting.inertias[LINK])), pseudo_inertia(_vector(heavy)), rtol=1e-4, atol=1e-6
    )


def _vector(inertia):
    return InertialParameters(inertia.mass, inertia.com_L, inertia.inertia_Lcm).vector


def test_a_floating_base_has_columns_for_its_own_rows():
    robot = RobotModel.from_urdf(URDF, floating_base=True)
    dynamics, rng = WholeBodyDynamics(robot, ()), np.random.default_rng(2)
    base = BaseMotion(np.array([0.0, 0.0, 0.0, 1.0]), rng.normal(size=3), rng.normal(size=3))
    a, q, v = rng.normal(size=8), rng.normal(size=2), rng.normal(size=2)
    links = ("base", "upper", "lower")
    columns = dynamics.regressors(base, q, v, a, links)
    state = dynamics.compute(base, q, v)
    bodies = {link: robot.link_body(link).nominal_J for link in links}
    total = sum(columns[link] @ InertialParameters.from_pinocchio(bodies[link]).vector for link in links)
    np.testing.assert_allclose(total, state.M @ a + state.h, atol=1e-10)
    assert parameters_from_pseudo_inertia(pseudo_inertia(np.arange(10.0))) == pytest.approx(np.arange(10.0))
