"""Forces, mass and centre of mass at rest against Newton-Euler; the loaded trunk is a body that can exist."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.standing_robot import HYQ, LOAD_POINT, QUADRUPEDS, Standing, moment_about_base

from inertial_estimation.errors import ConfigurationError, InconsistentInertiaError
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.robot_model import BASE_JOINT
from inertial_estimation.payload.com_methods import ContactForceRecursion
from inertial_estimation.payload.statics import TrunkStatics, trunk_com_across_gravity, trunk_mass
from inertial_estimation.payload.trunk import (
    IdentifiedTrunk,
    TrunkValue,
    deviation_with_height,
    payload_inertia,
    trunk_inertia,
)
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

BOTH = pytest.mark.parametrize("ground_forces", ["estimated", "measured"])


@pytest.mark.parametrize("kind", QUADRUPEDS, ids=lambda kind: kind[0])
@BOTH
def test_forces_mass_and_centre_of_mass_are_those_of_the_loaded_robot(kind, ground_forces) -> None:
    scene = Standing(kind, load=0.1 if kind[0] == "solo12" else 5.0, point=(-0.1, 0.05, 0.1), spread=0.1)
    tilt, yaw = (0.15, -0.2), 2.0
    measurement = scene.measure(scene.statics(ground_forces=ground_forces), tilt, yaw)
    R_WB, read = scene.readings(tilt, yaw)
    model, data = scene.robot.model, scene.robot.model.createData()
    q = scene.robot.configuration(scene.q)
    q[3:7] = pin.Quaternion(R_WB).coeffs()
    pin.framesForwardKinematics(model, data, q)
    for i, foot in enumerate(scene.feet):
        pose = data.oMf[scene.robot.frame_id(foot)]
        np.testing.assert_allclose(measurement.points_W[i], pose.translation, atol=1e-12)
        np.testing.assert_allclose(measurement.forces_W[i], pose.rotation @ read.wrenches_C[i, :3], atol=1e-8)
    assert trunk_mass(measurement) == pytest.approx(scene.mass, rel=1e-9)
    assert not measurement.undetermined
    hidden = R_WB.T @ np.diag([0.0, 0.0, 1.0]) @ R_WB
    found = trunk_com_across_gravity(measurement, scene.mass)
    np.testing.assert_allclose(found, scene.com - hidden @ scene.com, atol=1e-9)


@BOTH
def test_three_feet_carry_the_robot_and_the_lifted_one_nothing(ground_forces) -> None:
    down = HYQ[1][:3]
    carried = Standing(feet=down, load=3.0, point=(0.1, 0.05, 0.0))
    everyone = Standing(load=3.0, point=(0.1, 0.05, 0.0))
    _R, read = carried.readings()
    wrenches = np.vstack([read.wrenches_C, np.zeros(6)])
    R_WB, _ = everyone.readings()
    statics = everyone.statics(ground_forces=ground_forces)
    readings = read.tau if ground_forces == "estimated" else wrenches
    measurement = statics.measure(R_WB, everyone.q, readings)
    np.testing.assert_allclose(measurement.forces_W[3], 0.0, atol=1e-9)
    found = trunk_com_across_gravity(measurement, trunk_mass(measurement))
    np.testing.assert_allclose(found[:2], everyone.com[:2], atol=1e-9)


def test_wrench_in_another_frame_with_a_moment_says_the_same() -> None:
    """A sensor in the shank feels force and moment; the foot it reports is the same point foot."""
    scene = Standing()
    shank = [ContactFrames(foot, foot, foot.replace("foot", "lowerleg")) for foot in scene.feet]
    R_WB, read = scene.readings((0.1, 0.0))
    at_feet = scene.statics(ground_forces="measured").measure(R_WB, scene.q, read.wrenches_C)
    moved = []
    for foot, wrench in zip(shank, read.wrenches_C, strict=True):
        T_SF = scene.robot.fixed_transform(foot.wrench_frame, foot.frame)
        moved.append(T_SF.act(pin.Force(wrench)).vector)
    statics = TrunkStatics(scene.robot, shank, scene.trunk, "measured")
    in_shanks = statics.measure(R_WB, scene.q, np.array(moved))
    np.testing.assert_allclose(in_shanks.forces_W, at_feet.forces_W, atol=1e-9)
    np.testing.assert_allclose(moment_about_base(in_shanks), moment_about_base(at_feet), atol=1e-9)
    np.testing.assert_allclose(in_shanks.moment_W, 0.0, atol=1e-9)


LF_SHANK = ContactFrames("lf_shank", "lf_lowerleg", "lf_lowerleg")
LF_HIP = ContactFrames("lf_hip", "lf_hipassembly", "lf_hipassembly")


@pytest.mark.parametrize(
    ("contacts", "trunk", "words"),
    [
        ([*Standing().contacts[1:], LF_HIP], "trunk", "'lf_hip' has 1 joints of its own.*lf_haa_joint"),
        ([*Standing().contacts, LF_SHANK], "trunk", "'lf_foot' shares all its joints"),
        (Standing().contacts, "lf_upperleg", "moves against the base"),
    ],
)
def test_what_cannot_be_measured_is_refused(contacts, trunk, words) -> None:
    robot = Standing().robot
    with pytest.raises(ConfigurationError, match=words):
        TrunkStatics(robot, contacts, trunk)
    if "joint" in words:
        TrunkStatics(robot, contacts, trunk, "measured")


NOMINAL = Standing(HYQ).nominal.made_consistent("trunk")
COMPONENT = st.floats(-2.0, 2.0)


@given(mass=st.floats(1e-3, 1e3), com=st.tuples(COMPONENT, COMPONENT, COMPONENT))
@settings(max_examples=100, deadline=None)
def test_any_mass_and_centre_make_a_consistent_body(mass, com) -> None:
    body = trunk_inertia(NOMINAL, mass, np.array(com))
    assert body.violations() == []
    assert body.mass == mass
    np.testing.assert_allclose(body.com_F, com)


def test_point_load_within_reach_is_found_again() -> None:
    point = pin.Inertia(10.0, LOAD_POINT, np.zeros((3, 3)))
    whole = pin.Inertia.FromDynamicParameters(NOMINAL.vector) + point
    body = trunk_inertia(NOMINAL, whole.mass, np.array(whole.lever))
    np.testing.assert_allclose(body.inertia_Fcm, whole.inertia, atol=1e-9)
    load = payload_inertia("trunk", NOMINAL, body)
    assert load.mass == pytest.approx(10.0)
    np.testing.assert_allclose(load.com_L, LOAD_POINT, atol=1e-9)
    np.testing.assert_allclose(load.inertia_Lcm, 0.0, atol=1e-8)


@given(mass=st.floats(50.0, 75.0), shift=st.tuples(*3 * [st.floats(-0.2, 0.2)]))
@settings(max_examples=100, deadline=None)
def test_small_changes_of_the_mass_make_small_changes_of_the_inertia(mass, shift) -> None:
    """Also through the nominal mass, where the place of the load is not defined."""
    com = NOMINAL.com_F + np.array(shift)
    step = 1e-6
    for m in (mass, NOMINAL.mass):
        below, above = (trunk_inertia(NOMINAL, m + s * step, com).inertia_Fcm for s in (-1.0, 1.0))
        assert np.abs(above - below).max() < 20.0 * step  # [kg m^2]: a radius of gyration of some metres


def test_lighter_trunk_keeps_its_radii() -> None:
    body = trunk_inertia(NOMINAL, 0.5 * NOMINAL.mass, np.array([0.3, 0.0, 0.0]))
    radii = [np.linalg.eigvalsh(b.inertia_Fcm) / b.mass for b in (NOMINAL, body)]
    np.testing.assert_allclose(radii[1], radii[0], rtol=1e-12)
    assert payload_inertia("trunk", NOMINAL, body).mass == pytest.approx(-0.5 * NOMINAL.mass)


def test_no_load_is_no_number_that_is_not_finite() -> None:
    load = payload_inertia("trunk", NOMINAL, trunk_inertia(NOMINAL, NOMINAL.mass, NOMINAL.com_F + 0.1))
    assert load.mass == 0.0
    assert np.isfinite(load.com_L).all()
    assert np.isfinite(load.inertia_Lcm).all()


@pytest.mark.parametrize("mass", [0.0, -3.0, np.nan, np.inf])
def test_impossible_mass_is_refused(mass) -> None:
    with pytest.raises(InconsistentInertiaError, match="expected a positive mass"):
        trunk_inertia(NOMINAL, mass, np.zeros(3))


NOISE = np.array([1e-4, 2e-4, np.inf])
STEP = 0.05


def identified(load, point, tilt, rng, torque_noise=0.3):
    """Identify the trunk of a standing HyQ from noisy torques; return the value and its error."""
    scene = Standing(HYQ, load, point)
    size = BodyReference.of_link(scene.robot, scene.trunk).length
    nominal = TrunkValue(scene.nominal.mass, np.array(scene.nominal.com_F))
    method = ContactForceRecursion(scene.nominal.com_F, scene.mass)
    R_WB, read = scene.readings(tilt)
    statics = scene.statics()
    for _ in range(round(3.0 / STEP)):
        tau = read.tau + torque_noise * rng.standard_normal(scene.robot.n_joints)
        step = method.update(statics.measure(R_WB, scene.q, tau), STEP)
    weighed = TrunkValue(scene.mass, nominal.com_B, 0.02)
    value = IdentifiedTrunk(nominal, size, weighed, nominal).found(step, R_WB[2])
    return value, value.com_B - scene.com


@pytest.mark.monte_carlo
def test_deviations_cover_the_errors_of_random_loads_on_random_tilts():
    """Shares within one and two sigma of 200 trials: 68 and 95 %, give or take three sigma of a binomial."""
    rng = np.random.default_rng(4)
    size = BodyReference.of_link(Standing().robot, "trunk").length
    height = Standing().robot.model.inertias[BASE_JOINT].lever[2]
    scores = []
    for _ in range(200):
        point = np.array([*rng.uniform(-0.3, 0.3, 2), height + size * rng.standard_normal()])
        value, error = identified(rng.uniform(3.0, 20.0), point, rng.uniform(-0.3, 0.3, 2), rng)
        scores.append(error[:2] / value.com_sigma_B[:2])
    within = np.abs(scores)
    assert (((within < 1.0).mean(axis=0) > 0.58) & ((within < 1.0).mean(axis=0) < 0.80)).all()
    assert ((within < 2.0).mean(axis=0) > 0.90).all()


def test_a_level_base_adds_nothing_and_a_tilted_one_height_times_tangent():
    level = deviation_with_height(NOISE, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.1)
    np.testing.assert_allclose(level[:2], NOISE[:2])
    up_B = rotation_from_roll_pitch_yaw(0.0, 0.2, 0.0)[2]
    tilted = deviation_with_height(NOISE, np.zeros(3), up_B, 0.1)
    assert tilted[0] == pytest.approx(0.1 * np.tan(0.2), rel=1e-4)
    assert tilted[1] == pytest.approx(NOISE[1])
    assert np.isinf(tilted[2])
