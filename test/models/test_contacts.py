"""Contacts: poses of feet and IMU, and forces from joint torques."""

import numpy as np
import pinocchio as pin
import pytest
from support.leg_robot import CONFIG, NAMES, URDF, Stance

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.contacts import (
    ContactForces,
    ContactFrames,
    ContactView,
    MomentumObserver,
    limb_wrench,
)
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.robot_model import RobotModel

WRENCH_FRAMES = ("left_sensor", "right_sensor")


def view_of(imu="imu"):
    config = RobotConfig(**{**CONFIG, "imu_frame": imu, "wrench_frames": WRENCH_FRAMES})
    setup = robot_from_config(config, URDF)
    return setup.robot, ContactView(setup.robot, setup.contacts, setup.imu)


@pytest.mark.parametrize("imu", ["imu", "base"])
@pytest.mark.parametrize("t", [0.4, 1.3, 2.9])
def test_poses_of_contacts_and_imu(imu, t):
    robot, view = view_of(imu)
    stance = Stance(1, foot=(0.1, -0.2, 0.5))
    view.update(stance.q(t)[[NAMES.index(name) for name in robot.joint_names]])
    T_BI = stance.pose("base", t).actInv(stance.pose(imu, t))
    np.testing.assert_allclose(view.p_BI, T_BI.translation, atol=1e-12)
    np.testing.assert_allclose(view.R_BI, T_BI.rotation, atol=1e-12)
    for k, side in enumerate(("left", "right")):
        T_IC, T_IF = (stance.pose(imu, t).actInv(stance.pose(f"{side}_{x}", t)) for x in ("sole", "sensor"))
        np.testing.assert_allclose(view.points[k], T_IC.translation, atol=1e-12)
        np.testing.assert_allclose(view.rotations[k], T_IC.rotation, atol=1e-12)
        np.testing.assert_allclose(view.rotations[k] @ view.offsets[k], T_IF.rotation, atol=1e-12)
        np.testing.assert_allclose(view.points_B[k], (T_BI * T_IC).translation, atol=1e-12)


STEP, GAIN = 5e-4, 60.0
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
CONTACTS = tuple(ContactFrames(foot, foot, foot) for foot in FEET)
P_BI = np.array([0.1, -0.05, 0.08])  # of the IMU in the base [m]
FORCE_B = np.array([[3.0, -2.0, 20.0], [0.0, 0.0, 0.0], [-4.0, 5.0, 40.0], [1.0, 1.0, 0.0]])
ARMATURE = 0.02


@pytest.fixture(scope="module", params=[False, True], ids=["fixed base", "floating base"])
def robot(request: pytest.FixtureRequest) -> RobotModel:
    return RobotModel.from_urdf(read_urdf("example-robot-data:go2"), floating_base=request.param)


def joints_at(t: float, n: int) -> list[np.ndarray]:
    """Positions, velocities and accelerations of a fast swing of all joints, within their limits."""
    phase, middle = np.arange(n), np.tile([0.0, 0.8, -1.6], n // 3)
    s, c = np.sin(9.0 * t + phase), np.cos(9.0 * t + phase)
    return [middle + 0.3 * s, 2.7 * c, -24.3 * s]


def base_at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Proper acceleration of the base's origin, angular velocity and angular acceleration."""
    w = np.array([1.5 * np.sin(5.0 * t), np.cos(4.0 * t), 0.7])
    dw = np.array([7.5 * np.cos(5.0 * t), -4.0 * np.sin(4.0 * t), 0.0])
    return np.array([2.0 * np.sin(7.0 * t), 1.0, 9.0 + 3.0 * np.cos(6.0 * t)]), w, dw


def sensed_at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What an IMU senses that is not at the base's origin; no angular acceleration."""
    f, w, dw = base_at(t)
    lever = np.cross(dw, P_BI) + np.cross(w, np.cross(w, P_BI))
    return f + lever, w, P_BI


def environment(robot: RobotModel, q: np.ndarray) -> np.ndarray:
    """Joint torques of the forces at the feet."""
    data = robot.model.createData()
    total = np.zeros(robot.n_joints)
    for foot, force in zip(FEET, FORCE_B, strict=True):
        frame = robot.frame_id(foot)
        J = pin.computeFrameJacobian(
            robot.model, data, robot.configuration(q), frame, pin.LOCAL_WORLD_ALIGNED
        )
        total += J[:3, robot.n_base :].T @ force
    return total


def drive_torques(robot: RobotModel, t: float) -> np.ndarray:
    """What the drives apply along the motion under the forces at the feet."""
    model = robot.model.copy()
    q, v, a = joints_at(t, robot.n_joints)
    configuration = robot.configuration(q)
    own = ARMATURE * a - environment(robot, q)
    if not robot.floating_base:
        return pin.rnea(model, model.createData(), configuration, v, a) + own
    model.gravity = pin.Motion.Zero()
    f, w, dw = base_at(t)
    v, a = np.concatenate((np.zeros(3), w, v)), np.concatenate((f, dw, a))
    return pin.rnea(model, model.createData(), configuration, v, a)[6:] + own


def test_residual_follows_the_environment_with_one_pole(robot: RobotModel) -> None:
    rotors = robot.model.copy()
    rotors.armature = np.full(rotors.nv, ARMATURE)
    observer = MomentumObserver(RobotModel(rotors), gain=GAIN)
    expected = None
    for k in range(200):
        q, v, _a = joints_at(k * STEP, robot.n_joints)
        base, present = sensed_at(k * STEP) if robot.floating_base else None, environment(robot, q)
        residual = observer.update(q, v, drive_torques(robot, k * STEP), STEP, base)
        expected = expected + (present - expected) * (1.0 - np.exp(-GAIN * STEP)) if k else residual
        np.testing.assert_allclose(residual, expected, atol=0.02 * np.abs(present).max())


def test_a_step_of_the_environment_is_followed_by_the_implicit_rule_whatever_the_time_step(robot: RobotModel):
    """At rest r += K dt / (1 + K dt) (J'f - r): half way after a step of 1/K, ten elevenths after ten."""
    q, still = joints_at(0.3, robot.n_joints)[0], np.zeros(robot.n_joints)
    gravity = pin.computeGeneralizedGravity(robot.model, robot.model.createData(), robot.configuration(q))
    held, forces = gravity[robot.n_base :], environment(robot, q)
    base = (np.array([0.0, 0.0, 9.81]), np.zeros(3), P_BI) if robot.floating_base else None
    for steps, share in ((1.0, 0.5), (10.0, 10.0 / 11.0)):
        observer = MomentumObserver(robot, gain=GAIN)
        first = [observer.update(q, still, held, steps / GAIN, base) for _ in range(3)]
        np.testing.assert_allclose(first, 0.0, atol=1e-9)
        found = observer.update(q, still, held - forces, steps / GAIN, base)
        np.testing.assert_allclose(found, share * forces, atol=1e-9)
        observer.reset()
        np.testing.assert_allclose(observer.update(q, still, held - forces, 1.0, base), forces, atol=1e-9)


@pytest.mark.parametrize(("degrees", "known"), [(0.0, False), (8.0, False), (10.0, True)])
def test_a_leg_that_is_stretched_within_nine_degrees_does_not_tell_the_force_along_it(
    robot: RobotModel, degrees: float, known: bool
) -> None:
    """There the smallest lever of equal thighs and shanks is 3 % of the largest."""
    q, forces = np.tile(np.radians([0.0, 0.5 * degrees, -degrees]), 4), ContactForces(robot, CONTACTS)
    x, _y, z = (forces.along(q, environment(robot, q), axis) for axis in np.eye(3))
    np.testing.assert_allclose(z, FORCE_B[:, 2] if known else np.full(4, np.nan), atol=1e-9)
    if not degrees:  # the levers across a straight leg are those of its length
        np.testing.assert_allclose(x, FORCE_B[:, 0], atol=1e-9)


def test_the_lever_of_a_limb_is_weak_against_its_largest_one() -> None:
    weak = limb_wrench(np.diag([1.0, 0.5, 0.02]), np.ones(3))  # against the largest lever, not the next one
    np.testing.assert_allclose(np.concatenate((weak[0][None], np.abs(weak[1]))), [[1, 2, 0], *np.eye(3)[:2]])


SOLES = (("left_sole_link", "leg_left_6_link"), ("right_sole_link", "leg_right_6_link"))
HANDS = (("arm_left_7_link", "arm_left_7_link"), ("arm_right_7_link", "arm_right_7_link"))


@pytest.mark.parametrize(("names", "size"), [(SOLES, 1.0), (HANDS, 1.0), (SOLES, 0.2)])
def test_soles_and_hands_transmit_a_moment_and_a_shared_joint_tells_nothing(names, size) -> None:
    """The force at each contact of TALOS, also of 35 cm, of wrenches in frames that are turned and moved."""
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_full_v2"))
    for place in (*robot.model.jointPlacements, *(frame.placement for frame in robot.model.frames)):
        place.translation = size * place.translation
    contacts = [ContactFrames(frame, frame, wrench_frame) for frame, wrench_frame in names]
    rng = np.random.default_rng(4)
    bent, q = {"3": -0.4, "4": 0.8, "5": -0.4}, rng.uniform(-1.2, 1.2, robot.n_joints)
    q = [
        bent.get(name[-7], 0.1) if "leg" in name else x for name, x in zip(robot.joint_names, q, strict=True)
    ]
    q = np.array(q)
    wrenches, expected = rng.standard_normal((2, 6)), []
    torques = 50.0 * np.array(["torso" in name for name in robot.joint_names])
    data = robot.model.createData()
    for contact, wrench in zip(contacts, wrenches, strict=True):
        frame = robot.frame_id(contact.wrench_frame)
        J = pin.computeFrameJacobian(robot.model, data, robot.configuration(q), frame, pin.LOCAL)
        torques += J[:, 6:].T @ wrench
        expected.append(robot.frame_poses(q, [contact.wrench_frame])[0][0] @ wrench[:3])
    forces = ContactForces(robot, contacts)
    along = np.array([forces.along(q, torques, axis) for axis in np.eye(3)]).T
    np.testing.assert_allclose(along, expected, atol=1e-8)
