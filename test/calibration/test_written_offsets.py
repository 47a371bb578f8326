"""What is written: offsets that predict left-out samples better, in the units of their joints."""

import json
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
import yaml
from support.calibration_scenes import marker_scene
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.calibration.calibrate import CalibrationTask, calibrate, only, with_offsets
from inertial_estimation.calibration.calibration_report import CalibrationReport
from inertial_estimation.calibration.problem import CalibratedChain, CalibrationConfig, CalibrationProblem
from inertial_estimation.calibration.single_frame import MarkerProblem
from inertial_estimation.calibration.solver import OffsetIdentifiability, fit_local, solve
from inertial_estimation.files.outputs import json_text
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.calibration_setup import write_offsets
from inertial_estimation.plots.calibration_figures import height_panels, offset_panels

AXES = {"turn": "0 0 1", "slide": "1 0 0", "tilt": "0 1 0", "twist": "1 0 0"}


def slider() -> RobotModel:
    """An arm with one prismatic joint."""
    names = ["base", *(f"link_{name}" for name in AXES)]
    joints = [
        joint_xml(name, *ends, axis, "0.1 0 0.2", kind="prismatic" if name == "slide" else "revolute")
        for ends, (name, axis) in zip(pairwise(names), AXES.items(), strict=True)
    ]
    return RobotModel.from_urdf(robot_xml(*map(link_xml, names), *joints), floating_base=False)


def calibrated(problem: CalibrationProblem, config: CalibrationConfig) -> CalibrationReport:
    return calibrate(CalibrationTask(problem, config, np.zeros(problem.n_samples, bool)))


@pytest.fixture(scope="module")
def slid() -> CalibrationReport:
    """The slider's joints off by 12 mm and 0.03 rad, seen by cameras to 0.1 mm."""
    robot, rng = slider(), np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (30, 4)) * [1.0, 0.2, 1.0, 1.0]
    data, frame = robot.model.createData(), robot.frame_id("link_twist")
    points = []
    for row in q:
        pin.framesForwardKinematics(robot.model, data, row)
        points.append(data.oMf[frame] * np.array([0.1, 0.15, 0.05]))
    kinematics = ChainKinematics(robot, reference="base", frames=["link_twist"])
    assert kinematics.prismatic == (False, True, False, False)
    config = CalibrationConfig()
    chain = CalibratedChain(kinematics, q - [0.0, 0.012, 0.03, 0.0], config)
    noisy = np.array(points) + 1e-4 * rng.standard_normal((30, 3))
    return calibrated(MarkerProblem(chain, noisy), config)


def test_the_offset_of_a_prismatic_joint_is_in_metres(slid, tmp_path) -> None:
    found = {j.joint: j for j in slid.joints}
    assert (found["slide"].unit, found["tilt"].unit) == ("m", "rad")
    assert found["slide"].offset == pytest.approx(0.012, abs=4e-4)
    assert found["tilt"].offset == pytest.approx(0.03, abs=4e-3)
    assert {"slide", "tilt"} <= set(slid.written_joints)
    entries = {j["joint"]: j for j in slid.values()["joints"]}
    assert entries["slide"]["offset_mm"] == pytest.approx(1e3 * entries["slide"]["offset_m"])
    assert "offset_deg" not in entries["slide"]
    assert "offset_m" not in entries["tilt"]
    text = write_offsets(tmp_path / "offsets.yaml", slid).read_text()
    assert "# rad (m: slide)" in text
    values = yaml.safe_load(text)["/**"]["ros__parameters"]["joint_offsets"]
    written = dict(zip(values["joints"], values["values"], strict=True))
    assert written["slide"] == pytest.approx(found["slide"].offset, abs=1e-8)


def test_a_decimetre_of_a_prismatic_joint_counts_as_a_radian() -> None:
    kinematics = ChainKinematics(slider(), reference="base", frames=["link_twist"])
    chain = CalibratedChain(kinematics, np.zeros((1, 4)), CalibrationConfig(offset_sigma=0.3))
    assert chain.unknowns([]).prior_sigma == pytest.approx([0.3, 0.03, 0.3, 0.3])


def test_offsets_that_predict_left_out_samples_worse_than_none_are_not_written() -> None:
    """An arm without offsets, seen badly: what is fitted is the noise."""
    scene = marker_scene(np.random.default_rng(3), noise=6e-3, count=16, size=0.0)
    report = calibrated(scene.problem, CalibrationConfig(identifiable_sigma=0.1))
    assert any(joint.identifiability is OffsetIdentifiability.IDENTIFIABLE for joint in report.joints)
    (marker,) = report.channels
    assert marker.left_out_written > marker.left_out_before
    assert report.written_joints == ()
    assert marker.written == pytest.approx(marker.before, rel=1e-9)
    assert any("no offset is written" in warning for warning in report.warnings)


@pytest.mark.parametrize("seed", range(3))
def test_standard_deviations_hold_errors_of_the_description(seed) -> None:
    """A Panda without offsets, whose joints are a millimetre off their places in the description."""
    scene = marker_scene(np.random.default_rng(seed), noise=1e-4, count=60, size=0.0, misplaced=1e-3)
    report = calibrated(scene.problem, CalibrationConfig())
    solution = solve(scene.problem)
    found, noise = np.abs(solution.x[:7]), np.sqrt(np.diag(solution.covariance)[:7])
    assert (found / noise).max() > 4.0
    assert (found < 3.0 * np.array([joint.sigma for joint in report.joints])).all()


def test_held_out_samples_that_contradict_keep_offsets_from_being_written() -> None:
    """The joints of the held-out samples are off the other way."""
    scene = marker_scene(np.random.default_rng(3), noise=1e-4, size=0.05)
    chain, points = scene.problem.chain, scene.problem.positions_C
    q = np.concatenate((chain.q, chain.q + 2.0 * scene.offsets))
    chain = CalibratedChain(chain.kinematics, q, CalibrationConfig())
    problem = MarkerProblem(chain, np.concatenate((points, points)))
    report = calibrate(CalibrationTask(problem, CalibrationConfig(), np.arange(80) >= 40))
    assert report.written_joints == ()
    assert any("held-out samples are predicted worse" in warning for warning in report.warnings)


def test_left_out_samples_are_predicted_by_the_written_offsets_alone(slid) -> None:
    (marker,) = slid.channels
    assert marker.left_out_written < 0.1 * marker.left_out_before
    assert marker.written < marker.left_out_written < 1.5 * marker.written


def test_some_of_the_offsets_are_fitted_with_the_others_at_zero() -> None:
    problem = marker_scene(np.random.default_rng(3), noise=1e-4, count=30).problem
    solution, n = solve(problem), problem.unknowns.n_offsets
    keep = np.arange(n) % 2 == 0
    found = only(problem, solution, keep)
    assert not found.x[:n][~keep].any()
    assert found.x[:n][keep].all()
    cut = with_offsets(problem, solution, keep * solution.x[:n])
    errors = [fit_local(problem, x, solution.sigma)[0] for x in (found.x, cut)]
    assert np.mean(errors[0] ** 2) < np.mean(errors[1] ** 2)


def test_figures_show_the_file_that_is_written(slid) -> None:
    (marker,) = slid.channels
    for heights, error in ((slid.heights_before, marker.before), (slid.written_heights, marker.written)):
        assert np.sqrt((heights**2).sum(axis=1).mean()) == pytest.approx(error, rel=1e-6)
    _before, after = height_panels(slid)
    drawn = np.array([one.y for one in after.series if one.style == "points"])
    assert drawn == pytest.approx(1e3 * slid.written_heights.T)
    panels = list(offset_panels(slid))
    filled = [one for panel in panels for one in panel.series if one.style == "points"]
    assert sum(len(one.x) for one in filled) == len(slid.written_joints)
    assert [panel.x_label for panel in panels] == ["offset [deg]", "offset [mm]"]
    assert json.loads(json_text(slid.values()))
