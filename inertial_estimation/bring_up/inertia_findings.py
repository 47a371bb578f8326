"""Masses of the description, which link is most likely wrong, what the recording can inform, friction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding
from inertial_estimation.bring_up.force_rows import ForceRows, force_rows
from inertial_estimation.bring_up.inertia_hypotheses import Cause, CauseKind, ForceFit, fit_forces
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.errors import listing
from inertial_estimation.models.body_placements import BodyPlacements

__all__ = ["InertiaReport", "inertia_findings"]

CERTAIN = 12.0  # logarithm of the odds from which a cause is named; a thousand causes cost 7
TOGETHER, TOGETHER_SHARE = 7.0, 0.05  # of the best one's evidence: causes this near are named with it
UNEXPLAINED = 2.5  # times the noise; where more is left, the equation does not hold and no cause is named
MOSTLY = 0.9  # unless the cause explains this share of it
SIGMAS = 4.0
LEAST_SCALE, MOST_SCALE = -0.6, 1.5  # beyond which a change of all masses, or of a scale, is no cause
OF_LINK, OF_ROBOT = 0.1, 0.01  # shares of the masses from which a change matters
WRONG_LINK, WRONG_ROBOT = 0.3, 0.05  # from which it is wrong, no tolerance of manufacture
OF_SCALE, WRONG_SCALE = 0.05, 0.3
EXPLAINS, EXPLAINS_OF_LINK = 0.05, 0.03  # least share of what noise and tolerances leave unexplained
SHIFTED, WRONG_SHIFT = 0.015, 0.1  # of a centre of mass that matters, and that is wrong [m]
MOST_CAUSES = 3
SECOND = 0.3  # of the first one's evidence that a further cause must have
INFORMS = 0.1  # standard deviation of a mass, share of it, of a link that the recording informs
HIGH_FRICTION = 0.15  # Coulomb friction over the effort limit of the joint
MOVES = 0.05  # rms speed of a joint whose friction shows [rad/s]
SCALED = {
    CauseKind.WHOLE: "all masses",
    CauseKind.WRENCH: "the contact wrenches",
    CauseKind.EFFORT: "the efforts",
}


@dataclass(frozen=True, eq=False)
class InertiaReport:
    """What the forces say, for figures.

    Attributes:
        rows: The rows of the equation of motion.
        fit: Comparison of all causes, before any was assumed.
        named: The causes that were named, in order, each with those that cannot be distinguished from it.
        holds: Whether the equation of motion holds but for what was named.
    """

    rows: ForceRows
    fit: ForceFit
    named: tuple[tuple[Cause, ...], ...]
    holds: bool


def inertia_findings(case: Case) -> tuple[list[Finding], InertiaReport | None]:
    """Compare forces with masses.

    Args:
        case: The recording, with correct signs, units and times.
    """
    rows = force_rows(case.signals, case.setup)
    if rows is None:
        why = "neither efforts nor contact wrenches are known together with the motion"
        return [cannot_tell("masses", "description", why)], None
    robot = case.setup.robot
    first, extent = fit_forces(rows, robot), BodyPlacements(robot).extent
    fit = first
    named: list[tuple[Cause, ...]] = []
    doubt = ""
    while len(named) < MOST_CAUSES:
        doubt = _absurd(fit)
        group = () if doubt else _group(fit, rows, extent)
        if not group or not _matters(group[0], rows):
            break
        if named and group[0].evidence < SECOND * named[0][0].evidence:
            break  # what is left may be that the first cause is not described exactly
        remains = fit.unexplained * max(1.0 - group[0].explained, 0.0) ** 0.5
        if remains > UNEXPLAINED and group[0].explained < MOSTLY:
            doubt = (
                f"the forces do not balance by {fit.unexplained:.2g} times their noise, and no single mass "
                f"or scale explains more than {100 * group[0].explained:.0f} % of it"
            )
            break
        named.append(group)
        fit = fit_forces(rows, robot, [causes[0] for causes in named])
    found = [_named(group, rows) for group in named]
    if doubt and not named:
        found.append(cannot_tell("masses", "description", f"{doubt}: mend what else is unusual first"))
    elif not named:
        found.append(_true(first, rows))
    return [*found, _informed(first, rows), *_friction(first, rows, case)], InertiaReport(
        rows, first, tuple(named), not doubt
    )


def _absurd(fit: ForceFit) -> str:
    """Return why nothing is named where the most probable scale is none that units and weight allow."""
    scales = [cause for cause in fit.causes if cause.kind is not CauseKind.LINK and cause.size > -1.0]
    best = max((cause.evidence for cause in fit.causes), default=0.0)
    absurd = [cause for cause in scales if not LEAST_SCALE < cause.size < MOST_SCALE]
    if not any(cause.evidence > max(CERTAIN, best - TOGETHER) for cause in absurd):
        return ""
    return (
        f"the forces do not balance by {fit.unexplained:.2g} times their noise, and what explains it best, "
        f"{_words(max(absurd, key=lambda cause: cause.evidence))}, is no error of masses"
    )


def _group(fit: ForceFit, rows: ForceRows, extent: float) -> tuple[Cause, ...]:
    """Return the most probable causes that cannot be distinguished, or none that is certain.

    A centre of mass that would be off by more than the robot's extent [m] is no cause.
    """
    possible = [cause for cause in fit.causes if _possible(cause, fit) and _shift(cause, rows) < extent]
    if not possible or possible[0].evidence < CERTAIN:
        return ()
    best = possible[0].evidence
    near = max(TOGETHER, TOGETHER_SHARE * best)
    group = [cause for cause in possible if cause.evidence > best - near]
    group.sort(key=lambda cause: (not _matters(cause, rows), -cause.evidence))
    return tuple(group)


def _possible(cause: Cause, fit: ForceFit) -> bool:
    """Whether a cause leaves a positive mass, or a positive scale."""
    if cause.kind is CauseKind.LINK:
        return cause.size > -fit.masses[cause.subject] - cause.sigma
    return LEAST_SCALE < cause.size < MOST_SCALE


def _matters(cause: Cause, rows: ForceRows) -> bool:
    if cause.explained < (EXPLAINS_OF_LINK if cause.kind is CauseKind.LINK else EXPLAINS):
        return False
    return _mass_matters(cause, rows) or _shift(cause, rows) > SHIFTED


def _mass_matters(cause: Cause, rows: ForceRows) -> bool:
    size = abs(cause.size)
    if size < SIGMAS * cause.sigma:
        return False
    if cause.kind is not CauseKind.LINK:
        return size > OF_SCALE
    return size > OF_LINK * _mass(cause, rows) and size > OF_ROBOT * float(rows.masses.sum())


def _shift(cause: Cause, rows: ForceRows) -> float:
    """Return by how much the centre of mass of a link is off [m], 0 where that is not certain."""
    if cause.kind is not CauseKind.LINK:
        return 0.0
    moment, sigma = cause.moment
    return moment / max(_mass(cause, rows) + cause.size, 1e-9) if moment > SIGMAS * sigma else 0.0


def _mass(cause: Cause, rows: ForceRows) -> float:
    return float(rows.masses[rows.links.index(cause.subject)])


def _named(group: Sequence[Cause], rows: ForceRows) -> Finding:
    best = group[0]
    others = [
        _words(cause) for cause in group[1:] if cause.kind is not best.kind or cause.subject != best.subject
    ]
    also = f"; it cannot be told from {listing(others, limit=4)}" if others else ""
    share = 100 * best.explained
    if best.kind is CauseKind.LINK and not _mass_matters(best, rows):
        return _off_centre(best, rows, also)
    said = f"{_said(best, rows)} explains {share:.0f} % of what the forces leave unexplained{also}"
    # A warning suffices where a milder cause explains it as well.
    verdicts = [_verdict(cause, rows) for cause in group if _matters(cause, rows)]
    verdict = Verdict.WARN if Verdict.WARN in verdicts else Verdict.WRONG
    return finding(*_subject(best), verdict, best.size, _unit(best), said, _remedy(best, rows))


def _off_centre(cause: Cause, rows: ForceRows, also: str) -> Finding:
    """Return the finding that a link's centre of mass is wrong, its mass not."""
    shift = _shift(cause, rows)
    said = (
        f"its centre of mass, {1e3 * shift:.0f} mm off, explains {100 * cause.explained:.0f} % of what "
        f"the forces leave unexplained{also}"
    )
    verdict = Verdict.WRONG if shift > WRONG_SHIFT else Verdict.WARN
    remedy = "a load, a cable or a wrong URDF? Correct it, or use identified.urdf of identify"
    return finding("link centre of mass", cause.subject, verdict, 1e3 * shift, "mm", said, remedy)


def _subject(cause: Cause) -> tuple[str, str]:
    checks = {
        CauseKind.LINK: ("link mass", cause.subject),
        CauseKind.WHOLE: ("masses", "description"),
        CauseKind.WRENCH: (
            "contact wrench scale",
            "contact wrenches" if cause.subject == "all" else cause.subject,
        ),
        CauseKind.EFFORT: ("effort scale", "joint_states" if cause.subject == "all" else cause.subject),
    }
    return checks[cause.kind]


def _unit(cause: Cause) -> str:
    return "kg" if cause.kind is CauseKind.LINK else ""


def _verdict(cause: Cause, rows: ForceRows) -> Verdict:
    size = abs(cause.size)
    if cause.kind is not CauseKind.LINK:
        return Verdict.WRONG if size > WRONG_SCALE else Verdict.WARN
    mass = _mass(cause, rows)
    wrong = size > WRONG_LINK * mass or size > WRONG_ROBOT * float(rows.masses.sum())
    return Verdict.WRONG if wrong else Verdict.WARN


def _words(cause: Cause) -> str:
    if cause.kind is CauseKind.LINK:
        return f"{cause.size:+.2g} kg on '{cause.subject}'"
    of = "" if cause.subject == "all" else f" of {cause.subject}"
    return f"{SCALED[cause.kind]}{of} {100 * cause.size:+.0f} %"


def _said(cause: Cause, rows: ForceRows) -> str:
    if cause.kind is CauseKind.LINK:
        mass = _mass(cause, rows)
        share = f" ({100 * cause.size / mass:+.0f} %)" if mass > 0.0 else ""
        return f"{cause.size:+.3g} kg (sigma {cause.sigma:.1g}) on its {mass:.3g} kg{share}"
    return f"{_words(cause)} (sigma {100 * cause.sigma:.1g} %)"


def _remedy(cause: Cause, rows: ForceRows) -> str:
    if cause.kind is CauseKind.LINK:
        load = "a load that the description lacks" if cause.size > 0.0 else "a part that was taken off"
        return f"{load}, or a wrong mass? Weigh it, correct the URDF, or use identified.urdf of identify"
    if cause.kind is CauseKind.WHOLE:
        return "weigh the robot and correct the URDF; or is the scale of a sensor wrong?"
    if cause.kind is CauseKind.WRENCH:
        return "check scale and zero of the force sensors; weigh the robot"
    gain = f", or set drive_gains of it to {1.0 / (1.0 + cause.size):.3g}" if cause.subject != "all" else ""
    return f"check gear ratio and torque constant in the drive{gain}"


def _true(fit: ForceFit, rows: ForceRows) -> Finding:
    whole = next(cause for cause in fit.causes if cause.kind is CauseKind.WHOLE)
    total = float(rows.masses.sum())
    told = whole.sigma < INFORMS
    if not told and not _informed_links(fit, rows):
        why = "the recording informs no mass: move slowly through other postures, or measure contact forces"
        return cannot_tell("masses", "description", why)
    amount = (
        f"all masses together {100 * whole.size:+.2g} % (sigma {100 * whole.sigma:.1g} %)"
        if told
        else ("the sum of the masses is not determined")
    )
    if told and abs(whole.size) > max(OF_SCALE, SIGMAS * whole.sigma):
        why = f"{amount} fit better, but explain only {100 * whole.explained:.0f} % of what is unexplained"
        return cannot_tell("masses", "description", why)
    said = f"no single change of the description's {total:.4g} kg explains the forces better; {amount}"
    return finding("masses", "description", Verdict.OK, whole.size if told else 0.0, "", said)


def _informed_links(fit: ForceFit, rows: ForceRows) -> list[str]:
    return [link for link in rows.links if fit.mass_sigma[link] < INFORMS * fit.masses[link]]


def _informed(fit: ForceFit, rows: ForceRows) -> Finding:
    """Say of which links the recording informs the mass."""
    informed = _informed_links(fit, rows)
    rest = [link for link in rows.links if link not in informed]
    if not informed:
        why = f"of no link is the mass determined to {100 * INFORMS:.0f} %, even if only it were unknown"
        return cannot_tell("informed links", "description", why)
    said = (
        f"each by itself, the masses of {listing(informed, limit=8)} are determined to {100 * INFORMS:.0f} %"
    )
    if rest:
        said += f"; those of {listing(rest, limit=8)} are not"
    return finding("informed links", "description", Verdict.OK, float(len(informed)), "links", said)


def _friction(fit: ForceFit, rows: ForceRows, case: Case) -> list[Finding]:
    """Say how large the friction of the joints is."""
    speeds = np.sqrt(np.mean(case.signals.windows.dq**2, axis=0))
    found: dict[str, float] = {}
    for name, value in fit.friction.items():
        coulomb, sigma = float(value[1]), float(fit.friction_sigma[name][1])
        if speeds[case.robot.names.index(name)] > MOVES and coulomb > 3.0 * sigma:
            found[name] = coulomb
    if not fit.friction:
        return []
    if not found:
        why = "no joint moves enough to tell friction from the other torques"
        return [cannot_tell("friction", "joint_states", why)]
    limits = {name: float(case.robot.effort[case.robot.names.index(name)]) for name in found}
    worst = max(found, key=lambda name: found[name] / limits[name])
    share = found[worst] / limits[worst]
    each = listing([f"{name} {value:.2g} Nm" for name, value in found.items()], limit=8)
    said = f"Coulomb friction: {each}"
    if share < HIGH_FRICTION:
        return [finding("friction", "joint_states", Verdict.OK, found[worst], "Nm", said)]
    said += f"; in '{worst}' it is {100 * share:.0f} % of the effort limit"
    remedy = (
        "identify it (command identify) and load friction.yaml, or estimate it: inertial_ekf.friction.joints"
    )
    return [finding("friction", worst, Verdict.WARN, found[worst], "Nm", said, remedy)]
