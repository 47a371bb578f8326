"""Possible errors of masses, scales, zeros and geometry: hypotheses in which the forces are linear.

Each has regressor columns, a prior scaled to the robot, a sentence and a remedy. A hypothesis of `hypotheses`
states its exact change of the signals; that of a cause follows from its fitted amplitudes (`force_evidence`).
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
    """A kind of error; its sizes are relative to the nominal value of the sensor or the body."""

    check: str  # name of the finding
    words: str  # template of the value {x}, the subject {of}, and the factor of its readings {times}
    unit: str  # of the value that is reported
    remedy: str  # what to change
    prior: float  # standard deviation of the error if it is the cause
    tolerance: float  # standard deviation of the error that every description or sensor has; zero: none
    matters: float  # smallest size that matters
    wrong: float  # size beyond every manufacturing tolerance
    explains: float = 0.05  # least share that it explains of what noise and tolerances leave
    factor: float = 1.0  # from the size to the unit
    vector: int = 0  # number of leading amplitudes whose norm is the size; zero: the size is the first one
    range: tuple[float, float] = (-math.inf, math.inf)  # sizes for which the linearisation holds


SMALL = (-0.3, 0.3)  # range of angles for which the linearisation holds [rad]
GEOMETRY = 0.2  # least share that an error of the geometry explains: a wrong geometry explains much
LINK = Kind(
    *("link mass", "{x:+.2g} kg on '{of}'", "kg"),
    "{}, or a wrong mass? Weigh it, correct the URDF, or use identified.urdf of identify",
    *(0.5, 0.03, 0.1, 0.3, 0.03),
)
# The same sizes as shares of the robot's mass: the larger one of both applies, of `wrong` the smaller one.
OF_ROBOT = LINK._replace(prior=0.02, matters=0.01, wrong=0.05)
INERTIA = Kind(
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
TILTED_BASE = TURNED._replace(prior=0.5, range=(0.0, 0.0))  # never possible: if it is best, none is named
COM_TOLERANCE, COM_PRIOR = 0.003, 0.05  # deviations of every centre of mass; of the place of a wrong mass [m]
INERTIA_LEVER = 0.1  # distance of a wrong mass that sets the least prior of an inertia, share of the reach
LEAST_MASS = 0.002  # least mass of a link from which its tolerance is computed, share of the robot's mass
WRENCH_TOLERANCE = 0.02  # of a force sensor's zero, share of the weight
WHILE_MOVING = 0.25  # share of the constant part of stiction that remains while a joint moves
ARMATURE_PRIOR = 0.5  # deviation of the torque of a rotor inertia over that of friction
ZEROS = np.array([1.0] * 3 + [0.1] * 3)  # zeros of a force sensor over that of its forces [1, m]
LIKELY = 1.5  # standard deviations by which a size must exceed its threshold, or a mass zero
SHIFTED, WRONG_SHIFT = 0.015, 0.1  # shifts of a centre of mass that matter, and that are wrong [m]


class Estimate(NamedTuple):
    """Amplitudes of a cause estimated from the forces, with their evidence."""

    # true minus described or measured: of a scale the relative error; of a link its mass, first moments and
    # second moments, without those that are taken as described
    amplitude: Array
    sigmas: Array  # standard deviations of the amplitudes
    evidence: float  # log Bayes factor of the cause against no cause
    explained: float  # share of the unexplained variance that the cause explains
    systematic: float  # the same share of what the variance exceeds that of the noise by
    worsens: bool = False  # whether it enlarges the residuals of the base, or those of the joints


@dataclass(frozen=True, eq=False)
class Cause:
    """One possible cause of what the forces leave unexplained, with its priors and its estimate."""

    kind: Kind
    subject: str  # link, contact, joint or input
    prior: Array  # standard deviations of its amplitudes where it is the cause, shape (c,)
    tolerance: Array | None  # standard deviations of the error that every description has; None: no error
    matters: float  # smallest size that matters
    wrong: float  # size beyond every manufacturing tolerance
    mass: float = 0.0  # described mass of the link [kg]
    inertia: float = 0.0  # its described rotational inertia, the mean about all axes [kg m^2]
    reach: float = 0.0  # extent of the robot, the largest possible shift of a centre of mass [m]
    place: range = range(0)  # indices of its columns among those of all causes
    estimate: Estimate = Estimate(np.zeros(1), np.zeros(1), 0.0, 0.0, 0.0)

    def variants(self) -> Iterator["Cause"]:
        """Yield the variants of a link: mass; with first moments; with all inertia; inertia alone."""
        if self.kind is not LINK:
            yield self
            return
        for end in (1, 4, 10):
            yield replace(self, place=self.place[:end], prior=self.prior[:end])
        inertia = replace(self, kind=INERTIA, place=self.place[4:], prior=self.prior[4:])
        yield replace(inertia, matters=INERTIA.matters * self.inertia, wrong=INERTIA.wrong)

    @property
    def size(self) -> float:
        """Error of a mass [kg], scale, effort [Nm] or position [rad]; of a vector its norm."""
        part = self.estimate.amplitude[: self.kind.vector]
        return float(np.linalg.norm(part)) if self.kind.vector else float(self.estimate.amplitude[0])

    @property
    def sigma(self) -> float:
        """Standard deviation of the size; of a vector the largest one."""
        return float(self.estimate.sigmas[: self.kind.vector or 1].max())

    @property
    def shift(self) -> float:
        """Distance between described and estimated centre of mass of a link [m]; 0 if not significant."""
        moment = self.estimate.amplitude[1:4]
        if self.kind is not LINK or not len(moment):
            return 0.0
        i, size = 1 + int(np.argmax(np.abs(moment))), float(np.linalg.norm(moment))
        return size / max(self.mass + self.size, 1e-9) if size > SIGMAS * self.estimate.sigmas[i] else 0.0

    @property
    def possible(self) -> bool:
        """Whether masses and scales stay positive under it, and angles small."""
        if self.kind is LINK:
            return (
                self.size > -self.mass - min(self.sigma, LINK.matters * self.mass) and self.shift < self.reach
            )
        return self.kind.range[0] < self.size < self.kind.range[1]

    @property
    def counts(self) -> bool:
        """Whether it explains enough, and its size probably exceeds the smallest one that matters."""
        large = abs(self.size) > self.matters + LIKELY * self.sigma
        return self.estimate.systematic >= self.kind.explains and (large or self.shift > SHIFTED)

    @property
    def is_wrong(self) -> bool:
        """Whether it exceeds the tolerances of manufacture."""
        return abs(self.size) > self.wrong or self.shift > WRONG_SHIFT

    @property
    def value(self) -> float:
        """Size in the unit of its kind."""
        return self.kind.factor * self.size

    @property
    def words(self) -> str:
        """A phrase that names the error, its value and its subject."""
        factor = times(max(1.0 + self.size, 1e-9))
        return self.kind.words.format(x=self.value, of=self.subject, times=factor)

    def finding(self, verdict: Verdict, explains: str, fix: Fix) -> Finding:
        """Return the finding that names it as the cause; `explains` is the end of the sentence."""
        kind = self.kind
        remedy = kind.remedy.format(
            "a load that it lacks" if self.size > 0.0 else "a part that was taken off"
        )
        text = f"{self.words} (sigma {rounded(kind.factor * self.sigma)} {kind.unit})"
        if kind is LINK and abs(self.size) < max(self.matters, LIKELY * self.sigma):
            remedy = "a load, a cable or a wrong URDF? Correct it, or use identified.urdf of identify"
            text, shift = f"its centre of mass, {1e3 * self.shift:.0f} mm off, {explains}", 1e3 * self.shift
            return Finding("link centre of mass", self.subject, verdict, shift, "mm", text, remedy)
        if kind is LINK:
            share = f" ({100 * self.size / self.mass:+.0f} %)" if self.mass > 0.0 else ""
            text = f"{self.size:+.3g} kg (sigma {rounded(self.sigma)}) on its {self.mass:.3g} kg{share}"
            if len(inertias := self.estimate.amplitude[4:]):
                text += f", with {float(np.linalg.norm(inertias)):.2g} kg m^2 of rotational inertia,"
        text = f"{text} {explains}"
        return Finding(kind.check, self.subject, verdict, self.value, kind.unit, text, remedy, fix)

    def mended(self, robot: Robot, config: RobotGeometryConfig) -> tuple[Change, Fix]:
        """Return the correction of the signals, and the parameters that mend the error, if any do."""
        x = self.estimate.amplitude
        if self.kind is LINK or self.kind is INERTIA:
            load = Load(self.subject, (*([0.0] * 4 * (self.kind is INERTIA)), *x.tolist()))
            return Change(load=load), NO_FIX
        if self.kind is OFFSET:
            offset = np.where(np.array(robot.names) == self.subject, x[0], 0.0)
            return Change(offset=offset), Fix(joint_offsets={self.subject: float(x[0])})
        if self.kind is TURNED:
            R = exp_so3(x)
            return Change(force=R, rate=R), Fix(parameters=added_frame(config, R)[0])
        return Change(), NO_FIX


def causes_of(rows: ForceRows, robot: Robot) -> Iterator[tuple[Cause, Array]]:
    """Yield all causes with their regressor columns, shape (N, m, c); those of the geometry come last."""
    total = float(rows.masses.sum())
    for i, link in enumerate(rows.links):
        mass, least, columns = float(rows.masses[i]), OF_ROBOT, rows.loads[:, :, i]
        prior, inertia = max(LINK.prior * mass, least.prior * total), max(float(rows.inertias[i]), 1e-6)
        inertias = max(INERTIA.prior * inertia, prior * (INERTIA_LEVER * rows.extent) ** 2)
        allowed = max(mass, LEAST_MASS * total) * np.array([LINK.tolerance] + [COM_TOLERANCE] * 3)
        values: dict[str, Any] = {
            "prior": np.append(prior * np.array([1.0] + [COM_PRIOR] * 3), np.full(6, inertias)),
            "tolerance": np.append(allowed, np.full(6, INERTIA.tolerance * inertia)),
            "matters": max(LINK.matters * mass, least.matters * total),
            "wrong": min(LINK.wrong * mass, least.wrong * total),
        }
        yield _cause(LINK, link, columns, **values, mass=mass, inertia=inertia, reach=rows.extent)
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
    """Return a cause with its columns; its priors are those of its kind unless `more` states others."""
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
    """Return the nuisance columns, friction and sensor zeros, and the deviations of their priors."""
    N, m = rows.left.shape
    size = np.sqrt(np.mean(rows.friction**2, axis=(0, 1))) * math.sqrt(m)
    prior = _stiction(rows, robot)[:, None] / np.maximum(size, [1.0, 1.0, 0.05, 0.2])
    speed = np.abs(rows.friction[..., 2]).max(axis=1)
    prior[:, 0] *= np.maximum((speed < SLOW).mean(axis=0), WHILE_MOVING)
    prior[:, 3] *= ARMATURE_PRIOR
    zeros = np.tile(WRENCH_TOLERANCE * robot.weight * ZEROS, rows.zeros.shape[2] // 6)
    columns = np.concatenate((rows.friction.reshape(N, m, -1), rows.zeros), axis=2)
    return columns, np.concatenate((prior.ravel(), zeros))
