"""Which hypotheses are true: the most probable one is named and mended, then the next.

A hypothesis is accepted if it makes all parts of the table together more probable by far more than chance,
and leaves little of the disagreement that it explains most: a cause must leave noise. Its consequences then
agree of themselves, so one cause gives one finding. What no hypothesis explains is said in one line.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.agreement import EXCESS, excess_of_efforts, lacks_gravity
from inertial_estimation.diagnosis.causes import LINK, OFFSET, SPIN, TURNED, WHOLE, Cause
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
from inertial_estimation.diagnosis.load_change import load_hypotheses, mass_hypotheses
from inertial_estimation.diagnosis.masses import MassReport, mass_findings, mass_report
from inertial_estimation.diagnosis.parts import AGREES, BALANCE_FLOOR, BEYOND, PARTS, Part, judged
from inertial_estimation.diagnosis.table import Load, Robot, Signals, Table, evenly_spaced
from inertial_estimation.diagnosis.wirings import imu_hypotheses, unit_hypotheses, wrench_hypotheses
from inertial_estimation.inputs.config import RobotGeometryConfig

WINDOWS, FEW = 120, 24  # at which hypotheses are compared, and at which the most likely ones are chosen
MOST_LIKELY, MOST_ALIKE = 12, 4  # hypotheses that are compared closely; of one kind of error
FAMILIES = 25  # kinds of errors
ROUNDS = 5
MASSES = LINK, SPIN, WHOLE
REFINED = OFFSET.check, TURNED.check  # of which the forces may find a little more
MUCH = 0.25  # of the largest gain in probability of a part
TOGETHER = 5.0  # log odds within which others are alike, too
OFF = 0.3  # share of what feet and IMU show of the motion that a real robot with slipping feet may leave
NOTHING = 0.9  # of a signal, left unexplained: that of noise, with which a prediction has nothing in common


class Tried(NamedTuple):
    """A hypothesis with its log odds and what it leaves of each part."""

    odds: float
    hypothesis: Hypothesis
    parts: dict[str, Part]


def search(
    signals: Signals, robot: Robot, config: RobotGeometryConfig, streams: Sequence[Finding] = ()
) -> tuple[list[Finding], list[Finding], Signals, dict[str, Delay], MassReport | None]:
    """Find what is wrong and mend it: sensors and loads, the most certain first, then what forces alone show.

    Returned are the causes, what else the forces say, and the mended signals with what is left of delays;
    last what the forces say of all causes, None where they were not judged.

    A mass that is the most probable cause is assumed, so that errors of the sensors can be found in addition;
    all masses are judged together at the end. Forces are judged where nothing spoils them, as what was found
    of the streams may. What is left after a cause that they show may be that it is not described exactly;
    rotational inertias, in which they are linear, leave nothing.
    """
    found, assumed, delays, spoiled = list[Finding](), list[Load](), delays_of(signals, robot), ""
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
            assumed.append(signals.loads[-1])
        delays = delays_of(signals, robot)
    signals = replace(signals, loads=tuple(load for load in signals.loads if load not in assumed))
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
        if any(_is_rest(best, cause) for cause in by_forces):
            break
        finding, change = report.named(robot, config)
        signals = change.of(signals)
        by_forces.append(best)
        found += [finding] if finding.check not in REFINED or finding.subject not in sensors else []
        if best.kind not in (LINK, SPIN):
            break
    kinds = [cause.kind for cause in by_forces]
    return found, [*mass_findings(reports[-1], kinds)], signals, delays, reports[0]


def _is_rest(cause: Cause, named: Cause) -> bool:
    """Return whether a cause is what a cause that was mended has left."""
    mass = named.kind is LINK and cause.kind in MASSES
    return mass or (cause.kind, cause.subject) == (named.kind, named.subject)


def _silent(table: Table, streams: Sequence[Finding]) -> Iterator[str]:
    """Yield what is not measured though forces rely on it."""
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
    """Return the most probable hypothesis about the sensors and its finding, if it is certain.

    A mass has no finding: it is assumed until all masses are judged.
    """
    before = judged(table)
    tried = _tried(table, before, delays, config)
    if "effort" in spoiled:  # which are only about right
        tried = [one for one in tried if "effort" not in one.hypothesis.check]
    if tried:
        near = tried[0].odds - max(TOGETHER, ALIKE * tried[0].odds)
        alike = [one for one in tried if one.odds > near]
        best = min(alike, key=lambda one: (one.hypothesis.price, -one.odds))
        if best.hypothesis.check == LINK.check and best.odds > CERTAIN:
            return best.hypothesis, None
        if _accepted(best, before):
            return best.hypothesis, _named(best, alike, before)
    return None, None


def _hypotheses(
    table: Table, parts: Mapping[str, Part], delays: Mapping[str, Delay], config: RobotGeometryConfig
) -> Iterator[Hypothesis]:
    """Yield what might explain that parts of a table disagree."""
    known = {name: float(part.left.max(initial=0.0)) for name, part in parts.items()}
    worst = dict.fromkeys(PARTS, 0.0) | known
    wired = worst["wrenches"] > BALANCE_FLOOR
    forces = max(worst[n] for n in ("torques", "whole body", "rotation"))
    unlike = max(forces, worst["velocities"]) > OFF
    odd = ~np.isin(table.robot.names, table.sent.held)  # what an error of one or two joints may be about
    if "torques" in parts:
        odd &= (parts["torques"].left > AGREES) | (parts["positions"].left > BEYOND)
    if wired or unlike or worst["positions"] > BEYOND:
        yield from position_hypotheses(table, odd)
    if (wired or forces > AGREES) and (rows := force_rows(table)) is not None:
        of = problem(rows, table.robot)
        yield from (*load_hypotheses(of), *mass_hypotheses(of))
    if "velocities" in parts:
        yield from velocity_hypotheses(table, parts["velocities"].left)
    if "torques" in parts or "whole body" in parts:
        yield from effort_hypotheses(table, odd)
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
    """Return the hypotheses with their odds, the most probable first."""
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
    """Return what is left of a part before and after, of the joint at which that differs most."""
    was, now = before[name].left, parts[name].left
    i = int(np.argmax(was - now))
    return float(was[i]), float(now[i])


def _accepted(best: Tried, before: Mapping[str, Part]) -> bool:
    """Return whether one is certain, and leaves little of what disagrees and becomes more probable."""
    gains = {name: best.parts[name].log - part.log for name, part in before.items()}
    much = [name for name, gain in gains.items() if gain > MUCH * max(gains.values())]
    one = best.hypothesis

    def explains(name: str) -> bool:
        was, now = _shares(name, best.parts, before)
        least = one.least * PARTS[name].agrees
        return was > least and now < min(one.leaves * was, NOTHING if PARTS[name].is_share else math.inf)

    return best.odds > CERTAIN and any(map(explains, much))


def _named(best: Tried, alike: Sequence[Tried], before: Mapping[str, Part]) -> Finding:
    one = best.hypothesis
    name = max(before, key=lambda part: best.parts[part].log - before[part].log)
    was, now = _shares(name, best.parts, before)
    said = f"{PARTS[name].says} agree if {one.words}"
    if PARTS[name].is_share:
        said += f" ({100 * was:.0f} % unexplained, {100 * now:.0f} % with it)"
    said += undistinguished(
        o.hypothesis.words
        for o in alike
        if (o is not best and o.hypothesis.subject != one.subject) or o.hypothesis.check != one.check
    )
    fits = now < PARTS[name].sure
    if not fits:
        said += "; so much stays unexplained that the description may be wrong instead"
    verdict = Verdict.WARN if one.mild or not fits or now > HALF * was else Verdict.WRONG
    return Finding(one.check, one.subject, verdict, one.value, one.unit, said, one.remedy, one.fix)


def something_else(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    """Return the finding that parts disagree and nothing explains it; nothing where all agree well enough."""
    left = {PARTS[name]: float(part.left.max(initial=0.0)) for name, part in parts.items()}
    odd = [f"{part.says} ({100 * x:.0f} % unexplained)" for part, x in left.items() if x > part.unexplained]
    if not odd:
        return []
    why = f"something else is wrong, or touches the robot: no single cause explains {', '.join(odd)}"
    return [cannot_tell("something else", "recording", why)]
