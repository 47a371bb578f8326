"""What may be wrong with masses, scales, zeros and geometry: hypotheses in which the forces are linear.

Each has columns, a prior scaled to the robot, a sentence and a remedy, as those of `hypotheses` have an exact
change; that of a cause follows from the amplitudes that the forces give it (`force_evidence`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.diagnosis.evidence import SIGMAS
from inertial_estimation.diagnosis.finding import NO_FIX, Finding, Fix, Verdict, rounded, times
from inertial_estimation.diagnosis.forces import ForceRows
from inertial_estimation.diagnosis.frames import added_frame
from inertial_estimation.diagnosis.parts import SLOW
from inertial_estimation.diagnosis.table import STRONG, Change, Load, Robot
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import DEGREES, exp_so3


class Kind(NamedTuple):
    """What may be wrong, and its sizes over that of the sensor or the body."""

    check: str  # name of the finding
    words: str  # with its value {x}, its subject {of}, and the factor of its readings {times}
    unit: str
    remedy: str
    prior: float  # deviation where it is the cause
    tolerance: float  # deviation of what every description and sensor has; zero: none has it
    matters: float  # from which it matters
    wrong: float  # from which it is wrong, no tolerance of manufacture
    explains: float = 0.05  # least share that it explains of what noise and tolerances leave
    factor: float = 1.0  # to the unit
    vector: int = 0  # how many of the amplitudes have the size as their norm; zero: the first one is the size
    range: tuple[float, float] = (-math.inf, math.inf)  # in which slopes describe it


SMALL = (-0.3, 0.3)  # angles [rad]
GEOMETRY = 0.2  # share that is explained: a wrong geometry explains much
LINK = Kind(
    *("link mass", "{x:+.2g} kg on '{of}'", "kg"),
    "{}, or a wrong mass? Weigh it, correct the URDF, or use identified.urdf of identify",
    *(0.5, 0.03, 0.1, 0.3, 0.03),
)
OF_ROBOT = LINK._replace(prior=0.02, matters=0.01, wrong=0.05)  # whichever is more (wrong: less)
SPIN = Kind(
    *("link inertia", "{x:.2g} kg m^2 in the rotational inertia of '{of}'", "kg m^2"),
    "correct it in the URDF, or use identified.urdf of identify; or does a simulator add it?",
    *(3.0, 0.1, 1.0, math.inf, GEOMETRY),
    vector=6,
)
WRENCH = Kind(
    *("contact wrench scale", "the scale of {of} {x:+.0f} %", "%"),
    "check scale and zero of the force sensors; weigh the robot",
    *(0.3, 0.03, 0.06, 0.3),
    factor=100.0,
    range=(-0.6, 1.5),
)
ALL_WRENCHES = WRENCH._replace(tolerance=0.0)
EFFORT = WRENCH._replace(
    check="effort scale",
    words="an effort of {of} that is {times}",
    remedy="check gear ratio and torque constant in the drive, or set drive_gains; or does a spring help it?",
    range=(-1.0, math.inf),
)
ALL_EFFORTS = EFFORT._replace(words="the scale of all efforts {x:+.0f} %", tolerance=0.0, range=WRENCH.range)
WHOLE = ALL_WRENCHES._replace(
    check="masses",
    words="all masses {x:+.0f} %",
    remedy="weigh the robot and correct the URDF; or is the scale of a sensor wrong?",
)
WRENCH_ZERO = Kind(
    *("contact wrench zero", "a constant force of {x:.3g} N in {of}", "N"),
    "tare the force sensor with the foot in the air",
    *(0.1, 0.0, 0.05, 0.2),
    vector=3,
)
ZERO = Kind(
    *("effort zero", "a constant {x:+.3g} Nm in the effort of {of}", "Nm"),
    "calibrate the zero of its torque; or is there a spring?",
    *(0.1, 0.0, 0.05, 0.2),
)
OFFSET = Kind(
    *("joint offset", "an offset of {x:+.1f} deg of {of}", "deg"),
    "calibrate it (command calibrate), and set joint_offsets of it",
    *(0.1, 0.0, 0.03, 0.1, GEOMETRY, DEGREES),
    range=SMALL,
)
TURNED = Kind(
    *("IMU mounting", "an IMU turned by {x:.1f} deg", "deg"),
    "check imu_frame and the rpy of its joint, and how the IMU is mounted",
    *(0.1, 0.005, 0.03, 0.1, 0.05, DEGREES),
    vector=3,
    range=SMALL,
)
TILTED_BASE = TURNED._replace(prior=0.5, range=(0.0, 0.0))  # no cause: where it is best, none is
COM_TOLERANCE, COM_PRIOR = 0.003, 0.05  # of every centre of mass; of a wrong one at the wrong mass's size [m]
SPIN_LEVER = 0.1  # share of the robot's reach, at which a wrong mass has the least prior of an inertia
LEAST_MASS = 0.002  # share of the robot's mass that a link has at least, for its tolerance
WRENCH_TOLERANCE = 0.02  # of a force sensor's zero, share of the weight
WHILE_MOVING = 0.25  # what is left of the constant part of stiction while a joint moves
ARMATURE_PRIOR = 0.5  # of a rotor inertia: its torque at the prior over that of friction
ZEROS = np.array([1.0] * 3 + [0.1] * 3)  # of a force sensor over that of its forces [1, m]
LIKELY = 1.5  # standard deviations by which a size that matters, or a mass with its place, is likely one
SHIFTED, WRONG_SHIFT = 0.015, 0.1  # of a centre of mass that matters, and that is wrong [m]


class Estimate(NamedTuple):
    """What the forces say of a cause."""

    # change, true minus described or read: of a scale the relative error; of a link mass, first moments and
    # second ones, as many of these as are not taken as described
    amplitude: Array
    sigmas: Array  # their standard deviations
    evidence: float  # logarithm of how much more probable the data are with it than without
    explained: float  # share of the unexplained variance that it explains
    worsens: bool = False  # whether it makes the rows of the base, or those of the joints, agree less


@dataclass(frozen=True, eq=False)
class Cause:
    """One cause."""

    kind: Kind
    subject: str  # link, contact, joint or input
    prior: Array  # standard deviations of its amplitudes where it is the cause, shape (c,)
    tolerance: Array | None  # the same of the error that every description has; None: it has none
    matters: float  # size from which it matters
    wrong: float  # size from which it is wrong
    mass: float = 0.0  # of the link as described [kg]
    spin: float = 0.0  # its rotational inertia, the mean about all axes [kg m^2]
    reach: float = 0.0  # of the robot, beyond which no centre of mass is off [m]
    place: range = range(0)  # of its columns among those of all causes
    seen: Estimate = Estimate(np.zeros(1), np.zeros(1), 0.0, 0.0)

    def variants(self) -> Iterator["Cause"]:
        """Yield what may be wrong: of a link its mass, with place or inertia or not, or inertia alone."""
        if self.kind is not LINK:
            yield self
            return
        for end in (1, 4, 10):
            yield replace(self, place=self.place[:end], prior=self.prior[:end])
        spin = replace(self, kind=SPIN, place=self.place[4:], prior=self.prior[4:])
        yield replace(spin, matters=SPIN.matters * self.spin, wrong=SPIN.wrong)

    @property
    def size(self) -> float:
        """Change of mass [kg], of a scale, of an effort [Nm] or a position [rad]; norm of other vectors."""
        part = self.seen.amplitude[: self.kind.vector]
        return float(np.linalg.norm(part)) if self.kind.vector else float(self.seen.amplitude[0])

    @property
    def sigma(self) -> float:
        """Standard deviation of the size; of a vector the largest one."""
        return float(self.seen.sigmas[: self.kind.vector or 1].max())

    @property
    def shift(self) -> float:
        """By how much the centre of mass of a link is off [m], 0 where that is not certain."""
        moment = self.seen.amplitude[1:4]
        if self.kind is not LINK or not len(moment):
            return 0.0
        i, size = 1 + int(np.argmax(np.abs(moment))), float(np.linalg.norm(moment))
        return size / max(self.mass + self.size, 1e-9) if size > SIGMAS * self.seen.sigmas[i] else 0.0

    @property
    def possible(self) -> bool:
        """Whether it leaves positive masses and scales, and angles small."""
        if self.kind is LINK:
            return (
                self.size > -self.mass - min(self.sigma, LINK.matters * self.mass) and self.shift < self.reach
            )
        return self.kind.range[0] < self.size < self.kind.range[1]

    @property
    def counts(self) -> bool:
        """Whether it explains enough, and its size likely is one that matters."""
        large = abs(self.size) > self.matters + LIKELY * self.sigma
        return self.seen.explained >= self.kind.explains and (large or self.shift > SHIFTED)

    @property
    def is_wrong(self) -> bool:
        """Whether it is more than manufacture allows."""
        return abs(self.size) > self.wrong or self.shift > WRONG_SHIFT

    @property
    def value(self) -> float:
        """Size in its unit."""
        return self.kind.factor * self.size

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        factor = times(max(1.0 + self.size, 1e-9))
        return self.kind.words.format(x=self.value, of=self.subject, times=factor)

    def finding(self, verdict: Verdict, explains: str, fix: Fix) -> Finding:
        """Return the finding that it is the cause."""
        kind = self.kind
        remedy = kind.remedy.format(
            "a load that it lacks" if self.size > 0.0 else "a part that was taken off"
        )
        said = f"{self.words} (sigma {rounded(kind.factor * self.sigma)} {kind.unit})"
        if kind is LINK and abs(self.size) < max(self.matters, LIKELY * self.sigma):
            remedy = "a load, a cable or a wrong URDF? Correct it, or use identified.urdf of identify"
            said, shift = f"its centre of mass, {1e3 * self.shift:.0f} mm off, {explains}", 1e3 * self.shift
            return Finding("link centre of mass", self.subject, verdict, shift, "mm", said, remedy)
        if kind is LINK:
            share = f" ({100 * self.size / self.mass:+.0f} %)" if self.mass > 0.0 else ""
            said = f"{self.size:+.3g} kg (sigma {rounded(self.sigma)}) on its {self.mass:.3g} kg{share}"
            if len(spins := self.seen.amplitude[4:]):
                said += f", with {float(np.linalg.norm(spins)):.2g} kg m^2 of rotational inertia,"
        said = f"{said} {explains}"
        return Finding(kind.check, self.subject, verdict, self.value, kind.unit, said, remedy, fix)

    def mended(self, robot: Robot, config: RobotGeometryConfig) -> tuple[Change, Fix]:
        """Return what it makes of the signals, and the parameters that mend it, where there are some."""
        x = self.seen.amplitude
        if self.kind is LINK or self.kind is SPIN:
            return Change(load=Load(self.subject, (*([0.0] * 4 * (self.kind is SPIN)), *x.tolist()))), NO_FIX
        if self.kind is OFFSET:
            offset = np.where(np.array(robot.names) == self.subject, x[0], 0.0)
            return Change(offset=offset), Fix(joint_offsets={self.subject: float(x[0])})
        if self.kind is TURNED:
            R = exp_so3(x)
            return Change(force=R, rate=R), Fix(parameters=added_frame(config, R)[0])
        return Change(), NO_FIX


def causes_of(rows: ForceRows, robot: Robot) -> Iterator[tuple[Cause, Array]]:
    """Yield all causes with their columns, shape (N, m, c); those of the geometry come last."""
    total = float(rows.masses.sum())
    for i, link in enumerate(rows.links):
        mass, least, columns = float(rows.masses[i]), OF_ROBOT, rows.loads[:, :, i]
        prior, spin = max(LINK.prior * mass, least.prior * total), max(float(rows.spins[i]), 1e-6)
        spins = max(SPIN.prior * spin, prior * (SPIN_LEVER * rows.extent) ** 2)
        allowed = max(mass, LEAST_MASS * total) * np.array([LINK.tolerance] + [COM_TOLERANCE] * 3)
        values: dict[str, Any] = {
            "prior": np.append(prior * np.array([1.0] + [COM_PRIOR] * 3), np.full(6, spins)),
            "tolerance": np.append(allowed, np.full(6, SPIN.tolerance * spin)),
            "matters": max(LINK.matters * mass, least.matters * total),
            "wrong": min(LINK.wrong * mass, least.wrong * total),
        }
        yield _cause(LINK, link, columns, **values, mass=mass, spin=spin, reach=rows.extent)
    yield _cause(WHOLE, "description", rows.whole[..., None])
    for i, contact in enumerate(rows.contacts):
        yield _cause(WRENCH, f"{contact}/wrench", rows.wrenches[:, :, i, None])
        columns = rows.zeros[:, :, 6 * i : 6 * i + 6]
        yield _cause(WRENCH_ZERO, f"{contact}/wrench", columns, robot.weight * ZEROS)
    if len(rows.contacts) > 1:
        yield _cause(ALL_WRENCHES, "contact wrenches", rows.wrenches.sum(axis=2)[..., None])
    for i, (joint, stiction) in enumerate(zip(rows.joints, _stiction(rows, robot).tolist(), strict=True)):
        yield _cause(EFFORT, joint, rows.gains[:, :, i, None])
        yield _cause(ZERO, joint, rows.friction[:, :, i, :1], stiction / STRONG)
    if len(rows.joints) > 1:
        yield _cause(ALL_EFFORTS, JOINTS, rows.gains.sum(axis=2)[..., None])
    if rows.gravity.shape[2]:
        yield _cause(TILTED_BASE, "base", rows.gravity, STANDARD_GRAVITY)
    if first := rows.geometry.shape[2] - len(rows.turning):
        yield _cause(TURNED, IMU, rows.geometry[:, :, :first])
    for j, joint in enumerate(rows.turning):
        yield _cause(OFFSET, joint, rows.geometry[:, :, first + j, None])


def _cause(
    kind: Kind, subject: str, columns: Array, size: float | Array = 1.0, **more: Any
) -> tuple[Cause, Array]:
    """Return a cause with its columns, whose priors are those of its kind but for some."""
    sizes = np.broadcast_to(size, columns.shape[2])
    tolerance = kind.tolerance * sizes if kind.tolerance else None
    bounds = {"matters": kind.matters * float(sizes[0]), "wrong": kind.wrong * float(sizes[0])}
    values = {"prior": kind.prior * sizes, "tolerance": tolerance, **bounds, **more}
    return Cause(kind, subject, **values), columns


def _stiction(rows: ForceRows, robot: Robot) -> Array:
    """Return the size of each measured joint's stiction [Nm], shape (j,)."""
    measured = [robot.names.index(name) for name in rows.joints]
    return robot.stiction(float(np.abs(rows.gains).max(initial=1e-6)))[measured]


def nuisance(rows: ForceRows, robot: Robot) -> tuple[Array, Array]:
    """Return columns of friction and sensor zeros, and the deviations of their priors."""
    N, m = rows.left.shape
    size = np.sqrt(np.mean(rows.friction**2, axis=(0, 1))) * math.sqrt(m)
    prior = _stiction(rows, robot)[:, None] / np.maximum(size, [1.0, 1.0, 0.05, 0.2])
    speed = np.abs(rows.friction[..., 2]).max(axis=1)
    prior[:, 0] *= np.maximum((speed < SLOW).mean(axis=0), WHILE_MOVING)
    prior[:, 3] *= ARMATURE_PRIOR
    zeros = np.tile(WRENCH_TOLERANCE * robot.weight * ZEROS, rows.zeros.shape[2] // 6)
    columns = np.concatenate((rows.friction.reshape(N, m, -1), rows.zeros), axis=2)
    return columns, np.concatenate((prior.ravel(), zeros))
