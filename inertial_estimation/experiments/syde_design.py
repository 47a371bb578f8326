"""SYDE 652: which poses and motions identify a humanoid's arm, and what noise and delay do to the result.

The left arm of TALOS, its trunk held, all else locked: seven joints, torques measured in each, as on the
humanoid's arm of the source. The measured torques are those of the URDF's own parameters, with white noise or
late against the positions; all base parameters are identified by least squares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator, default_rng
from scipy.interpolate import CubicSpline

from inertial_estimation.configuration.urdf_source import mesh_folders, read_urdf
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series
from inertial_estimation.identification.excitation.design_report import Curve, States
from inertial_estimation.identification.excitation.design_rows import DesignRows
from inertial_estimation.identification.excitation.excitation import (
    JUDGING_RATE_HZ,
    EvaluatedMotion,
    ExcitationDesign,
    design_excitation,
)
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

URDF, JOINTS = "example-robot-data:talos_reduced", "arm_left_[1-7]_joint"
NOISES = (0.01, 0.03, 0.1, 0.3, 1.0)  # [Nm]
DELAYS_S = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02)
TYPICAL_NOISE, TYPICAL_DELAY_S = 0.1, 0.01
RANDOM_MOTIONS = 10  # number of random motions from which an identification is made
FULL: dict[str, float | str] = {
    "objective": "max-variance",
    "torque_noise": TYPICAL_NOISE,
    "iterations": 60,
    "acceleration_limit": 3.0,
}
QUICK: dict[str, float | str] = {
    **FULL,
    "iterations": 1,
    "starts": 2,
    "duration": 10.0,
    "poses": 8,
    "candidates": 20,
}


@dataclass(frozen=True, eq=False)
class Identified:
    """What one data set gives.

    Attributes:
        torque_error: rms of the torque error on another motion, over the rms of its torques.
        deviations: rms of the errors of the base parameters, in their expected standard deviations.
    """

    torque_error: float
    deviations: float


@dataclass(frozen=True, eq=False)
class SeedResult:
    """What one seed gives: designs, and errors by noise and by delay, designed and median of random."""

    trajectory: ExcitationDesign
    poses: ExcitationDesign
    by_noise: Array  # (2, noises, 2): designed or random; torque error, deviations
    by_delay: Array  # (2, delays, 2)


class SydeDesign(Experiment[list[SeedResult]]):
    """Design, comparison with random motions, identification under noise and delay, for every seed."""

    figure_columns = 2

    def simulate(self, trials: Trials) -> list[SeedResult]:
        """Design, compare with random motions, identify under noise and delay, for every seed."""
        return trials.results([partial(_one_seed, seed, self.quick) for seed in self.seeds])

    def table(self, data: list[SeedResult]) -> list[TableRow]:
        """Return information of the designs, and errors under noise and delay."""
        return [*_precision_rows(data), *_curve_rows(data), *_error_rows(data)]

    def panels(self, data: list[SeedResult]) -> tuple[Panel, ...]:
        """Return variance and condition by size, torque errors by noise and delay."""
        results = data
        first = results[0]
        pose_curves = [m.by_samples for m in first.poses.random]
        motion_curves = [m.by_samples for m in first.trajectory.random]
        speed_curves = [m.by_speed for m in first.trajectory.random if m.by_speed is not None]
        by_speed = first.trajectory.chosen.by_speed
        assert by_speed is not None
        noises, delays = np.log10(NOISES), 1e3 * np.array(DELAYS_S)
        return (
            _compared("Static poses", "poses [-]", "variance", first.poses.chosen.by_samples, pose_curves),
            _compared("Static poses", "poses [-]", "condition", first.poses.chosen.by_samples, pose_curves),
            _compared("Motion", "samples [-]", "variance", first.trajectory.chosen.by_samples, motion_curves),
            _compared("Motion", "share of the speed [-]", "variance", by_speed, speed_curves),
            _effect("Noise", "log10 of the torque noise [Nm]", noises, [r.by_noise for r in results]),
            _effect("Late torques", "delay [ms]", delays, [r.by_delay for r in results]),
        )

    def per_seed(self, data: list[SeedResult]) -> dict[str, tuple[float, ...]]:
        """Return the condition numbers of the chosen designs."""
        return {
            "condition_trajectory": tuple(r.trajectory.chosen.precision.condition for r in data),
            "condition_poses": tuple(r.poses.chosen.precision.condition for r in data),
        }

    def settings(self, data: list[SeedResult]) -> Mapping[str, float | str]:
        """Return the design's parameters."""
        return {**FULL, "robot": "talos_reduced", "joints": JOINTS}

    def facts(self, data: list[SeedResult]) -> tuple[str, ...]:
        """Return what the source gives, and what acts on the measurements."""
        trajectory, poses = data[0].trajectory.rows, data[0].poses.rows
        return (
            "The source gives curves and no numbers; chosen by its first objective, the largest variance.",
            f"{trajectory.base.rank} base parameters of {len(trajectory.parameters.unknowns)} act on "
            f"motions, {poses.base.rank} on static poses; no friction.",
            "A parameter's error under delay is a bias: it does not shrink with more samples.",
            f"Largest torque of the designed motions: {100 * _largest_torque(data):.0f} % of the limit.",
            *dict.fromkeys(note for r in data for note in r.trajectory.notes),
        )


def _one_seed(seed: int, quick: bool) -> SeedResult:
    identification = build_config(IdentificationConfig, {"urdf": URDF, "floating_base": True})
    urdf, compare = read_urdf(URDF), 3 if quick else 30
    designs = [
        design_excitation(
            identification,
            build_config(ExcitationConfig, {**(QUICK if quick else FULL), "kind": kind}),
            urdf,
            mesh_folders=mesh_folders(),
            joints=(JOINTS,),
            seed=seed,
            compare=compare,
        )
        for kind in ("fourier", "poses")
    ]
    trajectory, poses = designs
    *training, held_out = trajectory.random
    sources = [[trajectory.chosen], training[:RANDOM_MOTIONS]]
    rng = default_rng((seed, 1))
    by_noise = [[_errors(trajectory.rows, s, held_out, noise, 0.0, rng) for noise in NOISES] for s in sources]
    by_delay = [
        [_errors(trajectory.rows, s, held_out, 0.0, delay, rng) for delay in DELAYS_S] for s in sources
    ]
    return SeedResult(trajectory, poses, np.array(by_noise), np.array(by_delay))


def _errors(
    rows: DesignRows,
    motions: Sequence[EvaluatedMotion],
    held_out: EvaluatedMotion,
    noise: float,
    delay: float,
    rng: Generator,
) -> tuple[float, float]:
    """Return the medians over motions of torque error and parameter error."""
    found = [identified(rows, motion, held_out.states, noise, delay, rng) for motion in motions]
    return (
        float(np.median([result.torque_error for result in found])),
        float(np.median([result.deviations for result in found])),
    )


def identified(
    rows: DesignRows, motion: EvaluatedMotion, held_out: States, noise: float, delay_s: float, rng: Generator
) -> Identified:
    """Identify all base parameters from torques with noise, late by a delay.

    Args:
        rows: Rows of the robot.
        motion: What it does; its precision gives the expected standard deviations.
        held_out: States of another motion.
        noise: Standard deviation of the torques [Nm].
        delay_s: How much later than the positions they are [s].
        rng: Source of the noise.
    """
    base = rows.base
    truth = base.coupling @ linear_algebra.lstsq(rows.parameters.E, rows.parameters.nominal)
    A = rows.rows(*motion.states)[:, :, base.columns]
    torques = A @ truth
    span = motion.states[0].shape[0]
    measured = delayed(torques, delay_s * _rate(rows), span) + noise * rng.normal(size=torques.shape)
    found = linear_algebra.lstsq(A.reshape(-1, base.rank), measured.ravel())
    other = rows.rows(*held_out)[:, :, base.columns].reshape(-1, base.rank)
    error, size = other @ (found - truth), other @ truth
    samples = motion.precision.samples / span  # a state stands for so many samples of the promised ones
    sigma = np.sqrt(samples) * np.array([deviation.sigma for deviation in motion.precision.deviations])
    if noise > 0.0:
        sigma = sigma * noise / TYPICAL_NOISE
    return Identified(
        float(np.sqrt(np.mean(error**2) / np.mean(size**2))),
        float(np.sqrt(np.mean(((found - truth) / sigma) ** 2))),
    )


def delayed(values: Array, steps: float, count: int) -> Array:
    """Return samples as they were some steps ago, the first one before the start.

    Args:
        values: Samples, shape (count, m).
        steps: Delay in steps between samples, not necessarily whole.
        count: Number of samples.
    """
    if steps == 0.0:
        return values
    times = np.arange(count, dtype=np.float64)
    late: Array = CubicSpline(times, values)(np.maximum(times - steps, 0.0))
    return late


def _rate(rows: DesignRows) -> float:
    """Rate of a motion's states [Hz]."""
    return min(JUDGING_RATE_HZ, rows.design.config.smoothing.row_rate)


def _precision_rows(results: Sequence[SeedResult]) -> list[TableRow]:
    table = []
    for name, designs in (
        ("trajectory", [r.trajectory for r in results]),
        ("poses", [r.poses for r in results]),
    ):
        for what, unit, bound in (
            ("largest", "kg, kg m, kg m^2", Bound("<", 1.0)),
            ("condition", "", None),
        ):
            own = np.array([getattr(d.chosen.precision, what) for d in designs])
            random = np.array([np.median([getattr(m.precision, what) for m in d.random]) for d in designs])
            words = "condition number" if what == "condition" else "largest deviation"
            table += [
                TableRow.over_seeds(f"{name}: {words}, chosen", unit, own),
                TableRow.over_seeds(f"{name}: {words}, median of random", unit, random),
                TableRow.over_seeds(f"{name}: {words}, chosen / random", "", own / random, bound=bound),
            ]
    return table


def _curve_rows(results: Sequence[SeedResult]) -> list[TableRow]:
    slopes = np.array([_slope(r.trajectory.chosen.by_samples) for r in results])
    slower = np.array([_at_half_speed(r.trajectory.chosen.by_speed) for r in results])
    return [
        TableRow.over_seeds("log variance by log samples, slope", "", slopes),
        TableRow.over_seeds("variance at half the speed / at full", "", slower),
    ]


def _error_rows(results: Sequence[SeedResult]) -> list[TableRow]:
    table = []
    noise, delay = NOISES.index(TYPICAL_NOISE), DELAYS_S.index(TYPICAL_DELAY_S)
    for label, values, index in (
        (f"noise {TYPICAL_NOISE:g} Nm", [r.by_noise for r in results], noise),
        (f"delay {1e3 * TYPICAL_DELAY_S:g} ms", [r.by_delay for r in results], delay),
    ):
        for which, motion in enumerate(("chosen", "random")):
            errors = np.array([value[which, index] for value in values])
            table += [
                TableRow.over_seeds(f"{label}: torque error elsewhere, {motion}", "%", 100.0 * errors[:, 0]),
                TableRow.over_seeds(f"{label}: parameter error, {motion}", "sigma", errors[:, 1]),
            ]
    return table


def _slope(curve: Curve) -> float:
    last = slice(len(curve.x) // 2, None)
    return float(np.polyfit(np.log(curve.x[last]), np.log(curve.variance[last]), 1)[0])


def _at_half_speed(curve: Curve | None) -> float:
    assert curve is not None
    half = int(np.argmin(np.abs(curve.x - 0.5)))
    return float(curve.variance[half] / curve.variance[-1])


def _largest_torque(results: Sequence[SeedResult]) -> float:
    return max(share for r in results for share in r.trajectory.torque_share.values())


def _compared(title: str, x_label: str, what: str, own: Curve, random: Sequence[Curve]) -> Panel:
    values = np.array([getattr(curve, what) for curve in random])
    low, high = (np.percentile(values, share, axis=0, method="nearest") for share in (10.0, 90.0))
    middle = np.median(values, axis=0)
    seen = np.isfinite(getattr(own, what))
    shown = [np.where(np.isfinite(v), v, np.nan) for v in (middle, low, high)]
    label = "largest variance [SI]" if what == "variance" else "condition [-]"
    chosen = np.where(seen, getattr(own, what), np.nan)
    return Panel(
        title,
        x_label,
        label,
        (
            Series("chosen", own.x, chosen, colour=0),
            Series("random: median, 10-90 %", own.x, shown[0], "dashed", shown[1], shown[2], colour=1),
        ),
        log=True,
    )


def _effect(title: str, x_label: str, x: Array, values: Sequence[Array]) -> Panel:
    mean = 100.0 * np.mean([value[:, :, 0] for value in values], axis=0)
    series = tuple(
        Series(name, x, np.where(mean[i] > 1e-9, mean[i], np.nan), style, colour=i)
        for i, (name, style) in enumerate((("chosen", "line"), ("random: median, 10-90 %", "dashed")))
    )
    return Panel(f"{title}: torques of another motion", x_label, "error [%]", series, log=True)
