"""One calibration from problem to report: selection of the priors, fit, validation on held-out samples.

Nodes apply the written offsets only: no placement errors, and none of the offsets that the samples determine
in combination. So their error is judged with exactly these offsets, and by samples that took no part in the
fit: offsets that do not predict left-out samples better than none are not written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.calibration.calibration_config import CalibrationConfig
from inertial_estimation.calibration.calibration_report import (
    DISPLAY_UNITS,
    CalibrationReport,
    ChannelError,
    JointOffset,
    Trial,
)
from inertial_estimation.calibration.flat_feet import FlatFeetProblem
from inertial_estimation.calibration.identifiability import (
    OffsetIdentifiability,
    OffsetKnowledge,
    offset_knowledge,
)
from inertial_estimation.calibration.problem import CalibrationProblem, Numbers
from inertial_estimation.calibration.solver import Solution, fit_local, fits_without, solve
from inertial_estimation.errors import ConfigurationError, MeasurementError, listing
from inertial_estimation.signals import Array

HELD_SIGMA = 1e-9  # prior standard deviation of unknowns that are held
MENTIONED_SHARE = 0.8  # ratio of weighted squares below which unwritten combinations are mentioned
MOST_GROUPS = 12  # into which the samples are divided to be left out in turn, neighbours together
OFFSET_SIGMAS = (0.02, 0.05, 0.2)  # [rad]
PLACEMENT_SIGMAS = ((0.0, 0.0), (0.001, 0.004), (0.003, 0.01), (0.01, 0.03))  # [m], [rad]

MakeProblem = Callable[[CalibrationConfig], CalibrationProblem]


@dataclass(frozen=True, eq=False)
class CalibrationTask:
    """Problem and options of a calibration.

    Attributes:
        kind: "flat-feet", "plane" or "marker".
        make: Builds the problem on all samples for given prior knowledge.
        config: Prior knowledge.
        held_out: Which samples are held out of the fit, shape (K,).
        choose: Whether leave-one-out over the fitted samples selects the priors (`OFFSET_SIGMAS`,
            `PLACEMENT_SIGMAS`) instead of `config`.
        leave_one_out: Whether the final fit is also evaluated by leave-one-out.
        exact_description: Whether the selection excludes placement errors.
        write_combinations: Whether offsets that are known only in combination are also written. They lower
            the residuals, with values that the priors select among those consistent with the samples.
    """

    kind: str
    make: MakeProblem
    config: CalibrationConfig
    held_out: NDArray[np.bool_]
    choose: bool = False
    leave_one_out: bool = False
    exact_description: bool = False
    write_combinations: bool = False


def calibrate(
    task: CalibrationTask, progress: Callable[[str], None] = lambda _what: None
) -> CalibrationReport:
    """Calibrate.

    Offsets and their identifiability are those of a fit without placement errors, since only offsets are
    applied to a robot. The residuals "after", left out and held out are those of the fit with placement
    errors, where these are allowed.

    Args:
        task: Problem and options.
        progress: Called with a description of the current step.

    Returns:
        The report.

    Raises:
        MeasurementError: If there are too few samples for the unknowns, or residuals are not finite.
        ConfigurationError: If all samples are held out.
    """
    config, trials, fitted = task.config, tuple[Trial, ...](), np.flatnonzero(~task.held_out)
    _check_rows(task.make(config), len(fitted))
    if task.choose:
        config, trials = _chosen(task, fitted, progress)
    progress("fit")
    everything = task.make(config)
    problem = everything.subset(fitted)
    solution = solve(problem, robust=config.robust)
    alone, of_alone = _offsets_alone(task, config, trials, problem, solution, fitted)
    limits = alone.unknowns.by_kind(config.identifiable_sigma, config.prismatic_identifiable_sigma)
    knowledge = offset_knowledge(alone.unknowns, of_alone, limits)
    joints = _joints(alone, of_alone, knowledge)
    x_before = with_offsets(problem, solution, np.zeros(problem.unknowns.n_offsets), config)
    keep = np.array([is_written(joint, task.write_combinations) for joint in joints])
    trial = applied_errors(alone, of_alone, keep, config) if keep.any() else None
    known, keep = keep, keep & (trial is not None and trial.gains)
    x_written = with_offsets(problem, solution, np.where(keep, [j.offset for j in joints], 0.0), config)
    left_out = None
    if task.leave_one_out:
        progress("leave one out")
        left_out = leave_one_out(problem, solution, robust=config.robust)
    held_out = np.flatnonzero(task.held_out)
    test = everything.subset(held_out) if len(held_out) else None
    channels = _channels(problem, test, solution, (x_before, x_written), left_out, trial)
    return CalibrationReport(
        kind=task.kind,
        joints=joints,
        rank=knowledge.rank,
        rank_with_placements=offset_knowledge(problem.unknowns, solution, limits).rank,
        unknown_combinations=knowledge.unknown_combinations,
        channels=channels,
        noise={c.name: float(s) for c, s in zip(problem.channels, solution.sigma, strict=True)},
        nuisances=_nuisances(problem, solution),
        samples=len(fitted),
        held_out=len(held_out),
        outliers=int((solution.weights < 0.5).sum()),
        heights_before=_heights(everything, solution.sigma, x_before),
        written_heights=_heights(everything, solution.sigma, x_written),
        is_held_out=task.held_out.astype(float),
        trials=trials,
        iterations=solution.iterations,
        converged=solution.converged,
        warnings=(
            *_warnings(joints, solution, knowledge, channels, bool(keep.any())),
            *_refusal(joints, known, trial),
            *combinations_note(problem, solution, joints, channels, config),
        ),
        written_joints=tuple(j.joint for j, kept in zip(joints, keep, strict=True) if kept),
    )


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
    held = problem.subset(np.arange(problem.n_samples))
    held.unknowns = replace(
        u,
        centre=np.concatenate((offsets, u.centre[u.n_offsets :])),
        prior_sigma=np.where(np.arange(u.count) < u.n_chain, HELD_SIGMA, u.prior_sigma),
        bound=np.where(np.arange(u.count) < u.n_offsets, np.inf, u.bound),
    )
    start = np.concatenate((held.unknowns.centre[: u.n_chain], solution.x[u.n_chain :]))
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
    together = combinations and joint.identifiability is OffsetIdentifiability.COMBINATION
    return (together or joint.identifiability is OffsetIdentifiability.IDENTIFIABLE) and not joint.at_bound


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


def leave_one_out(problem: CalibrationProblem, solution: Solution, *, robust: bool = True) -> Array:
    """Predict each sample by a calibration without it, in which all unknowns are refitted.

    Args:
        problem: The problem on all samples.
        solution: Its solution, to start from.
        robust: As in `solve`.

    Returns:
        Residuals of the samples left out, shape (K, m).
    """
    each = np.arange(problem.n_samples)[:, None]
    fits = fits_without(problem, solution, each, robust=robust)
    return np.concatenate([fit_local(left_out, found.x, solution.sigma)[0] for _, left_out, found in fits])


def _offsets_alone(
    task: CalibrationTask,
    config: CalibrationConfig,
    trials: Sequence[Trial],
    problem: CalibrationProblem,
    solution: Solution,
    fitted: Numbers,
) -> tuple[CalibrationProblem, Solution]:
    """Fit the offsets without placement errors, since only the offsets are applied to a robot."""
    if problem.unknowns.n_chain == problem.unknowns.n_offsets:
        return problem, solution
    exact = [t for t in trials if t.placement_position_sigma == t.placement_rotation_sigma == 0.0]
    best = min(exact, key=lambda t: _score(list(t.errors.values())), default=config)
    prior = replace(
        config, offset_sigma=best.offset_sigma, placement_position_sigma=0.0, placement_rotation_sigma=0.0
    )
    alone = task.make(prior).subset(fitted)
    return alone, solve(alone, robust=config.robust)


def _score(rms: Sequence[float]) -> float:
    """Mean logarithm over the channels."""
    return float(np.log(np.maximum(rms, 1e-12)).mean())


def _check_rows(problem: CalibrationProblem, fitted: int) -> None:
    if not fitted:
        raise ConfigurationError("every sample is held out, expected some to calibrate with")
    one = problem.subset(np.arange(1))
    n_local = one.linearise(problem.unknowns.centre, one.start_local()).by_local.shape[2]
    each = len(problem.channel_of_row) - n_local
    nuisances = sum(1 for s in problem.unknowns.prior_sigma[problem.unknowns.n_offsets :] if s >= 1.0)
    if fitted * each < problem.unknowns.n_offsets + nuisances:
        raise MeasurementError(
            f"{fitted} samples give {fitted * each} equations, expected at least one for each of the "
            f"{problem.unknowns.n_offsets + nuisances} unknowns"
        )


def _chosen(
    task: CalibrationTask,
    fitted: Numbers,
    progress: Callable[[str], None],
) -> tuple[CalibrationConfig, tuple[Trial, ...]]:
    """Select the priors with the least geometric mean of the leave-one-out residuals over the channels."""
    placements = PLACEMENT_SIGMAS[:1] if task.exact_description else PLACEMENT_SIGMAS
    priors = [(offset, *placement) for offset in OFFSET_SIGMAS for placement in placements]
    trials = []
    for number, (offset, position, rotation) in enumerate(priors, start=1):
        progress(f"leave one out {number} of {len(priors)}")
        tried: dict[str, Any] = {
            "offset_sigma": offset,
            "placement_position_sigma": position,
            "placement_rotation_sigma": rotation,
        }
        problem = task.make(replace(task.config, **tried)).subset(fitted)
        solution = solve(problem, robust=task.config.robust)
        rms = channel_rms(problem, leave_one_out(problem, solution, robust=task.config.robust)).tolist()
        errors = {channel.name: one for channel, one in zip(problem.channels, rms, strict=True)}
        trials.append((tried, Trial(**tried, errors=errors, chosen=False)))
    best, chosen = min(trials, key=lambda trial: _score(list(trial[1].errors.values())))
    return replace(task.config, **best), tuple(replace(one, chosen=one is chosen) for _, one in trials)


def _joints(
    problem: CalibrationProblem, solution: Solution, knowledge: OffsetKnowledge
) -> tuple[JointOffset, ...]:
    units = np.where(problem.unknowns.by_kind(0.0, 1.0) > 0.0, "m", "rad")
    sigma = np.sqrt(np.diag(solution.covariance))
    columns = (
        solution.x.tolist(),
        sigma.tolist(),
        knowledge.kinds,
        solution.at_bound.tolist(),
        units.tolist(),
    )
    rows = zip(problem.unknowns.names, *columns, strict=False)  # the first ones are the offsets
    return tuple(JointOffset(*row) for row in rows)


def _nuisances(problem: CalibrationProblem, solution: Solution) -> dict[str, tuple[float, float]]:
    sigma = np.sqrt(np.diag(solution.covariance))
    rows = zip(problem.unknowns.names, solution.x.tolist(), sigma.tolist(), strict=True)
    return {name: (value, s) for name, value, s in list(rows)[problem.unknowns.n_offsets :]}


def _channels(
    problem: CalibrationProblem,
    test: CalibrationProblem | None,
    solution: Solution,
    others: tuple[Array, Array],
    left_out: Array | None,
    trial: AppliedErrors | None,
) -> tuple[ChannelError, ...]:
    states = {"before": others[0], "after": solution.x, "written": others[1]}
    rms = {k: channel_rms(problem, fit_local(problem, x, solution.sigma)[0]) for k, x in states.items()}
    if test:
        names = ("held_out_before", "held_out", "held_out_written")
        for name, x in zip(names, states.values(), strict=True):
            rms[name] = channel_rms(test, fit_local(test, x, solution.sigma)[0])
    if left_out is not None:
        rms["leave_one_out"] = channel_rms(problem, left_out)
    if trial:
        rms |= {"left_out_before": trial.before, "left_out_written": trial.written}
    return tuple(
        ChannelError(channel.name, channel.unit, **{name: float(one[c]) for name, one in rms.items()})
        for c, channel in enumerate(problem.channels)
    )


def _heights(problem: CalibrationProblem, sigma: Array, x: Array) -> Array:
    """Quantities of the figure [m]: heights of corners, height on the plane, or marker error components."""
    residual, local = fit_local(problem, x, sigma)
    if isinstance(problem, FlatFeetProblem):
        return problem.heights(x, local)
    metres = [c for c, channel in enumerate(problem.channels) if channel.unit == "m"]
    heights: Array = residual[:, np.isin(problem.channel_of_row, metres)]
    return heights


def _warnings(
    joints: Sequence[JointOffset],
    solution: Solution,
    knowledge: OffsetKnowledge,
    channels: Sequence[ChannelError],
    any_written: bool,
) -> tuple[str, ...]:
    said = []
    bounded = [joint.joint for joint in joints if joint.at_bound]
    if bounded:
        said.append(f"offsets at their bound, which are not written: {', '.join(bounded)}")
    if knowledge.rank == 0:
        said.append("the samples determine no offset: the postures are equal, or no joint lies in the chain")
    if not solution.converged:
        said.append("the iteration did not converge")
    outliers = int((solution.weights < 0.5).sum())
    if outliers:
        said.append(
            f"{outliers} of {len(solution.weights)} samples do not fit the others and have reduced weights"
        )
    before, written = (
        sum((getattr(c, name) / s) ** 2 for c, s in zip(channels, solution.sigma, strict=True))
        for name in ("before", "written")
    )
    if any_written and written > before:
        said.append(
            "the offsets written fit these samples worse than none, without those known only in combination: "
            "take more varied postures, or write the combinations too"
        )
    return tuple(said)


def _refusal(
    joints: Sequence[JointOffset],
    known: NDArray[np.bool_],
    trial: AppliedErrors | None,
) -> tuple[str, ...]:
    """Say why offsets that the samples determine are not written."""
    if trial is None or trial.gains:
        return ()
    names = listing(j.joint for j, one in zip(joints, known, strict=True) if one)
    return (
        f"no offset is written: samples that are left out are not predicted better with those of {names} "
        f"than without any (weighted squares {trial.written_cost:.3g} and {trial.before_cost:.3g}, standard "
        f"error of the difference {trial.gain_sigma:.2g})",
    )
