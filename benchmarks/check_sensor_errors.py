"""Errors of single sensors that are injected to judge `check`: axes, zeros, exchanged contacts, stamps.

As in `benchmarks.check_errors`; an error of axes is injected where it disturbs the balance of the robot.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.check_errors import DIRECTION, Error, Part, Prepare
from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.sensor_axes import imbalance
from inertial_estimation.bring_up.streams import RobotStreams, Stream
from inertial_estimation.data_checks.effort_checks import telling_joints
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.spatial.rotations import exp_so3

UNBALANCED, TIMES = 0.02, 3.0  # imbalance that tells, in weights, and over that of the clean part
TARE = 0.15  # of the weight
UNLOADED = 0.02  # of the weight, at its least, of a foot whose zero shows
TRAVEL = 0.15  # of a joint whose stuck position shows [rad]
VARIES = 0.2  # of a predicted torque over its rms, for a constant to be told from a factor
BACK_S = 5.0
TILT = np.radians(30.0)


def kinds_of_sensors() -> dict[str, Prepare]:
    """Return the kinds of error by name."""
    eye = np.eye(3)
    axes = ("contact wrench axes", "contact wrench sign")
    return {
        "contacts exchanged": _exchanged,
        "wrench axes turned by 90 deg, one contact": lambda p, r: _wrench(p, r, _quarter(r), axes),
        "wrench turned by 30 deg, one contact": lambda p, r: _wrench(p, r, _tilted(r), axes),
        "wrenches turned by 30 deg, all": lambda p, r: _wrench(p, r, _tilted(r), axes, one=False),
        "wrench, one axis flipped": lambda p, r: _wrench(p, r, _one_flipped(r), axes),
        "wrench moments of the other sign": lambda p, r: _wrench(p, r, eye, axes, moment=-eye),
        "wrench moments in Nmm, all": lambda p, r: _wrench(
            p, r, eye, ("contact wrench unit",), moment=1e3 * eye, one=False
        ),
        "wrench not tared, one contact": _untared,
        "accelerometer, one axis flipped": lambda p, r: _accelerometer(p, _one_flipped(r)),
        "accelerometer, two axes swapped": lambda p, r: _accelerometer(p, eye[_pair(r)]),
        "gyroscope, one axis silent": _one_silent,
        "position stuck, one joint": _stuck,
        "effort with an offset, one joint": _offset,
        "stamps of the IMU not set": _unset,
        "stamps go back": _back,
        "half of the IMU's readings lost": _lost,
    }


def _quarter(rng: np.random.Generator) -> Array:
    return np.round(exp_so3(0.5 * np.pi * np.eye(3)[int(rng.integers(3))] * rng.choice((-1.0, 1.0))))


def _tilted(rng: np.random.Generator) -> Array:
    axis = rng.normal(size=3)
    return exp_so3(TILT * axis / np.linalg.norm(axis))


def _one_flipped(rng: np.random.Generator) -> Array:
    signs = np.ones(3)
    signs[int(rng.integers(3))] = -1.0
    return np.diag(signs)


def _pair(rng: np.random.Generator) -> list[int]:
    return [[1, 0, 2], [2, 1, 0], [0, 2, 1]][int(rng.integers(3))]


def _telling(part: Part, streams: RobotStreams, checks: tuple[str, ...], *subjects: str) -> Error | None:
    """Return an error if it disturbs the balance of the robot."""
    clean, case = part.clean.case, part.clean.case
    after = imbalance(Case(streams, case.setup, case.config))
    tells = after > max(UNBALANCED, TIMES * imbalance(clean))
    return Error(streams, part.urdf, checks, subjects) if tells else None


def _exchanged(part: Part, rng: np.random.Generator) -> Error | None:
    wrenches = dict(part.streams.wrenches)
    if len(wrenches) < 2:
        return None
    a, b = rng.choice(sorted(wrenches), 2, replace=False).tolist()
    wrenches[a], wrenches[b] = wrenches[b], wrenches[a]
    streams = replace(part.streams, wrenches=wrenches)
    return _telling(part, streams, ("contact names",), f"{a}/wrench", f"{b}/wrench")


def _wrench(
    part: Part,
    rng: np.random.Generator,
    force: Array,
    checks: tuple[str, ...],
    *,
    moment: Array | None = None,
    one: bool = True,
) -> Error | None:
    names = sorted(part.streams.wrenches)
    if not names:
        return None
    chosen = [str(rng.choice(names))] if one else names
    turned = force if moment is None else moment

    def change(values: Array) -> Array:
        return np.hstack((values[:, :3] @ force.T, values[:, 3:] @ turned.T))

    streams = part.streams.changed_wrenches(chosen, change)
    subjects = [f"{chosen[0]}/wrench"] if one else ["contact wrenches"]
    return _telling(part, streams, checks, *subjects)


def _untared(part: Part, rng: np.random.Generator) -> Error | None:
    """Add a constant to the vertical force of a foot that is in the air at times."""
    windows, names = part.clean.case.signals.windows, part.clean.case.setup.contact_names
    if not part.streams.wrenches or len(names) < 2 or windows.n_base != 6:
        return None
    weight = float(np.nanmedian(np.linalg.norm(windows.force[:, :3], axis=1)))
    least = np.nanquantile(np.linalg.norm(windows.wrenches[:, :, :3], axis=2), 0.05, axis=0)
    lifted = [name for name, size in zip(names, least, strict=True) if size < UNLOADED * weight]
    if not lifted:
        return None
    name = str(rng.choice(lifted))
    force = np.nanmean(windows.wrenches[:, names.index(name), :3], axis=0)
    constant = np.concatenate((TARE * weight * force / np.linalg.norm(force), np.zeros(3)))
    streams = part.streams.changed_wrenches([name], lambda values: values + constant)
    return Error(streams, part.urdf, ("contact wrench zero",), (f"{name}/wrench",))


def _accelerometer(part: Part, axes: Array) -> Error | None:
    if part.streams.imu is None or not part.streams.wrenches:
        return None
    return _telling(part, part.streams.turned_imu(force=axes), DIRECTION)


def _one_silent(part: Part, rng: np.random.Generator) -> Error | None:
    if part.streams.imu is None:
        return None
    values = part.streams.imu.values.copy()
    values[:, 3 + int(rng.integers(3))] = 0.0
    streams = replace(part.streams, imu=part.streams.imu.with_values(values))
    return Error(streams, part.urdf, ("silent",), ("imu/data",))


def _stuck(part: Part, rng: np.random.Generator) -> Error | None:
    """Let the position of a joint that moves, and says so, keep its first value."""
    values, n = part.streams.joints.values.copy(), part.streams.n_joints
    sent = np.isfinite(values[:, n : 2 * n]).all(axis=0) & values[:, n : 2 * n].any(axis=0)
    moving = np.flatnonzero(sent & (np.ptp(values[:, :n], axis=0) > TRAVEL))
    if not len(moving):
        return None
    j = int(rng.choice(moving))
    values[:, j] = values[0, j]
    streams = replace(part.streams, joints=part.streams.joints.with_values(values))
    return Error(streams, part.urdf, ("stuck",), (part.clean.case.robot.names[j],))


def _offset(part: Part, rng: np.random.Generator) -> Error | None:
    """Add twice its largest torque to the effort of a joint whose torque varies."""
    windows, robot = part.clean.case.signals.windows, part.clean.case.robot
    if not np.isfinite(windows.tau).any():
        return None
    predicted = nominal_torques(windows)
    spread = np.nanstd(predicted, axis=0) / np.sqrt(np.nanmean(predicted**2, axis=0))
    names = [name for name in telling_joints(windows, robot) if spread[robot.names.index(name)] > VARIES]
    if not names:
        return None
    j = robot.names.index(str(rng.choice(names)))
    values, column = part.streams.joints.values.copy(), 2 * part.streams.n_joints + j
    values[:, column] += 2.0 * np.nanmax(np.abs(values[:, column])) * rng.choice((-1.0, 1.0))
    streams = replace(part.streams, joints=part.streams.joints.with_values(values))
    return Error(streams, part.urdf, ("effort zero",), (robot.names[j],))


def _of_imu(part: Part, change: Callable[[Stream], Stream], *checks: str) -> Error | None:
    if part.streams.imu is None:
        return None
    streams = replace(part.streams, imu=change(part.streams.imu))
    return Error(streams, part.urdf, checks, ("imu/data",))


def _unset(part: Part, rng: np.random.Generator) -> Error | None:
    return _of_imu(part, lambda imu: replace(imu, stamps_ns=np.zeros_like(imu.stamps_ns)), "stamps")


def _back(part: Part, rng: np.random.Generator) -> Error | None:
    begins = int(np.median(part.streams.joints.stamps_ns))

    def back(_name: str, stream: Stream) -> Stream:
        late = stream.stamps_ns > begins
        return replace(stream, stamps_ns=stream.stamps_ns - late * round(BACK_S * NANOSECONDS))

    return Error(part.streams.changed(back), part.urdf, ("stamps",), tuple(part.streams.by_name))


def _lost(part: Part, rng: np.random.Generator) -> Error | None:
    """Leave out readings at random of an IMU with a regular period."""
    if part.streams.imu is None:
        return None
    steps = np.diff(part.streams.imu.stamps_ns)
    if np.mean(np.abs(steps / np.median(steps) - 1.0) < 0.1) < 0.99:
        return None
    kept = rng.random(part.streams.imu.size) < 0.5
    return _of_imu(part, lambda imu: imu.kept(kept), "lost readings", "gaps")
