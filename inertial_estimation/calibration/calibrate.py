"""One calibration from problem to report: fit, and validation on held-out samples.

Nodes apply the written offsets only, and none that the samples determine only in combination. The written
ones are therefore fitted again with all others held at zero, and validated on samples that took no part in
the fit: offsets that do not predict left-out or held-out samples better than zero offsets are not written.

The URDF is not exact: its joints are placed to about a millimetre, an error that is the same in every sample.
The effect of such an error on an offset is included in the offset's standard deviation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.calibration.calibration_report import CalibrationReport, ChannelError, JointOffset
from inertial_estimation.calibration.problem import CalibrationProblem
from inertial_estimation.calibration.solver import (
    OffsetKnowledge,
    Solution,
    fit_local,
    fits_without,
    next_step,
    offset_knowledge,
    solve,
)
from inertial_estimation.errors import ConfigurationError, MeasurementError, listing
from inertial_estimation.signals import Array, Identifiability

MOST_GROUPS = 12  # most groups of adjacent samples that are left out in turn
LOOSE_SIGMA = 1.0  # prior standard deviation from which a nuisance counts as an unknown without prior
SIGNIFICANT = 4.0  # ratio of an offset to its standard deviation from which it may be written
PLACEMENT_SIGMA = 1e-3  # standard deviation of the placement of a joint, by machining and assembly [m]


def calibrate(
    problem: CalibrationProblem,
    held_out: NDArray[np.bool_],
    *,
    one_by_one: bool = False,
    progress: Callable[[str], None] = lambda _what: None,
) -> CalibrationReport:
    """Fit the offsets, decide which of them are written, and report errors before and after.

    Args:
        problem: The problem on all samples.
        held_out: Whether each sample is held out of the fit, shape (K,).
        one_by_one: Whether the fit is also evaluated by leave-one-out.
        progress: Called with the name of each step.

    Raises:
        MeasurementError: If there are too few samples for the unknowns, or residuals are not finite.
        ConfigurationError: If all samples are held out.
    """
    fitted = np.flatnonzero(~held_out)
    _check_rows(problem, len(fitted))
    progress("fit")
    training = problem.subset(fitted)
    solution = solve(training)
    found = np.abs(solution.x[: training.unknowns.n_offsets])
    limit = np.maximum(problem.config.identifiable_sigma * training.scale, found / SIGNIFICANT)
    progress("errors of the description")
    systematic = placement_sigma(training, solution)
    knowledge = offset_knowledge(training.unknowns, solution, limit, systematic)
    joints = _joints(training, solution, knowledge, systematic)
    known = np.array([joint.identifiability is Identifiability.IDENTIFIABLE for joint in joints])
    before = with_offsets(training, solution, np.zeros(len(known)))
    alone = only(training, solution, known)
    test = problem.subset(np.flatnonzero(held_out)) if held_out.any() else None
    trial = applied_errors(training, alone, known) if known.any() else None
    worse = test is not None and _cost(test, alone.x, solution) > _cost(test, before, solution)
    keep = known & (trial is not None and trial.gains and not worse)
    states = {"before": before, "after": solution.x, "written": alone.x if keep.any() else before}
    joints = tuple(
        replace(joint, offset=float(x)) if kept else joint
        for joint, x, kept in zip(joints, alone.x[: len(joints)], keep, strict=True)
    )
    rms = _errors(training, test, solution, states)
    if one_by_one:
        progress("leave one out")
        rms["leave_one_out"] = channel_rms(training, leave_one_out(training, solution))
    if trial:
        rms |= {"left_out_before": trial.before, "left_out_written": trial.written}
    warnings = _warnings(solution, knowledge)
    warnings += _refusal(joints, known, trial, worse=worse)
    return CalibrationReport(
        kind=problem.kind,
        joints=joints,
        rank=knowledge.rank,
        channels=_channels(training, rms),
        noise={c.name: float(s) for c, s in zip(training.channels, solution.sigma, strict=True)},
        samples=len(fitted),
        held_out=int(held_out.sum()),
        outliers=int((solution.weights < 0.5).sum()),
        heights_before=_heights(problem, solution, states["before"]),
        written_heights=_heights(problem, solution, states["written"]),
        is_held_out=held_out.astype(float),
        converged=solution.converged,
        warnings=tuple(warnings),
        written_joints=tuple(j.joint for j, kept in zip(joints, keep, strict=True) if kept),
    )


@dataclass(frozen=True, eq=False)
class AppliedErrors:
    """Errors of samples that are left out in turn, with the offsets to be written and with zero offsets."""

    before: Array  # root mean square error of each channel with zero offsets, shape (channels,)
    written: Array  # the same with the offsets fitted to the other samples
    before_cost: float  # mean square error in units of the noise, robustly weighted, with zero offsets
    written_cost: float  # the same with the offsets fitted to the other samples
    gain_sigma: float  # standard error of the difference of both costs, from its scatter over the samples

    @property
    def gains(self) -> bool:
        """Whether the offsets reduce the error of left-out samples by more than its standard error."""
        return self.before_cost - self.written_cost > self.gain_sigma


def applied_errors(problem: CalibrationProblem, solution: Solution, keep: NDArray[np.bool_]) -> AppliedErrors:
    """Leave groups of samples out in turn, refit, and predict them with the kept offsets only.

    Noise levels and weights are those of the solution on all samples.
    """
    n, rows = problem.unknowns.n_offsets, np.arange(problem.n_samples)
    residuals: list[list[Array]] = [[], []]
    groups = np.array_split(rows, min(problem.n_samples, MOST_GROUPS))
    for rest, left_out, found in fits_without(problem, solution, groups, _held(problem, keep)):
        for part, x in zip(residuals, (with_offsets(rest, found, np.zeros(n)), found.x), strict=True):
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


def only(problem: CalibrationProblem, solution: Solution, keep: NDArray[np.bool_]) -> Solution:
    """Fit the offsets to be written again with all others at zero, as nodes apply them.

    The offsets of a fit of all are optimal only together.
    """
    start = np.where(_held(problem, keep), problem.unknowns.centre, solution.x)
    return solve(problem, sigma=solution.sigma, x=start, held=_held(problem, keep))


def _held(problem: CalibrationProblem, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which unknowns are held constant: the offsets that are not kept."""
    return np.concatenate((~keep, np.zeros(problem.unknowns.count - len(keep), dtype=bool)))


def with_offsets(problem: CalibrationProblem, solution: Solution, offsets: Array) -> Array:
    """Return all common unknowns, shape (n,), with offsets held at given values.

    Only the nuisances are fitted, starting from a solution, with its noise levels.
    """
    u = problem.unknowns
    start = np.concatenate((offsets, solution.x[u.n_offsets :]))
    return solve(problem, sigma=solution.sigma, x=start, held=np.arange(u.count) < u.n_offsets).x


def channel_rms(problem: CalibrationProblem, residual: Array) -> Array:
    """Return the root mean square of the residuals, shape (K, m), of each channel, shape (channels,).

    For a channel of several components (a marker's position) it is that of their norm, not of one component.
    """
    squares = [
        channel.components * (residual[:, problem.channel_of_row == c] ** 2).mean()
        for c, channel in enumerate(problem.channels)
    ]
    rms: Array = np.sqrt(np.array(squares))
    return rms


def leave_one_out(problem: CalibrationProblem, solution: Solution) -> Array:
    """Predict each sample by a calibration without it, in which all unknowns are refitted.

    Each fit starts from the solution on all samples. Returns residuals of the left-out samples, shape (K, m).
    """
    fits = fits_without(problem, solution, np.arange(problem.n_samples)[:, None])
    return np.concatenate([fit_local(left_out, found.x, solution.sigma)[0] for _, left_out, found in fits])


def placement_sigma(problem: CalibrationProblem, solution: Solution) -> Array:
    """Return the standard deviation of each offset by errors of joint placements [rad or m], shape (n,).

    Each joint that moves a frame is displaced in three directions; the change of the solution is computed to
    first order. The displacement is bounded by the noise, as smaller residuals show better placements.
    """
    n, squares = problem.unknowns.n_offsets, np.zeros(problem.unknowns.n_offsets)
    levels = zip(problem.channels, solution.sigma, strict=True)
    lengths = [np.sqrt(channel.components) * sigma for channel, sigma in levels if channel.unit == "m"]
    left = next_step(problem, solution)
    for joint in problem.kinematics.moving:
        for shift in min(PLACEMENT_SIGMA, *lengths) * np.eye(3):
            squares += (next_step(problem.displaced(joint, shift), solution) - left)[:n] ** 2
    return np.sqrt(squares)


def _cost(problem: CalibrationProblem, x: Array, solution: Solution) -> float:
    """Return the mean square of the residuals at common unknowns x, in units of a solution's noise."""
    residual = fit_local(problem, x, solution.sigma)[0]
    return float(((residual / solution.sigma[problem.channel_of_row]) ** 2).mean())


def _rms_at(problem: CalibrationProblem, x: Array, sigma: Array) -> Array:
    return channel_rms(problem, fit_local(problem, x, sigma)[0])


def _check_rows(problem: CalibrationProblem, fitted: int) -> None:
    if not fitted:
        raise ConfigurationError("every sample is held out, expected some to calibrate with")
    one, u = problem.subset(np.arange(1)), problem.unknowns
    n_local = one.linearise(u.centre, one.start_local()).by_local.shape[2]
    each = len(problem.channel_of_row) - n_local
    unknowns = u.n_offsets + int((u.prior_sigma[u.n_offsets :] >= LOOSE_SIGMA).sum())
    if fitted * each < unknowns:
        raise MeasurementError(
            f"{fitted} samples give {fitted * each} equations, expected at least one for each of the "
            f"{unknowns} unknowns"
        )


def _errors(
    problem: CalibrationProblem, test: CalibrationProblem | None, solution: Solution, states: dict[str, Array]
) -> dict[str, Array]:
    """Return the errors of each channel on fitted and held-out samples at common unknowns, by name."""
    rms = {name: _rms_at(problem, x, solution.sigma) for name, x in states.items()}
    if test is not None:
        names = ("held_out_before", "held_out", "held_out_written")
        rms |= {
            name: _rms_at(test, x, solution.sigma) for name, x in zip(names, states.values(), strict=True)
        }
    return rms


def _channels(problem: CalibrationProblem, rms: dict[str, Array]) -> tuple[ChannelError, ...]:
    return tuple(
        ChannelError(channel.name, channel.unit, **{name: float(one[c]) for name, one in rms.items()})
        for c, channel in enumerate(problem.channels)
    )


def _joints(
    problem: CalibrationProblem, solution: Solution, knowledge: OffsetKnowledge, systematic: Array
) -> tuple[JointOffset, ...]:
    sigma = np.hypot(np.sqrt(np.diag(solution.covariance))[: len(systematic)], systematic)
    units = ["m" if slide else "rad" for slide in problem.kinematics.prismatic]
    columns = (solution.x.tolist(), sigma.tolist(), knowledge.kinds, units)
    rows = zip(problem.unknowns.names, *columns, strict=False)  # the first ones are the offsets
    return tuple(JointOffset(*row) for row in rows)


def _heights(problem: CalibrationProblem, solution: Solution, x: Array) -> Array:
    return problem.heights(x, fit_local(problem, x, solution.sigma)[1])


def _warnings(solution: Solution, knowledge: OffsetKnowledge) -> list[str]:
    found = []
    if knowledge.rank == 0:
        found.append("the samples determine no offset: the postures are equal, or no joint lies in the chain")
    if not solution.converged:
        found.append("the iteration did not converge")
    outliers = int((solution.weights < 0.5).sum())
    if outliers:
        found.append(
            f"{outliers} of {len(solution.weights)} samples do not fit the others and have reduced weights"
        )
    return found


def _refusal(
    joints: Sequence[JointOffset], known: NDArray[np.bool_], trial: AppliedErrors | None, *, worse: bool
) -> list[str]:
    """Return a warning why offsets that the samples determine are not written; empty if they are written."""
    if trial is None or (trial.gains and not worse):
        return []
    names = listing(j.joint for j, one in zip(joints, known, strict=True) if one)
    if trial.gains:
        return [f"no offset is written: the held-out samples are predicted worse with those of {names}"]
    return [
        f"no offset is written: samples that are left out are not predicted better with those of {names} "
        f"than without any (weighted squares {trial.written_cost:.3g} and {trial.before_cost:.3g}, standard "
        f"error of the difference {trial.gain_sigma:.2g})"
    ]
