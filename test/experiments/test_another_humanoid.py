"""A humanoid without a parameter file in the package: URDF and few parameters let it stand, load and walk."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.simulation.disturbances import parse_disturbance

pytestmark = pytest.mark.experiment

HAND = "left_wrist_yaw_link"
LOAD = 1.0  # [kg]
SOLE_FRAME = (
    '<link name="{side}_sole"/><joint name="{side}_sole_joint" type="fixed"><origin xyz="0 0 -0.035"/>'
    '<parent link="{side}_ankle_roll_link"/><child link="{side}_sole"/></joint>'
)
POSTURE = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "elbow": 0.6}


@pytest.fixture
def parameter_file(tmp_path: Path) -> Path:
    """Unitree G1 as docs/adding_a_robot.md describes it: frames on its soles, noise for its size."""
    soles = "".join(SOLE_FRAME.format(side=side) for side in ("left", "right"))
    urdf = read_urdf("example-robot-data:g1_29dof_rev_1_0").replace("</robot>", f"{soles}</robot>")
    (tmp_path / "g1.urdf").write_text(urdf)
    posture = {f"{side}_{name}_joint": q for side in ("left", "right") for name, q in POSTURE.items()}
    shared = {
        "urdf": str(tmp_path / "g1.urdf"),
        "imu_frame": "imu_in_pelvis",
        "contacts": ["left_foot", "right_foot"],
        "contact_frames": ["left_sole", "right_sole"],
        "stance.joints": list(posture),
        "stance.positions": list(posture.values()),
        "stance.soles": [-0.05, 0.12, -0.025, 0.025] * 2,
    }
    noise = {"torque": 0.1, "base_force": 0.5, "base_moment": 0.2, "contact_force": 0.5}
    links = ["torso_link", HAND]
    nodes = {
        "/**": shared,
        "tilt_observer": {"rate": 500.0},
        "inertial_ekf": {"links": links, "noise": noise},
        "whole_body_controller": {"inertias.links": list(links)},  # not the same list: YAML would alias it
    }
    path = tmp_path / "g1.yaml"
    path.write_text(yaml.safe_dump({node: {"ros__parameters": values} for node, values in nodes.items()}))
    return path


def test_it_stands_learns_what_its_hand_is_given_and_walks(parameter_file: Path) -> None:
    ball = parse_disturbance(f"{{kind: ball, link: {HAND}, mass: {LOAD}, at: [0.1, 0, 0], start: 0.2}}")
    loop = RobotLoop(str(parameter_file)).build(disturbances=[ball])
    loop.release(1.0)
    loop.run(1.2)
    assert loop.inertias is not None
    hand = next(link for link in loop.inertias.links if link.published.link == HAND)
    truth = loop.simulation.truth((HAND,))
    assert hand.published.mass == pytest.approx(truth.inertias[HAND].mass, abs=0.1 * LOAD)
    begin = feet(loop)
    loop.controller.push_walk_command(WalkCommand(2, 0.1))
    loop.run(4.0)
    assert not loop.simulation.fallen
    np.testing.assert_allclose(feet(loop)[:, 0] - begin[:, 0], 0.1, atol=0.02)


def feet(loop: ClosedLoop) -> np.ndarray:
    """True positions of the soles, shape (2, 3)."""
    truth, robot = loop.simulation.truth(), loop.simulation.robot
    data = robot.model.createData()
    q = np.concatenate([truth.base.p_WB, truth.base.quaternion_xyzw, truth.q])
    pin.framesForwardKinematics(robot.model, data, q)
    return np.array(
        [data.oMf[robot.model.getFrameId(f"{side}_sole")].translation for side in ("left", "right")]
    )
