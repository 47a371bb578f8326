"""Trajectories keep their limits between the samples too, rest at both ends, and are what they say."""

import numpy as np
import pytest
from support.design_scenes import arm_urdf

from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.trajectory import MotionFamily
from inertial_estimation.models.joint_limits import JointLimits, joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config

ACCELERATION = 4.0


def limits() -> JointLimits:
    return joint_limits(RobotModel.from_urdf(arm_urdf(), floating_base=False))


def family(**values: object) -> MotionFamily:
    config = build_config(
        ExcitationConfig, {"duration": 8.0, "terms": 4, "acceleration_limit": ACCELERATION, **values}
    )
    return MotionFamily(config, limits())


def wild(family: MotionFamily, seed: int) -> np.ndarray:
    """Any vector at all, gains as near the limits as they go."""
    z = np.random.default_rng(seed).normal(scale=3.0, size=(family.joints, family.size // family.joints))
    z[:, -1] = 30.0
    return z.ravel()


@pytest.mark.parametrize("seed", range(5))
def test_limits_hold_between_the_samples_and_one_of_them_is_reached(seed: int) -> None:
    motions = family()
    q, v, a = motions.motion(wild(motions, seed)).at(np.linspace(0.0, 8.0, 20001))
    allowed = limits()
    assert np.all(q >= allowed.lower)
    assert np.all(q <= allowed.upper)
    used = np.array(
        [
            np.ptp(q, axis=0) / (allowed.upper - allowed.lower),
            np.abs(v).max(0) / allowed.velocity,
            np.abs(a).max(0) / ACCELERATION,
        ]
    )
    assert np.all(used <= 1.0)
    assert np.all(used.max(0) > 0.93)


def test_velocity_and_acceleration_are_derivatives() -> None:
    motions = family()
    motion = motions.motion(motions.random(np.random.default_rng(1)))
    times, h = np.linspace(0.01, 7.99, 200), 1e-5
    (q0, v0, _), (q1, v1, _) = motion.at(times - h), motion.at(times + h)
    _, v, a = motion.at(times)
    np.testing.assert_allclose((q1 - q0) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-7)


def test_samples_are_those_of_the_closed_form() -> None:
    motions = family()
    z = motions.random(np.random.default_rng(2))
    samples = motions.samples(z)
    exact = motions.motion(z).at(np.linspace(0.0, 8.0, len(samples.q)))
    for sampled, closed in zip((samples.q, samples.v, samples.a), exact, strict=True):
        np.testing.assert_allclose(sampled, closed, atol=1e-9)


def test_chain_is_the_derivative_of_the_samples() -> None:
    motions, rng = family(), np.random.default_rng(4)
    z = motions.random(rng)
    samples = motions.samples(z)
    weights = [rng.normal(size=samples.q.shape) for _ in range(3)]

    def total(z: np.ndarray) -> float:
        s = motions.samples(z)
        return sum(float((w * x).sum()) for w, x in zip(weights, (s.q, s.v, s.a), strict=True))

    steps = 1e-6 * np.eye(motions.size)
    numeric = [(total(z + step) - total(z - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(motions.chain(z, *weights), numeric, rtol=1e-4, atol=1e-3)
