"""Numbers of a walk under a load: what happened after the load came, and how well the trunk was known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.experiments.crawl_run import CrawlRun, EventKind, columns_of
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True)
class WalkOutcome:
    """Numbers of one run, times from the coming of the load; NaN for what did not happen.

    Attributes:
        fell: When the robot fell [s].
        walked: How long the run went on [s].
        swings: Feet that landed.
        detected: When the load change was found [s].
        stood: How long it stood to identify [s].
        error: Of the published centre of mass in x and y while walking on, median [mm].
        mass_error: Error of the published trunk mass while walking on, median [%].
        margin: Least distance of the true centre of mass from the edge of the support while walking on [mm].
        speed: Mean speed while walking on [m/s].
    """

    fell: float
    walked: float
    swings: float
    detected: float
    stood: float
    error: float
    mass_error: float
    margin: float
    speed: float


def walk_outcome(run: CrawlRun) -> WalkOutcome:
    """Return the numbers of a run."""
    c, t, load_s = run.columns, run.columns["time"], run.load_s
    found = _first(run, EventKind.LOADED, load_s)
    on = _first(run, EventKind.RESUMED, found)
    after = t > (on if np.isfinite(on) else np.inf)
    walks = int(after.sum()) > 1
    return WalkOutcome(
        fell=np.nan if run.fell_s is None else run.fell_s - load_s,
        walked=run.ended_s - load_s,
        swings=float(run.swings),
        detected=found - load_s,
        stood=on - found,
        error=1e3 * float(np.median(run.error_xy()[after])) if walks else np.nan,
        mass_error=100.0 * float(np.median(np.abs(c["mass_hat"] / c["mass"] - 1.0)[after]))
        if walks
        else np.nan,
        margin=1e3 * float(np.nanmin(c["margin"][after])) if walks else np.nan,
        speed=float(np.ptp(c["ahead"][after]) / np.ptp(t[after])) if walks else np.nan,
    )


def _first(run: CrawlRun, kind: EventKind, since: float) -> float:
    return next((e.time_s for e in run.events if e.kind is kind and e.time_s >= since), np.nan)


def outcomes(runs: Sequence[CrawlRun]) -> dict[str, Array]:
    """Return the numbers of runs as columns by name, shape (n,) each."""
    return columns_of([walk_outcome(run) for run in runs])
