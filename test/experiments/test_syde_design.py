"""Noise and delay act on the identified parameters as they must; the experiment runs to its figure."""

from functools import cache

import numpy as np
import pytest
from support.design_scenes import arm_identification, arm_urdf

from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.syde_design import TYPICAL_NOISE, identified
from inertial_estimation.identification.excitation.excitation import ExcitationDesign, design_excitation
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.parameters import build_config

pytestmark = pytest.mark.experiment


@cache
def design() -> ExcitationDesign:
    values = {"duration": 10.0, "terms": 3, "starts": 3, "iterations": 3, "torque_noise": TYPICAL_NOISE}
    return design_excitation(
        arm_identification(), build_config(ExcitationConfig, values), arm_urdf(), compare=1
    )


def errors(noise: float, delay_s: float, seed: int = 0) -> tuple[float, float]:
    result = identified(
        design().rows,
        design().chosen,
        design().random[0].states,
        noise,
        delay_s,
        np.random.default_rng(seed),
    )
    return result.torque_error, result.deviations


def test_without_noise_and_delay_the_torques_of_another_motion_are_exact() -> None:
    assert errors(0.0, 0.0)[0] < 1e-9


@pytest.mark.parametrize("noise", [0.03, 0.3])
def test_parameter_errors_under_noise_are_as_large_as_promised(noise: float) -> None:
    squares = [errors(noise, 0.0, seed)[1] ** 2 for seed in range(60)]
    assert np.mean(squares) == pytest.approx(1.0, abs=0.15)


def test_a_small_delay_makes_an_error_in_proportion() -> None:
    assert errors(0.0, 0.004)[0] == pytest.approx(2.0 * errors(0.0, 0.002)[0], rel=0.1)
    assert errors(0.0, 0.002)[0] > 1e-4


def test_quick_run_has_a_value_in_every_row_and_six_panels() -> None:
    pytest.importorskip("example_robot_data")
    result = find_experiment("syde-design").run((0,), quick=True)
    assert all(np.isfinite(row.ours) for row in result.rows)
    (slope,) = [row.ours for row in result.rows if "slope" in row.quantity]
    assert slope == pytest.approx(-1.0, abs=0.1)
    assert len(result.panels) == 6
