"""Contacts from joint torques alone, on a simulated leg that hops on a vertical slider."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.contact_detector import ContactDetector
from inertial_estimation.models.momentum_observer import BaseFrameMotion
from inertial_estimation.models.robot_model import RobotModel

LINK = (
    "<link name='{}'><inertial><origin xyz='0 0 {}'/><mass value='{}'/>"
    "<inertia ixx='{i}' iyy='{i}' izz='1e-5' ixy='0' ixz='0' iyz='0'/></inertial></link>"
)
JOINT = (
    "<joint name='{}' type='{}'><parent link='{}'/><child link='{}'/><origin xyz='0 0 {}'/><axis xyz='{}'/>"
    "<limit lower='-9' upper='9' effort='9' velocity='99'/></joint>"
)
LEG = (
    LINK.format("base", 0.0, 0.7, i=1e-3)
    + JOINT.format("hip", "revolute", "base", "thigh", 0.0, "0 1 0")
    + LINK.format("thigh", -0.08, 0.15, i=4e-4)
    + JOINT.format("knee", "revolute", "thigh", "shank", -0.16, "0 1 0")
    + LINK.format("shank", -0.09, 0.04, i=1.2e-4)
    + JOINT.format("ankle", "fixed", "shank", "foot", -0.16, "1 0 0")
    + LINK.format("foot", 0.0, 0.01, i=1e-6)
)
SLIDER = "<link name='rail'/>" + JOINT.format("slider", "prismatic", "rail", "base", 0.0, "0 0 1")
STEP, SUBSTEPS, STIFFNESS, DAMPING = 1e-3, 10, 1.5e4, 40.0
# Of a small leg [kg m^2, rad, Nm, m/s^2].
ARMATURE, RESOLUTION, TORQUE_NOISE, IMU_NOISE = 3.6e-4, 2e-4, 5e-3, 0.3
FORCE_ON, FORCE_OFF = 3.0, 1.5


@dataclass
class Hops:
    """What encoders, drives and the base's accelerometer read at each step, and the true force."""

    q: np.ndarray
    tau: np.ndarray
    proper: np.ndarray
    force: np.ndarray


@pytest.fixture(scope="module")
def hops() -> Hops:
    """Two seconds of a leg whose drives stretch it for a while twice a second."""
    model = pin.buildModelFromXML(f"<robot name='hopper'>{SLIDER}{LEG}</robot>")
    model.armature = np.array([0.0, ARMATURE, ARMATURE])
    data, foot = model.createData(), model.getFrameId("foot")
    q, v = np.array([0.27, 0.8, -1.6]), np.zeros(3)
    q_all, tau_all, proper, forces = [], [], [], []
    rng = np.random.default_rng(0)
    for k in range(2000):
        push = max(0.0, np.sin(2.0 * np.pi * k / 500.0)) ** 2
        posture = (0.8 - 0.45 * push) * np.array([1.0, -2.0])
        tau = 8.0 * (posture - q[1:]) - 0.15 * v[1:]
        for _ in range(SUBSTEPS):
            pin.forwardKinematics(model, data, q, v)
            J = pin.computeFrameJacobian(model, data, q, foot, pin.LOCAL_WORLD_ALIGNED)[:3]
            height = pin.updateFramePlacement(model, data, foot).translation[2]
            speed = J @ v
            up = max(0.0, -STIFFNESS * height - DAMPING * speed[2]) if height < 0.0 else 0.0
            force = np.array([-np.clip(20.0 * speed[0], -0.8 * up, 0.8 * up), 0.0, up])
            a = pin.aba(model, data, q, v, np.concatenate(([0.0], tau)) + J.T @ force)
            v = v + STEP / SUBSTEPS * a
            q = q + STEP / SUBSTEPS * v
        q_all.append(RESOLUTION * np.round(q[1:] / RESOLUTION))
        tau_all.append(tau + TORQUE_NOISE * rng.standard_normal(2))
        proper.append([0.0, 0.0, a[0] + 9.81])
        forces.append(up)
    noisy = np.array(proper) + IMU_NOISE * rng.standard_normal((len(proper), 3))
    return Hops(np.array(q_all), np.array(tau_all), noisy, np.array(forces))


def detected(hops: Hops) -> tuple[np.ndarray, np.ndarray]:
    """Vertical force and whether the contact is closed at each step, with velocities from the last 5 ms."""
    robot = RobotModel.from_urdf(f"<robot name='leg'>{LEG}</robot>")
    detector = ContactDetector(
        robot,
        ["foot"],
        force_on=FORCE_ON,
        force_off=FORCE_OFF,
        gain=200.0,
        armature=np.full(2, ARMATURE),
    )
    window, found = 5, []
    for k in range(len(hops.q)):
        v = (hops.q[k] - hops.q[max(k - window, 0)]) / (window * STEP)
        base = BaseFrameMotion(hops.proper[k], np.zeros(3), np.zeros(3))
        (contact,) = detector.update(hops.q[k], v, hops.tau[k], STEP, np.array([0.0, 0.0, 1.0]), base)
        found.append((contact.vertical_force, contact.closed))
    forces, closed = zip(*found, strict=True)
    return np.array(forces), np.array(closed)


def test_hops_are_detected_without_false_contacts(hops: Hops) -> None:
    force, closed = detected(hops)
    true = hops.force > 0.0
    landings = 1 + np.flatnonzero(true[1:] & ~true[:-1])
    landings = np.array([k for k in landings if not true[k - 20 : k].any()])  # after a flight, no bounce
    assert len(landings) >= 4
    delays = [int(np.argmax(closed[k:])) for k in landings]
    assert np.median(delays) <= 15
    flight = np.array([not true[max(k - 15, 0) : k + 1].any() for k in range(len(true))])
    assert flight.sum() > 200
    assert not closed[flight].any()
    stance = np.array([true[max(k - 40, 0) : k + 1].all() for k in range(len(true))])
    assert closed[stance].mean() > 0.99
    assert np.sqrt(np.mean((force - hops.force)[stance] ** 2)) < 0.15 * hops.force.max()


def test_a_limb_that_is_stretched_keeps_its_contact(hops: Hops) -> None:
    robot = RobotModel.from_urdf(f"<robot name='leg'>{LEG}</robot>", floating_base=False)
    detector = ContactDetector(robot, ["foot"], force_on=FORCE_ON, force_off=FORCE_OFF)
    up, still = np.array([0.0, 0.0, 1.0]), np.zeros(2)
    bent, straight = np.array([0.7, -1.4]), np.zeros(2)
    for _ in range(100):
        (closed,) = detector.update(bent, still, np.array([0.0, 2.0]), STEP, up)
    assert closed.closed
    (kept,) = detector.update(straight, still, still, STEP, up)
    assert kept.closed
    assert np.isnan(kept.vertical_force)


def test_thresholds_are_checked() -> None:
    robot = RobotModel.from_urdf(f"<robot name='leg'>{LEG}</robot>", floating_base=False)
    with pytest.raises(ConfigurationError, match="expected 0 < force_off <= force_on"):
        ContactDetector(robot, ["foot"], force_on=1.0, force_off=2.0)
