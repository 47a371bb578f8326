"""Findings about masses, scales, zeros and offsets from the forces, and about what they do not determine."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from inertial_estimation.diagnosis.causes import INERTIA, LINK, OF_ROBOT, WHOLE, WRENCH, Cause, Kind
from inertial_estimation.diagnosis.evidence import ALIKE, CERTAIN
from inertial_estimation.diagnosis.finding import (
    NO_FIX,
    Finding,
    Verdict,
    cannot_tell,
    rounded,
    undistinguished,
)
from inertial_estimation.diagnosis.force_evidence import ForceFit, fit_forces, net_evidence, problem
from inertial_estimation.diagnosis.forces import ForceRows, force_rows
from inertial_estimation.diagnosis.table import Change, Robot, Table, rms
from inertial_estimation.errors import listing, to_sigma
from inertial_estimation.inputs.config import RobotGeometryConfig

TOGETHER = 7.0  # least difference in log evidence that distinguishes two causes; see also `ALIKE`
UNEXPLAINED = 2.5  # residual over noise beyond which the equation of motion does not hold ...
MOSTLY = 0.9  # ... unless a cause explains more than this share of the residual
HEAVIER_SIGMAS = 2.5  # standard deviations from which a difference of the weight is reported


@dataclass(frozen=True, eq=False)
class MassReport:
    """Result of the comparison of causes by the forces."""

    rows: ForceRows  # the rows of the equation of motion
    fit: ForceFit  # comparison of all causes
    group: tuple[Cause, ...]  # the named cause and those that cannot be distinguished from it; empty: none
    crude: bool  # whether larger tolerances of all masses and scales explain the forces as well
    why: str  # reason why no cause is named although the forces do not balance; else empty

    @property
    def masses(self) -> dict[str, float]:
        """Described mass of each link's body [kg]."""
        return dict(zip(self.rows.links, self.rows.masses.tolist(), strict=True))

    def named(self, robot: Robot, config: RobotGeometryConfig) -> tuple[Finding, Change]:
        """Return the finding of the named cause, and the correction of the signals."""
        best, *alike = self.group
        own = best.kind, best.subject
        others = [c.words for c in alike if not c.estimate.worsens and (c.kind, c.subject) != own]
        text = f"explains {100 * best.estimate.explained:.0f} % of what the forces leave unexplained"
        text += undistinguished(others)
        text += "; so do larger errors of all masses and scales" if self.crude else ""
        # A warning suffices where a milder cause explains it as well.
        milder = any(not c.is_wrong for c in self.group if c.counts)
        verdict = Verdict.WARN if self.crude or milder else Verdict.WRONG
        change, fix = best.mended(robot, config)
        return best.finding(verdict, text, NO_FIX if others else fix), change


def mass_report(table: Table) -> MassReport | None:
    """Compare all causes by the forces in windows whose signs, units and times have been corrected.

    None if neither efforts nor contact wrenches are known together with the motion.
    """
    rows = force_rows(table)
    if rows is None:
        return None
    system = problem(rows.means(), table.robot)
    fit = fit_forces(system)
    group = _group(fit)
    if not group or not group[0].counts:
        return MassReport(rows, fit, (), crude=False, why="")
    best = group[0]
    remains = fit.unexplained * math.sqrt(max(1.0 - best.estimate.explained, 0.0))
    if best.estimate.worsens or (remains > UNEXPLAINED and best.estimate.explained < MOSTLY):
        why = f"the forces do not balance by {fit.unexplained:.2g} times their noise, by no single cause"
        return MassReport(rows, fit, (), crude=False, why=why)
    return MassReport(rows, fit, group, net_evidence(best, fit, system) < CERTAIN, "")


def _group(fit: ForceFit) -> tuple[Cause, ...]:
    """Return the most probable causes that cannot be distinguished; empty if the best one is not certain.

    Empty, too, if none of them is possible: the equation of motion does not hold, and no other cause counts.
    """
    best = fit.causes[0].estimate.evidence
    if best < CERTAIN + math.log(len(fit.causes)):
        return ()
    near = best - max(TOGETHER, ALIKE * best)
    group = [cause for cause in fit.causes if cause.possible and cause.estimate.evidence > near]
    return tuple(
        sorted(group, key=lambda cause: (cause.estimate.worsens, not cause.counts, -cause.estimate.evidence))
    )


def mass_findings(report: MassReport | None, named: Collection[Kind]) -> Iterator[Finding]:
    """Yield findings of weight and informed links, after causes of some kinds were named and corrected."""
    if report is None:
        why = "neither efforts nor contact wrenches are known together with the motion"
        yield cannot_tell(WHOLE.check, "description", why)
        return
    if report.why and not named:
        yield cannot_tell(WHOLE.check, "description", f"{report.why}: mend what else is unusual first")
    elif not {*named} - {INERTIA}:
        yield _weighed(report.fit, report.rows)
    yield _informed(report)


def _weighed(fit: ForceFit, rows: ForceRows) -> Finding:
    """Return the finding by how much the robot is heavier or lighter than its description, on any link.

    Contact forces weigh a floating base. Their sigma is the tolerance of the sensors' scales, or that of the
    fit where efforts determine them, combined with the scatter of the difference between windows.
    """
    whole = next(cause for cause in fit.causes if cause.kind is WHOLE)
    share, sigma, total = whole.size, whole.sigma, float(rows.masses.sum())
    if rows.n_base:
        needed, left = rows.whole[:, :3], rows.left[:, :3]
        shares = np.sum(needed * left, axis=1) / np.sum(needed**2, axis=1)
        share = float(np.median(shares))
        within = WRENCH.tolerance / math.sqrt(len(rows.contacts)) if rows.contacts else sigma
        sigma = math.hypot(within, float(rms(shares - share)))
    amount = f"{float(to_sigma(100 * share, 100 * sigma)):+g} %, sigma {rounded(100 * sigma)} %"
    fixed = rows.gravity.shape[2] > 0  # legs alone do not tell what they carry
    known = sigma < LINK.matters and (fixed or rows.n_base > 0)
    if rows.n_base and abs(share) > max(OF_ROBOT.wrong, HEAVIER_SIGMAS * sigma):
        link = next((c for c in fit.causes if c.kind is LINK and c.size * share > 0.0), whole)
        place = f", most likely on '{link.subject}'" if link is not whole else ""
        text = f"{share * total:+.3g} kg ({amount}) by the contact forces{place}"
        remedy = "weigh the robot; a load or a part that the description lacks, or the scale of its sensors?"
        return Finding(WHOLE.check, "description", Verdict.WARN, share * total, "kg", text, remedy)
    all_of_them = f"all masses together {amount}" if known else "their sum is not determined"
    text = f"no single change of the {total:.4g} kg explains the forces better; {all_of_them}"
    far = fixed and known and whole.is_wrong and share > 2.0 * sigma - 1.0  # by efforts that are not zero
    verdict, remedy = (Verdict.WARN, WHOLE.remedy) if far else (Verdict.OK, "")
    return Finding(WHOLE.check, "description", verdict, share if known else 0.0, "", text, remedy)


def _informed(report: MassReport) -> Finding:
    """Return the finding which links' masses the recording determines, each if only it is unknown."""
    sigmas, share = report.fit.mass_sigma, f"{100 * LINK.matters:.0f} %"
    informed = [link for link, mass in report.masses.items() if sigmas[link] < LINK.matters * mass]
    rest = [link for link in report.masses if link not in informed]
    if not informed:
        why = f"the data determine no link's mass to {share}, even if only that one is unknown"
        remedy = "move slowly through other postures, or measure contact forces"
        return cannot_tell("informed links", "description", why, remedy)
    text = f"the masses of {listing(informed, limit=8)} are determined to {share}, each if only it is unknown"
    text += f"; those of {listing(rest, limit=8)} are not" if rest else ""
    return Finding("informed links", "description", Verdict.OK, float(len(informed)), "links", text)
