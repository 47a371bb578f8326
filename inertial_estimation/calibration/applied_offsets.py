"""What the offsets that are written do without everything else that was estimated.

Nodes apply the written offsets only: no placement errors, and none of the offsets that the samples determine
in combination. So their error is judged with exactly these offsets, and by samples that took no part in the
fit: offsets that do not predict left-out samples better than none are not written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.calibration.calibration_config import CalibrationConfig
from inertial_estimation.calibration.calibration_report import DISPLAY_UNITS, ChannelError, JointOffset
from inertial_estimation.calibration.identifiability import OffsetIdentifiability
from inertial_estimation.calibration.problem import CalibrationProblem
from inertial_estimation.calibration.solver import Solution, fit_local, fits_without, solve
from inertial_estimation.signals import Array

HELD_SIGMA = 1e-9  # prior standard deviation of unknowns that are held
MENTIONED_SHARE = 0.8  # ratio of weighted squares below which unwritten combinations are mentioned
MOST_GROUPS = 12  # into which the samples are divided to be left out in turn, neighbours together


@dataclass(frozen=True, slots=True, eq=False)
class AppliedErrors:
    """Errors of samples left out in turn, with the offsets that would be written and with none.

    Attributes:
        before: Root mean square by channel without offsets, shape (channels,).
        written: The same with the offsets found from the other samples, shape (channels,).
        before_cost: Mean square in units of the noise, robustly weighted, without offsets.
        written_cost: The same with the offsets.
        gain_sigma: Standard error of their difference, from its scatter over the samples.
    """

    before: Array
    written: Array
    before_cost: float
    written_cost: float
    gain_sigma: float

    @property
    def gains(self) -> bool:
        """Whether the offsets predict samples that took no part in their fit better, by a standard error."""
        return self.before_cost - self.written_cost > self.gain_sigma


def applied_errors(
    problem: CalibrationProblem, solution: Solution, keep: Array, config: CalibrationConfig
) -> AppliedErrors:
    """Leave groups of samples out in turn, refit, and predict them with the kept offsets only.

    Args:
        problem: The problem without placement errors.
        solution: Its solution; noise levels and weights are kept.
        keep: Which offsets would be written, shape (n_offsets,).
        config: Prior knowledge.
    """
    n, rows = problem.unknowns.n_offsets, np.arange(problem.n_samples)
    residuals: list[list[Array]] = [[], []]
    groups = np.array_split(rows, min(problem.n_samples, MOST_GROUPS))
    for rest, left_out, found in fits_without(problem, solution, groups, robust=config.robust):
        offsets_of = (np.zeros(n), np.where(keep, found.x[:n], 0.0))
        for part, offsets in zip(residuals, offsets_of, strict=True):
            x = with_offsets(rest, found, offsets, config)
            part.append(fit_local(left_out, x, solution.sigma)[0])
    before, written = (np.concatenate(part) for part in residuals)
    scale = solution.sigma[problem.channel_of_row]
    costs = np.stack([((part / scale) ** 2).mean(axis=1) for part in (before, written)])
    means = np.average(costs, axis=1, weights=solution.weights)
    gain = solution.weights * (costs[0] - costs[1] - (means[0] - means[1]))
    return AppliedErrors(
        channel_rms(problem, before),
        channel_rms(problem, written),
        float(means[0]),
        float(means[1]),
        float(np.linalg.norm(gain) / solution.weights.sum()),
    )


def with_offsets(
    problem: CalibrationProblem, solution: Solution, offsets: Array, config: CalibrationConfig
) -> Array:
    """Fit only the nuisances, with offsets held at given values and no placement errors.

    Args:
        problem: The problem.
        solution: A solution of it, to start from; its noise levels are kept.
        offsets: The values, shape (n_offsets,).
        config: Prior knowledge.

    Returns:
        All common unknowns, shape (n,).
    """
    u = problem.unknowns
    centre, sigma, bound = u.centre.copy(), u.prior_sigma.copy(), u.bound.copy()
    centre[: u.n_offsets], sigma[: u.n_offsets], bound[: u.n_offsets] = offsets, HELD_SIGMA, np.inf
    placements = np.array(["/placement_" in name for name in u.names])
    sigma[placements] = HELD_SIGMA
    held = problem.subset(np.arange(problem.n_samples))
    held.unknowns = replace(u, centre=centre, start=centre, prior_sigma=sigma, bound=bound)
    start = np.where(sigma == HELD_SIGMA, centre, solution.x)
    return solve(held, sigma=solution.sigma, estimate_noise=False, robust=config.robust, x=start).x


def channel_rms(problem: CalibrationProblem, residual: Array) -> Array:
    """Return the root mean square of the residuals of each channel, shape (channels,).

    Of a channel of several components, as a marker's position, it is that of their norm, not of one of them.

    Args:
        problem: The problem.
        residual: Residuals of its samples, shape (K, m).
    """
    squares = [
        channel.components * (residual[:, problem.channel_of_row == c] ** 2).mean()
        for c, channel in enumerate(problem.channels)
    ]
    rms: Array = np.sqrt(np.array(squares))
    return rms


def is_written(joint: JointOffset, combinations: bool) -> bool:
    """Whether the samples determine an offset, alone or, with `combinations`, together with others."""
    kinds = {
        OffsetIdentifiability.IDENTIFIABLE,
        *([OffsetIdentifiability.COMBINATION] if combinations else []),
    }
    return joint.identifiability in kinds and not joint.at_bound


def combinations_note(
    problem: CalibrationProblem,
    solution: Solution,
    joints: Sequence[JointOffset],
    channels: Sequence[ChannelError],
    config: CalibrationConfig,
) -> tuple[str, ...]:
    """Describe by how much the offsets known only in combination reduce the residuals, if significantly."""
    informed = [is_written(joint, combinations=True) for joint in joints]
    alone = [is_written(joint, combinations=False) for joint in joints]
    if informed == alone:
        return ()
    offsets = np.where(informed, [joint.offset for joint in joints], 0.0)
    x = with_offsets(problem, solution, offsets, config)
    rms = channel_rms(problem, fit_local(problem, x, solution.sigma)[0])
    written = np.array([channel.written for channel in channels])
    if np.sum((rms / solution.sigma) ** 2) >= MENTIONED_SHARE * np.sum((written / solution.sigma) ** 2):
        return ()
    changes = []
    for channel, few, all_of in zip(channels, written, rms, strict=True):
        factor, unit = DISPLAY_UNITS[channel.unit]
        changes.append(f"{channel.name} {factor * all_of:.3g} instead of {factor * few:.3g} {unit}")
    return (
        f"{sum(informed) - sum(alone)} offsets known only in combination are not written; with them "
        f"(--write-combinations) these samples have {', '.join(changes)}",
    )
