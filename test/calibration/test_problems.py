"""Each kind of calibration: derivatives, noise-free truth, identifiability, honest deviations, outliers."""

import numpy as np
import pytest
from scipy.stats import chi2
from support.calibration_scenes import SOLE, Scene, feet_motion, feet_scene, marker_scene, plane_scene
from support.example_robots import talos

from inertial_estimation.calibration.calibrate import CalibrationTask, calibrate, leave_one_out
from inertial_estimation.calibration.flat_feet import FlatFeetProblem, ImuOrientations
from inertial_estimation.calibration.problem import CalibratedChain, CalibrationConfig, CalibrationProblem
from inertial_estimation.calibration.single_frame import MarkerProblem, PlaneProblem
from inertial_estimation.calibration.solver import OffsetIdentifiability, fit_local, offset_knowledge, solve
from inertial_estimation.errors import ConfigurationError, ModelError
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.yamane_kinematic import kinematic_trial
from inertial_estimation.models.chain_kinematics import ChainKinematics


def problems() -> list[CalibrationProblem]:
    rng = np.random.default_rng(3)
    q = rng.uniform(-0.5, 0.5, (3, talos().n_joints))
    arm = ChainKinematics(talos(), reference="left_sole_link", frames=["arm_left_7_link"])
    chain = CalibratedChain(arm, q, CalibrationConfig())
    body = ChainKinematics(
        talos(),
        reference="base_link",
        frames=["left_sole_link", "right_sole_link", "imu_link", "torso_2_link"],
    )
    feet = CalibratedChain(body, q, CalibrationConfig())
    turned = feet_motion().R_WB[:3]
    imus = [ImuOrientations(turned), ImuOrientations(turned, use_yaw=True)]
    return [
        PlaneProblem(chain),
        MarkerProblem(chain, rng.standard_normal((3, 3))),
        FlatFeetProblem(feet, [SOLE, SOLE], imus),
        FlatFeetProblem(feet, [SOLE, np.zeros((1, 3))], imus),
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


def identifiable(scene: Scene) -> tuple["np.ndarray", "np.ndarray", list[OffsetIdentifiability]]:
    solution = solve(scene.problem)
    assert solution.converged
    knowledge = offset_knowledge(scene.problem.unknowns, solution, 0.01)
    known = np.array([kind is OffsetIdentifiability.IDENTIFIABLE for kind in knowledge.kinds])
    error = solution.x[: len(scene.offsets)] - scene.offsets
    return error, known, list(knowledge.kinds)


@pytest.mark.parametrize("use_yaw", [True, False])
def test_flat_feet_give_back_the_offsets_exactly(use_yaw: bool) -> None:
    error, known, _ = identifiable(feet_scene(np.random.default_rng(0), use_yaw=use_yaw))
    assert known[:12].all()
    assert np.abs(error[known]).max() < 1e-6


@pytest.mark.parametrize(
    ("scene_of", "lost"),
    [
        (plane_scene, (0, 6)),  # turns about the base's vertical, with the plane's tilt; and about the normal
        (marker_scene, (0, 6)),  # turns all with the frame of the cameras; turns the place of the marker
    ],
)
def test_a_touched_plane_and_a_marker_give_back_the_offsets_they_can(scene_of, lost) -> None:
    error, known, kinds = identifiable(scene_of(np.random.default_rng(1)))
    assert not known[list(lost)].any()
    assert np.abs(error[known]).max() < 1e-6
    if scene_of is plane_scene:
        assert known.sum() >= 4
        assert kinds[0] is OffsetIdentifiability.COMBINATION
    else:
        assert known[1:6].all()


def test_joints_not_between_imu_and_soles_are_not_identifiable() -> None:
    """An IMU in the pelvis alone says nothing of the torso, though it is asked for."""
    rng = np.random.default_rng(2)
    scene = feet_scene(rng, imus=("base_link",), use_yaw=False)
    feet = scene.problem
    assert isinstance(feet, FlatFeetProblem)
    kinematics = ChainKinematics(
        talos(),
        reference="base_link",
        frames=["left_sole_link", "right_sole_link", "base_link"],
        joints=(*feet.chain.kinematics.joints, "torso_1_joint", "torso_2_joint"),
    )
    chain = CalibratedChain(kinematics, feet.chain.q, CalibrationConfig())
    solution = solve(FlatFeetProblem(chain, feet.soles, feet.imus))
    kinds = offset_knowledge(chain.unknowns([]), solution, 0.01).kinds
    assert kinds[12:] == (OffsetIdentifiability.NOT, OffsetIdentifiability.NOT)
    assert set(kinds[:12]) == {OffsetIdentifiability.IDENTIFIABLE}
    assert solution.x[12:] == pytest.approx(np.zeros(2), abs=1e-12)


def test_postures_all_alike_identify_no_joint_alone() -> None:
    scene = feet_scene(np.random.default_rng(2), imus=("base_link",), imu_noise=1e-3, use_yaw=False)
    alike = scene.problem.subset(np.zeros(40, dtype=int))
    report = calibrate(CalibrationTask(alike, CalibrationConfig(), np.zeros(40, bool)))
    assert all(j.identifiability is not OffsetIdentifiability.IDENTIFIABLE for j in report.joints)
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
    assert isinstance(problem, MarkerProblem)
    solution = solve(problem)
    before = leave_one_out(problem, solution)
    moved = problem.positions_C.copy()
    moved[5] += np.array([0.01, 0.0, -0.02])
    changed = MarkerProblem(problem.chain, moved)
    changed._A, changed.unknowns = problem._A, problem.unknowns
    after = leave_one_out(changed, solution)
    assert after[5] - before[5] == pytest.approx([0.01, 0.0, -0.02], abs=1e-5)


def test_samples_that_are_all_held_out_are_refused() -> None:
    scene = plane_scene(np.random.default_rng(1))
    few = scene.problem.subset(np.arange(3))
    with pytest.raises(ConfigurationError, match="every sample is held out"):
        calibrate(CalibrationTask(few, CalibrationConfig(), np.ones(3, bool)))


def test_only_joints_between_the_frames_move_them() -> None:
    robot = talos()
    chain = ChainKinematics(robot, reference="base_link", frames=["left_sole_link"])
    assert chain.moving == tuple(f"leg_left_{i}_joint" for i in range(1, 7))
    with pytest.raises(ConfigurationError, match="no joint moves"):
        ChainKinematics(robot, reference="base_link", frames=["base_link"])
    with pytest.raises(ModelError, match="no frame 'tail'"):
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
