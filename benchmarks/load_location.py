"""Which link is loaded or pushed, on any robot with a parameter file, and two loads at one instant.

The robot stands (an arm: moves) as its file says; its other joints and its base move. Loads of 1.1 to 5.4 %
of its mass are put on random links, and it is pushed with 1.1 to 10.8 % of its weight (on TALOS 1 to 5 kg on
its limbs, 10 to 100 N). The sensor noise is that of the file's simulator, or the realistic one scaled to
the robot. Printed are

- loads: the share of which the link is named first, or among others, within 0.3 s and at the end (0.8 s)
- pushes: how many are taken for loads, the largest change of a published mass, and the same over the same
  times of runs without a push: light bodies have not converged by then
- pairs: of two loads at one instant on different links, the share of which both are named at the end
- presses: as pushes, straight down on the robot at rest, every second one on a link whose mass is published
- resting: as loads, on the robot at rest

Run: python -m benchmarks.load_location go2 hyq my_robot.yaml [--seeds 20] [--kinds loads pushes presses]
[--on 5]
(`inertial-estimation init g1 --output g1.yaml` writes the parameters of a robot that has none.)
"""

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np

from inertial_estimation.estimators.inertial.inertial_config import AUTO
from inertial_estimation.experiments.link_robots import configured_robot
from inertial_estimation.experiments.link_trials import LinkScene, LinkTrial
from inertial_estimation.located_cause import Cause, LocatedCause

ON_S, LOAD_S, AFTER_S, PAST_S = 1.5, 0.8, 0.8, 0.4  # as in the experiment which-link
LONGEST_PUSH_S = 3.0
DOWN = (0.0, 0.0, -1.0)
NAMED_S = 0.3  # within which a load should be named
PAIR_S = 1.5  # after their beginning, for which two loads are watched


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("robots", nargs="+", metavar="ROBOT", help="name or path of a parameter file")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--on", type=float, default=ON_S, help="when loads and pushes begin [s]")
    parser.add_argument("--verbose", action="store_true", help="show every trial")
    args = parser.parse_args()
    for name in args.robots:
        robot, results = configured_robot(name), {kind: [] for kind in args.kinds}
        for seed in range(args.first, args.first + args.seeds):
            scenes: dict[bool, LinkScene] = {}
            for kind, rows in results.items():
                still = kind in AT_REST
                if still not in scenes:
                    scenes[still] = LinkScene(robot, seed, args.on + LONGEST_PUSH_S + AFTER_S, still=still)
                rows.append(KINDS[kind][0](scenes[still], args.on))
                if args.verbose:
                    print(f"{name} {seed} {kind}: {rows[-1]}", flush=True)
        for kind, rows in results.items():
            print(f"{name}, {len(rows)} {kind}: {KINDS[kind][1](rows)}", flush=True)


def load(scene: LinkScene, on_s: float) -> dict[str, object]:
    """Put a load on a link."""
    link, mass = str(scene.rng.choice(scene.limb_links)), float(scene.rng.uniform(*scene.robot.loads))
    trial = scene.run([scene.load(link, mass, on_s)], on_s + LOAD_S)
    found = trial.found(Cause.LOAD, on_s)
    soon = [cause for t, cause in found if t <= on_s + NAMED_S]
    named = soon[-1].links if soon else ()
    last = found[-1][1] if found else None
    return {
        "link": link,
        "mass": round(mass, 2),
        "named": named,
        "first": named[:1] == (link,),
        "among": link in named,
        "end": last is not None and link in last.links[:1],
        "end among": last is not None and link in last.links,
        "delay": found[0][0] - on_s if found else math.inf,
        "error": abs(last.mass / mass - 1.0) if last is not None else math.nan,
        "other": _other(trial, Cause.LOAD),
        "two": any(cause.also for _t, cause in found),
    }


def press(scene: LinkScene, on_s: float) -> dict[str, object]:
    """Push a link straight down."""
    named = scene.rng.random() < 0.5 and [
        link for link in scene.robot.built()[0].config.links if link != AUTO
    ]
    return push(scene, on_s, DOWN, named or scene.links)


def push(
    scene: LinkScene, on_s: float, direction: Sequence[float] = (), links: Sequence[str] = ()
) -> dict[str, object]:
    """Push a link, and run the same without a push."""
    link = str(scene.rng.choice(list(links or scene.links)))
    duration = float(scene.rng.uniform(0.1, LONGEST_PUSH_S))
    least, most = np.log10(scene.robot.pushes)
    strength = float(10.0 ** scene.rng.uniform(least, most))
    until = on_s + duration + AFTER_S
    given = scene.push(link, strength, on_s, duration, direction)
    trial, free = (scene.run(pushes, until) for pushes in ([given], []))
    span = on_s - 0.1, on_s + duration + PAST_S
    found = [link in cause.links for _t, cause in trial.found(Cause.PUSH, on_s)]
    return {
        "link": link,
        "force": round(strength, 1),
        "duration": round(duration, 2),
        "as load": any(cause.decided for _t, cause in trial.found(Cause.LOAD, on_s - 0.1)),
        "moved": trial.moved(*span),
        "moved without": free.moved(*span),
        "found": bool(found) and sum(found) > 0.5 * len(found),
    }


def pair(scene: LinkScene, on_s: float) -> dict[str, object]:
    """Put two loads on different links at one instant."""
    links = [str(link) for link in scene.rng.choice(scene.limb_links, 2, replace=False)]
    masses = scene.rng.uniform(*scene.robot.loads, 2).tolist()
    loads = [scene.load(link, mass, on_s) for link, mass in zip(links, masses, strict=True)]
    trial = scene.run(loads, on_s + PAIR_S)
    found = trial.found(Cause.LOAD, on_s)
    last = found[-1][1] if found else None
    named = _named(last)
    return {
        "links": links,
        "masses": [round(mass, 2) for mass in masses],
        "named": named,
        "first": {names[0] for names in named} == set(links),
        "among": len(named) == len(links) and (_match(links, named) or _match(links[::-1], named)),
        "single": last is not None and last.decided and len(named) == 1,
        "delay": next((t - on_s for t, c in found if len(_named(c)) == len(links)), math.inf),
        "other": _other(trial, Cause.LOAD),
    }


def _named(cause: LocatedCause | None) -> list[tuple[str, ...]]:
    return [] if cause is None else [load.links for load in cause.loads]


def _match(links: Sequence[str], named: Sequence[Sequence[str]]) -> bool:
    return all(link in names for link, names in zip(links, named, strict=True))


def _other(trial: LinkTrial, kind: Cause) -> list[str]:
    """Return what else was taken for certain."""
    causes = [c for c in trial.located if c is not None and c.decided and c.cause is not kind]
    return sorted({f"{c.cause.value} {c.input or c.links[0]}" for c in causes})


def _share(rows: Sequence[dict[str, object]], name: str) -> str:
    return f"{100.0 * sum(bool(row[name]) for row in rows) / len(rows):.1f} %"


def _numbers(rows: Sequence[dict[str, object]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)


def _loads(rows: Sequence[dict[str, object]]) -> str:
    shares = {name: _share(rows, name) for name in ("first", "among", "end", "end among")}
    wrong, two = (sum(bool(row[name]) for row in rows) for name in ("other", "two"))
    return (
        f"named first {shares['first']}, among {shares['among']}; at the end {shares['end']}, "
        f"{shares['end among']}; delay median {np.median(_numbers(rows, 'delay')):.3f} s; error of the mass "
        f"median {100.0 * np.nanmedian(_numbers(rows, 'error')):.1f} %; taken for something else {wrong}, "
        f"for two loads {two}"
    )


def _pushes(rows: Sequence[dict[str, object]]) -> str:
    moved, without = (100.0 * _numbers(rows, name) for name in ("moved", "moved without"))
    return (
        f"taken for a load {sum(bool(row['as load']) for row in rows)}; largest change of a mass "
        f"{moved.max():.1f} %, without a push {without.max():.1f} %; median {np.median(moved):.2f} %, "
        f"{np.median(without):.2f} %; link among those named {_share(rows, 'found')}"
    )


def _pairs(rows: Sequence[dict[str, object]]) -> str:
    single, wrong = sum(bool(row["single"]) for row in rows), sum(bool(row["other"]) for row in rows)
    delays = _numbers(rows, "delay")
    return (
        f"both named first {_share(rows, 'first')}, among {_share(rows, 'among')}; taken for one load "
        f"{single}, for something else {wrong}; delay median {np.median(delays):.3f} s"
    )


KINDS: dict[
    str, tuple[Callable[[LinkScene, float], dict[str, object]], Callable[[Sequence[dict[str, object]]], str]]
] = {
    "loads": (load, _loads),
    "pushes": (push, _pushes),
    "pairs": (pair, _pairs),
    "presses": (press, _pushes),
    "resting": (load, _loads),
}
AT_REST = ("presses", "resting")


if __name__ == "__main__":
    main()
