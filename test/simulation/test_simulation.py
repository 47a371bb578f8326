"""Sensors, truth and time of the simulation; Pinocchio and textbook mechanics as the oracles."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from support.simulated_robots import (
    GRAVITY,
    MASS,
    ON_GROUND,
    SIDE,
    PostureHold,
    block_simulation,
    released,
    talos_simulation,
)

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.simulation.config import GroundConfig
from inertial_estimation.simulation.contact import ground_normals, ground_surface
from inertial_estimation.simulation.disturbances import TWELVE_POUNDS, Attachment, MassWaveform, Push, ball
from inertial_estimation.simulation.robot_build import build_robot
from inertial_estimation.spatial.rotations import rotation_from_quaternion

FOREARM, TORSO = "arm_left_5_link", "torso_2_link"
ARMATURE = {
    "nominal_friction.joints": ("*",),
    "nominal_friction.terms": ("armature",),
    "nominal_friction.values": (0.05,),
}
CENTRE = (0.0, 0.0, 0.1)  # of the block
FEET = ("left_foot", "right_foot")


def pinocchio_state(simulation, truth):
    """Configuration and velocity of a true state in Pinocchio's coordinates."""
    q = simulation.robot.configuration(truth.q)
    if not simulation.robot.floating_base:
        return q, truth.v
    q[:3], q[3:7] = truth.base.p_WB, truth.base.quaternion_xyzw
    return q, np.concatenate([truth.base.v_WB_B, truth.base.w_WB_B, truth.v])


def pinocchio_model(simulation, truth):
    """The robot with the bodies of the links the truth was asked for as they are now."""
    model = simulation.robot.model.copy()
    for link, inertia in truth.inertias.items():
        body = simulation.robot.link_body(link)
        own = pin.Inertia(inertia.mass, np.array(inertia.com_L), np.array(inertia.inertia_Lcm))
        model.inertias[body.joint_id] = body.T_JL.act(own)
    return model


@pytest.fixture(scope="module")
def waving():
    """Talos swings its arms with friction, armature, a load, a mass that changes and a push."""
    values = {
        **ARMATURE,
        "nominal_friction.terms": ("armature", "coulomb", "viscous"),
        "nominal_friction.values": (0.05, 0.5, 0.3),
        "wrench_frames": ("leg_left_6_link", "leg_right_6_link"),
    }
    things = [
        Attachment(ball(FOREARM, TWELVE_POUNDS, (0.02, 0.01, 0.05)), start=0.1),
        MassWaveform(TORSO, "sine", 20.0, 3.0, 2.0),
    ]
    simulation = talos_simulation(values, things)
    arms = np.array([name.startswith("arm") for name in simulation.robot.joint_names])
    readings = PostureHold(simulation).run(0.4, lambda t: arms * 0.3 * np.sin(2 * np.pi * 1.5 * t))
    return simulation, simulation.truth((FOREARM, TORSO)), readings


def test_truth_obeys_the_equation_of_motion_of_pinocchio(waving):
    simulation, truth, _ = waving
    model, (q, v) = pinocchio_model(simulation, truth), pinocchio_state(simulation, truth)
    data = model.createData()
    needed = np.array(pin.rnea(model, data, q, v, truth.a))
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    given = np.concatenate([np.zeros(6), truth.tau_link])
    for foot, frame in zip(FEET, ("leg_left_6_link", "leg_right_6_link"), strict=True):
        J = pin.getFrameJacobian(model, data, simulation.robot.frame_id(frame), pin.LOCAL)
        given += J.T @ truth.wrenches_C[foot]
    assert np.abs(v).max() > 0.5
    assert np.abs(truth.a).max() > 1.0
    np.testing.assert_allclose(given, needed, atol=1e-9 * np.abs(needed).max())
    assert truth.total_mass == pytest.approx(sum(inertia.mass for inertia in model.inertias), rel=1e-12)


def test_imu_reads_the_specific_force_of_its_frame(waving):
    simulation, truth, readings = waving
    model, (q, v) = pinocchio_model(simulation, truth), pinocchio_state(simulation, truth)
    data, frame = model.createData(), simulation.robot.frame_id("imu_link")
    pin.forwardKinematics(model, data, q, v, truth.a)
    R_WI = pin.updateFramePlacement(model, data, frame).rotation
    acceleration = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL).linear
    rate = pin.getFrameVelocity(model, data, frame, pin.LOCAL).angular
    sample = readings[-1].imu
    assert sample.stamp_ns == truth.stamp_ns
    np.testing.assert_allclose(
        sample.specific_force_I, acceleration - R_WI.T @ model.gravity.linear, atol=1e-9
    )
    np.testing.assert_allclose(sample.angular_rate_I, rate, atol=1e-12)


def test_readings_are_the_truth_without_noise(waving):
    _, truth, readings = waving
    last = readings[-1]
    np.testing.assert_array_equal(last.joints.position, truth.q)
    np.testing.assert_array_equal(last.joints.velocity, truth.v)
    np.testing.assert_array_equal(last.joints.effort, truth.tau_link)
    for foot in FEET:
        np.testing.assert_array_equal(last.wrenches[foot].wrench_F, truth.wrenches_C[foot])


@pytest.mark.parametrize(
    ("blow", "impulse"),
    [
        (Push("block", (3.0, -2.0, 5.0), 0.1, 0.1, CENTRE), (0.3, -0.2, 0.5)),
        (Push("block", (3.0, 0.0, 0.0), 0.1004, 0.0123, CENTRE), (0.0369, 0.0, 0.0)),
        (Push("block", (500.0, 0.0, 100.0), start=0.1, duration=0.001, point_L=CENTRE), (0.5, 0.0, 0.1)),
    ],
)
def test_blow_gives_its_impulse(blow, impulse):
    simulation = block_simulation({}, [blow])
    simulation.apply(np.zeros(0))
    simulation.advance(300_000_000)
    momentum = MASS * simulation.truth().com_velocity_W
    np.testing.assert_allclose(momentum, np.array(impulse) - [0, 0, 0.3 * MASS * GRAVITY], atol=1e-9)


def test_mass_wave_scales_the_whole_inertia_and_ends():
    simulation = talos_simulation({}, [MassWaveform(FOREARM, offset=5.0, start=0.01, stop=0.02)])
    found = [simulation.truth((FOREARM,)).inertias[FOREARM]]
    released(simulation)
    for _ in range(2):
        simulation.advance(15_000_000)
        found.append(simulation.truth((FOREARM,)).inertias[FOREARM])
    nominal, loaded, after = found
    assert loaded.mass == pytest.approx(5.0)
    np.testing.assert_allclose(loaded.com_L, nominal.com_L, atol=1e-12)
    np.testing.assert_allclose(loaded.inertia_Lcm / 5.0, nominal.inertia_Lcm / nominal.mass, atol=1e-12)
    assert after.mass == pytest.approx(nominal.mass, rel=1e-12)


def test_disturbances_wait_for_the_release():
    simulation = block_simulation(ON_GROUND, [MassWaveform("block", offset=20.0, start=0.1)])
    simulation.advance(1_000_000_000)
    assert simulation.truth().total_mass == pytest.approx(MASS)
    simulation.apply(np.zeros(0))
    simulation.advance(150_000_000)
    assert simulation.truth().total_mass == pytest.approx(20.0)


ROBOTS = {
    "talos": ("talos_reduced", True, ()),
    "talos, arms locked": ("talos_reduced", True, ("arm_*", "gripper_*")),
    "hyq": ("hyq_no_sensors", True, ()),
    "panda": ("panda", False, ("panda_finger_joint*",)),
    "panda with fingers": ("panda", False, ()),  # prismatic
}
CARTWHEEL = """<robot name="cartwheel">
<link name="cart"><inertial><origin xyz="0.1 0 0.2"/><mass value="3"/>
<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="0.02" iyz="-0.03"/></inertial>
<visual><geometry><mesh filename="package://nowhere/cart.stl"/></geometry></visual>
<collision><geometry><mesh filename="nowhere.dae"/></geometry></collision></link>
<link name="wheel"><inertial><origin xyz="0 0.05 0"/><mass value="{mass}"/>
<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hub"/>
<joint name="spin" type="continuous"><parent link="cart"/><child link="wheel"/>
<origin xyz="0 0.2 0" rpy="0.1 0 0"/>
<axis xyz="0 0.6 0.8"/></joint>
<joint name="cap" type="fixed"><parent link="wheel"/><child link="hub"/></joint></robot>"""


def robots():
    for name, (source, floating, locked) in ROBOTS.items():
        urdf = read_urdf(f"example-robot-data:{source}")
        yield pytest.param(RobotModel.from_urdf(urdf, floating_base=floating, locked_joints=locked), id=name)
    yield pytest.param(
        RobotModel.from_urdf(CARTWHEEL.format(mass=1, moment=0.01)), id="continuous, no meshes"
    )


def velocity_map(robot, q):
    """T with v_mujoco = T v_pinocchio: MuJoCo's free joint has its linear velocity in world axes."""
    T = np.eye(robot.model.nv)
    if robot.floating_base:
        T[:3, :3] = pin.XYZQUATToSE3(q[:7]).rotation
    return T


@pytest.mark.parametrize("robot", list(robots()))
def test_mass_matrix_and_bias_force_are_pinocchios(robot):
    built = build_robot(robot, 0.001)
    data = mujoco.MjData(built.model)
    rng = np.random.default_rng(3)
    n = robot.n_base
    order = np.concatenate([np.arange(n), np.arange(robot.model.nv)[built.dof]])
    for _ in range(3):
        q = robot.configuration(rng.uniform(-1.0, 1.0, robot.n_joints))
        v = rng.uniform(-2.0, 2.0, robot.model.nv)
        if n:
            q[:7] = pin.SE3ToXYZQUAT(pin.SE3.Random())
            data.qpos[:7] = q[[0, 1, 2, 6, 3, 4, 5]]
        data.qpos[built.qpos] = robot.joint_positions(q)
        T = velocity_map(robot, q)
        data.qvel[order] = T @ v
        mujoco.mj_step1(built.model, data)
        M = np.zeros((robot.model.nv, robot.model.nv))
        for column, unit in zip(M, np.eye(len(M)), strict=True):
            mujoco.mj_mulM(built.model, data, column, unit)
        M, bias = M[np.ix_(order, order)], data.qfrc_bias[order].copy()
        pinocchio_data = robot.model.createData()
        M_pin = np.array(pin.crba(robot.model, pinocchio_data, q))
        M_pin = np.triu(M_pin) + np.triu(M_pin, 1).T
        scale = np.abs(M_pin).max()
        np.testing.assert_allclose(T.T @ M @ T, M_pin, atol=1e-9 * scale)
        still = np.zeros_like(v)  # MuJoCo's acceleration where Pinocchio's is zero: R (w x v)
        still[: min(n, 3)] = T[:3, :3] @ np.cross(v[3:6], v[:3]) if n else []
        h_pin = np.array(pin.nonLinearEffects(robot.model, pinocchio_data, q, v))
        np.testing.assert_allclose(T.T @ (M @ still + bias), h_pin, atol=1e-9 * np.abs(h_pin).max())
        com = pin.centerOfMass(robot.model, pinocchio_data, q)
        if n:
            np.testing.assert_allclose(data.subtree_com[0], com, atol=1e-12)


@pytest.mark.parametrize(("mass", "moment"), [(0.0, 0.01), (1.0, 0.0)])
def test_moving_link_without_inertia_is_named(mass, moment):
    robot = RobotModel.from_urdf(CARTWHEEL.format(mass=mass, moment=moment))
    with pytest.raises(ModelError, match=r"'wheel'.*expected a mass and moments above zero"):
        build_robot(robot, 0.001)


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
    early, late = run(simulation, 0.5), run(simulation, 1.5)
    assert np.linalg.norm(late.base.p_WB - early.base.p_WB) < 5e-9
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
    surface = ground_surface(GroundConfig(terrain=terrain, slope=0.3, roughness=0.1, cell=0.2, begin=0.0))
    rng, e = np.random.default_rng(0), 1e-6
    xy = rng.uniform([0.01, -5.0], [5.0, 5.0], (200, 2))
    normals = ground_normals(surface(xy)[1])
    for axis in (0, 1):
        shift = e * np.eye(2)[axis]
        slope = (surface(xy + shift)[0] - surface(xy - shift)[0]) / (2 * e)
        np.testing.assert_allclose(normals[:, axis] / normals[:, 2], -slope, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
