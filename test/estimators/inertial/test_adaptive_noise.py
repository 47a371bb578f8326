"""Known noise is found from innovations, and a filter whose stated noise is wrong does not run away."""

from dataclasses import replace

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.inertial.noise import MOST_EXCUSED, AdaptiveNoise
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.nis_spread import LOOSEST, NisSpread
from inertial_estimation.estimators.inertial.noise_config import NoiseAdaptationConfig
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Decision

ROWS = ("base_force_x", "base_moment_x", "knee", "elbow")
SIGMA = np.array([3.0, 1.0, 0.5, 0.2])
DT = 0.02
QUICK = NoiseAdaptationConfig(window=3.0, release=3.0)
QUANTILE = 0.999


def fed(factors, seconds, *, known=1.0, seed=0, spoil=lambda k, y: y, config=None, suspect=False):
    """Noise of `factors` times the stated sigma, `known` of the variance of the innovation being noise."""
    rng = np.random.default_rng(seed)
    noise = AdaptiveNoise(ROWS, QUANTILE, config or NoiseAdaptationConfig())
    R = np.diag(SIGMA**2)
    for k in range(round(seconds / DT)):
        equation = noise.scaled(LinearEquation(np.zeros((4, 10)), np.zeros(4), R, np.zeros(4)))
        predicted = R * (1.0 / known - 1.0)
        y = rng.normal(0.0, np.sqrt(R.diagonal() * np.square(factors) + predicted.diagonal()))
        S = equation.noise + predicted
        y = spoil(k, y)
        nis = float(y @ np.linalg.solve(S, y))
        update = StepOutcome(y, nis, True, Decision.ACCEPTED, 0, S.diagonal().copy())
        noise.feed(update, equation, DT, suspect=suspect)
    return noise


def shown(noise):
    return {name.removeprefix("noise."): seen for name, (seen, _used) in noise.factors().items()}


@pytest.mark.parametrize("factor", [0.3, 1.0, 3.0])
def test_noise_of_each_group_is_found(factor):
    noise = fed([1.0, factor, 1.0, 1.0], 40.0)
    assert noise.is_settled
    assert shown(noise)["base_moment"] == pytest.approx(factor, rel=0.15)
    assert shown(noise)["base_force"] == pytest.approx(1.0, rel=0.15)
    assert shown(noise)["torque"] == pytest.approx(1.0, rel=0.15)


def test_noise_is_found_with_an_uncertain_prediction():
    assert shown(fed([1.0, 1.0, 2.0, 2.0], 40.0, known=0.5))["torque"] == pytest.approx(2.0, rel=0.15)


def test_innovations_of_unknown_parameters_say_nothing_about_the_noise():
    noise = fed([1.0] * 4, 5.0, known=1e-4, spoil=lambda _k, y: 2.0 * y)
    assert all(seen == pytest.approx(1.0, abs=0.01) for seen, used in noise.factors().values())


def test_rising_noise_is_used_at_once_and_falling_noise_later():
    risen, fallen = fed([3.0] * 4, 10.0), fed([0.3] * 4, 10.0)
    assert all(used == pytest.approx(3.0, rel=0.15) for seen, used in risen.factors().values())
    assert all(0.5 < used < 0.97 for seen, used in fallen.factors().values())
    long = fed([0.3] * 4, 60.0, config=QUICK).factors()
    assert all(used == pytest.approx(0.3, rel=0.3) for _seen, used in long.values())


def test_the_factor_in_use_is_bounded_and_a_larger_one_is_still_reported():
    noise = fed([100.0] * 4, 20.0)
    assert all(used == pytest.approx(10.0) for seen, used in noise.factors().values())
    assert all(seen > 20.0 for seen, used in noise.factors().values())
    assert all(used >= 0.1 for seen, used in fed([1e-6] * 4, 60.0, config=QUICK).factors().values())


def test_outliers_are_no_noise():
    def one_in_fifty(k, y):
        return y if k % 50 else 1e3 * SIGMA

    assert all(
        seen == pytest.approx(1.0, rel=0.2)
        for seen, used in fed([1.0] * 4, 30.0, spoil=one_in_fifty).factors().values()
    )


def test_a_fault_of_two_seconds_is_excused_and_lasting_noise_is_not():
    noise = fed([1.0] * 4, 30.0)
    equation = LinearEquation(np.zeros((4, 10)), np.zeros(4), np.diag(SIGMA**2), np.zeros(4))
    wrong = StepOutcome(4.0 * SIGMA, 64.0, False, Decision.REJECTED, 0, SIGMA**2)
    before = shown(noise)
    for _ in range(round(0.9 * MOST_EXCUSED / DT)):
        noise.feed(wrong, noise.scaled(equation), DT, suspect=True)
    assert shown(noise) == before
    for _ in range(round(10.0 / DT)):
        scaled = noise.scaled(equation)
        noise.feed(replace(wrong, variance=scaled.noise.diagonal()), scaled, DT, suspect=True)
    assert all(value > 2.5 for value in shown(noise).values())


def test_stated_noise_is_used_where_adaptation_is_off_and_still_compared():
    noise = fed([2.0] * 4, 20.0, config=NoiseAdaptationConfig(enabled=False))
    assert all(used == 1.0 for seen, used in noise.factors().values())
    assert "noise.torque is about 2" in noise.too_small(3.0)
    assert noise.gate_factor == 1.0
    assert not noise.too_large(3.0)
    assert "noise.base_force is about 5" in fed([0.19] * 4, 60.0).too_large(3.0)


def test_numbers_beyond_floating_point_are_no_noise():
    with np.errstate(over="ignore", invalid="ignore"):
        noise = fed([1.0] * 4, 5.0, spoil=lambda k, y: y if k % 10 else np.full(4, 1e200))
    assert all(np.isfinite([seen, used]).all() for seen, used in noise.factors().values())
    assert np.isfinite(noise.gate_factor)


def share_beyond(nis, rows):
    spread = NisSpread(rows, QUANTILE)
    stated = NisSpread(rows, QUANTILE)._stated * rows
    for value in nis:
        spread.feed(float(value), 0.002)
    return spread.gate_factor, float(np.mean(nis > spread.gate_factor * stated))


def test_the_gate_stays_where_the_nis_is_gaussian_and_opens_where_its_level_changes():
    rng = np.random.default_rng(2)
    gaussian = rng.chisquare(6, 4000)
    factor, beyond = share_beyond(gaussian, 6)
    assert factor < 1.3
    gait = gaussian * np.where(np.arange(4000) % 100 < 30, 6.0, 0.3)
    factor, beyond = share_beyond(gait, 6)
    assert 1.5 < factor < LOOSEST
    assert beyond < 0.01 < np.mean(gait > 22.5)


def test_a_bad_reading_at_the_start_does_not_open_the_gate_but_lasting_noise_does():
    def factor(nis):
        spread = NisSpread(6, QUANTILE)
        seen = 0.05
        for value in nis:
            seen += 0.02
            spread.feed(value, 0.02 / seen, starting=True)
        return spread.gate_factor

    assert factor([3000.0, 2000.0, 700.0, 100.0]) == 1.0
    assert factor([54.0] * 10) > 3.0


@pytest.mark.parametrize("factor", [0.2, 5.0])
def test_a_filter_with_a_wrong_stated_noise_finds_the_mass_and_does_not_reject(factor):
    scene = ArmScene(links=("panda_link7",))
    scene.add_payload(0, 2.0, (0.0, 0.0, 0.1))
    gate = scene.gate()
    filter_ = LogCholeskyEkf(scene.bodies, PRIOR, gate, MEMORY)
    noise = AdaptiveNoise(scene.measurement.row_names, gate.config.quantile, NoiseAdaptationConfig())
    accepted = []
    for _ in range(400):
        stated = scene.equation()
        equation = noise.scaled(replace(stated, noise=factor**2 * stated.noise))
        update = filter_.update(equation, DT)
        accepted.append(update.accepted)
        noise.feed(update, equation, DT, suspect=False)
        gate.factor = noise.gate_factor
    ((torque, _used),) = noise.factors().values()
    assert torque == pytest.approx(1.0 / factor, rel=0.3)
    assert np.mean(accepted[10:]) > 0.98  # until then it might be one bad reading
    assert filter_.masses_of(filter_.x)[0] == pytest.approx(scene.truth[0][0], rel=0.02)
