"""Forces of the ground, mass and centre of mass at rest against recursive Newton-Euler of a loaded robot."""

import numpy as np
import pinocchio as pin
import pytest
from support.standing_robot import HYQ, QUADRUPEDS, Standing, moment_about_base

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.payload.statics import TrunkStatics, trunk_com_across_gravity, trunk_mass

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
