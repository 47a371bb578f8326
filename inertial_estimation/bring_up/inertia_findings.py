"""Masses of the description, which link is most likely wrong, what the recording can inform, friction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.cause import Cause, CauseKind
from inertial_estimation.bring_up.cause_words import (
    check_of,
    remedy_of,
    sentence_of,
    tilt_of,
    value_of,
    words_of,
)
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding
from inertial_estimation.bring_up.force_rows import ForceRows, force_rows
from inertial_estimation.bring_up.imu_mounting import added_frame
from inertial_estimation.bring_up.inertia_hypotheses import ForceFit, fit_forces
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.errors import listing
from inertial_estimation.models.body_placements import BodyPlacements
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.spatial.rotations import exp_so3

CERTAIN = 12.0  # logarithm of the odds from which a cause is named; a thousand causes cost 7
TOGETHER, TOGETHER_SHARE = 7.0, 0.05  # of the best one's evidence: causes this near are named with it
UNEXPLAINED = 2.5  # times the noise; where more is left, the equation does not hold and no cause is named
MOSTLY = 0.9  # unless the cause explains this share of it
SIGMAS = 4.0
LEAST_SCALE, MOST_SCALE = -0.6, 1.5  # beyond which a change of all masses, or of a scale, is no cause
OF_SCALE = 0.05  # of all masses, from which their sum is not as described
EXPLAINS, EXPLAINS_OF_LINK = 0.05, 0.03  # least share of what noise and tolerances leave unexplained
GRAVITY_SIZE = 0.05  # by which the gravity of a tilted base may seem to differ from 9.81 m/s^2
MOST_ANGLE = 0.5  # of an offset or a rotation, up to which slopes describe it [rad]
SHIFTED, WRONG_SHIFT = 0.015, 0.1  # of a centre of mass that matters, and that is wrong [m]
MOST_CAUSES = 3
SECOND = 0.3  # of the first one's evidence that a further cause must have
INFORMS = 0.1  # standard deviation of a mass, share of it, of a link that the recording informs
EFFORT_ZERO = 0.04  # of an effort that is no stiction, share of the joint's effort limit
HIGH_FRICTION = 0.15  # Coulomb friction over the effort limit of the joint
MOVES = 0.05  # rms speed of a joint whose friction shows [rad/s]


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
    found = [_named(group, rows, case.config) for group in named]
    if doubt and not named:
        found.append(cannot_tell("masses", "description", f"{doubt}: mend what else is unusual first"))
    elif not named:
        found.append(_true(first, rows))
    zeros = [] if doubt else _zeros(fit, rows, case, {cause.subject for group in named for cause in group})
    return [*found, *zeros, _informed(first, rows), *_friction(first, rows, case)], InertiaReport(
        rows, first, tuple(named), not doubt
    )


def _absurd(fit: ForceFit) -> str:
    """Return why nothing is named where the most probable scale is none that units and weight allow."""
    scales = [cause for cause in fit.causes if cause.kind.is_scale and cause.size > -1.0]
    best = max((cause.evidence for cause in fit.causes), default=0.0)
    absurd = [cause for cause in scales if not LEAST_SCALE < cause.size < MOST_SCALE]
    if not any(cause.evidence > max(CERTAIN, best - TOGETHER) for cause in absurd):
        return ""
    return (
        f"the forces do not balance by {fit.unexplained:.2g} times their noise, and what explains it best, "
        f"{words_of(max(absurd, key=lambda cause: cause.evidence))}, is no error of masses"
    )


def _group(fit: ForceFit, rows: ForceRows, extent: float) -> tuple[Cause, ...]:
    """Return the most probable causes that cannot be distinguished, or none that is certain.

    A centre of mass that would be off by more than the robot's extent [m] is no cause.
    """
    causes = [cause for cause in fit.causes if possible(cause, fit) and _shift(cause, rows) < extent]
    if not causes or causes[0].evidence < CERTAIN:
        return ()
    best = causes[0].evidence
    near = max(TOGETHER, TOGETHER_SHARE * best)
    group = [cause for cause in causes if cause.evidence > best - near]
    group.sort(key=lambda cause: (not _matters(cause, rows), -cause.evidence))
    return tuple(group)


def possible(cause: Cause, fit: ForceFit) -> bool:
    """Return whether a cause leaves a positive mass or scale, gravity its size, and angles small."""
    if cause.kind is CauseKind.LINK:
        return cause.size > -fit.masses[cause.subject] - cause.sigma
    if cause.kind is CauseKind.MOUNTING:
        gravity = float(np.linalg.norm(tilt_of(cause)[1]))
        return abs(gravity / STANDARD_GRAVITY - 1.0) < GRAVITY_SIZE
    if cause.kind in (CauseKind.OFFSET, CauseKind.IMU):
        return abs(cause.size) < MOST_ANGLE
    return cause.kind is CauseKind.ZERO or LEAST_SCALE < cause.size < MOST_SCALE


def _matters(cause: Cause, rows: ForceRows) -> bool:
    if cause.explained < (EXPLAINS_OF_LINK if cause.kind is CauseKind.LINK else EXPLAINS):
        return False
    return _size_matters(cause) or _shift(cause, rows) > SHIFTED


def _size_matters(cause: Cause) -> bool:
    return abs(cause.size) > max(cause.matters, SIGMAS * cause.sigma)


def _shift(cause: Cause, rows: ForceRows) -> float:
    """Return by how much the centre of mass of a link is off [m], 0 where that is not certain."""
    if cause.kind is not CauseKind.LINK:
        return 0.0
    moment, sigma = cause.moment
    mass = float(rows.masses[rows.links.index(cause.subject)])
    return moment / max(mass + cause.size, 1e-9) if moment > SIGMAS * sigma else 0.0


def _named(group: Sequence[Cause], rows: ForceRows, config: RobotConfig) -> Finding:
    best = group[0]
    others = [
        words_of(cause) for cause in group[1:] if cause.kind is not best.kind or cause.subject != best.subject
    ]
    also = f"; it cannot be told from {listing(others, limit=4)}" if others else ""
    share = 100 * best.explained
    if best.kind is CauseKind.LINK and not _size_matters(best):
        return _off_centre(best, rows, also)
    said = f"{sentence_of(best, rows)} explains {share:.0f} % of what the forces leave unexplained{also}"
    # A warning suffices where a milder cause explains it as well.
    mild = any(abs(cause.size) <= cause.wrong for cause in group if _matters(cause, rows))
    verdict = Verdict.WARN if mild else Verdict.WRONG
    named = finding(*check_of(best), verdict, *value_of(best), said, remedy_of(best))
    return named if others else _with_fix(named, best, config)


def _with_fix(named: Finding, cause: Cause, config: RobotConfig) -> Finding:
    """Attach the parameters that correct a joint's offset or the frame of the IMU."""
    if cause.kind is CauseKind.OFFSET:
        return replace(named, joint_offsets={cause.subject: cause.size})
    if cause.kind is CauseKind.IMU:
        return replace(named, parameters=added_frame(config, exp_so3(cause.amplitude))[0])
    return named


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


def _zeros(fit: ForceFit, rows: ForceRows, case: Case, named: set[str]) -> list[Finding]:
    """Say which efforts have a constant that is more than stiction, of joints that are not named anyway."""
    found = []
    for name in rows.joints:
        limit = float(case.robot.effort[case.robot.names.index(name)])
        zero, sigma = float(fit.friction[name][0]), float(fit.friction_sigma[name][0])
        if name in named or abs(zero) < max(EFFORT_ZERO * limit, SIGMAS * sigma):
            continue
        said = (
            f"its effort has a constant of {zero:+.3g} Nm (sigma {sigma:.1g} Nm) that nothing else explains"
        )
        remedy = "calibrate the zero of its torque; or is there a spring, or stiction at rest?"
        found.append(finding("effort zero", name, Verdict.WARN, zero, "Nm", said, remedy))
    return found


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
