"""Compliant contact points under a block: textbook mechanics as the oracle."""

import numpy as np
import pytest
from support.simulated_robots import GRAVITY, MASS, ON_GROUND, SIDE, block_simulation

from inertial_estimation.simulation.config import GroundConfig
from inertial_estimation.simulation.disturbances import Push
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.spatial.rotations import rotation_from_quaternion

WEIGHT = MASS * GRAVITY


def run(simulation, duration_s):
    simulation.apply(np.zeros(0))
    simulation.advance(round(duration_s * 1e9))
    return simulation.truth()


def ramp(slope, friction):
    ground = {"terrain": "ramp", "slope": slope, "begin": -100.0, "friction": friction}
    return {**ON_GROUND, **{f"ground.{name}": value for name, value in ground.items()}}


def force_along(truth, *directions):
    """Force of the ground along directions in the world: the block itself may tilt a little."""
    force_W = rotation_from_quaternion(truth.base.quaternion_xyzw) @ truth.wrenches_C["block"][:3]
    return [float(force_W @ np.array(direction)) for direction in directions]


@pytest.mark.parametrize("stiffness", [1e4, 1e5])
def test_resting_depth_is_weight_over_stiffness_of_all_points(stiffness):
    truth = run(block_simulation({**ON_GROUND, "ground.stiffness": stiffness}), 0.5)
    np.testing.assert_allclose(truth.depths["block"], WEIGHT / (4 * stiffness), rtol=1e-6)
    np.testing.assert_allclose(truth.wrenches_C["block"], [0, 0, WEIGHT, 0, 0, 0], atol=1e-6 * WEIGHT)


def test_bounce_has_frequency_and_decay_of_a_spring_and_damper():
    # Four points in parallel; an impulse at the top sets the block swinging without taking off.
    stiffness, damping, step = 1e4, 50.0, 1e-4
    ground = {"ground.stiffness": stiffness, "ground.damping": damping}
    values = {**ON_GROUND, **ground, "step": step, "sensors.rate": 1e4}
    simulation = block_simulation(values, [Push("block", (0, 0, -20.0), start=0.0, duration=0.01)])
    simulation.apply(np.zeros(0))
    heights = []
    for _ in range(3000):
        simulation.advance(round(step * 1e9))
        heights.append(simulation.truth().base.p_WB[2] + WEIGHT / (4 * stiffness))
    z = np.array(heights)
    peaks = [i for i in range(1, len(z) - 1) if z[i - 1] < z[i] >= z[i + 1]]
    period = np.diff(peaks).mean() * step
    decay = 4 * damping / (2 * MASS)
    frequency = np.sqrt(4 * stiffness / MASS - decay**2)
    assert 2 * np.pi / period == pytest.approx(frequency, rel=0.01)
    assert np.log(z[peaks[0]] / z[peaks[1]]) / period == pytest.approx(decay, rel=0.05)


@pytest.mark.parametrize("slope", [0.2, 0.45])
def test_block_sticks_below_the_friction_angle_and_does_not_creep(slope):
    simulation = block_simulation(ramp(slope, 0.6))
    early, late = run(simulation, 0.5), run(simulation, 3.0)
    assert np.linalg.norm(late.base.p_WB - early.base.p_WB) < 1e-8
    assert force_along(late, (0, 0, 1), (1, 0, 0)) == pytest.approx([WEIGHT, 0.0], rel=1e-6, abs=1e-6)


def test_a_block_pushed_along_a_slope_moves_by_force_over_stiffness_of_all_points_along_it():
    slope, push, stiffness = 0.45, 5.0, 1e4
    along = np.array([np.cos(slope), 0.0, np.sin(slope)])
    values = {**ramp(slope, 0.6), "ground.stiffness": stiffness}
    simulation = block_simulation(values, [Push("block", push * along, start=1.0, duration=2.0)])
    before, pushed = run(simulation, 0.99), run(simulation, 1.5)
    shift = pushed.base.p_WB - before.base.p_WB
    np.testing.assert_allclose(shift, push / (4 * stiffness) * along, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("slope", [0.7, -0.7])
def test_block_slides_above_the_friction_angle_with_the_acceleration_of_the_textbook(slope):
    friction = 0.3
    simulation = block_simulation(ramp(slope, friction))
    first, second = run(simulation, 0.5), run(simulation, 0.5)
    along = np.array([np.cos(slope), 0.0, np.sin(slope)])
    speeds = [t.base.v_WB_B @ [1, 0, 0] for t in (first, second)]
    expected = -np.sign(slope) * GRAVITY * (np.sin(abs(slope)) - friction * np.cos(slope))
    assert (speeds[1] - speeds[0]) / 0.5 == pytest.approx(expected, rel=0.01)
    across, normal = force_along(second, along, (-np.sin(slope), 0.0, np.cos(slope)))
    assert abs(across) == pytest.approx(friction * normal, rel=1e-6)


def test_ground_does_not_hold_on_to_a_block_that_is_lifted():
    lift = Push("block", (0, 0, 3 * WEIGHT), start=0.0, duration=0.2, point_L=(0, 0, SIDE / 2))
    simulation = block_simulation(ON_GROUND, [lift])
    simulation.apply(np.zeros(0))
    for _ in range(40):
        simulation.advance(5_000_000)
        truth = simulation.truth()
        assert truth.wrenches_C["block"][2] >= 0.0
    assert (truth.depths["block"] < 0.0).all()
    # From rest with 2 g upwards; the springs give back what they had stored, and no more.
    lifted = 0.5 * 2 * GRAVITY * 0.2**2
    assert lifted < truth.base.p_WB[2] < lifted + 0.01


@pytest.mark.parametrize("terrain", ["ramp", "rough"])
def test_normal_is_across_the_slope_of_the_height(terrain):
    ground = terrain_from_config(GroundConfig(terrain=terrain, slope=0.3, roughness=0.1, cell=0.2, begin=0.0))
    rng, e = np.random.default_rng(0), 1e-6
    xy = rng.uniform([0.01, -5.0], [5.0, 5.0], (200, 2))
    _, normals = ground.surface(xy)
    for axis in (0, 1):
        shift = e * np.eye(2)[axis]
        slope = (ground.surface(xy + shift)[0] - ground.surface(xy - shift)[0]) / (2 * e)
        np.testing.assert_allclose(normals[:, axis] / normals[:, 2], -slope, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
