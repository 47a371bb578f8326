"""Which single cause explains best what the forces leave unexplained: mass, sensor, geometry or nothing.

Bayesian comparison of linear models. With noise of known size and Gaussian priors the evidence of a cause
with columns H and prior covariance P, after friction and its like have been marginalised (Schur complement S,
g of the normal equations), is

    ln p(y | H) - ln p(y | nothing) = 1/2 g' (S + P^-1)^-1 g - 1/2 ln det(I + P S)

(MacKay, Neural Computation 4, 1992); the second term is the price of a cause that could explain anything. The
size of the noise is that of the residual when all causes act at once, inflated by its correlation in time.
The tolerances that every description and sensor has are marginalised, too: without them many small errors
count as one large one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.forces import ForceRows
from inertial_estimation.diagnosis.parts import SLOW, STRONG, STRONG_UNLIMITED
from inertial_estimation.diagnosis.table import Robot
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


class Sizes(NamedTuple):
    """Sizes of an error of one kind."""

    prior: float  # deviation where it is the cause
    tolerance: float  # deviation of what every description and sensor has
    matters: float  # from which it matters
    wrong: float  # from which it is wrong, no tolerance of manufacture


MASS = Sizes(0.5, 0.03, 0.1, 0.3)  # shares of a link's mass
OF_ROBOT = Sizes(0.02, 0.0, 0.01, 0.05)  # of the robot's mass, whichever is more (wrong: less)
SCALE = Sizes(0.3, 0.03, 0.06, 0.3)  # of all masses, wrenches, efforts
ZERO = Sizes(0.1, 0.02, 0.05, 0.2)  # of a sensor: shares of the effort limit, of the weight
ANGLE = Sizes(0.1, 0.005, 0.03, 0.1)  # of a joint, an IMU, a base [rad]
COM_TOLERANCE, COM_PRIOR = 0.003, 0.05  # of every centre of mass; of a wrong one at the wrong mass's size [m]
SPIN = Sizes(3.0, 0.1, 1.0, math.inf)  # of a link's rotational inertia ...
SPIN_LEVER = 0.1  # ... or that of a wrong mass at this share of the robot's reach, whichever is more
CRUDE = np.geomspace(1.0, 9.0, 3)  # sizes of all tolerances: as manufactured, by hand, no more than rough
LEAST_MASS = 0.002  # share of the robot's mass that a link has at least, for its tolerance
GRAVITY_PRIOR = 5.0  # of a mounting of a fixed base [m/s^2]: it may hang or lean
WHILE_MOVING = 0.25  # what is left of the constant part of stiction while a joint moves
ARMATURE_PRIOR = 0.5  # of a rotor inertia: its torque at the prior over that of friction
LEVER = 0.1  # of the moments of a force sensor's zero [m]
NOISE_FLOOR, BASE_FLOOR = 0.005, 0.002  # of the rms of the measured row; of the largest one
MOST_CORRELATION = 0.95  # of neighbouring windows
KEPT = 6.0  # standard deviations of a residual beyond which it is not trusted
LOOKED_AT = 12  # most probable causes of which it is looked at whether rows agree less with them
WORSE = 1.05  # times the rms of the base's rows, or of the joints', that a cause may leave


class Kind(Enum):
    """What may be wrong."""

    LINK = "link mass"  # mass [kg] and first moment [kg m] of a link
    SPIN = "link inertia"  # second moments of a link [kg m^2]
    WHOLE = "masses"  # a factor of all masses
    WRENCH = "contact wrench scale"
    WRENCH_ZERO = "contact wrench zero"  # a constant of one contact's sensor [N, Nm]
    EFFORT = "effort scale"
    ZERO = "effort zero"  # a constant of one joint's effort [Nm]
    OFFSET = "joint offset"  # a constant of one joint's position [rad]
    IMU = "IMU mounting"  # a rotation of the readings of the IMU, its axes [rad]
    MOUNTING = "base mounting"  # gravity in the axes of a fixed base [m/s^2]

    @property
    def is_scale(self) -> bool:
        """Whether it is a factor of masses or readings."""
        return self in (Kind.WHOLE, Kind.WRENCH, Kind.EFFORT)


VECTORS = (Kind.IMU, Kind.MOUNTING, Kind.SPIN)


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of one cause."""

    kind: Kind  # what it is
    subject: str  # link, contact or joint; "all" for all of them
    columns: slice  # which of the columns of all causes are its own
    prior: Array  # standard deviations of its amplitudes where it is the cause
    tolerance: Array | None  # the same of the error that every description has; None: it has none
    matters: float  # size from which it matters
    wrong: float  # size from which it is wrong


@dataclass(frozen=True, eq=False)
class Cause:
    """One cause and how well it explains the forces."""

    block: Block  # what it is
    amplitude: Array  # estimated change, true minus described or read; the relative error of a scale
    sigmas: Array  # their standard deviations; zero of a first moment that is taken as described
    evidence: float  # logarithm of how much more probable the data are with it than without
    explained: float  # share of the unexplained variance that it explains
    worsens: bool = False  # whether it makes the rows of the base, or those of the joints, agree less

    @property
    def kind(self) -> Kind:
        """What it is."""
        return self.block.kind

    @property
    def subject(self) -> str:
        """Link, contact or joint."""
        return self.block.subject

    @property
    def size(self) -> float:
        """Change of mass [kg], of a scale, of an effort [Nm] or a position [rad]; norm of other vectors."""
        if self.kind is Kind.WRENCH_ZERO:
            return float(np.linalg.norm(self.amplitude[:3]))
        return float(np.linalg.norm(self.amplitude)) if self.kind in VECTORS else float(self.amplitude[0])

    @property
    def sigma(self) -> float:
        """Standard deviation of the size; of a vector the largest one."""
        part = self.sigmas[:3] if self.kind is Kind.WRENCH_ZERO else self.sigmas
        return float(part.max()) if self.kind in (*VECTORS, Kind.WRENCH_ZERO) else float(self.sigmas[0])

    @property
    def moment(self) -> tuple[float, float]:
        """Change of a link's first moment about its nominal centre of mass, and its deviation [kg m]."""
        largest = 1 + int(np.argmax(np.abs(self.amplitude[1:])))
        return float(np.linalg.norm(self.amplitude[1:])), float(self.sigmas[largest])


@dataclass(frozen=True, eq=False)
class ForceFit:
    """Result of the comparison."""

    causes: tuple[Cause, ...]  # the most probable first
    unexplained: float  # rms of the whitened residual without any cause; 1 where the description is right
    mass_sigma: dict[str, float]  # standard deviation of each link's mass if only it were wrong [kg], by link
    log: float  # logarithm of the probability of the readings without any cause


Part = tuple[Kind, str, Array, Array, Array | None, tuple[float, float]]


def _parts(rows: ForceRows, robot: Robot) -> Iterator[Part]:
    """Yield all causes: kind, subject, columns, prior, tolerance, sizes that matter and are wrong."""
    total, weight = float(rows.masses.sum()), robot.weight

    def of_size(
        kind: Kind, subject: str, columns: Array, sizes: Sizes, unit: float = 1.0, *, every: bool = False
    ) -> Part:
        """Return a cause whose columns have one unit; `every` sensor has some of it."""
        size = np.full(columns.shape[2], unit)
        bounds = sizes.matters * unit, sizes.wrong * unit
        return kind, subject, columns, sizes.prior * size, sizes.tolerance * size if every else None, bounds

    for i, link in enumerate(rows.links):
        described = float(rows.masses[i])
        mass = max(MASS.prior * described, OF_ROBOT.prior * total)
        allowed = max(described, LEAST_MASS * total) * np.array([MASS.tolerance] + [COM_TOLERANCE] * 3)
        matters = max(MASS.matters * described, OF_ROBOT.matters * total)
        wrong = min(MASS.wrong * described, OF_ROBOT.wrong * total)
        columns, prior = rows.loads[:, :, i], np.array([mass] + [mass * COM_PRIOR] * 3)
        yield Kind.LINK, link, columns[..., :4], prior, allowed, (matters, wrong)
        spin = float(rows.spins[i])
        about = of_size(Kind.SPIN, link, columns[..., 4:], SPIN, max(spin, 1e-6), every=True)
        least = mass * (SPIN_LEVER * rows.extent) ** 2
        yield *about[:3], np.maximum(about[3], least), *about[4:]

    yield of_size(Kind.WHOLE, "all", rows.whole[..., None], SCALE)
    for i, contact in enumerate(rows.contacts):
        yield of_size(Kind.WRENCH, contact, rows.wrenches[:, :, i, None], SCALE, every=True)
        zeros = of_size(Kind.WRENCH_ZERO, contact, rows.zeros[:, :, 6 * i : 6 * i + 6], ZERO, weight)
        yield *zeros[:3], zeros[3] * np.array([1.0] * 3 + [LEVER] * 3), *zeros[4:]
    if len(rows.contacts) > 1:
        yield of_size(Kind.WRENCH, "all", rows.wrenches.sum(axis=2)[..., None], SCALE)
    limits = _stiction(rows, robot) / STRONG
    for i, joint in enumerate(rows.joints):
        yield of_size(Kind.EFFORT, joint, rows.gains[:, :, i, None], SCALE, every=True)
        yield of_size(Kind.ZERO, joint, rows.friction[:, :, i, :1], ZERO, float(limits[i]))
    if len(rows.joints) > 1:
        yield of_size(Kind.EFFORT, "all", rows.gains.sum(axis=2)[..., None], SCALE)
    if rows.gravity.shape[2]:
        tilt = of_size(Kind.MOUNTING, "description", rows.gravity, ANGLE, STANDARD_GRAVITY, every=True)
        yield *tilt[:3], np.full(3, GRAVITY_PRIOR), *tilt[4:]
    first = rows.geometry.shape[2] - len(rows.turning)
    if first:
        yield of_size(Kind.IMU, "imu/data", rows.geometry[:, :, :first], ANGLE, every=True)
    for j, joint in enumerate(rows.turning):
        yield of_size(Kind.OFFSET, joint, rows.geometry[:, :, first + j, None], ANGLE)


def _stiction(rows: ForceRows, robot: Robot) -> Array:
    """Return the size of each measured joint's stiction [Nm], shape (j,)."""
    limits = np.array([robot.effort[robot.names.index(name)] for name in rows.joints])
    largest = float(np.abs(rows.gains).max(initial=1e-6))
    stiction: Array = np.where(np.isfinite(limits), STRONG * limits, STRONG_UNLIMITED * largest)
    return stiction


def _nuisance(rows: ForceRows, robot: Robot) -> tuple[Array, Array]:
    """Return columns of friction and sensor zeros, and the deviations of their priors."""
    N, m = rows.left.shape
    size = np.sqrt(np.mean(rows.friction**2, axis=(0, 1))) * math.sqrt(m)
    prior = _stiction(rows, robot)[:, None] / np.maximum(size, [1.0, 1.0, 0.05, 0.2])
    speed = np.abs(rows.friction[..., 2]).max(axis=1)
    prior[:, 0] *= np.maximum((speed < SLOW).mean(axis=0), WHILE_MOVING)
    prior[:, 3] *= ARMATURE_PRIOR
    weight = robot.weight * ZERO.tolerance
    zeros = np.tile([weight] * 3 + [weight * LEVER] * 3, rows.zeros.shape[2] // 6)
    columns = np.concatenate((rows.friction.reshape(N, m, -1), rows.zeros), axis=2)
    return columns, np.concatenate((prior.ravel(), zeros))


class Problem(NamedTuple):
    """Normal equations of all columns: those of friction and zeros first, then those of the causes."""

    rows: ForceRows  # the rows
    A: Array  # all columns, shape (N, m, c)
    G: Array  # information, shape (c, c)
    b: Array  # shape (c,)
    power: float  # of the whitened readings
    weight: Array  # one over the noise, zero of a reading that is not trusted, shape (N, m)
    readings: float  # number of independent ones
    blocks: list[Block]
    nuisance: Array  # deviations of the priors of friction and zeros


def problem(rows: ForceRows, robot: Robot) -> Problem:
    """Return the normal equations of rows."""
    nuisance, nuisance_prior = _nuisance(rows, robot)
    blocks, every, first = list[Block](), [nuisance], 0
    for kind, subject, columns, prior, tolerance, bounds in _parts(rows, robot):
        own = slice(first, first + len(prior))
        blocks.append(Block(kind, subject, own, prior, tolerance, *bounds))
        every.append(columns)
        first = own.stop
    A, r = np.concatenate(every, axis=2), rows.left
    noise, inflation, kept = _noise(A, rows, np.concatenate((nuisance_prior, *[b.prior for b in blocks])))
    weight = kept / noise
    X, y = (A * weight[:, :, None]).reshape(r.size, -1), (r * weight).ravel()
    G, b, power = X.T @ X / inflation, X.T @ y / inflation, float(y @ y) / inflation
    votes, columns = rows.votes
    c = A.shape[2] - columns.shape[1]  # the geometry comes last
    G[c:, c:] += columns.T @ columns
    b[c:] += columns.T @ votes
    count = max(float(kept.sum()) / inflation, 1.0)
    return Problem(rows, A, G, b, power + float(votes @ votes), weight, count, blocks, nuisance_prior)


def fit_forces(of: Problem, assumed: Sequence[Cause] = (), crude: float = 1.0) -> ForceFit:
    """Compare all causes, on what those that were found before (`assumed`) do not explain.

    Tolerances are `crude` times those of a description as manufactured.
    """
    rows, A, G, b, power, weight, count, blocks, nuisance_prior = of
    first = len(nuisance_prior)
    columns, kept = A[:, :, first:], (weight > 0.0).astype(float)
    known, known_prior = marginalised(nuisance_prior, blocks, assumed, crude)
    inner = G[np.ix_(known, known)] + np.diag(known_prior**-2.0)
    solved = linear_algebra.solve(inner, np.column_stack((G[known, first:], b[known])))
    S = G[first:, first:] - G[np.ix_(known, np.arange(first, len(b)))].T @ solved[:, :-1]
    g = b[first:] - G[first:, known] @ solved[:, -1]
    explained = float(b[known] @ solved[:, -1])
    log_det = float(np.linalg.slogdet(inner)[1]) + 2.0 * float(np.log(known_prior).sum())
    left = max(power - explained, 1e-12)
    full = [_judged(block, S, g, left) for block in blocks]
    causes = sorted((_simpler(cause, S, g, left) for cause in full), key=lambda cause: -cause.evidence)
    others = A[:, :, known]
    before = (rows.left - others @ solved[:, -1]) * weight

    def rest(cause: Cause) -> Array:
        own, x = cause.block.columns, cause.amplitude
        residual: Array = before - (columns[:, :, own] @ x - others @ (solved[:, own] @ x)) * weight
        return residual

    independent = _independent(rest(causes[0]), kept)
    causes = [_tempered(cause, independent, left / count) for cause in causes]
    causes.sort(key=lambda cause: -cause.evidence)
    for i, cause in enumerate(causes[:LOOKED_AT]):
        causes[i] = replace(cause, worsens=_worsens(before, rest(cause), rows.n_base))
    return ForceFit(
        causes=tuple(causes),
        unexplained=math.sqrt(left / count),
        mass_sigma={
            c.subject: c.sigma * math.sqrt(_left_noise(c, left / count)) for c in full if c.kind is Kind.LINK
        },
        log=0.5 * (explained - log_det),
    )


def rivalled(cause: Cause, fit: ForceFit, of: Problem, assumed: Sequence[Cause]) -> float:
    """Return the evidence of a cause against tolerances of masses and scales as large as is probable.

    The fit is that with tolerances as manufactured.
    """
    fits = [fit, *(fit_forces(of, assumed, crude) for crude in CRUDE[1:].tolist())]
    logs = [fit.log + c.evidence for fit in fits for c in fit.causes if c.block is cause.block]
    return max(logs) - max(fit.log for fit in fits)


def _worsens(before: Array, after: Array, n_base: int) -> bool:
    """Return whether a cause makes the rows of the base, or those of the joints, agree less."""
    parts = [slice(0, n_base), slice(n_base, None)] if n_base else [slice(None)]
    sizes = [(float(np.linalg.norm(before[:, p])), float(np.linalg.norm(after[:, p]))) for p in parts]
    return any(now > WORSE * max(was, 1e-9) for was, now in sizes)


def marginalised(
    nuisance: Array, blocks: Sequence[Block], assumed: Sequence[Cause | Block], crude: float = 1.0
) -> tuple[Array, Array]:
    """Return the columns that act in any case, with their priors: tolerances, assumed causes."""
    columns, deviations = [np.arange(len(nuisance))], [nuisance]
    found = {(cause.kind, cause.subject) for cause in assumed}
    for block in blocks:
        allowed = None if block.tolerance is None else np.minimum(crude * block.tolerance, block.prior)
        deviation = block.prior if (block.kind, block.subject) in found else allowed
        if deviation is not None:
            columns.append(len(nuisance) + np.arange(block.columns.start, block.columns.stop))
            deviations.append(deviation)
    return np.concatenate(columns), np.concatenate(deviations)


def _noise(A: Array, rows: ForceRows, priors: Array) -> tuple[Array, float, Array]:
    """Return each row's noise, the inflation by correlation in time, and which residuals are trusted.

    The residual is that of all causes at once, each with its prior; readings that they follow by their number
    alone say nothing of the noise (the leverage of each, h = x' (X'X + P^-1)^-1 x).
    """
    r = rows.left
    N, m = r.shape
    size = np.sqrt(np.mean(rows.measured**2, axis=0))
    floor = NOISE_FLOOR * size + BASE_FLOOR * float(size.max()) + 1e-9
    noise, kept = np.maximum(np.sqrt(np.mean(r**2, axis=0)), floor), np.ones((N, m))
    residual, leverage = r, np.zeros((N, m))
    for last in (False, True):
        weight = kept / noise
        X = (A * weight[:, :, None]).reshape(N * m, -1)
        covariance = linear_algebra.inv(X.T @ X + np.diag(priors**-2.0))
        residual = r - A @ (covariance @ X.T @ (r * weight).ravel())
        if last:
            leverage = np.sum((X @ covariance) * X, axis=1).reshape(N, m)
        rms = np.sqrt(np.sum(kept * residual**2, axis=0) / np.maximum((kept - leverage).sum(axis=0), 1.0))
        kept = (np.abs(residual) < KEPT * np.maximum(rms, floor)).astype(float)
        noise = np.maximum(rms, floor)
    white = residual * kept / noise
    neighbours = float(np.sum(white[1:] * white[:-1]) / max(float(kept.sum()), 1.0))
    correlation = min(max(neighbours, 0.0), MOST_CORRELATION)
    return noise, (1.0 + correlation) / (1.0 - correlation), kept


def _independent(rest: Array, kept: Array) -> float:
    """Return how many of the residuals count as independent: theirs over (1 + rho) / (1 - rho)."""
    power = max(float(np.sum(rest**2)), 1e-12)
    rho = min(max(float(np.sum(rest[1:] * rest[:-1])) / power, 0.0), MOST_CORRELATION)
    return max(float(kept.sum()) * (1.0 - rho) / (1.0 + rho), 2.0)


def _tempered(cause: Cause, independent: float, left: float) -> Cause:
    """Limit the evidence to that of a fit whose noise is what the cause itself does not explain.

    -n/2 ln(1 - explained) - k/2 ln n (Schwarz 1978), with n independent residuals: where no cause explains
    most of what is left, the equation itself does not hold, and small differences mean nothing.
    """
    price = 0.5 * np.count_nonzero(cause.sigmas) * math.log(independent)
    bound = -0.5 * independent * math.log(max(1.0 - cause.explained, 1e-6)) - price
    noise = _left_noise(cause, left)
    return replace(cause, evidence=min(cause.evidence, bound), sigmas=cause.sigmas * math.sqrt(noise))


def _left_noise(cause: Cause, left: float) -> float:
    """Return the variance of what a cause does not explain, over that of the noise, at least one."""
    return max(1.0, left * (1.0 - cause.explained))


def _simpler(cause: Cause, S: Array, g: Array, left: float) -> Cause:
    """Return a link with another mass at the described centre of mass, where that is more probable."""
    block = cause.block
    if block.kind is not Kind.LINK:
        return cause
    first = block.columns.start
    alone = _judged(replace(block, columns=slice(first, first + 1), prior=block.prior[:1]), S, g, left)
    if alone.evidence < cause.evidence:
        return cause
    rest = np.zeros(len(cause.amplitude) - 1)
    amplitude, sigmas = np.concatenate((alone.amplitude, rest)), np.concatenate((alone.sigmas, rest))
    return replace(alone, block=block, amplitude=amplitude, sigmas=sigmas)


def _judged(block: Block, S: Array, g: Array, left: float) -> Cause:
    part, gradient = S[block.columns, block.columns], g[block.columns]
    covariance = linear_algebra.inv(part + np.diag(block.prior**-2.0))
    amplitude = covariance @ gradient
    values = np.maximum(linear_algebra.eigvalsh(block.prior[:, None] * part * block.prior), 0.0)
    gain = 0.5 * float(gradient @ amplitude)
    sigmas = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    evidence = gain - 0.5 * float(np.sum(np.log1p(values)))
    return Cause(block, amplitude, sigmas, evidence, min(2.0 * gain / left, 1.0))
