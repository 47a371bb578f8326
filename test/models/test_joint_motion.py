"""Limits of joints, distances between links, motions that fade exactly, polynomials exact on polynomials."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.design_scenes import LENGTH, arm_urdf

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.joint_limits import POSITION_DEFAULT, VELOCITY_DEFAULT, joint_limits
from inertial_estimation.models.joint_trajectory import random_sines
from inertial_estimation.models.link_shapes import SelfCollision
from inertial_estimation.models.local_polynomials import ZeroPhaseSmoother, window_weights
from inertial_estimation.models.robot_model import RobotModel

ARM = arm_urdf(reach=1.7, speed=2.5)
FREE = ARM.replace('name="joint2" type="revolute"', 'name="joint2" type="continuous"')


@pytest.mark.parametrize(
    ("urdf", "upper", "speed", "assumed"),
    [
        (ARM, 1.7, 2.5, ()),
        (FREE, [1.7, POSITION_DEFAULT, 1.7], 2.5, ("position limits of joint2: +-1.5 (the URDF has none)",)),
        (
            arm_urdf(speed=0.0),
            2.8,
            VELOCITY_DEFAULT,
            ("speed limits of joint1, joint2, joint3: 2 rad/s (the URDF has none)",),
        ),
    ],
)
def test_limits_are_those_of_the_urdf_and_what_it_lacks_is_assumed_and_stated(urdf, upper, speed, assumed):
    limits = joint_limits(RobotModel.from_urdf(urdf, floating_base=False))
    np.testing.assert_array_equal(limits.upper, np.full(3, upper))
    np.testing.assert_array_equal(limits.lower, -limits.upper)
    np.testing.assert_array_equal(limits.velocity, speed)
    np.testing.assert_array_equal(limits.effort, 50.0)
    assert limits.assumed == assumed


def test_a_margin_that_uses_up_a_range_is_refused() -> None:
    robot = RobotModel.from_urdf(arm_urdf(reach=0.1), floating_base=False)
    with pytest.raises(ConfigurationError, match=r"joint 'joint1' can move from -0\.1 to 0\.1"):
        joint_limits(robot).within(robot.joint_names, position_margin=0.1, velocity_share=1.0)


MOTION = replace(
    random_sines(np.array([0.3, -1.0]), np.array([0.5, 0.2]), np.random.default_rng(0), fade_s=0.8), end_s=6.0
)


def test_it_is_at_the_centre_and_still_before_and_after() -> None:
    for t in (0.0, 1.0, 6.0, 7.5):
        q, v, a = MOTION.at(t)
        np.testing.assert_allclose(q, MOTION.centre, atol=1e-14)
        np.testing.assert_array_equal(v, 0.0)
        np.testing.assert_allclose(a, 0.0, atol=1e-12)


def test_derivatives_through_both_fades() -> None:
    times, h = np.linspace(0.9, 6.1, 400), 1e-5
    _, v, a = MOTION.at(times)
    (q0, v0, _), (q1, v1, _) = MOTION.at(times - h), MOTION.at(times + h)
    np.testing.assert_allclose((q1 - q0) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-3)  # the third derivative jumps at the fades


def irregular(seed, n=40):
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(-0.05, 0.05, n)) + 1e-9 * np.arange(n)


@given(st.integers(0, 10**6))
def test_slope_of_the_velocity_is_the_mean_of_the_acceleration(seed):
    """For any acceleration, linear between irregular stamps: what keeps a and tau in step."""
    t = irregular(seed)
    a = np.random.default_rng(seed + 1).normal(size=len(t))
    v = np.concatenate(([0.7], 0.7 + np.cumsum(0.5 * (a[1:] + a[:-1]) * np.diff(t))))
    weights = window_weights(t)
    assert weights.slope @ v == pytest.approx(weights.mean @ a, rel=1e-9, abs=1e-9)
    assert weights.mean.sum() == pytest.approx(1.0), "so that lines are differentiated exactly"
    assert weights.mean @ t == pytest.approx(weights.centroid)
    assert np.all(weights.mean > -1e-12)


STEP = 0.01


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_polynomials_of_its_order_are_kept(derivative):
    smoother = ZeroPhaseSmoother.of_window(0.2, STEP, 3)
    t = STEP * np.arange(100)
    polynomial = np.polynomial.Polynomial([1.0, -2.0, 3.0, 5.0])
    signal = np.stack([polynomial(t), 2.0 * polynomial(t)], axis=1)
    inner = t[smoother.half : -smoother.half]
    expected = polynomial.deriv(derivative)(inner) if derivative else polynomial(inner)
    smooth = smoother.apply(signal, derivative) if derivative else smoother.apply(signal)
    assert smooth[:, 0] == pytest.approx(expected, abs=1e-9)
    assert smooth[:, 1] == pytest.approx(2.0 * expected, abs=1e-9)


def test_blocks_with_overlap_give_the_same_values():
    smoother = ZeroPhaseSmoother.of_window(0.2, STEP, 3)
    signal = np.random.default_rng(0).normal(size=(200, 4))
    whole = smoother.apply(signal, 1)
    overlap = 2 * smoother.half
    parts = [smoother.apply(signal[first : first + 30 + overlap], 1) for first in range(0, 180, 30)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(smoother.apply(signal, 1, first=5, stride=7), whole[5::7])
    assert smoother.apply(signal[:overlap]).shape == smoother.apply(signal, first=500).shape == (0, 4)


def test_a_window_too_short_for_its_degree_is_refused():
    with pytest.raises(ConfigurationError, match=r"too short for polynomials of degree 3"):
        ZeroPhaseSmoother.of_window(0.01, STEP, 3)


HALF = 0.03  # half the width of the boxes


def checker(urdf: str, margin: float = 0.0) -> SelfCollision:
    robot = RobotModel.from_urdf(urdf, floating_base=False)
    return SelfCollision.from_urdf(robot, urdf, [], np.random.default_rng(0), margin)


@pytest.mark.parametrize("sideways", [0.5, 1.2, 2.0])
def test_clearance_of_a_bent_arm(sideways: float) -> None:
    """Folding the second joint by pi/2 and the third by another: links 1 and 3 are parallel, LENGTH apart."""
    collision = checker(arm_urdf(shapes=True))
    parallel = np.array([sideways, np.pi / 2, np.pi / 2])
    assert collision.clearance(parallel) == pytest.approx(LENGTH - 2 * HALF, abs=1e-6)


def test_a_folded_arm_collides_and_says_with_what() -> None:
    collision = checker(arm_urdf(shapes=True))
    folded = np.array([0.3, 2.7, 2.7])
    assert collision.clearance(folded) < 0.0
    assert collision.closer_than(folded, 0.0)
    assert collision.closest(folded)[1] == ("link1", "link3")


def test_closer_than_agrees_with_the_distance() -> None:
    collision, rng = checker(arm_urdf(shapes=True)), np.random.default_rng(1)
    postures = rng.uniform(-2.8, 2.8, size=(300, 3))
    near = np.array([collision.clearance(q) for q in postures]) < 0.1
    assert 5 < near.sum() < 295
    assert [collision.closer_than(q, 0.1) for q in postures] == near.tolist()


def test_pairs_that_are_always_near_are_left_out_and_named() -> None:
    collision = checker(arm_urdf(shapes=True), margin=1.0)
    assert not collision.checks
    assert collision.always_touching == (("link1", "link3"),)


def test_without_geometry_it_says_so_and_nothing_is_near() -> None:
    collision = checker(arm_urdf())
    assert "not checked" in collision.note
    assert collision.clearance(np.zeros(3)) == np.inf
    assert not collision.closer_than(np.zeros(3), 1.0)


def test_hulls_of_panda_agree_with_its_meshes_on_what_is_free() -> None:
    """A posture free by the hulls is free by the meshes, which the hulls contain."""
    pytest.importorskip("example_robot_data")
    import pinocchio as pin

    from inertial_estimation.configuration.urdf_source import mesh_folders, read_urdf

    urdf = read_urdf("example-robot-data:panda")
    robot = RobotModel.from_urdf(urdf, floating_base=False)
    collision = SelfCollision.from_urdf(robot, urdf, mesh_folders(), np.random.default_rng(0))
    folders = [str(folder) for folder in mesh_folders()]
    meshes = pin.buildGeomFromUrdfString(robot.model, urdf, pin.GeometryType.COLLISION, None, folders)
    links = [robot.model.frames[shape.parentFrame].name for shape in meshes.geometryObjects]
    for pair in set(collision.pairs):
        meshes.addCollisionPair(pin.CollisionPair(links.index(pair[0]), links.index(pair[1])))
    data, shapes = robot.model.createData(), meshes.createData()
    rng, model, free = np.random.default_rng(2), robot.model, 0
    for _ in range(100):
        q = rng.uniform(model.lowerPositionLimit, model.upperPositionLimit)
        if not collision.closer_than(q, 0.0):
            free += 1
            assert not pin.computeCollisions(model, data, meshes, shapes, q, True)
    assert free > 50
