"""SYDE 652: poses and motions that identify a humanoid's arm, and effects of noise and delay on the result.

The left arm of TALOS, its trunk fixed, all other joints locked: seven joints with measured torques, as on the
humanoid's arm of the source. The measured torques are those of the URDF's own parameters, with white noise or
delayed against the positions; all base parameters are identified by least squares.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from scipy.interpolate import CubicSpline

from inertial_estimation.configuration.urdf_source import mesh_folders, read_urdf
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.figures import Panel, Series
from inertial_estimation.identification.excitation.design_robot import DesignRows, States
from inertial_estimation.identification.excitation.excitation import (
    JUDGING_RATE_HZ,
    EvaluatedMotion,
    ExcitationDesign,
    design_excitation,
)
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.precision import Curve
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.linear_algebra import rms

URDF, JOINTS = "example-robot-data:talos_reduced", "arm_left_[1-7]_joint"


class Study(NamedTuple):
    """Settings of the designs and of their evaluation."""

    design: dict[str, Any]  # parameters of the design
    compared: int  # random motions, all but the last of which are compared
    noises: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0)  # standard deviations of the torques [Nm]
    delays_s: tuple[float, ...] = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)  # delays of the torques [s]
    noise: float = 0.1  # typical noise, of the table [Nm]
    delay_s: float = 0.01  # typical delay, of the table [s]
    identified: int = 10  # random motions from each of which the parameters are identified


DESIGN = {"objective": "max-variance", "torque_noise": 0.1, "iterations": 60, "acceleration_limit": 3.0}
FULL = Study(DESIGN, 30)
QUICK = Study({**DESIGN, "iterations": 1, "starts": 2, "duration": 10.0, "poses": 8}, 3)


class SeedResult(NamedTuple):
    """Results of one seed: designs, and errors by noise and by delay, designed and median of random."""

    trajectory: ExcitationDesign
    poses: ExcitationDesign
    by_noise: Array  # (2, noises, 2): designed or random; torque error, deviations
    by_delay: Array  # (2, delays, 2)


def run(trials: Trials) -> ExperimentResult:
    """Design, compare with random motions, identify under noise and delay, for every seed."""
    results = trials.by_seed(partial(_one_seed, trials.quick))
    trajectory, poses = results[0].trajectory.rows, results[0].poses.rows
    torque = max(share for r in results for share in r.trajectory.torque_share.values())
    facts = (
        f"{trajectory.base.rank} base parameters of {len(trajectory.parameters.unknowns)} act on "
        f"motions, {poses.base.rank} on static poses; no friction.",
        f"Largest torque of the designed motions: {100 * torque:.0f} % of the limit.",
        *dict.fromkeys(note for r in results for note in r.trajectory.notes),
    )
    rows = [*_precision_rows(results), *_curve_rows(results), *_error_rows(results)]
    return ExperimentResult(trials.seeds, rows, facts, panels=_panels(results))


def _one_seed(quick: bool, seed: int) -> SeedResult:
    study = QUICK if quick else FULL
    identification = build_config(IdentificationConfig, {"urdf": URDF, "floating_base": True})
    trajectory, poses = (
        design_excitation(
            identification,
            build_config(ExcitationConfig, {**study.design, "kind": kind, "compare_random": study.compared}),
            read_urdf(URDF),
            mesh_folders=mesh_folders(),
            joints=(JOINTS,),
            seed=seed,
        )
        for kind in ("fourier", "poses")
    )
    *training, held_out = trajectory.random
    rng = default_rng((seed, 1))
    errors = [
        [
            [
                np.median(
                    [identified(trajectory.rows, m, held_out.states, *case, rng) for m in motions], axis=0
                )
                for case in cases
            ]
            for motions in ([trajectory.chosen], training[: study.identified])
        ]
        for cases in ([(noise, 0.0) for noise in study.noises], [(0.0, delay) for delay in study.delays_s])
    ]
    return SeedResult(trajectory, poses, *(np.array(by) for by in errors))


def identified(
    rows: DesignRows, motion: EvaluatedMotion, held_out: States, noise: float, delay_s: float, rng: Generator
) -> tuple[float, float]:
    """Identify all base parameters from torques with noise, late by a delay.

    Args:
        rows: Rows of the robot.
        motion: Motion of the robot; its precision gives the expected standard deviations.
        held_out: States of another motion.
        noise: Standard deviation of the torques [Nm].
        delay_s: Delay of the torques against the positions [s].
        rng: Random generator of the noise.

    Returns:
        Rms of the torque error on the other motion over the rms of its torques, and rms of the errors of the
        base parameters in their expected standard deviations.
    """
    base = rows.base
    truth = base.coupling @ linear_algebra.lstsq(rows.parameters.E, rows.parameters.nominal)
    A = rows.rows(*motion.states)[:, :, base.columns]
    torques = A @ truth
    rate_hz = min(JUDGING_RATE_HZ, rows.design.config.smoothing.row_rate)
    measured = delayed(torques, delay_s * rate_hz) + noise * rng.normal(size=torques.shape)
    found = linear_algebra.lstsq(A.reshape(-1, base.rank), measured.ravel())
    other = rows.rows(*held_out)[:, :, base.columns].reshape(-1, base.rank)
    error, size = other @ (found - truth), other @ truth
    samples = motion.precision.samples / len(torques)  # samples of the stated precision for each state here
    sigma = np.sqrt(samples) * np.array([deviation.sigma for deviation in motion.precision.base_parameters])
    if noise > 0.0:
        sigma = sigma * noise / FULL.noise
    return rms(error) / rms(size), rms((found - truth) / sigma)


def delayed(values: Array, steps: float) -> Array:
    """Return samples delayed by a number of steps that need not be whole, shape (n, m)."""
    if steps == 0.0:
        return values
    times = np.arange(len(values), dtype=np.float64)
    return CubicSpline(times, values)(np.maximum(times - steps, 0.0))


def _precision_rows(results: Sequence[SeedResult]) -> list[TableRow]:
    table = []
    for name, designs in (
        ("trajectory", [r.trajectory for r in results]),
        ("poses", [r.poses for r in results]),
    ):
        for what, words, unit, bound in (
            ("largest", "largest deviation", "kg, kg m, kg m^2", "< 1"),
            ("condition", "condition number", "", ""),
        ):
            own = np.array([getattr(d.chosen.precision, what) for d in designs])
            random = np.array([np.median([getattr(m.precision, what) for m in d.random]) for d in designs])
            table += [
                row(f"{name}: {words}, chosen", unit, own),
                row(f"{name}: {words}, median of random", unit, random),
                row(f"{name}: {words}, chosen / random", "", own / random, bound=bound),
            ]
    return table


def _curve_rows(results: Sequence[SeedResult]) -> list[TableRow]:
    slopes, slower = [], []
    for result in results:
        by_samples, by_speed = result.trajectory.chosen.by_samples, result.trajectory.chosen.by_speed
        assert by_speed is not None
        last = slice(len(by_samples.x) // 2, None)
        slopes.append(np.polyfit(np.log(by_samples.x[last]), np.log(by_samples.variance[last]), 1)[0])
        slower.append(by_speed.variance[np.argmin(np.abs(by_speed.x - 0.5))] / by_speed.variance[-1])
    return [
        row("log variance by log samples, slope", "", slopes),
        row("variance at half the speed / at full", "", slower),
    ]


def _error_rows(results: Sequence[SeedResult]) -> list[TableRow]:
    noise, delay = FULL.noises.index(FULL.noise), FULL.delays_s.index(FULL.delay_s)
    table = []
    for label, errors in (
        (f"noise {FULL.noise:g} Nm", np.array([r.by_noise[:, noise] for r in results])),
        (f"delay {1e3 * FULL.delay_s:g} ms", np.array([r.by_delay[:, delay] for r in results])),
    ):
        for which, motion in enumerate(("chosen", "random")):
            table += [
                row(f"{label}: torque error elsewhere, {motion}", "%", 100.0 * errors[:, which, 0]),
                row(f"{label}: parameter error, {motion}", "sigma", errors[:, which, 1]),
            ]
    return table


def _panels(results: Sequence[SeedResult]) -> list[Panel]:
    """Return variance and condition by size, torque errors by noise and delay."""
    poses, motion = results[0].poses, results[0].trajectory
    of_poses, of_motion = ([m.by_samples for m in design.random] for design in (poses, motion))
    of_speed = [m.by_speed for m in motion.random if m.by_speed is not None]
    by_speed = motion.chosen.by_speed
    assert by_speed is not None
    noises, delays = np.log10(FULL.noises), 1e3 * np.array(FULL.delays_s)
    return [
        _compared("Static poses", "poses [-]", "variance", poses.chosen.by_samples, of_poses),
        _compared("Static poses", "poses [-]", "condition", poses.chosen.by_samples, of_poses),
        _compared("Motion", "samples [-]", "variance", motion.chosen.by_samples, of_motion),
        _compared("Motion", "share of the speed [-]", "variance", by_speed, of_speed),
        _effect("Noise", "log10 of the torque noise [Nm]", noises, [r.by_noise for r in results]),
        _effect("Late torques", "delay [ms]", delays, [r.by_delay for r in results]),
    ]


def _compared(title: str, x_label: str, what: str, own: Curve, random: Sequence[Curve]) -> Panel:
    values = np.array([getattr(curve, what) for curve in random])
    low, high = (np.percentile(values, share, axis=0, method="nearest") for share in (10.0, 90.0))
    chosen, middle, low, high = (
        np.where(np.isfinite(v), v, np.nan)
        for v in (getattr(own, what), np.median(values, axis=0), low, high)
    )
    curves = (
        Series("chosen", own.x, chosen, colour=0),
        Series("random: median, 10-90 %", own.x, middle, "dashed", low, high, colour=1),
    )
    label = "largest variance [SI]" if what == "variance" else "condition [-]"
    return Panel(title, x_label, label, curves, log=True)


def _effect(title: str, x_label: str, x: Array, values: Sequence[Array]) -> Panel:
    mean = 100.0 * np.mean([value[:, :, 0] for value in values], axis=0)
    curves = [
        Series(name, x, np.where(mean[i] > 1e-9, mean[i], np.nan), style, colour=i)
        for i, (name, style) in enumerate((("chosen", "line"), ("random: median, 10-90 %", "dashed")))
    ]
    return Panel(f"{title}: torques of another motion", x_label, "error [%]", curves, log=True)
