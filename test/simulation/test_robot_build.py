import mujoco
import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.simulation.robot_build import build_robot

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
