"""Streams as drivers publish them: in bursts, delayed, by other clocks or without stamps; joints in parts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import reported
from benchmarks.referee.ordinary import ROBOT, Cases, replayed, text_of, trot, worse
from benchmarks.referee.readings import changed, of_type, written
from inertial_estimation import ImuSample, JointReading

LATE_NS = 20_000_000
BOOT_NS = 1_699_999_000 * 10**9  # time by which the clock of a board is behind
case = Cases()


def restamped(stamp: Callable[[int], int]) -> Callable[[Any], Any]:
    """Return a change of the stamps of the IMU, and of the log times of its messages to the same times."""

    def act(entry: Any) -> Any:
        if not isinstance(entry.sample, ImuSample):
            return entry
        at = stamp(entry.sample.stamp_ns)
        return replace(entry, log_ns=at, sample=replace(entry.sample, stamp_ns=at))

    return act


def in_bursts(recording: Any, share: float) -> Any:
    """Return a recording in which stamps of the IMU are occasionally late, by up to 8 ms."""
    rng = np.random.default_rng(1)
    stamps = np.array([e.sample.stamp_ns for e in recording.messages if isinstance(e.sample, ImuSample)])
    late, k = stamps.copy(), 0
    while k < len(stamps):
        n = int(rng.integers(2, 5))
        if rng.random() < share:  # a stall: all of them are stamped once it is over, 0.1 ms apart
            group = slice(k, min(k + n, len(stamps)))
            late[group] = stamps[group][-1] + 100_000 * np.arange(len(stamps[group]))
        k += n
    stamped = iter(np.maximum.accumulate(late).tolist())
    return changed(recording, restamped(lambda _stamp_ns: next(stamped)))


@case("stamps: in bursts, a quarter of the time, in a trot")
def bursts(_folder: Path) -> str:
    """`inputs.stamps: auto` makes them even."""
    return worse(in_bursts(trot()[1], 0.25))


@case("stamps: in bursts, all the time, in a trot")
def bursts_always(_folder: Path) -> str:
    """As by a driver that reads a full buffer."""
    return worse(in_bursts(trot()[1], 1.0))


def on_board_clock() -> Any:
    """Return the trot with an IMU whose stamps are those of its board."""
    return changed(trot()[1], of_type(ImuSample, lambda s: replace(s, stamp_ns=s.stamp_ns - BOOT_NS)))


@case("stamps: IMU on the boot clock of its board, named")
def board_clock(folder: Path) -> str:
    """The input with the deviating clock is named, not the inputs that agree."""
    text = replayed(on_board_clock(), folder)[1]
    named = any("clock" in line and "imu/data" in line for line in text.splitlines())
    return "" if named else text.strip()[-150:]


@case("stamps: IMU on the boot clock of its board, taken at its arrival on request")
def board_clock_used(_folder: Path) -> str:
    """`inputs.arrival: [imu/data]`."""
    return worse(on_board_clock(), ("inputs.arrival", ["imu/data"]))


@case("stamps: joint states of a computer whose clock is 0.2 s ahead")
def another_computer(_folder: Path) -> str:
    """Stamps are later than the arrival of the readings, which is impossible."""
    ahead = of_type(JointReading, lambda s: replace(s, stamp_ns=s.stamp_ns + 10 * LATE_NS))
    return worse(changed(trot()[1], ahead))


def unstamped() -> Any:
    """Return the trot with joint states whose stamps are not set."""
    return changed(trot()[1], of_type(JointReading, lambda s: replace(s, stamp_ns=0)))


@case("stamps: zero, `replay` says that nobody set them")
def zero_stamps_named(folder: Path) -> str:
    """The message is about unset stamps, not about equal ones."""
    text = replayed(unstamped(), folder)[1]
    words = ("stamp is zero", "not set", "stamps are zero", "without a stamp")
    return "" if any(word in text for word in words) else text.strip()[-150:]


@case("stamps: zero, the time of arrival is taken on request")
def zero_stamps_used(folder: Path) -> str:
    """`inputs.stamps: arrival` takes the time of the recording."""
    code, text = replayed(unstamped(), folder, "--param", "/**.inputs.stamps=arrival")
    return text.strip()[-150:] if code else ""


def late() -> Any:
    """Return the trot with an IMU whose messages are stamped, and sent, 20 ms after the reading."""
    return changed(trot()[1], restamped(lambda stamp_ns: stamp_ns + LATE_NS))


@case("delay: IMU 20 ms late, found by `check`")
def delay_found(folder: Path) -> str:
    """Its stamps are 20 ms later than those of the other streams for the same motion."""
    text = text_of(reported(written(late(), folder / "bag"), "--config", ROBOT))
    return "" if "late" in text or "delay" in text else f"named: {text[:120] or 'nothing'}"


@case("delay: IMU 20 ms late, taken away by `inputs.imu_delay`")
def delay_used(_folder: Path) -> str:
    """A constant delay has no effect once it is known."""
    return worse(late(), ("inputs.imu_delay", 0.02))


@case("joints: front and hind legs in messages of their own")
def in_halves(_folder: Path) -> str:
    """Two drivers publish to one topic, 0.7 ms apart."""
    recording, messages = trot()[1], []
    for entry in recording.messages:
        if not isinstance(entry.sample, JointReading):
            messages.append(entry)
            continue
        for later, half in enumerate((slice(0, 6), slice(6, 12))):
            s, at = entry.sample, entry.sample.stamp_ns + later * 700_000
            columns = (np.asarray(column)[half] for column in (s.position, s.velocity, s.effort))
            messages.append(replace(entry, log_ns=at, sample=JointReading(at, s.names[half], *columns)))
    messages.sort(key=lambda entry: entry.log_ns)
    return worse(replace(recording, messages=tuple(messages)))


@case("names: joint states with a prefix (go2/FL_hip_joint)")
def prefix(_folder: Path) -> str:
    """The prefix is recognised without a parameter."""
    named = of_type(JointReading, lambda s: replace(s, names=tuple(f"go2/{name}" for name in s.names)))
    return worse(changed(trot()[1], named))


@case("names: joints in another order in every message, others among them")
def orders(_folder: Path) -> str:
    """As by a broadcaster that iterates over a hash table; the joints of a gripper are included."""
    rng = np.random.default_rng(3)

    def shuffled(s: Any) -> Any:
        names = (*s.names, "gripper_left", "gripper_right")
        order = rng.permutation(len(names))
        columns = [np.append(column, [0.01, 0.02])[order] for column in (s.position, s.velocity, s.effort)]
        return JointReading(s.stamp_ns, tuple(names[k] for k in order), *columns)

    return worse(changed(trot()[1], of_type(JointReading, shuffled)))
