"""Which link is loaded, and is it a load or a push: the locator on a moving TALOS, shipped parameters.

Loads of 1 to 5 kg on the links of limbs and head, and pushes of 10 to 100 N in random directions on any link,
one at a time; then a sequence of loads on both forearms, one of which is taken off again. At rest, where a
push straight down gives the same readings as a load, one of each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series, Span, thinned
from inertial_estimation.experiments.link_robots import talos
from inertial_estimation.experiments.link_trials import LinkScene, LinkTrial
from inertial_estimation.located_cause import Cause
from inertial_estimation.signals import Array
from inertial_estimation.simulation.disturbances import Push

ON_S = 1.5  # when a load or a push begins
HEAD = "head_"  # beginning of the links of the head of TALOS, which is no limb
PAST_S = 0.4  # after its end, for which a published mass counts as moved by it


def strength(force: Array) -> float:
    """Return the magnitude of a force [N]."""
    return float(np.sqrt(force @ force))


@dataclass(frozen=True, eq=False)
class LoadedLink:
    """A load on a link and what was found.

    Attributes:
        link: The link.
        mass: The load [kg].
        trial: The run.
    """

    link: str
    mass: float
    trial: LinkTrial

    @property
    def on_head(self) -> bool:
        """Whether the link is one of the head, whose two bodies are hard to tell apart."""
        return self.link.startswith(HEAD)

    @property
    def delay(self) -> float:
        """Time until a load was reported [s]; infinite if it never was."""
        found = self.trial.found(Cause.LOAD, ON_S)
        return found[0][0] - ON_S if found else np.inf

    def named(self, place: int | None, within_s: float) -> bool:
        """Return whether the link was among the first so many links named within a time."""
        return self.link in self.links_within(within_s)[:place]

    def links_within(self, within_s: float) -> tuple[str, ...]:
        """Return the links named last within a time, the most probable first; empty before any is named."""
        found = [c for t, c in self.trial.found(Cause.LOAD, ON_S) if t <= ON_S + within_s]
        return found[-1].links if found else ()

    @property
    def mass_error(self) -> float:
        """Relative error of the located mass when it was seen last; not a number if it never was."""
        found = self.trial.found(Cause.LOAD, ON_S)
        return abs(found[-1][1].mass / self.mass - 1.0) if found else np.nan


@dataclass(frozen=True, eq=False)
class PushedLink:
    """A push and what was found.

    Attributes:
        push: The push.
        trial: The run.
        without: The same readings without the push, learning paused while it would be in them; None if
            there is no such run.
    """

    push: Push
    trial: LinkTrial
    without: LinkTrial | None = None

    @property
    def as_load(self) -> bool:
        """Whether it was taken for a load."""
        return any(cause.decided for _t, cause in self.trial.found(Cause.LOAD, ON_S - 0.1))

    @property
    def found(self) -> bool:
        """Whether its link was among those named, most of the time."""
        named = [self.push.link in c.links for _t, c in self.trial.found(Cause.PUSH, ON_S)]
        return bool(named) and sum(named) > 0.5 * len(named)

    @property
    def force_error(self) -> float:
        """Relative error of the median force; not a number if no push was found."""
        inside = (ON_S + 0.1, ON_S + self.push.duration)
        forces = [
            strength(c.force_L)
            for t, c in self.trial.found(Cause.PUSH, ON_S)
            if c.force_L is not None and inside[0] <= t <= inside[1]
        ]
        true = strength(np.asarray(self.push.force))
        return abs(float(np.median(forces)) / true - 1.0) if forces else np.nan

    @property
    def moved(self) -> float:
        """Largest relative change of a published mass until what was averaged with the push is past."""
        return self.trial.moved(*self._watched)

    @property
    def moved_without(self) -> float:
        """The same change over the same times without the push; not a number without such a run."""
        return np.nan if self.without is None else self.without.moved(*self._watched)

    @property
    def taught(self) -> float:
        """Largest relative difference of a published mass from the run without the push.

        It is looked at while the push lasts, and once more at the end: in between the masses are held until
        the data have proved good, and those that still converge differ by that delay.
        """
        if self.without is None:
            return np.nan
        n = min(len(self.trial.times), len(self.without.times))
        off = np.abs(self.trial.published[:n] / self.without.published[:n] - 1.0).max(axis=1)
        begin, times = ON_S - 0.1, self.trial.times[:n]
        during = off[(times >= begin) & (times <= ON_S + self.push.duration)]
        return float(max(during.max(), off[-1]))

    @property
    def _watched(self) -> tuple[float, float]:
        return ON_S - 0.1, ON_S + self.push.duration + PAST_S


LOADS, PUSHES = 2, 2  # of each seed
LOAD_S = 0.8  # after its beginning, for which a load is watched
AFTER_S = 0.8  # after its end, for which a push is watched
LONGEST_PUSH_S = 3.0
DOWN = (0.0, 0.0, -1.0)
LEFT, RIGHT = "arm_left_5_link", "arm_right_5_link"
LEFT_KG, RIGHT_KG = 2.0, 1.5  # loads of the sequence
SEQUENCE_S = (1.5, 2.7, 3.9, 5.1)  # a load on the left, one on the right, the left one off, the end


@dataclass(frozen=True, eq=False)
class _Data:
    """The runs; the last two of a robot at rest, the pushes straight down."""

    loads: list[LoadedLink]
    pushes: list[PushedLink]
    sequences: list[LinkTrial]
    resting_loads: list[LoadedLink]
    presses: list[PushedLink]


class WhichLink(Experiment[_Data]):
    """Loads and pushes on random links."""

    quick_seeds = 1

    def simulate(self, trials: Trials) -> _Data:
        """Run loads, pushes and a sequence for every seed."""
        found = trials.results([partial(_of_seed, seed, quick=self.quick) for seed in self.seeds])
        return _Data(
            [load for data in found for load in data.loads],
            [push for data in found for push in data.pushes],
            [sequence for data in found for sequence in data.sequences],
            [load for data in found for load in data.resting_loads],
            [push for data in found for push in data.presses],
        )

    def table(self, data: _Data) -> tuple[TableRow, ...]:
        """Return the shares of loads and pushes that were recognised."""
        delays, resting = np.array([load.delay for load in data.loads]), data.resting_loads
        return (
            *_named_first(data.loads),
            _share(
                "load: link among those named within 0.3 s", [x.named(None, 0.3) for x in data.loads], 95.0
            ),
            _share("load: link named first at the end", [x.named(1, LOAD_S) for x in data.loads]),
            TableRow("load: time until reported, median", "s", float(np.median(delays))),
            TableRow("load: time until reported, longest", "s", float(delays.max())),
            _median("load: error of the mass", [x.mass_error for x in data.loads]),
            *_unmoved("push", data.pushes),
            _share("push: link among those named", [x.found for x in data.pushes]),
            _median("push: error of the force", [x.force_error for x in data.pushes]),
            *_unmoved("push straight down at rest", data.presses),
            _share("load at rest: link named first within 0.3 s", [x.named(1, 0.3) for x in resting]),
            _share(
                "load at rest: link among those named within 0.3 s",
                [x.named(None, 0.3) for x in resting],
                95.0,
            ),
            *self._sequence_rows(data),
        )

    def panels(self, data: _Data) -> tuple[Panel, ...]:
        """Return one push, the sequence of the first seed, and all times until a load was reported."""
        push = max(data.pushes, key=lambda x: x.push.duration)
        times, label = push.trial.times, "time [s]"
        shown = times >= ON_S - 0.5
        ratios = push.trial.published / push.trial.published[np.searchsorted(times, ON_S - 0.1)]
        end = ON_S + push.push.duration
        span = (Span(ON_S, end, "push"),)
        found = push.trial.found(Cause.PUSH, ON_S)
        forces = [strength(c.force_L) if c.force_L is not None else np.nan for _t, c in found]
        true = float(np.sqrt(np.sum(np.square(push.push.force))))
        delays = np.sort([load.delay for load in data.loads])
        masses = tuple(
            thinned(link, times[shown], ratios[shown, i], colour=i) for i, link in enumerate(push.trial.links)
        )
        force = (
            Series("true force", np.array([ON_S, end]), np.array([true, true]), "reference"),
            Series("located force", np.array([t for t, _c in found]), np.array(forces), "points", colour=3),
        )
        shares = 100.0 * np.arange(1, len(delays) + 1) / len(delays)
        title = f"Push on {push.push.link}"
        panels = (
            Panel(title, label, "published / before", masses, span, y_limits=(0.97, 1.03)),
            Panel(title, label, "force [N]", force, span),
            Panel(
                "Loads on limbs and head",
                "time since the load [s]",
                "located [%]",
                (Series("all seeds", delays, shares, "steps", colour=0),),
            ),
        )
        return (*panels, *(_sequence_panel(trial) for trial in data.sequences[:1]))

    def per_seed(self, data: _Data) -> Mapping[str, tuple[float, ...]]:
        """Return the largest change of a published mass under the pushes of each seed."""
        each = len(data.pushes) // len(self.seeds)
        moved = [x.moved for x in data.pushes]
        return {"push_moved": tuple(max(moved[each * i : each * (i + 1)]) for i in range(len(self.seeds)))}

    def facts(self, data: _Data) -> tuple[str, ...]:
        """Return which loads and pushes were not recognised."""
        missed = [
            f"{x.link} {x.mass:.1f} kg ({', '.join(x.links_within(0.3)) or 'nothing'})"
            for x in data.loads
            if not x.named(1, 0.3)
        ]
        taken = [
            f"{x.push.link} {np.round(np.asarray(x.push.force), 1).tolist()} N"
            for x in (*data.pushes, *data.presses)
            if x.as_load
        ]
        return (
            f"{len(data.loads)} loads on limbs and head, {len(data.pushes)} pushes, "
            f"{len(data.sequences)} sequences, {len(data.resting_loads)} loads and {len(data.presses)} "
            "pushes straight down at rest; realistic noise, config/talos.yaml as it is.",
            f"Loads whose link was not named first within 0.3 s (named): {', '.join(missed) or 'none'}.",
            f"Pushes taken for a load: {', '.join(taken) or 'none'}.",
            "Without a push, masses that still converge move, too; both runs have the same noise.",
            "A link that is not in 'links' is named, but its load is not estimated.",
            "A load that may be a push is reported; a push counts as taken for a load once that is certain.",
            "A load at rest is published once the robot moves, or after what a steady press may last.",
            "Events whose NIS stays below the limit of suspect data are not looked at.",
            "In a sequence the hand-over may still be under way at the end, since it limits inertias, too.",
        )

    def _sequence_rows(self, data: _Data) -> tuple[TableRow, ...]:
        if not data.sequences:
            return ()
        right = [_sequence_is_right(trial) for trial in data.sequences]
        errors = [_sequence_error(trial) for trial in data.sequences]
        return (
            _share("sequence: every load put on and taken off named", right, 95.0),
            TableRow("sequence: published mass 1.2 s after the last change, error", "%", 100.0 * max(errors)),
        )


def _named_first(loads: list[LoadedLink]) -> tuple[TableRow, ...]:
    """Return the shares of the loads on limbs, which have the bound, on the head, and of both together."""
    name = "link named first within 0.3 s"
    head, limbs = ([x.named(1, 0.3) for x in loads if x.on_head is on_head] for on_head in (True, False))
    of_head = (_share(f"load on the head: {name}", head),) if head else ()
    return (
        _share(f"load on a limb: {name}", limbs, 95.0),
        *of_head,
        _share(f"load on limb or head: {name}", limbs + head),
    )


def _unmoved(name: str, pushes: list[PushedLink]) -> tuple[TableRow, ...]:
    moved, taken = 100.0 * max(x.moved for x in pushes), float(sum(x.as_load for x in pushes))
    compared = [x for x in pushes if x.without is not None]
    without = 100.0 * max((x.moved_without for x in compared), default=np.nan)
    taught = 100.0 * max((x.taught for x in compared), default=np.nan)
    return (
        TableRow(f"{name}: change of a published mass, largest", "%", moved, bound=Bound("<=", 2.0)),
        TableRow(f"{name}: the same change without it, learning paused meanwhile, largest", "%", without),
        TableRow(
            f"{name}: published mass with and without it, largest difference",
            "%",
            taught,
            bound=Bound("<=", 1.0),
        ),
        TableRow(f"{name}: taken for a load", "", taken, bound=Bound("<=", 0.0)),
    )


def _share(quantity: str, hits: list[bool], bound: float | None = None) -> TableRow:
    share = 100.0 * sum(hits) / max(len(hits), 1)
    return TableRow(quantity, "%", share, bound=None if bound is None else Bound(">=", bound))


def _median(quantity: str, errors: list[float]) -> TableRow:
    known = np.array(errors)[np.isfinite(errors)]
    return TableRow(f"{quantity}, median", "%", 100.0 * float(np.median(known)) if len(known) else np.inf)


def _of_seed(seed: int, *, quick: bool) -> _Data:
    """Run the loads, pushes and the sequence of one motion, drawn in this order."""
    longest, count = (0.1, 1) if quick else (LONGEST_PUSH_S, LOADS)
    scene = LinkScene(talos(), seed, 2.4 if quick else SEQUENCE_S[-1] + 0.5)
    at_rest = LinkScene(talos(), seed, ON_S + longest + AFTER_S, still=True)
    loads = [_loaded(scene) for _ in range(count)]
    pushes = [_pushed(scene, longest) for _ in range(count)]
    sequences = [] if quick else [_sequence(scene)]
    return _Data(
        loads,
        pushes,
        sequences,
        [_loaded(at_rest)],
        [_pushed(at_rest, longest, DOWN)],
    )


def _loaded(scene: LinkScene) -> LoadedLink:
    link = str(scene.rng.choice(scene.limb_links))
    mass = float(scene.rng.uniform(*scene.robot.loads))
    return LoadedLink(link, mass, scene.run([scene.load(link, mass, ON_S)], ON_S + LOAD_S))


def _pushed(scene: LinkScene, longest: float, direction: Sequence[float] = ()) -> PushedLink:
    link = str(scene.rng.choice(scene.links))
    least, most = np.log10(scene.robot.pushes)
    force, duration = 10.0 ** scene.rng.uniform(least, most), scene.rng.uniform(0.1, longest)
    push = scene.push(link, float(force), ON_S, float(duration), direction)
    return PushedLink(push, *scene.run_with_and_without(push, ON_S + push.duration + AFTER_S))


def _sequence(scene: LinkScene) -> LinkTrial:
    left, right, off, end = SEQUENCE_S
    return scene.run([scene.load(LEFT, LEFT_KG, left, off), scene.load(RIGHT, RIGHT_KG, right)], end)


def _sequence_is_right(trial: LinkTrial) -> bool:
    """Return whether the load on the left, that on the right, and the loss on the left were named in time."""
    for start, link, sign in zip(SEQUENCE_S[:3], (LEFT, RIGHT, LEFT), (1.0, 1.0, -1.0), strict=True):
        found = [c for t, c in trial.found(Cause.LOAD, start) if t <= start + 0.5]
        if not any(link in c.links and c.mass * sign > 0.0 for c in found):
            return False
    return True


def _sequence_error(trial: LinkTrial) -> float:
    """Return the largest relative error of a published mass at the end."""
    before = trial.published[np.searchsorted(trial.times, SEQUENCE_S[0] - 0.1)]
    true: Array = before + np.array([RIGHT_KG if link == RIGHT else 0.0 for link in trial.links])
    return float(np.abs(trial.published[-1] / true - 1.0).max())


def _sequence_panel(trial: LinkTrial) -> Panel:
    left, right, off, end = SEQUENCE_S
    shown = [i for i, link in enumerate(trial.links) if link in (LEFT, RIGHT)]
    start = trial.published[np.searchsorted(trial.times, left - 0.1)]
    series = []
    for i in shown:
        steps = [left, off] if trial.links[i] == LEFT else [right, end]
        load = LEFT_KG if trial.links[i] == LEFT else RIGHT_KG
        inside = (trial.times >= steps[0]) & (trial.times < steps[1])
        series.append(thinned("true", trial.times, start[i] + load * inside, "reference"))
        series.append(thinned(trial.links[i], trial.times, trial.published[:, i], colour=i))
    return Panel("One load after another", "time [s]", "published mass [kg]", tuple(series))
