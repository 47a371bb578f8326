"""A URDF written with other inertias says them to Pinocchio, and nothing else changes."""

import numpy as np
import pytest

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ModelError
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import perturbed_urdf, urdf_with_bodies, urdf_with_load
from inertial_estimation.spatial.inertial_parameters import InertialParameters


def urdf_with_mass(urdf, robot, link, mass):
    body = BodyReference.of_link(robot, link)
    scaled = body.to_link @ body.nominal_C * (mass / body.nominal_J.mass)
    return urdf_with_bodies(urdf, robot, [body], [scaled])


COMMENTED = """<?xml version="1.0" encoding="utf-8"?>
<!-- made by hand & kept -->
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="two" xmlns:drake="http://drake.mit.edu">
  <!-- the base -->
  <link name="base"/>
  <link name="tip">
    <visual><geometry><box size="1 2 3"/></geometry></visual>
    <inertial>
      <!-- weighed on 3 May -->
      <mass value="2.0"/>
      <origin rpy="0 0 0" xyz="0 0 0.5"/>
      <inertia izz="0.3" iyy="0.2" ixx="0.25" iyz="0" ixz="0" ixy="0"/>
    </inertial>
  </link>
  <joint type="revolute" name="hinge">
    <parent link="base"/><child link="tip"/>
    <limit velocity="1" upper="1" lower="-1" effort="5"/>
    <axis xyz="0 1 0"/>
    <drake:rotor_inertia value="0.01"/>
  </joint>
</robot>
<!-- the end -->
"""


def test_perturbed_robot_is_possible_and_off_by_what_was_asked() -> None:
    urdf = read_urdf("example-robot-data:talos_reduced")
    changed = perturbed_urdf(urdf, np.random.default_rng(3), mass_sigma=0.03, com_sigma=0.003)
    robot, other = RobotModel.from_urdf(urdf), RobotModel.from_urdf(changed)
    single = [j for j in range(2, robot.model.njoints) if robot.model.inertias[j].mass > 0.5]
    logs = [np.log(other.model.inertias[j].mass / robot.model.inertias[j].mass) for j in single]
    assert 0.01 < np.std(logs) < 0.06
    for inertia in other.model.inertias[1:]:
        assert not InertialParameters.from_pinocchio(inertia).violations()


def test_comments_namespaces_and_order_stay() -> None:
    """Only the numbers of the changed link differ from the input, tag by tag and attribute by attribute."""
    robot = RobotModel.from_urdf(COMMENTED, floating_base=False)
    written = urdf_with_mass(COMMENTED, robot, "tip", 3.0).replace(" />", "/>")
    changed = [
        (before, after)
        for before, after in zip(COMMENTED.splitlines(), written.splitlines(), strict=True)
        if before != after
    ]
    assert changed == [
        ('      <mass value="2.0"/>', '      <mass value="3"/>'),
        (
            '      <inertia izz="0.3" iyy="0.2" ixx="0.25" iyz="0" ixz="0" ixy="0"/>',
            '      <inertia izz="0.45" iyy="0.3" ixx="0.375" iyz="0" ixz="0" ixy="0"/>',
        ),
    ]


def test_a_load_is_a_link_of_its_own() -> None:
    load = InertialParameters(1.5, np.array([0.1, 0.0, 0.2]), 0.01 * np.eye(3))
    loaded = RobotModel.from_urdf(urdf_with_load(COMMENTED, "tip", "cup", load))
    (alone, both) = (robot.link_body("tip").nominal_J for robot in (RobotModel.from_urdf(COMMENTED), loaded))
    np.testing.assert_allclose(
        both.toDynamicParameters() - alone.toDynamicParameters(), load.vector, atol=1e-12
    )
    for link, name in (("nose", "cup"), ("tip", "base")):
        with pytest.raises(ModelError, match="link"):
            urdf_with_load(COMMENTED, link, name, load)
