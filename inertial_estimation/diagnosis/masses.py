"""What the forces say of masses, scales, zeros and offsets: what is named, and what is unknown."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from inertial_estimation.diagnosis.causes import LINK, OF_ROBOT, SPIN, WHOLE, WRENCH, Cause, Kind
from inertial_estimation.diagnosis.evidence import ALIKE, CERTAIN
from inertial_estimation.diagnosis.finding import (
    NO_FIX,
    Finding,
    Verdict,
    cannot_tell,
    rounded,
    undistinguished,
)
from inertial_estimation.diagnosis.force_evidence import ForceFit, fit_forces, problem, rivalled
from inertial_estimation.diagnosis.forces import ForceRows, force_rows
from inertial_estimation.diagnosis.table import Change, Robot, Table, rms
from inertial_estimation.errors import listing
from inertial_estimation.inputs.config import RobotGeometryConfig

TOGETHER = 7.0  # evidence below the best one's: causes this near are named with it, or `ALIKE`
UNEXPLAINED = 2.5  # times the noise, beyond which the equation does not hold ...
MOSTLY = 0.9  # ... unless so much is explained
HEAVIER_SIGMAS = 2.5  # deviations of a change of the weight beyond tolerances


@dataclass(frozen=True, eq=False)
class MassReport:
    """What the forces say."""

    rows: ForceRows  # the rows of the equation of motion
    fit: ForceFit  # comparison of all causes
    group: tuple[Cause, ...]  # that is named, then those that cannot be distinguished from it; empty: none
    crude: bool  # whether a description that is crude all over explains the forces as well
    why: str  # none is named, as the equation does not hold; else empty

    @property
    def masses(self) -> dict[str, float]:
        """Described mass of each link's body [kg]."""
        return dict(zip(self.rows.links, self.rows.masses.tolist(), strict=True))

    def named(self, robot: Robot, config: RobotGeometryConfig) -> tuple[Finding, Change]:
        """Return the finding of the cause that is named, and what mends it."""
        best, *alike = self.group
        others = [
            c.words for c in alike if not c.seen.worsens and (c.kind, c.subject) != (best.kind, best.subject)
        ]
        said = f"explains {100 * best.seen.explained:.0f} % of what the forces leave unexplained"
        said += undistinguished(others)
        said += "; so do larger errors of all masses and scales" if self.crude else ""
        # A warning suffices where a milder cause explains it as well.
        milder = any(not c.is_wrong for c in self.group if c.counts)
        verdict = Verdict.WARN if self.crude or milder else Verdict.WRONG
        change, fix = best.mended(robot, config)
        return best.finding(verdict, said, NO_FIX if others else fix), change


def mass_report(table: Table) -> MassReport | None:
    """Compare forces with masses, sensors and geometry, of windows with right signs, units and times.

    None where neither efforts nor contact wrenches are known together with the motion.
    """
    rows = force_rows(table)
    if rows is None:
        return None
    of = problem(rows.means(), table.robot)
    fit = fit_forces(of)
    group = _group(fit)
    if not group or not group[0].counts:
        return MassReport(rows, fit, (), crude=False, why="")
    best = group[0]
    remains = fit.unexplained * math.sqrt(max(1.0 - best.seen.explained, 0.0))
    if best.seen.worsens or (remains > UNEXPLAINED and best.seen.explained < MOSTLY):
        why = f"the forces do not balance by {fit.unexplained:.2g} times their noise, of no one cause"
        return MassReport(rows, fit, (), crude=False, why=why)
    return MassReport(rows, fit, group, rivalled(best, fit, of) < CERTAIN, "")


def _group(fit: ForceFit) -> tuple[Cause, ...]:
    """Return the most probable causes that cannot be distinguished, or none that is certain among so many.

    Where none of them is possible the equation does not hold: the next best is no cause.
    """
    best = fit.causes[0].seen.evidence
    if best < CERTAIN + math.log(len(fit.causes)):
        return ()
    near = best - max(TOGETHER, ALIKE * best)
    group = [cause for cause in fit.causes if cause.possible and cause.seen.evidence > near]
    return tuple(
        sorted(group, key=lambda cause: (cause.seen.worsens, not cause.counts, -cause.seen.evidence))
    )


def mass_findings(report: MassReport | None, named: Collection[Kind]) -> Iterator[Finding]:
    """Yield what else the forces say after causes of some kinds were named and mended."""
    if report is None:
        why = "neither efforts nor contact wrenches are known together with the motion"
        yield cannot_tell(WHOLE.check, "description", why)
        return
    if report.why and not named:
        yield cannot_tell(WHOLE.check, "description", f"{report.why}: mend what else is unusual first")
    elif not {*named} - {SPIN}:
        yield _weighed(report.fit, report.rows)
    yield _informed(report)


def _weighed(fit: ForceFit, rows: ForceRows) -> Finding:
    """Say by how much the robot weighs more or less than its description, wherever that is.

    Contact forces weigh it: those of sensors within the tolerance of their scales, those that efforts show
    within that of the fit; by how much that differs from window to window is not known, whatever its reason.
    """
    whole = next(cause for cause in fit.causes if cause.kind is WHOLE)
    share, sigma, total = whole.size, whole.sigma, float(rows.masses.sum())
    if rows.n_base:
        needed, left = rows.whole[:, :3], rows.left[:, :3]
        shares = np.sum(needed * left, axis=1) / np.sum(needed**2, axis=1)
        share = float(np.median(shares))
        within = WRENCH.tolerance / math.sqrt(len(rows.contacts)) if rows.contacts else sigma
        sigma = math.hypot(within, float(rms(shares - share)))
    known, amount = sigma < LINK.matters, f"{100 * share:+.2g} %, sigma {rounded(100 * sigma)} %"
    if rows.n_base and abs(share) > max(OF_ROBOT.wrong, HEAVIER_SIGMAS * sigma):
        link = next((c for c in fit.causes if c.kind is LINK and c.size * share > 0.0), whole)
        place = f", most likely on '{link.subject}'" if link is not whole else ""
        said = f"{share * total:+.3g} kg ({amount}) by the contact forces{place}"
        remedy = "weigh the robot; a load or a part that the description lacks, or the scale of its sensors?"
        return Finding(WHOLE.check, "description", Verdict.WARN, share * total, "kg", said, remedy)
    all_of_them = f"all masses together {amount}" if known else "their sum is not determined"
    said = f"no single change of the {total:.4g} kg explains the forces better; {all_of_them}"
    weighed = share > 2.0 * sigma - 1.0  # by efforts that are not zero
    far = known and weighed and whole.is_wrong and not rows.n_base  # nothing else weighs an arm
    verdict, remedy = (Verdict.WARN, WHOLE.remedy) if far else (Verdict.OK, "")
    return Finding(WHOLE.check, "description", verdict, share if known else 0.0, "", said, remedy)


def _informed(report: MassReport) -> Finding:
    """Say of which links the recording informs the mass."""
    sigmas, share = report.fit.mass_sigma, f"{100 * LINK.matters:.0f} %"
    informed = [link for link, mass in report.masses.items() if sigmas[link] < LINK.matters * mass]
    rest = [link for link in report.masses if link not in informed]
    if not informed:
        why = f"of no link is the mass determined to {share}, even if only it were unknown"
        remedy = "move slowly through other postures, or measure contact forces"
        return cannot_tell("informed links", "description", why, remedy)
    said = f"each by itself, the masses of {listing(informed, limit=8)} are determined to {share}"
    said += f"; those of {listing(rest, limit=8)} are not" if rest else ""
    return Finding("informed links", "description", Verdict.OK, float(len(informed)), "links", said)
