"""Search for errors: the most probable hypothesis is named and corrected, then the next one.

A hypothesis is accepted if it makes all parts of the table together more probable by far more than chance,
and if little remains of the disagreement that it explains most: a true cause leaves only noise. After its
correction its consequences agree, so one cause gives one finding. One line reports what remains unexplained.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.agreement import EXCESS, excess_of_efforts, lacks_gravity
from inertial_estimation.diagnosis.causes import INERTIA, LINK, OFFSET, TURNED, WHOLE, Cause
from inertial_estimation.diagnosis.delays import MOST, Delay, delay_hypotheses, delays_of
from inertial_estimation.diagnosis.evidence import ALIKE, CERTAIN
from inertial_estimation.diagnosis.finding import Finding, Verdict, cannot_tell, undistinguished
from inertial_estimation.diagnosis.force_evidence import problem
from inertial_estimation.diagnosis.forces import force_rows, force_windows
from inertial_estimation.diagnosis.hypotheses import (
    HALF,
    Hypothesis,
    effort_hypotheses,
    position_hypotheses,
    velocity_hypotheses,
)
from inertial_estimation.diagnosis.load_change import ASSUMED, force_hypotheses, load_hypotheses
from inertial_estimation.diagnosis.masses import MassReport, mass_findings, mass_report
from inertial_estimation.diagnosis.parts import AGREES, BALANCE_FLOOR, BEYOND, PARTS, TRAVEL, Part, judged
from inertial_estimation.diagnosis.table import Change, Robot, Signals, Table, evenly_spaced, rms
from inertial_estimation.diagnosis.wirings import imu_hypotheses, unit_hypotheses, wrench_hypotheses
from inertial_estimation.inputs.config import RobotGeometryConfig

WINDOWS, FEW = 120, 24  # windows of the comparison, and of the preselection of hypotheses
MOST_LIKELY, MOST_ALIKE = 12, 4  # most hypotheses after preselection, in all and of one kind of error
FAMILIES = 25  # number of kinds of errors
ROUNDS = 5  # most errors that are corrected one after the other
MASSES = LINK, INERTIA, WHOLE
REFINED = OFFSET.check, TURNED.check  # checks after which forces may find a small remainder of the same error
MUCH = 0.25  # share of the largest gain of a part in log evidence from which a part's gain counts
TOGETHER = 5.0  # least difference in log odds that distinguishes two hypotheses
OFF = 0.3  # relative residual of motion by feet and IMU that slipping feet of a real robot may cause
NOTHING = 0.9  # relative residual from which a prediction has nothing in common with a signal


class Tried(NamedTuple):
    """A hypothesis that was compared."""

    odds: float  # log odds against no error
    hypothesis: Hypothesis  # its assumption
    parts: dict[str, Part]  # agreement of each part under it


def search(
    signals: Signals, robot: Robot, config: RobotGeometryConfig, streams: Sequence[Finding] = ()
) -> tuple[list[Finding], list[Finding], Signals, dict[str, Delay], MassReport | None]:
    """Find errors and correct them: of sensors and loads, the most certain first, then those of forces alone.

    Returned are the causes, other findings by the forces, the corrected signals with their remaining delays,
    and the comparison of causes by the forces, None if they were not judged.

    A link's mass or a joint's offset that is most probable is assumed for a while, so that errors of sensors
    can be found in addition; all forces are judged together at the end. They are not judged if an error that
    they depend on is not corrected exactly, or if a stream that they need is silent. Causes other than a
    link's mass or inertia are corrected to first order only, so none is sought in the residual after them.
    """
    if not robot.n_base:  # a brake or the friction of its gear may hold a joint at rest that has no effort
        size = rms(np.nan_to_num(signals.tau))
        held = (signals.q.std(axis=0) < TRAVEL) & (size < robot.stiction(float(size.max())))
        signals = replace(signals, tau=np.where(held, np.nan, signals.tau))
    found, assumed, delays, spoiled = list[Finding](), list[Change](), delays_of(signals, robot), ""
    for _round in range(ROUNDS):
        table = robot.table(signals.at(MOST + evenly_spaced(signals.size - 2 * MOST, WINDOWS)))
        one, finding = _by_parts(table, delays, config, spoiled)
        if one is None:
            break
        signals = one.change.of(signals)
        if finding is not None:
            found.append(finding)
            spoiled = spoiled if one.exact else f"{one.check} of {one.subject}"
        else:
            assumed.append(one.change)
        delays = delays_of(signals, robot)
    loads = tuple(load for load in signals.loads if load not in [one.load for one in assumed])
    moved = sum((one.offset for one in assumed if one.offset is not None), np.zeros(len(robot.names)))
    signals = replace(signals, loads=loads, q=signals.q - moved)
    if spoiled := next(_silent(table, streams), spoiled):
        why = f"they rely on what is not known exactly: {spoiled}"
        return found, [cannot_tell(WHOLE.check, "description", why)], signals, delays, None
    sensors, reports = {finding.subject for finding in found if finding.check in REFINED}, []
    by_forces = list[Cause]()
    for _round in range(ROUNDS):
        report = mass_report(robot.table(signals.at(force_windows(signals))))
        reports.append(report)
        if report is None or not report.group:
            break
        best = report.group[0]
        masses = any(cause.kind is LINK for cause in by_forces) and best.kind in MASSES
        if masses or (best.kind, best.subject) in [(cause.kind, cause.subject) for cause in by_forces]:
            break  # what a cause that was mended has left
        finding, change = report.named(robot, config)
        signals = change.of(signals)
        by_forces.append(best)
        found += [finding] if finding.check not in REFINED or finding.subject not in sensors else []
        if best.kind not in (LINK, INERTIA):
            break
    kinds = [cause.kind for cause in by_forces]
    return found, [*mass_findings(reports[-1], kinds)], signals, delays, reports[0]


def _silent(table: Table, streams: Sequence[Finding]) -> Iterator[str]:
    """Yield phrases that name what is not measured although the judgement of forces relies on it."""
    by_efforts = table.robot.n_base > 0 and not table.measures_wrenches
    yield from (
        f"{one.check} of {one.subject}"
        for one in streams
        if one.check == "silent" or (one.check == "effort silent" and by_efforts)
    )
    yield from (f"the position of {joint}, which is unknown" for joint in table.sent.held)
    if lacks_gravity(table):
        yield "specific force without gravity"
    if excess_of_efforts(table) > EXCESS:
        yield "efforts far beyond what is needed"


def _by_parts(
    table: Table, delays: Mapping[str, Delay], config: RobotGeometryConfig, spoiled: str
) -> tuple[Hypothesis | None, Finding | None]:
    """Return the most probable hypothesis about the sensors and its finding, or None if it is not certain.

    A mass or offset has no finding: it is assumed until forces are judged. `spoiled`: an inexact correction.
    """
    before = judged(table)
    tried = _tried(table, before, delays, config)
    if "effort" in spoiled:  # efforts have been corrected only approximately
        tried = [one for one in tried if "effort" not in one.hypothesis.check]
    if tried:
        near = tried[0].odds - max(TOGETHER, ALIKE * tried[0].odds)
        alike = [one for one in tried if one.odds > near]
        best = min(alike, key=lambda one: (one.hypothesis.price, -one.odds))
        if best.hypothesis.check in {kind.check for kind in ASSUMED} and best.odds > CERTAIN:
            return best.hypothesis, None
        if name := _explained(best, before):
            return best.hypothesis, _named(best, name, alike, before)
    return None, None


def _hypotheses(
    table: Table, parts: Mapping[str, Part], delays: Mapping[str, Delay], config: RobotGeometryConfig
) -> Iterator[Hypothesis]:
    """Yield the hypotheses that might explain the parts that disagree."""
    known = {name: float(part.left.max(initial=0.0)) for name, part in parts.items()}
    worst = dict.fromkeys(PARTS, 0.0) | known
    wired = worst["wrenches"] > BALANCE_FLOOR
    forces = max(worst[n] for n in ("torques", "whole body", "rotation"))
    moving = max(forces, worst["velocities"]) > OFF
    suspect = ~np.isin(table.robot.names, table.sent.held)  # joints whose errors are tried
    if "torques" in parts:
        suspect &= (parts["torques"].left > AGREES) | (parts["positions"].left > BEYOND)
    if wired or moving or worst["positions"] > BEYOND:
        yield from position_hypotheses(table, suspect)
    if (wired or forces > AGREES) and (rows := force_rows(table)) is not None:
        system = problem(rows, table.robot)
        yield from (*load_hypotheses(system), *force_hypotheses(system, table.robot, config))
    if "velocities" in parts:
        yield from velocity_hypotheses(table, parts["velocities"].left)
    if "torques" in parts or "whole body" in parts:
        yield from effort_hypotheses(table, suspect)
    if "size of gravity" in parts:
        yield from unit_hypotheses(table)
        tilted = "direction of gravity" in parts and parts["direction of gravity"].log < -1.0
        turned = worst["rotation"] > AGREES or worst["whole body"] > OFF
        if tilted or turned or wired:
            yield from imu_hypotheses(table, config)
    if wired:
        yield from wrench_hypotheses(table)
    yield from delay_hypotheses(delays, config.inputs)


def _tried(
    table: Table, before: Mapping[str, Part], delays: Mapping[str, Delay], config: RobotGeometryConfig
) -> list[Tried]:
    """Compare the hypotheses, many of them first in few windows; the most probable one comes first."""
    every = list(_hypotheses(table, before, delays, config))
    families = Counter(one.check for one in every)
    if len(every) > MOST_LIKELY:
        few = table.at(evenly_spaced(table.size, FEW))
        rough = judged(few)
        ranked, most = _ranked(_try(one, few, rough) for one in every), Counter[str]()
        every = []
        for one in ranked:
            most[one.hypothesis.check] += 1
            likely = one.odds > 0.0 and most[one.hypothesis.check] <= MOST_ALIKE
            every += [one.hypothesis] if likely and len(every) < MOST_LIKELY else []
    tried = [_try(one, table, before) for one in every]  # a kind of error is as probable as any other
    tried = [t._replace(odds=t.odds - math.log(FAMILIES * families[t.hypothesis.check])) for t in tried]
    return _ranked(tried)


def _ranked(tried: Iterable[Tried]) -> list[Tried]:
    return sorted(tried, key=lambda one: -one.odds)


def _try(one: Hypothesis, table: Table, before: Mapping[str, Part]) -> Tried:
    after = judged(table.changed(one.change), one.parts)
    parts = {name: after.get(name, part) for name, part in before.items()}
    gain = sum(parts[name].log - part.log for name, part in before.items())
    return Tried(gain - one.price, one, parts)


def _shares(name: str, parts: Mapping[str, Part], before: Mapping[str, Part]) -> tuple[float, float]:
    """Return a part's residual before and after a correction, of the joint at which it shrinks most."""
    was, now = before[name].left, parts[name].left
    i = int(np.argmax(was - now))
    return float(was[i]), float(now[i])


def _explained(best: Tried, before: Mapping[str, Part]) -> str:
    """Return the part that a certain hypothesis explains best, with little left; empty if there is none."""
    gains = {name: best.parts[name].log - part.log for name, part in before.items()}

    def explains(name: str) -> bool:
        was, now = _shares(name, best.parts, before)
        least, most = best.hypothesis.least * PARTS[name].agrees, best.hypothesis.leaves * was
        return was > least and now < min(most, NOTHING if PARTS[name].is_share else math.inf)

    much = [name for name, gain in gains.items() if gain > MUCH * max(gains.values()) and explains(name)]
    return max(much, key=gains.__getitem__) if much and best.odds > CERTAIN else ""


def _named(best: Tried, name: str, alike: Sequence[Tried], before: Mapping[str, Part]) -> Finding:
    one = best.hypothesis
    was, now = _shares(name, best.parts, before)
    text = f"{PARTS[name].pair} agree if {one.words}"
    if PARTS[name].is_share:
        text += f" ({100 * was:.0f} % unexplained, {100 * now:.0f} % with it)"
    text += undistinguished(
        o.hypothesis.words
        for o in alike
        if (o is not best and o.hypothesis.subject != one.subject) or o.hypothesis.check != one.check
    )
    fits = now < PARTS[name].sure
    if not fits:
        text += "; so much stays unexplained that the description may be wrong instead"
    verdict = Verdict.WARN if one.mild or not fits or now > HALF * was else Verdict.WRONG
    return Finding(one.check, one.subject, verdict, one.value, one.unit, text, one.remedy, one.fix)


def something_else(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    """Return the finding that no single cause explains a disagreement; empty if all parts agree."""
    left = {PARTS[name]: float(part.left.max(initial=0.0)) for name, part in parts.items()}
    bad = [f"{part.pair} ({100 * x:.0f} % unexplained)" for part, x in left.items() if x > part.unexplained]
    if not bad:
        return []
    why = f"something else is wrong, or touches the robot: no single cause explains {', '.join(bad)}"
    return [cannot_tell("something else", "recording", why)]
