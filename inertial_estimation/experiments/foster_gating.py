"""Foster et al., Fig. 8: the torso's mass while stepping in place, with and without the innovation gate.

One robot steps; filters that differ only in the gate watch it. What shocks them is set up as on hardware:
firm ground, feet that arrive at 0.3 m/s, wrenches one sample late without the filter knowing, and nearly
momentary measurements as in the paper. The package's own window of 0.1 s is watched as well. A second run
changes the torso's mass by a square wave, gate on: the gate must not mistake a load for a shock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop, settings_in_words
from inertial_estimation.closed_loop.time_series import TimeSeries
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.signals import Array
from inertial_estimation.simulation.disturbances import MassWaveform

TORSO = "torso_2_link"
STEPS, DURATION_S, SETTLED_S, BEGIN_S = 40, 20.0, 4.0, 0.5
QUICK_DURATION_S, QUICK_SETTLED_S, QUICK_BEGIN_S = 1.9, 1.0, 0.0  # one touchdown
LOAD_KG, LOAD_HZ = 5.0, 0.2  # the square wave is the nominal mass plus and minus half of it
CONTACT_N = 50.0
BEFORE_S, AFTER_S = 0.05, 0.25  # window around a touchdown in which its shock is searched
FOLLOW_S, MEAN_S = 0.5, 0.1
MOMENTARY_S, PACKAGE_S = 0.015, 0.1  # windows of the measurement
FILTERS = {
    "gated": {"window": MOMENTARY_S, "gate.enabled": True},
    "ungated": {"window": MOMENTARY_S, "gate.enabled": False},
    "window_gated": {"window": PACKAGE_S, "gate.enabled": True},
    "window_ungated": {"window": PACKAGE_S, "gate.enabled": False},
}
SETTINGS = {"links": [TORSO], "prior.memory": 2.0, "filter": "log_cholesky"}
HARDWARE = {
    SIMULATOR_NODE: {"ground.stiffness": 5e5, "step": 0.0005, "sensors.wrench_delay_s": 0.003},
    CONTROLLER_NODE: {"walking.touchdown_speed": 0.3},
}


class _Stepping:
    def __init__(self, begin_s: float) -> None:
        self.series = TimeSeries()
        self._begin_s = begin_s
        self._stepping = False

    def __call__(self, loop: ClosedLoop) -> None:
        if not self._stepping and loop.time_s > self._begin_s:
            loop.controller.push_walk_command(WalkCommand(STEPS, 0.0))
            self._stepping = True
        if any(estimate is None for estimate in loop.watched):
            return
        truth = loop.simulation.truth((TORSO,))
        masses = [e.links[0].estimate.mass for e in loop.watched if e is not None]
        forces = {name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()}
        watched = dict(zip(FILTERS, masses, strict=True))
        self.series.add(loop.time_s, mass=truth.inertias[TORSO].mass, **watched, **forces)


def touchdowns(times: Array, force: Array) -> Array:
    """Return the times at which a vertical force rises through the threshold [s]."""
    loaded = force > CONTACT_N
    moments: Array = times[1:][loaded[1:] & ~loaded[:-1]]
    return moments


def touchdown_deviation(times: Array, mass: Array, truth: Array, moments: Array) -> float:
    """Return the largest deviation of the mass from the truth around any touchdown [kg]."""
    near = np.zeros(len(times), dtype=bool)
    for moment in moments:
        near |= (times > moment - BEFORE_S) & (times < moment + AFTER_S)
    return float(np.abs(mass - truth)[near].max()) if near.any() else float("nan")


def followed_share(times: Array, mass: Array, truth: Array, mean_over_s: float = MEAN_S) -> Array:
    """Return, for each jump of the true mass, the share of it the estimate has made within 0.5 s.

    Args:
        times: [s], shape (n,).
        mass: Estimate [kg], shape (n,).
        truth: True mass [kg], shape (n,).
        mean_over_s: The estimate is averaged over this time up to 0.5 s; zero takes that instant's [s].

    Returns:
        One minus what is missing or too much, relative to the jump, shape (jumps,).
    """
    jumps = np.flatnonzero(np.abs(np.diff(truth)) > 1.0) + 1
    shares = []
    for jump in jumps:
        first, last = np.searchsorted(times, times[jump] + FOLLOW_S + np.array([-mean_over_s, 0.0]))
        if last < len(times):
            missing = truth[last] - float(np.mean(mass[first : last + 1]))
            shares.append(1.0 - abs(missing / (truth[jump] - truth[jump - 1])))
    return np.array(shares)


def _step_in_place(
    robot: RobotLoop, seed: int, duration_s: float, *, load: bool, quick: bool
) -> dict[str, Array]:
    spectators = [robot.inertial({INERTIAL_NODE: {**SETTINGS, **kind}}) for kind in FILTERS.values()]
    nominal = spectators[0].robot.link_body(TORSO).nominal_J.mass
    wave = MassWaveform(TORSO, "square", nominal, LOAD_KG / 2.0, LOAD_HZ)
    disturbances = [wave] if load else []
    loop = robot.build(
        seed=seed, disturbances=disturbances, adaptation=False, inertial=False, spectators=spectators
    )
    stepping = _Stepping(QUICK_BEGIN_S if quick else BEGIN_S)
    loop.release(hoist_time(quick=quick))
    loop.run(duration_s, stepping)
    return dict(stepping.series.columns())


@dataclass(frozen=True, eq=False)
class _SteppingRuns:
    """Runs of all seeds: true mass, estimates by filter and forces over time.

    Attributes:
        constant: With the nominal mass.
        loaded: With the square wave.
        settled_s: Time from which the runs with constant mass count [s].
    """

    constant: list[dict[str, Array]]
    loaded: list[dict[str, Array]]
    settled_s: float

    @property
    def settled(self) -> list[dict[str, Array]]:
        """The settled part of the runs with constant mass."""
        return [
            {name: values[columns["time"] > self.settled_s] for name, values in columns.items()}
            for columns in self.constant
        ]

    @property
    def peaks(self) -> dict[str, Array]:
        """Largest deviation around a touchdown by filter [kg], shape (seeds,) each."""
        deviations = [
            [
                touchdown_deviation(columns["time"], columns[name], columns["mass"], _touchdowns(columns))
                for name in FILTERS
            ]
            for columns in self.settled
        ]
        return dict(zip(FILTERS, np.array(deviations).T, strict=True))

    def followed(self, mean_over_s: float) -> Array:
        """Return the share of each jump that the gated filter has followed in 0.5 s, over all seeds."""
        shares = [
            followed_share(columns["time"], columns["gated"], columns["mass"], mean_over_s=mean_over_s)
            for columns in self.loaded
        ]
        return np.concatenate(shares)


class FosterGating(Experiment[_SteppingRuns]):
    """Gated and ungated filters watch a robot that steps in place."""

    def simulate(self, trials: Trials) -> _SteppingRuns:
        """Step in place per seed, once with the true mass constant, once with the square wave."""
        robot, run = RobotLoop("talos", HARDWARE), partial(_step_in_place, quick=self.quick)
        duration_s, settled_s = (QUICK_DURATION_S, QUICK_SETTLED_S) if self.quick else (DURATION_S, SETTLED_S)
        loaded_s = 0.2 if self.quick else duration_s
        found = trials.by_case(
            {
                load: [partial(run, robot, seed, length_s, load=load) for seed in self.seeds]
                for load, length_s in ((False, duration_s), (True, loaded_s))
            }
        )
        return _SteppingRuns(found[False], found[True], settled_s)

    def table(self, data: _SteppingRuns) -> tuple[TableRow, ...]:
        """Return deviations around touchdowns, and how the square wave is followed."""
        peaks, share, instant = data.peaks, data.followed(MEAN_S), data.followed(0.0)
        counted = min(len(_touchdowns(columns)) for columns in data.settled)
        ratio = peaks["gated"] / peaks["ungated"]
        where = "peak deviation around touchdown"
        return (
            TableRow.over_seeds(f"{where}, gated", "kg", peaks["gated"]),
            TableRow.over_seeds(f"{where}, ungated", "kg", peaks["ungated"]),
            TableRow.over_seeds(
                "gated / ungated",
                "",
                ratio,
                bound=Bound("<=", 0.3),
                aim=Bound("<=", 0.1),
            ),
            TableRow.over_seeds(f"{where}, window {PACKAGE_S:g} s, gated", "kg", peaks["window_gated"]),
            TableRow.over_seeds(f"{where}, window {PACKAGE_S:g} s, ungated", "kg", peaks["window_ungated"]),
            TableRow("touchdowns looked at, least of any seed", "", float(counted)),
            TableRow(
                f"5 kg square wave, share followed in 0.5 s (mean of its last {MEAN_S:g} s), least of any "
                "jump",
                "",
                float(share.min()) if len(share) else float("nan"),
                bound=Bound(">=", 0.9),
            ),
            TableRow("the same, mean over jumps", "", float(share.mean()) if len(share) else float("nan")),
            TableRow(
                "at the very instant 0.5 s after, noise included, least of any jump",
                "",
                float(instant.min()) if len(instant) else float("nan"),
            ),
        )

    def panels(self, data: _SteppingRuns) -> tuple[Panel, ...]:
        """Return masses and vertical forces over time, first seed (F Fig. 8)."""
        columns, loaded, label = data.constant[0], data.loaded[0], "time [s]"
        panels = []
        for title, run in (("Torso, constant mass", columns), ("Torso, square wave of 5 kg", loaded)):
            curves = (
                thinned("true mass", run["time"], run["mass"], "reference"),
                thinned("ungated", run["time"], run["ungated"], "thin", colour=1),
                thinned("gated", run["time"], run["gated"], colour=0),
            )
            panels.append(Panel(title, label, "mass [kg]", curves))
        feet = _feet(columns)
        forces = tuple(
            thinned(foot.replace("_", " "), columns["time"], columns[foot], "thin", colour=2 + i)
            for i, foot in enumerate(feet)
        )
        return (*panels, Panel("Vertical force", label, "force [N]", forces))

    def per_seed(self, data: _SteppingRuns) -> dict[str, tuple[float, ...]]:
        """Return deviations around touchdowns by filter, and gated over ungated."""
        peaks = data.peaks
        ratio = peaks["gated"] / peaks["ungated"]
        return {**{f"{name}_kg": tuple(v) for name, v in peaks.items()}, "ratio": tuple(ratio)}

    def settings(self, data: _SteppingRuns) -> Mapping[str, float | str]:
        """Return parameters of filters and robot, and the square wave."""
        return {
            **{k: str(v) for k, v in SETTINGS.items()},
            **settings_in_words(HARDWARE),
            "load_kg": LOAD_KG,
            "load_hz": LOAD_HZ,
        }

    def facts(self, data: _SteppingRuns) -> tuple[str, ...]:
        """Return the numbers of the paper, and the cases without measurements to reject."""
        return (
            "Paper: spikes of the ungated estimate largely attenuated by the gate; no numbers given.",
            "On the default ground, with soft touchdowns and sensors in step, there are no spikes to gate.",
        )


def _touchdowns(columns: dict[str, Array]) -> Array:
    """Return the touchdowns of all feet [s]."""
    return np.concatenate([touchdowns(columns["time"], columns[foot]) for foot in _feet(columns)])


def _feet(columns: dict[str, Array]) -> list[str]:
    return [name for name in columns if name not in ("time", "mass", *FILTERS)]
