"""Time offsets between the streams, estimated from the agreement of all parts that a stream affects.

A delay is a hypothesis like any other. Each stream is shifted on a grid of times. The log evidence of all
parts that depend on it, plus a Gaussian log prior of the delay, has its maximum at the most probable delay;
its curvature there gives the standard deviation.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.evidence import CERTAIN, SIGMAS
from inertial_estimation.diagnosis.finding import NO_FIX, Finding, Fix, Verdict, cannot_tell, rounded
from inertial_estimation.diagnosis.hypotheses import Hypothesis
from inertial_estimation.diagnosis.parts import judged
from inertial_estimation.diagnosis.table import STEP_S, Change, Robot, Signals, evenly_spaced
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.signals import Array

MOST = 10  # steps of the longest shift that is tried, 0.2 s
SHIFTS_S = STEP_S * np.arange(-MOST, MOST + 1)
WINDOWS, FEWEST = 150, 40  # most and fewest windows at which the shifts are compared
USUAL_S = 0.05  # standard deviation of the prior of a delay [s]
NOTICED_S, LATE_S = 0.015, 0.03  # delays that are unusual, and that corrupt estimates of moving robots [s]
EARLY = 5.0  # penalty of a negative delay, in log odds: that another stream comes late is more probable
LEAVES = 0.9  # share of the disagreement of a part that may remain after a true delay is corrected


class Delayed(NamedTuple):
    """A stream whose delay is estimated, with the texts and the parameter of its finding."""

    check: str  # name of the finding
    subject: str  # input that the finding is about
    late: str  # beginning of the sentence that the delay completes
    arrays: tuple[str, ...]  # arrays of `Signals` that are shifted
    parts: tuple[str, ...]  # compared parts that depend on its time
    why: str  # sentence that says why the delay is unknown, if it is; empty: nothing is said
    parameter: str = ""  # parameter that corrects it; empty: none
    remedy: str = "stamp at the time of measurement; a filter in the sensor?"
    sign: float = 1.0  # -1 where the arrays are those of all other streams


DELAYED = (
    Delayed(
        *("joint delay", JOINTS, "the joint states come", ("f", "w", "wd", "wrenches")),
        *(("rotation", "wrenches", "torques", "whole body"), "", "inputs.joint_delay"),
        sign=-1.0,
    ),
    Delayed(
        *("IMU delay", IMU, "the IMU comes", ("f", "w", "wd")),
        ("rotation", "wrenches", "torques", "whole body"),
        "the base hardly turns or shakes over standing feet, so its delay is not determined",
        "inputs.imu_delay",
    ),
    Delayed(
        *("wrench delay", "contact wrenches", "the wrenches come", ("wrenches",), ("wrenches", "torques")),
        "the load hardly moves between the contacts, or the wrenches balance too badly: delay not determined",
        "inputs.wrench_delay",
    ),
    Delayed(
        *("effort delay", JOINTS, "the efforts come", ("tau", "dtau"), ("torques", "whole body")),
        "the torques change too slowly, or agree too little with the prediction, to determine their delay",
        remedy="a filter, or commanded instead of measured torques? Send both of one time in one message",
    ),
    Delayed(
        *("velocity delay", JOINTS, "the velocities come", ("v",), ("velocities",)),
        *("no velocities, or too little motion to determine their delay", "inputs.joint_velocity"),
        remedy="a filter in the drive? Let the nodes derive the velocities",
    ),
)


@dataclass(frozen=True, eq=False)
class Delay:
    """Estimated delay of a stream against the joint positions."""

    seconds: float  # delay [s], positive if the stream comes late
    sigma: float  # its standard deviation [s]
    curve: Array  # log odds of each shift in `SHIFTS_S` against the most probable one

    @property
    def words(self) -> str:
        """The delay with its standard deviation, as text."""
        side = "late" if self.seconds > 0.0 else "early"
        return f"{abs(1e3 * self.seconds):.0f} ms (sigma {rounded(1e3 * self.sigma)}) {side}"


def delay_of(stream: Delayed, signals: Signals, robot: Robot) -> Delay | None:
    """Return the most probable delay of a stream; None if the data do not determine it."""
    known = np.ones(signals.size, dtype=bool)
    sent = [values for name in stream.arrays if np.isfinite(values := getattr(signals, name)).any()]
    for values in sent:
        known &= np.isfinite(values).any(axis=tuple(range(1, values.ndim)))
    always = np.flatnonzero(np.convolve(known, np.ones(2 * MOST + 1), "same") > 2 * MOST + 0.5)
    if not sent or len(always) < FEWEST:
        return None
    some = signals.at(always[evenly_spaced(len(always), WINDOWS)])
    table, curve = robot.table(some), np.full(len(SHIFTS_S), np.nan)

    def judge(i: int) -> None:
        shifted = table.changed(Change(later=dict.fromkeys(stream.arrays, stream.sign * float(SHIFTS_S[i]))))
        curve[i] = sum(part.log for part in judged(shifted, stream.parts).values())
        curve[i] -= 0.5 * (SHIFTS_S[i] / USUAL_S) ** 2

    for i in range(0, len(curve), 2):
        judge(i)
    best = int(np.nanargmax(curve))
    if not 0 < best < len(curve) - 1 or np.nanmax(curve) - np.nanmin(curve) < CERTAIN:  # not determined
        return None
    for i in (best - 1, best + 1):
        judge(i)
    seen = np.isfinite(curve)
    curve = np.interp(SHIFTS_S, SHIFTS_S[seen], curve[seen])
    i, curve = int(np.argmax(curve)), curve - curve.max()
    bend, slope, _top = np.polyfit(SHIFTS_S[i - 1 : i + 2] - SHIFTS_S[i], curve[i - 1 : i + 2], 2)
    return Delay(float(SHIFTS_S[i] - 0.5 * slope / bend), float(math.sqrt(-0.5 / bend)), curve)


def delays_of(signals: Signals, robot: Robot) -> dict[str, Delay]:
    """Return the delays that the data determine, by the name of the check."""
    found = {stream.check: delay_of(stream, signals, robot) for stream in DELAYED}
    return {check: delay for check, delay in found.items() if delay is not None}


def delay_hypotheses(delays: Mapping[str, Delay], config: InputConfig) -> Iterator[Hypothesis]:
    """Yield the hypotheses that a stream is delayed by its most probable delay."""
    for stream in DELAYED:
        delay = delays.get(stream.check)
        if delay is None or abs(delay.seconds) < max(NOTICED_S, SIGMAS * delay.sigma):
            continue
        if stream.sign < 0.0 and delay.seconds < 0.0:  # rather the others come late
            continue
        name = stream.parameter
        present = getattr(config, name.removeprefix("inputs.")) if name else None
        setting: object = round(present + delay.seconds, 4) if isinstance(present, float) else "derived"
        yield Hypothesis(
            stream.check,
            stream.subject,
            f"{stream.late} {delay.words}",
            f"set {name} to {setting}; or {stream.remedy}" if name else stream.remedy,
            Change(later=dict.fromkeys(stream.arrays, stream.sign * delay.seconds)),
            0.5 * (delay.seconds / USUAL_S) ** 2 + (EARLY if delay.seconds < 0.0 else 0.0),
            1e3 * delay.seconds,
            "ms",
            stream.parts,
            Fix(parameters={name: setting}) if name else NO_FIX,
            mild=abs(delay.seconds) < LATE_S,
            leaves=LEAVES,
            least=0.0,
        )


def delay_findings(signals: Signals, delays: Mapping[str, Delay], found: Sequence[Finding]) -> list[Finding]:
    """Return, for each stream that is not late, that it is in time or that its delay is not determined."""
    findings = list[Finding]()
    late = {one.check for one in found if one.failed}
    for stream in DELAYED:
        delay = delays.get(stream.check)
        sent = stream.why and any(np.isfinite(getattr(signals, name)).any() for name in stream.arrays)
        if stream.check in late or not sent:
            continue
        if delay is None or abs(delay.seconds) > NOTICED_S + SIGMAS * delay.sigma or delay.sigma > NOTICED_S:
            findings.append(cannot_tell(stream.check, stream.subject, stream.why))
            continue
        text = f"{stream.late} in time, to within {1e3 * (abs(delay.seconds) + 2.0 * delay.sigma):.0f} ms"
        findings.append(Finding(stream.check, stream.subject, Verdict.OK, 1e3 * delay.seconds, "ms", text))
    return findings
