"""The experiment's data and its shortened run."""

import numpy as np

from inertial_estimation.calibration.solver import fit_local
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.yamane_kinematic import kinematic_trial


def test_without_noise_the_soles_are_flat_and_the_offsets_are_found() -> None:
    trial = kinematic_trial(0, duration_s=32.0, imu_noise_deg=0.0, joint_noise_deg=0.0)
    assert len(trial.offsets) == 14
    sigma = np.array([channel.sigma for channel in trial.problem.channels])
    _, local = fit_local(trial.problem, trial.offsets, sigma)
    assert np.abs(trial.problem.heights(trial.offsets, local)).max() < 1e-7
    _, local = fit_local(trial.problem, np.zeros(14), sigma)
    assert np.abs(trial.problem.heights(np.zeros(14), local)).max() > 1e-3
    assert np.abs(trial.fit(1.8).x - trial.offsets).max() < 1e-6


def test_shortened_run_gives_every_row_and_panel() -> None:
    result = find_experiment("yamane-kinematic").run((0,), quick=True)
    values = {row.quantity: row.ours for row in result.rows}
    calibrated = values["cost on frames 0.2 s apart, calibrated"]
    assert 0.0 < calibrated < 0.01 * values["the same, offsets zero"]
    assert len(result.panels) == 5
    assert all(np.isfinite(row.ours) for row in result.rows)
