"""Share of injected data errors that the data checks detect, and false alarms on clean data.

Run from the root of the project: ``python -m benchmarks.data_check_detection [--seeds N] [--scene TEXT]``.
Aim: 95 % of the errors that the data can reveal. An error of a single joint or contact is injected into one
that a seed draws among those for which the clean data suffice to reveal it; "-" where there is none.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.data_check_scenes import Reading, Scene, scenes
from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.data_checks.data_table import DataTable
from inertial_estimation.data_checks.effort_checks import telling_joints
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample
from inertial_estimation.spatial.vectors import DEGREES

Change = Callable[[Array], Array]
Injection = tuple[str, Callable[[Scene, np.random.Generator], Callable[[Reading], Reading] | None], str]
TURN = 2.0 * np.pi  # [rad]
MOVING, TRAVEL = 0.1, 0.05  # rms speed and travel of a joint that moves [rad/s, rad]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scene", default="", help="only scenes whose name contains this text")
    args = parser.parse_args()
    totals: dict[str, list[int]] = {}
    for scene in scenes(args.scene):
        alarms = [str(r) for r in scene.checks().results() if r.failed]
        print(f"{scene.name}: false alarms {len(alarms)} {alarms}")
        for name, prepare, expected in injections():
            found, tried, example = detected(scene, prepare, expected, args.seeds)
            totals.setdefault(name, [0, 0])
            totals[name][0] += found
            totals[name][1] += tried
            print(f"  {name:<34} {f'{found}/{tried}' if tried else '-':>6}  {example}", flush=True)
    print("all scenes")
    for name, (found, tried) in totals.items():
        share = f"{100.0 * found / tried:5.1f} %" if tried else "-"
        print(f"  {name:<34} {found:>4}/{tried:<4} {share}")


def detected(
    scene: Scene,
    prepare: Callable[[Scene, np.random.Generator], Callable[[Reading], Reading] | None],
    expected: str,
    seeds: int,
) -> tuple[int, int, str]:
    """Return how often an error is detected and named by the expected input, how often tried, a miss."""
    found, tried, missed, last = 0, 0, "", None
    for seed in range(seeds):
        inject = prepare(scene, np.random.default_rng(seed))
        if inject is None:
            return 0, 0, ""
        target = getattr(inject, "target", "")
        if target == last and target == "":
            break  # nothing is drawn: further seeds would repeat the run
        last = target
        results = scene.checks(inject).results()
        hit = any(names(result, expected, target) for result in results)
        found, tried = found + hit, tried + 1
        if not hit:
            missed = f"missed {target}: {[str(r) for r in results if r.failed][:1]}"
    return found, tried, missed


def names(result: CheckResult, expected: str, target: str) -> bool:
    """Whether a failed result is of the expected check, and names the joint or contact."""
    return (
        result.failed
        and result.check.startswith(expected)
        and (not target or result.subject.startswith(target))
    )


def injections() -> list[Injection]:
    """Return the errors: name, what prepares it, and the beginning of the check that is to fail."""
    return [
        ("effort sign, all", lambda s, r: efforts(s, r, -1.0, one=False), "effort"),
        ("effort sign, one joint", lambda s, r: efforts(s, r, -1.0), "effort"),
        ("effort mNm, all", lambda s, r: efforts(s, r, 1e3, one=False), "effort"),
        ("effort mNm, one joint", lambda s, r: efforts(s, r, 1e3), "effort"),
        ("effort kNm, all", lambda s, r: efforts(s, r, 1e-3, one=False), "effort"),
        ("effort before a gear of 50, one", lambda s, r: efforts(s, r, 0.02), "effort"),
        ("effort zero, one joint", lambda s, r: efforts(s, r, 0.0), "effort"),
        ("efforts of two joints swapped", swapped_efforts, "effort"),
        (
            "positions in degrees, all",
            lambda s, r: scaled("position", DEGREES, ""),
            "joint positions",
        ),
        ("position one turn off", turned, "joint positions"),
        ("velocity sign, one joint", lambda s, r: velocities(s, r, -1.0), "joint velocities"),
        ("velocity deg/s, one joint", lambda s, r: velocities(s, r, DEGREES), "joint velocities"),
        ("velocity zero, one joint", lambda s, r: velocities(s, r, 0.0), "joint velocities"),
        ("gyroscope deg/s", lambda s, r: imu(s, w=lambda x: x * DEGREES), "gyroscope"),
        ("gyroscope sign", lambda s, r: imu(s, w=lambda x: -x), "gyroscope"),
        ("gyroscope axes x y swapped", lambda s, r: imu(s, w=lambda x: x[[1, 0, 2]]), "gyroscope"),
        ("accelerometer in g", lambda s, r: imu(s, f=lambda x: x / 9.80665), "accelerometer size"),
        ("accelerometer 10 % too large", lambda s, r: imu(s, f=lambda x: 1.1 * x), "accelerometer size"),
        ("accelerometer zero", lambda s, r: imu(s, f=lambda x: 0.0 * x), "accelerometer size"),
        ("accelerometer sign", lambda s, r: imu(s, f=lambda x: -x), "accelerometer direction"),
        (
            "accelerometer axes rolled",
            lambda s, r: imu(s, f=lambda x: x[[1, 2, 0]]),
            "accelerometer direction",
        ),
        ("wrench sign, all", lambda s, r: wrenches(s, r, -1.0, one=False), "contact"),
        ("wrench sign, one contact", lambda s, r: wrenches(s, r, -1.0), "contact"),
        ("wrench kN, all", lambda s, r: wrenches(s, r, 1e-3, one=False), "contact"),
        ("wrench kN, one contact", lambda s, r: wrenches(s, r, 1e-3), "contact"),
        ("wrench zero, one contact", lambda s, r: wrenches(s, r, 0.0), "contact"),
        ("wrench mN, one contact", lambda s, r: wrenches(s, r, 1e3), "contact"),
        ("one joint renamed", renamed, "joint names"),
    ]


def aimed(change: Callable[[Reading], Reading], target: str) -> Callable[[Reading], Reading]:
    """Attach the name of the joint or contact that is changed."""

    def changed(reading: Reading) -> Reading:
        return change(reading)

    changed.target = target  # type: ignore[attr-defined]
    return changed


def table(scene: Scene) -> DataTable:
    """The windows of the clean data."""
    return DataTable.of(list(scene.clean._windows), scene.setup.robot.n_base)


def column(names_sent: tuple[str, ...], name: str, factor: float) -> Array:
    """Factors that are one except for a name; all where it is empty."""
    return np.array([factor if name in ("", sent) else 1.0 for sent in names_sent])


def scaled(field: str, factor: float, target: str) -> Callable[[Reading], Reading]:
    """Scale one field of one joint, or of all where the target is empty."""

    def inject(reading: Reading) -> Reading:
        contact, sample = reading
        if not isinstance(sample, JointReading) or getattr(sample, field) is None:
            return reading
        factors = column(sample.names, target, factor)
        return contact, replace(sample, **{field: factors * getattr(sample, field)})

    return aimed(inject, target)


def efforts(
    scene: Scene, rng: np.random.Generator, factor: float, *, one: bool = True
) -> Callable[[Reading], Reading] | None:
    telling = telling_joints(table(scene), scene.clean.robot)
    if not telling:
        return None
    return scaled("effort", factor, str(rng.choice(telling)) if one else "")


def swapped_efforts(scene: Scene, rng: np.random.Generator) -> Callable[[Reading], Reading] | None:
    """Swap the efforts of two joints whose predicted torques differ by half or more of the larger."""
    data, robot = table(scene), scene.clean.robot
    telling = telling_joints(data, robot)
    predicted = nominal_torques(data)
    predicted = predicted[np.isfinite(predicted).all(axis=1)]
    columns = {name: predicted[:, j] for j, name in enumerate(robot.names)}
    norm = np.linalg.norm
    pairs = [
        (a, b)
        for a in telling
        for b in telling
        if a < b and norm(columns[a] - columns[b]) > max(norm(columns[a]), norm(columns[b]))
    ]
    if not pairs:
        return None
    a, b = pairs[int(rng.integers(len(pairs)))]

    def inject(reading: Reading) -> Reading:
        contact, sample = reading
        if not isinstance(sample, JointReading) or sample.effort is None:
            return reading
        effort, i, j = sample.effort.copy(), sample.names.index(a), sample.names.index(b)
        effort[[i, j]] = effort[[j, i]]
        return contact, replace(sample, effort=effort)

    return aimed(inject, a)


def turned(scene: Scene, rng: np.random.Generator) -> Callable[[Reading], Reading] | None:
    robot = scene.clean.robot
    # a joint that may turn once may be a turn further, which changes nothing
    limited = [name for name, span in zip(robot.names, robot.upper - robot.lower, strict=True) if span < TURN]
    if not limited:
        return None
    target = str(rng.choice(limited))

    def inject(reading: Reading) -> Reading:
        contact, sample = reading
        if not isinstance(sample, JointReading):
            return reading
        return contact, replace(
            sample, position=sample.position + (column(sample.names, target, 1 + TURN) - 1)
        )

    return aimed(inject, target)


def velocities(scene: Scene, rng: np.random.Generator, factor: float) -> Callable[[Reading], Reading] | None:
    data, robot = table(scene), scene.clean.robot
    moving = (np.sqrt(np.mean(data.dq**2, axis=0)) > MOVING) & (data.q.std(axis=0) > TRAVEL)
    moving &= np.isfinite(data.v).all(axis=0)
    if not moving.any():
        return None
    return scaled("velocity", factor, robot.names[int(rng.choice(np.flatnonzero(moving)))])


def imu(
    scene: Scene, f: Change | None = None, w: Change | None = None
) -> Callable[[Reading], Reading] | None:
    if not scene.config.imu_frame:
        return None
    if w is not None:
        rates = table(scene).w_I
        if np.abs(rates - np.median(rates, axis=0)).max() < 0.1:
            return None  # the base does not turn

    def inject(reading: Reading) -> Reading:
        contact, sample = reading
        if not isinstance(sample, ImuSample):
            return reading
        force, rate = sample.specific_force_I, sample.angular_rate_I
        return contact, replace(
            sample,
            specific_force_I=f(force) if f is not None else force,
            angular_rate_I=w(rate) if w is not None else rate,
        )

    return aimed(inject, "")


def wrenches(
    scene: Scene, rng: np.random.Generator, factor: float, *, one: bool = True
) -> Callable[[Reading], Reading] | None:
    if not scene.config.contacts:
        return None
    target = str(rng.choice(scene.config.contacts)) if one else ""

    def inject(reading: Reading) -> Reading:
        contact, sample = reading
        if not isinstance(sample, WrenchSample) or target not in ("", contact):
            return reading
        return contact, replace(sample, wrench_F=factor * sample.wrench_F)

    return aimed(inject, target)


def renamed(scene: Scene, rng: np.random.Generator) -> Callable[[Reading], Reading] | None:
    target = str(rng.choice(scene.clean.robot.names))

    def inject(reading: Reading) -> Reading:
        contact, sample = reading
        if not isinstance(sample, JointReading):
            return reading
        return contact, replace(sample, names=tuple("other" if n == target else n for n in sample.names))

    return aimed(inject, "")


if __name__ == "__main__":
    main()
