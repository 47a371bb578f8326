"""Frames that parameters add to a description."""

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.errors import ConfigurationError, InertialEstimationError, ModelError
from inertial_estimation.models.robot_config import AddedFrames, RobotConfig, robot_from_config, with_frames
from inertial_estimation.models.robot_model import RobotModel

POSE = (0.03, -0.02, -0.4, 0.3, -0.5, 1.2)
INERTIAL = (
    '<inertial><mass value="2"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
SOLE = (
    '<link name="sole"/><joint name="j" type="fixed"><parent link="shank"/><child link="sole"/>'
    "{origin}</joint>"
)


def leg(sole: bool) -> str:
    origin = f'<origin xyz="{POSE[0]} {POSE[1]} {POSE[2]}" rpy="{POSE[3]} {POSE[4]} {POSE[5]}"/>'
    return f"""<robot name="leg"><link name="base">{INERTIAL}</link><link name="shank">{INERTIAL}</link>
      <joint name="knee" type="revolute"><parent link="base"/><child link="shank"/><axis xyz="0 1 0"/>
      <origin xyz="0 0 -0.2"/><limit lower="-2" upper="2" effort="10" velocity="5"/></joint>
      {SOLE.format(origin=origin) if sole else ""}</robot>"""


def placement(robot: RobotModel, frame: str) -> np.ndarray:
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.configuration(np.array([0.7])))
    return data.oMf[robot.frame_id(frame)].homogeneous


def test_frame_is_where_the_link_of_a_urdf_with_the_same_origin_is() -> None:
    added = with_frames(RobotModel.from_urdf(leg(False)), AddedFrames(("sole",), ("shank",), POSE))
    described = RobotModel.from_urdf(leg(True))
    np.testing.assert_allclose(placement(added, "sole"), placement(described, "sole"), atol=1e-12)
    assert added.total_mass == described.total_mass


def test_contact_and_imu_may_be_such_frames() -> None:
    frames = AddedFrames(("sole", "sensor"), ("shank", "base"), (*POSE, *POSE))
    config = RobotConfig(frames=frames, contacts=("foot",), contact_frames=("sole",), imu_frame="sensor")
    setup = robot_from_config(config, leg(False))
    assert setup.contacts[0].frame == "sole"
    assert setup.imu is not None
    np.testing.assert_allclose(setup.imu.T_JI.translation, POSE[:3])


@pytest.mark.parametrize(
    ("added", "kind", "message"),
    [
        (AddedFrames(("sole",), (), POSE), ConfigurationError, "expected a link and 6 numbers for each name"),
        (AddedFrames(("shank",), ("base",), POSE), ModelError, "'shank', which is a frame of the URDF"),
    ],
)
def test_errors_name_what_is_wrong(
    added: AddedFrames, kind: type[InertialEstimationError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        with_frames(RobotModel.from_urdf(leg(False)), added)
