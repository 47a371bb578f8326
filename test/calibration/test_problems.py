"""Each kind of calibration: derivatives, truth, identifiability, deviations; which offsets are written."""

import json
from functools import partial
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
import yaml
from scipy.stats import chi2
from support.calibration_scenes import SOLE, Scene, feet_motion, feet_scene, marker_scene, plane_scene
from support.example_robots import talos
from support.urdf import joint_xml, link_xml, robot_xml

import inertial_estimation as ie
from inertial_estimation.calibration.calibrate import leave_one_out, only, with_offsets
from inertial_estimation.calibration.calibration_report import CalibrationReport
from inertial_estimation.calibration.flat_feet import FlatFeetProblem, ImuOrientations
from inertial_estimation.calibration.problem import CalibrationConfig, CalibrationProblem
from inertial_estimation.calibration.single_frame import MarkerProblem, PlaneProblem
from inertial_estimation.calibration.solver import fit_local, offset_knowledge, solve
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.yamane_kinematic import kinematic_trial
from inertial_estimation.files.outputs import json_text
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.offline.calibration_setup import write_offsets
from inertial_estimation.plots.calibration_report import height_panels, offset_panels
from inertial_estimation.signals import Identifiability


def problems() -> list[CalibrationProblem]:
    rng = np.random.default_rng(3)
    q = rng.uniform(-0.5, 0.5, (3, talos().n_joints))
    arm = ChainKinematics(talos(), reference="left_sole_link", frames=["arm_left_7_link"])
    config = CalibrationConfig()
    body = ChainKinematics(
        talos(),
        reference="base_link",
        frames=["left_sole_link", "right_sole_link", "imu_link", "torso_2_link"],
    )
    turned = feet_motion().R_WB[:3]
    imus = [ImuOrientations(turned), ImuOrientations(turned, use_yaw=True)]
    return [
        PlaneProblem(arm, q, config),
        MarkerProblem(arm, q, config, rng.standard_normal((3, 3))),
        FlatFeetProblem(body, q, config, [SOLE, SOLE], imus),
        FlatFeetProblem(body, q, config, [SOLE, np.zeros((1, 3))], imus),
    ]


@pytest.mark.parametrize("which", range(4), ids=["plane", "marker", "feet", "feet, one a point"])
def test_derivatives_against_central_differences(which: int) -> None:
    problem, rng, h = problems()[which], np.random.default_rng(4), 1e-6
    x = problem.unknowns.centre + 0.05 * rng.standard_normal(problem.unknowns.count)
    local = problem.start_local()
    n_local = problem.linearise(x, local).by_local.shape[2]
    local = problem.moved(local, 0.05 * rng.standard_normal((problem.n_samples, n_local)))
    linear = problem.linearise(x, local)
    for j in range(len(x)):
        e = h * np.eye(len(x))[j]
        slope = problem.linearise(x + e, local).residual - problem.linearise(x - e, local).residual
        assert linear.by_unknowns[:, :, j] == pytest.approx(slope / (2 * h), abs=1e-7)
    for j in range(n_local):
        step = np.tile(h * np.eye(n_local)[j], (problem.n_samples, 1))
        ahead = problem.linearise(x, problem.moved(local, step)).residual
        behind = problem.linearise(x, problem.moved(local, -step)).residual
        assert linear.by_local[:, :, j] == pytest.approx((ahead - behind) / (2 * h), abs=1e-7)


def identifiable(scene: Scene) -> tuple["np.ndarray", "np.ndarray", list[Identifiability]]:
    solution = solve(scene.problem)
    assert solution.converged
    knowledge = offset_knowledge(scene.problem.unknowns, solution, 0.01)
    known = np.array([kind is Identifiability.IDENTIFIABLE for kind in knowledge.kinds])
    error = solution.x[: len(scene.offsets)] - scene.offsets
    return error, known, list(knowledge.kinds)


@pytest.mark.parametrize(
    ("scene_of", "all_known", "lost"),
    [
        (feet_scene, slice(0, 12), []),
        (partial(feet_scene, use_yaw=False), slice(0, 12), []),
        (plane_scene, slice(0), [0, 6]),  # turns about the base's vertical, with the plane's tilt; the normal
        (marker_scene, slice(1, 6), [0, 6]),  # turns all with the frame of the cameras; turns the marker
    ],
)
def test_without_noise_the_offsets_that_can_be_known_are_given_back(scene_of, all_known, lost) -> None:
    error, known, kinds = identifiable(scene_of(np.random.default_rng(1)))
    assert known[all_known].all()
    assert not known[lost].any()
    assert known.sum() >= 4
    assert np.abs(error[known]).max() < 1e-6
    assert scene_of is not plane_scene or kinds[0] is Identifiability.COMBINATION


def test_joints_not_between_imu_and_soles_are_not_identifiable() -> None:
    """An IMU in the pelvis alone says nothing of the torso, though it is asked for."""
    rng = np.random.default_rng(2)
    scene = feet_scene(rng, imus=("base_link",), use_yaw=False)
    feet = scene.problem
    kinematics = ChainKinematics(
        talos(),
        reference="base_link",
        frames=["left_sole_link", "right_sole_link", "base_link"],
        joints=(*feet.kinematics.joints, "torso_1_joint", "torso_2_joint"),
    )
    problem = FlatFeetProblem(kinematics, feet.q, feet.config, feet.soles, feet.imus)
    solution = solve(problem)
    kinds = offset_knowledge(problem.unknowns, solution, 0.01).kinds
    assert kinds[12:] == (Identifiability.NOT, Identifiability.NOT)
    assert set(kinds[:12]) == {Identifiability.IDENTIFIABLE}
    assert solution.x[12:] == pytest.approx(np.zeros(2), abs=1e-12)


def test_postures_all_alike_identify_no_joint_alone() -> None:
    scene = feet_scene(np.random.default_rng(2), imus=("base_link",), imu_noise=1e-3, use_yaw=False)
    alike = scene.problem.subset(np.zeros(40, dtype=int))
    report = ie.calibrate(alike, np.zeros(40, bool))
    assert all(j.identifiability is not Identifiability.IDENTIFIABLE for j in report.joints)
    assert report.written == ()


@pytest.mark.monte_carlo
def test_deviations_are_what_the_errors_are() -> None:
    """Normalised squared errors of seeded trials within two-sided bounds of their chi-square."""
    trials, total, count = 25, 0.0, 0
    for seed in range(trials):
        scene = marker_scene(np.random.default_rng(seed), noise=1e-3, count=30)
        solution = solve(scene.problem)
        chosen = slice(1, 6)
        error = (solution.x[: len(scene.offsets)] - scene.offsets)[chosen]
        total += float(error @ np.linalg.solve(solution.covariance[chosen, chosen], error))
        count += 5
    low, high = chi2.ppf([0.001, 0.999], count)
    assert low < total < high


def test_leave_one_out_is_a_calibration_without_the_row() -> None:
    """Changing a row does not change its own prediction but for the noise levels, which are held."""
    scene = marker_scene(np.random.default_rng(8), noise=1e-3, count=14)
    problem = scene.problem
    solution = solve(problem)
    before = leave_one_out(problem, solution)
    moved = problem.positions_C.copy()
    moved[5] += np.array([0.01, 0.0, -0.02])
    changed = MarkerProblem(problem.kinematics, problem.q, problem.config, moved)
    changed._A, changed.unknowns = problem._A, problem.unknowns
    after = leave_one_out(changed, solution)
    assert after[5] - before[5] == pytest.approx([0.01, 0.0, -0.02], abs=1e-5)


def test_samples_that_are_all_held_out_are_refused() -> None:
    scene = plane_scene(np.random.default_rng(1))
    assert scene.problem.axis_F.tolist() == [0.0, 0.0, -1.0], "the hand points down"
    assert scene.problem.normal_S.tolist() == [0.0, 0.0, 1.0]
    start = scene.problem.linearise(scene.problem.unknowns.centre, scene.problem.start_local())
    assert start.residual[:, 0].mean() == pytest.approx(0.0, abs=1e-12), "at the mean height of the hand"
    few = scene.problem.subset(np.arange(3))
    with pytest.raises(ie.ConfigurationError, match="every sample is held out"):
        ie.calibrate(few, np.ones(3, bool))


def test_only_joints_between_the_frames_move_them() -> None:
    robot = talos()
    chain = ChainKinematics(robot, reference="base_link", frames=["left_sole_link"])
    assert chain.moving == tuple(f"leg_left_{i}_joint" for i in range(1, 7))
    with pytest.raises(ie.ConfigurationError, match="no joint moves"):
        ChainKinematics(robot, reference="base_link", frames=["base_link"])
    with pytest.raises(ie.ModelError, match="no frame 'tail'"):
        ChainKinematics(robot, reference="base_link", frames=["tail"])


def test_without_noise_the_soles_are_flat_and_the_offsets_are_found() -> None:
    trial = kinematic_trial(0, duration_s=32.0, imu_noise_deg=0.0, joint_noise_deg=0.0)
    assert len(trial.offsets) == 14
    sigma = np.array([channel.sigma for channel in trial.problem.channels])
    _, local = fit_local(trial.problem, trial.offsets, sigma)
    assert np.abs(trial.problem.heights(trial.offsets, local)).max() < 1e-7
    _, local = fit_local(trial.problem, np.zeros(14), sigma)
    assert np.abs(trial.problem.heights(np.zeros(14), local)).max() > 1e-3
    assert np.abs(trial.fit(1.8).x - trial.offsets).max() < 1e-6


@pytest.mark.experiment
def test_shortened_run_gives_every_row_and_panel() -> None:
    result = find_experiment("yamane-kinematic").run((0,), quick=True)
    values = {row.quantity: row.ours for row in result.rows}
    calibrated = values["cost on frames 0.2 s apart, calibrated"]
    assert 0.0 < calibrated < 0.01 * values["the same, offsets zero"]
    assert len(result.panels) == 5
    assert all(np.isfinite(row.ours) for row in result.rows)


AXES = {"turn": "0 0 1", "slide": "1 0 0", "tilt": "0 1 0", "twist": "1 0 0"}


def slider() -> ie.RobotModel:
    """An arm with one prismatic joint."""
    names = ["base", *(f"link_{name}" for name in AXES)]
    joints = [
        joint_xml(name, *ends, axis, "0.1 0 0.2", kind="prismatic" if name == "slide" else "revolute")
        for ends, (name, axis) in zip(pairwise(names), AXES.items(), strict=True)
    ]
    return ie.RobotModel.from_urdf(robot_xml(*map(link_xml, names), *joints), floating_base=False)


def calibrated(problem: CalibrationProblem) -> CalibrationReport:
    return ie.calibrate(problem, np.zeros(problem.n_samples, bool))


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
    noisy = np.array(points) + 1e-4 * rng.standard_normal((30, 3))
    return calibrated(MarkerProblem(kinematics, q - [0.0, 0.012, 0.03, 0.0], CalibrationConfig(), noisy))


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
    problem = PlaneProblem(kinematics, np.zeros((1, 4)), CalibrationConfig(offset_sigma=0.3))
    assert problem.unknowns.prior_sigma[:4] == pytest.approx([0.3, 0.03, 0.3, 0.3])


def test_offsets_that_predict_left_out_samples_worse_than_none_are_not_written() -> None:
    """An arm without offsets, seen badly: what is fitted is the noise."""
    scene = marker_scene(np.random.default_rng(3), noise=6e-3, count=16, size=0.0)
    scene.problem.config = CalibrationConfig(identifiable_sigma=0.1)
    report = calibrated(scene.problem)
    assert any(joint.identifiability is Identifiability.IDENTIFIABLE for joint in report.joints)
    (marker,) = report.channels
    assert marker.left_out_written > marker.left_out_before
    assert report.written_joints == ()
    assert marker.written == pytest.approx(marker.before, rel=1e-9)
    assert any("no offset is written" in warning for warning in report.warnings)


@pytest.mark.parametrize("seed", range(3))
def test_standard_deviations_hold_errors_of_the_description(seed) -> None:
    """A Panda without offsets, whose joints are a millimetre off their places in the description."""
    scene = marker_scene(np.random.default_rng(seed), noise=1e-4, count=60, size=0.0, misplaced=1e-3)
    report = calibrated(scene.problem)
    solution = solve(scene.problem)
    found, noise = np.abs(solution.x[:7]), np.sqrt(np.diag(solution.covariance)[:7])
    assert (found / noise).max() > 4.0
    assert (found < 3.0 * np.array([joint.sigma for joint in report.joints])).all()


def test_held_out_samples_that_contradict_keep_offsets_from_being_written() -> None:
    """The joints of the held-out samples are off the other way."""
    scene = marker_scene(np.random.default_rng(3), noise=1e-4, size=0.05)
    one, points = scene.problem, scene.problem.positions_C
    q = np.concatenate((one.q, one.q + 2.0 * scene.offsets))
    problem = MarkerProblem(one.kinematics, q, one.config, np.concatenate((points, points)))
    report = ie.calibrate(problem, np.arange(80) >= 40)
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
