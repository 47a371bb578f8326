"""Masses of the description, scales and zeros of sensors, offsets: what is named, and what is unknown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.causes import (
    MASS,
    OF_ROBOT,
    SCALE,
    Cause,
    ForceFit,
    Kind,
    Problem,
    fit_forces,
    problem,
    rivalled,
)
from inertial_estimation.diagnosis.evidence import ALIKE, CERTAIN, SIGMAS
from inertial_estimation.diagnosis.finding import Finding, Fix, Verdict, cannot_tell
from inertial_estimation.diagnosis.forces import ForceRows, force_rows
from inertial_estimation.diagnosis.frames import added_frame
from inertial_estimation.diagnosis.parts import GRAVITY
from inertial_estimation.diagnosis.table import Table
from inertial_estimation.errors import listing
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import DEGREES, exp_so3

TOGETHER = 7.0  # evidence below the best one's: causes this near are named with it, or `ALIKE`
UNEXPLAINED = 2.5  # times the noise, beyond which the equation does not hold ...
MOSTLY = 0.9  # ... unless so much is explained
LIKELY = 1.5  # standard deviations by which a size that matters, or a mass with its place, is likely one
HEAVIER_SIGMAS = 2.5  # deviations of a change of the weight beyond tolerances
LEAST_SCALE, MOST_SCALE = -0.6, 1.5  # beyond which a change of all masses, or of a scale, is no cause
# Least share that a cause explains of what noise and tolerances leave; a wrong geometry explains much.
EXPLAINS = {Kind.LINK: 0.03, Kind.OFFSET: 0.2, Kind.SPIN: 0.2}
EXPLAINS_ELSE = 0.05
MOST_ANGLE = 0.3  # of an offset or a rotation, up to which slopes describe it [rad]
SHIFTED, WRONG_SHIFT = 0.015, 0.1  # of a centre of mass that matters, and that is wrong [m]
OFFSET = "calibrate it (command calibrate), and set joint_offsets of it"
INERTIA = "correct it in the URDF, or use identified.urdf of identify; or does a simulator add it?"
OF_ALL = {Kind.WHOLE: "description", Kind.WRENCH: "contact wrenches", Kind.EFFORT: "joint_states"}


@dataclass(frozen=True, eq=False)
class MassReport:
    """What the forces say, for figures."""

    rows: ForceRows  # the rows of the equation of motion
    fit: ForceFit  # comparison of all causes, before any was assumed
    # the causes that were named, in order, each with those that cannot be distinguished from it
    named: tuple[tuple[Cause, ...], ...]
    holds: bool  # whether the equation of motion holds but for what was named

    @property
    def masses(self) -> dict[str, float]:
        """Described mass of each link's body [kg]."""
        return dict(zip(self.rows.links, self.rows.masses.tolist(), strict=True))


def mass_findings(table: Table, config: RobotGeometryConfig) -> tuple[list[Finding], MassReport | None]:
    """Compare forces with masses, sensors and geometry, of windows with right signs, units and times."""
    rows, robot = force_rows(table), table.robot
    if rows is None:
        return [
            cannot_tell(
                "masses",
                "description",
                "neither efforts nor contact wrenches are known together with the motion",
            )
        ], None
    means = rows.means()
    named: list[_Group] = []
    of_means = problem(means, robot)
    first = fit_forces(of_means)
    fit, unsure = _name(of_means, named)
    found = [_named(group, rows, config) for group in named]
    if unsure and not named:
        found.append(cannot_tell("masses", "description", f"{unsure}: mend what else is unusual first"))
    elif not _inexact(named):
        heavier = _weighed(fit, rows)
        found += [heavier] if heavier else [] if named else [_true(fit, rows)]
    report = MassReport(means, first, tuple(group.causes for group in named), not unsure)
    return [*found, _informed(fit, rows)], report


class _Group(NamedTuple):
    """Causes that cannot be distinguished, the most probable first."""

    causes: tuple[Cause, ...]
    crude: bool  # whether a description that is crude all over explains the forces as well


def _name(of: Problem, named: list[_Group]) -> tuple[ForceFit, str]:
    """Add the cause that is certain; return the last fit, and why none can be named.

    What is left after it may be that the cause is not described exactly. The equation is linear in rotational
    inertias, which leave nothing: after these another one is sought.
    """
    while True:
        assumed = [group.causes[0] for group in named]
        fit = fit_forces(of, assumed)
        group = () if _inexact(named) else _group(fit, of.rows)
        if not group or not _matters(group[0], of.rows):
            return fit, ""
        remains = fit.unexplained * math.sqrt(max(1.0 - group[0].explained, 0.0))
        if group[0].worsens or (remains > UNEXPLAINED and group[0].explained < MOSTLY):
            return (
                fit,
                f"the forces do not balance by {fit.unexplained:.2g} times their noise, of no one cause",
            )
        named.append(_Group(group, rivalled(group[0], fit, of, assumed) < CERTAIN))


def _inexact(named: Sequence[_Group]) -> bool:
    """Return whether a cause is named that may leave something."""
    return any(group.causes[0].kind is not Kind.SPIN for group in named)


def _group(fit: ForceFit, rows: ForceRows) -> tuple[Cause, ...]:
    """Return the most probable causes that cannot be distinguished, or none that is certain."""
    causes = [cause for cause in fit.causes if _possible(cause, rows) and _shift(cause, rows) < rows.extent]
    if not causes or causes[0].evidence < _certain(fit):
        return ()
    best = causes[0].evidence
    group = [cause for cause in causes if cause.evidence > best - max(TOGETHER, ALIKE * best)]
    group.sort(key=lambda cause: (cause.worsens, not _matters(cause, rows), -cause.evidence))
    return tuple(group)


def _certain(fit: ForceFit) -> float:
    """Return the evidence of a cause that is certain among so many."""
    return CERTAIN + math.log(len(fit.causes))


def _possible(cause: Cause, rows: ForceRows) -> bool:
    """Return whether a cause leaves a positive mass or scale, gravity its size, and angles small."""
    if cause.kind is Kind.LINK:
        return cause.size > -float(rows.masses[rows.links.index(cause.subject)]) - cause.sigma
    if cause.kind is Kind.MOUNTING:
        return abs(float(np.linalg.norm(_gravity(cause))) / STANDARD_GRAVITY - 1.0) < GRAVITY
    if cause.kind in (Kind.OFFSET, Kind.IMU):
        return abs(cause.size) < MOST_ANGLE
    return not cause.kind.is_scale or LEAST_SCALE < cause.size < MOST_SCALE


def _matters(cause: Cause, rows: ForceRows) -> bool:
    if cause.explained < EXPLAINS.get(cause.kind, EXPLAINS_ELSE):
        return False
    return _size_matters(cause) or _shift(cause, rows) > SHIFTED


def _size_matters(cause: Cause) -> bool:
    return abs(cause.size) > cause.block.matters + LIKELY * cause.sigma


def _shift(cause: Cause, rows: ForceRows) -> float:
    """Return by how much the centre of mass of a link is off [m], 0 where that is not certain."""
    if cause.kind is not Kind.LINK:
        return 0.0
    moment, sigma = cause.moment
    mass = float(rows.masses[rows.links.index(cause.subject)])
    return moment / max(mass + cause.size, 1e-9) if moment > SIGMAS * sigma else 0.0


def _gravity(cause: Cause) -> Array:
    gravity: Array = np.array([0.0, 0.0, -STANDARD_GRAVITY]) + cause.amplitude
    return gravity


def _tilt(cause: Cause) -> float:
    """Return the angle by which a fixed base is tilted [deg]."""
    down, gravity = np.array([0.0, 0.0, -1.0]), _gravity(cause)
    return math.atan2(float(np.linalg.norm(np.cross(down, gravity))), float(down @ gravity)) * DEGREES


class Words(NamedTuple):
    """How a kind of cause is said."""

    short: str  # with its value {x} and its subject {of}
    factor: float  # of size and standard deviation, to the unit
    unit: str
    remedy: str


LOAD = "{}, or a wrong mass? Weigh it, correct the URDF, or use identified.urdf of identify"
WORDS = {
    Kind.LINK: Words("{x:+.2g} kg on '{of}'", 1.0, "kg", LOAD),
    Kind.SPIN: Words("{x:.2g} kg m^2 in the rotational inertia of '{of}'", 1.0, "kg m^2", INERTIA),
    Kind.WHOLE: Words(
        *("all masses {x:+.0f} %", 100.0, "%"),
        "weigh the robot and correct the URDF; or is the scale of a sensor wrong?",
    ),
    Kind.WRENCH: Words(
        *("the wrenches of {of} {x:+.0f} %", 100.0, "%"),
        "check scale and zero of the force sensors; weigh the robot",
    ),
    Kind.WRENCH_ZERO: Words(
        *("a constant force of {x:.3g} N in the sensor of {of}", 1.0, "N"),
        "tare the force sensor with the foot in the air",
    ),
    Kind.EFFORT: Words(
        *("the efforts of {of} {x:+.0f} %", 100.0, "%"),
        "check gear ratio and torque constant in the drive, or set drive_gains",
    ),
    Kind.ZERO: Words(
        *("a constant {x:+.3g} Nm in the effort of {of}", 1.0, "Nm"),
        "calibrate the zero of its torque; or is there a spring?",
    ),
    Kind.OFFSET: Words("an offset of {x:+.1f} deg of {of}", DEGREES, "deg", OFFSET),
    Kind.IMU: Words(
        *("an IMU turned by {x:.1f} deg", DEGREES, "deg"),
        "check imu_frame and the rpy of its joint, and how the IMU is mounted",
    ),
    Kind.MOUNTING: Words(
        *("a base that is tilted by {x:.1f} deg", DEGREES / STANDARD_GRAVITY, "deg"),
        "is the base mounted as described? Correct the rpy of the joint that fixes it",
    ),
}


def value_of(cause: Cause) -> float:
    """Return the size of a cause in its unit."""
    return _tilt(cause) if cause.kind is Kind.MOUNTING else WORDS[cause.kind].factor * cause.size


def words_of(cause: Cause) -> str:
    """Return a cause in a few words."""
    return WORDS[cause.kind].short.format(x=value_of(cause), of=cause.subject)


def _sentence(cause: Cause, rows: ForceRows) -> str:
    """Return a cause with its standard deviation."""
    if cause.kind is Kind.LINK:
        mass = float(rows.masses[rows.links.index(cause.subject)])
        share = f" ({100 * cause.size / mass:+.0f} %)" if mass > 0.0 else ""
        return f"{cause.size:+.3g} kg (sigma {cause.sigma:.1g}) on its {mass:.3g} kg{share}"
    how, also = WORDS[cause.kind], ""
    if cause.kind is Kind.MOUNTING:
        x, y, z = _gravity(cause)
        also = f", gravity ({x:.2f}, {y:.2f}, {z:.2f}) m/s^2 in its axes"
    return f"{words_of(cause)} (sigma {how.factor * cause.sigma:.1g} {how.unit}{also})"


def _subject(cause: Cause) -> str:
    if cause.subject == "all":
        return OF_ALL[cause.kind]
    return f"{cause.subject}/wrench" if cause.kind in (Kind.WRENCH, Kind.WRENCH_ZERO) else cause.subject


def _named(named: _Group, rows: ForceRows, config: RobotGeometryConfig) -> Finding:
    group, best = named.causes, named.causes[0]
    others = [
        words_of(c) for c in group[1:] if not c.worsens and (c.kind, c.subject) != (best.kind, best.subject)
    ]
    also = f"; it cannot be distinguished from {listing(others, limit=4)}" if others else ""
    share = f"explains {100 * best.explained:.0f} % of what the forces leave unexplained{also}"
    if best.kind is Kind.LINK and abs(best.size) < max(best.block.matters, LIKELY * best.sigma):
        shift = 1e3 * _shift(best, rows)
        verdict = Verdict.WRONG if shift > 1e3 * WRONG_SHIFT else Verdict.WARN
        remedy = "a load, a cable or a wrong URDF? Correct it, or use identified.urdf of identify"
        said = f"its centre of mass, {shift:.0f} mm off, {share}"
        return Finding("link centre of mass", best.subject, verdict, shift, "mm", said, remedy)
    # A warning suffices where a milder cause explains it as well.
    mild = not _size_matters(best) or any(abs(c.size) <= c.block.wrong for c in group if _matters(c, rows))
    if named.crude:
        mild, share = True, f"{share}; so do larger errors of all masses and scales"
    verdict = Verdict.WARN if mild else Verdict.WRONG
    said = f"{_sentence(best, rows)} {share}"
    how = WORDS[best.kind]
    remedy = how.remedy.format("a load that it lacks" if best.size > 0.0 else "a part that was taken off")
    finding = Finding(best.kind.value, _subject(best), verdict, value_of(best), how.unit, said, remedy)
    if others or best.kind not in (Kind.OFFSET, Kind.IMU):
        return finding
    fix = Fix(joint_offsets={best.subject: best.size})
    if best.kind is Kind.IMU:
        fix = Fix(parameters=added_frame(config, exp_so3(best.amplitude))[0])
    return replace(finding, fix=fix)


def _true(fit: ForceFit, rows: ForceRows) -> Finding:
    whole = next(cause for cause in fit.causes if cause.kind is Kind.WHOLE)
    known = whole.sigma < MASS.matters
    if not known and not _informed_links(fit, rows):
        why = "the recording informs no mass: move slowly through other postures, or measure contact forces"
        return cannot_tell("masses", "description", why)
    amount = "the sum of the masses is not determined"
    if known:
        amount = f"all masses together {100 * whole.size:+.2g} % (sigma {100 * whole.sigma:.1g} %)"
    if known and abs(whole.size) > max(SCALE.matters, SIGMAS * whole.sigma):
        why = f"{amount} fit better, but explain only {100 * whole.explained:.0f} % of what is unexplained"
        return cannot_tell("masses", "description", why)
    said = f"no single change of the {rows.masses.sum():.4g} kg explains the forces better; {amount}"
    return Finding("masses", "description", Verdict.OK, whole.size if known else 0.0, "", said)


def _weighed(fit: ForceFit, rows: ForceRows) -> Finding | None:
    """Return the finding that the robot weighs more or less than its description, wherever that is.

    Contacts with force sensors weigh it within the tolerance of their scales; efforts by way of the fit.
    """
    whole = next(cause for cause in fit.causes if cause.kind is Kind.WHOLE)
    share, sigma = whole.size, whole.sigma
    if rows.n_base and rows.contacts:
        needed, left = rows.whole[:, :3], rows.left[:, :3]
        shares = np.sum(needed * left, axis=1) / np.sum(needed**2, axis=1)
        share, sigma = float(np.median(shares)), SCALE.tolerance / math.sqrt(len(rows.contacts))
    if not rows.n_base or whole.worsens or abs(share) < max(OF_ROBOT.wrong, HEAVIER_SIGMAS * sigma):
        return None
    change = share * float(rows.masses.sum())
    link = next((c for c in fit.causes if c.kind is Kind.LINK and c.size * share > 0.0), whole)
    place = f", most likely on '{link.subject}'" if link is not whole else ""
    how = f"({100 * share:+.2g} %, sigma {100 * sigma:.1g} %)"
    said = f"{change:+.3g} kg {how} by the contact forces{place}"
    remedy = (
        "weigh the robot; a load or a part that the description lacks, or the scale of the force sensors?"
    )
    return Finding("masses", "description", Verdict.WARN, change, "kg", said, remedy)


def _informed_links(fit: ForceFit, rows: ForceRows) -> list[str]:
    return [
        link
        for link, mass in zip(rows.links, rows.masses, strict=True)
        if fit.mass_sigma[link] < MASS.matters * mass
    ]


def _informed(fit: ForceFit, rows: ForceRows) -> Finding:
    """Say of which links the recording informs the mass."""
    informed, share = _informed_links(fit, rows), f"{100 * MASS.matters:.0f} %"
    rest = [link for link in rows.links if link not in informed]
    if not informed:
        why = f"of no link is the mass determined to {share}, even if only it were unknown"
        return cannot_tell("informed links", "description", why)
    said = f"each by itself, the masses of {listing(informed, limit=8)} are determined to {share}"
    said += f"; those of {listing(rest, limit=8)} are not" if rest else ""
    return Finding("informed links", "description", Verdict.OK, float(len(informed)), "links", said)
