"""Wrenches whose messages are in the axes of the base are turned into those of their sensors."""

import numpy as np
import pinocchio as pin
from support.input_scenes import START, inputs, setup, wrench

from inertial_estimation.inputs.sensors import ContactSource, SensorAxes

Q = np.array([0.4, -0.7, 0.2, -0.3])


def sent_in(frame_id):
    """The wrenches of both feet in a frame, as the axes turn them, and what is said of them."""
    robot = setup(wrench_frames=("L_cell", "R_cell"))
    sources = dict.fromkeys(robot.contact_names, ContactSource.WRENCH)
    taken = inputs(robot=robot, sources=sources)
    taken.push_contact("l_foot", wrench(START), START, frame_id)
    taken.push_contact("r_foot", wrench(START), START, "R_cell")
    axes = SensorAxes(robot, taken.contacts)
    rows = np.arange(12.0).reshape(2, 6)
    return robot.robot, rows, axes.turned(rows, Q), axes.note


def test_those_in_the_axes_of_the_base_are_turned_by_the_joints():
    robot, rows, turned, note = sent_in("base")
    model, data = robot.model, robot.model.createData()
    pin.framesForwardKinematics(model, data, robot.configuration(Q))
    R_BF = data.oMf[robot.frame_id("L_cell")].rotation
    np.testing.assert_allclose(R_BF @ turned[0, :3], rows[0, :3], atol=1e-12)
    np.testing.assert_allclose(R_BF @ turned[0, 3:], rows[0, 3:], atol=1e-12)
    np.testing.assert_array_equal(turned[1], rows[1])
    assert note == ""


def test_those_in_the_axes_of_the_world_are_named():
    assert "the wrenches of l_foot are in the axes of the world" in sent_in("odom")[3]
