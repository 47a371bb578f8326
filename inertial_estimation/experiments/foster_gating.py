"""Foster et al., Fig. 8: the torso's mass while stepping in place, with and without the innovation gate.

One robot steps; filters that differ only in the gate watch it. What shocks them is set up as on hardware:
firm ground, feet that arrive at 0.3 m/s, wrenches one sample late without the filter knowing, and nearly
momentary measurements as in the paper. The package's own window of 0.1 s is watched as well. A second run
changes the torso's mass by a square wave, gate on: the gate must not mistake a load for a shock.
"""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import (
    CONTROLLER_NODE,
    SIMULATOR_NODE,
    RobotLoop,
    settings_in_words,
)
from inertial_estimation.closed_loop.time_series import Trace
from inertial_estimation.configuration.pipelines import INERTIAL_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.experiment import Bound, ExperimentResult, Progress, TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.signals import Array
from inertial_estimation.simulation.disturbances import MassWaveform

__all__ = ["followed_share", "run", "touchdown_deviation", "touchdowns"]

TORSO = "torso_2_link"
STEPS, DURATION_S, SETTLED_S = 40, 20.0, 4.0
LOAD_KG, LOAD_HZ = 5.0, 0.2  # the square wave is the nominal mass plus and minus half of it
CONTACT_N = 50.0
BEFORE_S, AFTER_S = 0.05, 0.25  # of a touchdown, where its shock is looked for
FOLLOW_S, MEAN_S = 0.5, 0.1
MOMENTARY_S, PACKAGE_S = 0.015, 0.1  # windows of the measurement
FILTERS = {
    "gated": {"window": MOMENTARY_S, "gate.enabled": True},
    "ungated": {"window": MOMENTARY_S, "gate.enabled": False},
    "window_gated": {"window": PACKAGE_S, "gate.enabled": True},
    "window_ungated": {"window": PACKAGE_S, "gate.enabled": False},
}
SETTINGS = {"links": [TORSO], "prior.memory": 2.0}
HARDWARE = {
    SIMULATOR_NODE: {"ground.stiffness": 5e5, "step": 0.0005, "sensors.wrench_delay_s": 0.003},
    CONTROLLER_NODE: {"walking.touchdown_speed": 0.3},
}


class _Stepping:
    def __init__(self) -> None:
        self.trace = Trace()
        self._stepping = False

    def __call__(self, loop: ClosedLoop) -> None:
        if not self._stepping and loop.time_s > 0.5:
            loop.controller.push_walk_command(WalkCommand(STEPS, 0.0))
            self._stepping = True
        if any(estimate is None for estimate in loop.watched):
            return
        truth = loop.simulation.truth((TORSO,))
        masses = [e.links[0].estimate.mass for e in loop.watched if e is not None]
        forces = {name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()}
        watched = dict(zip(FILTERS, masses, strict=True))
        self.trace.add(loop.time_s, mass=truth.inertias[TORSO].mass, **watched, **forces)


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
    robot: RobotLoop, seed: int, duration_s: float, hoist_s: float, *, load: bool
) -> dict[str, Array]:
    spectators = [robot.inertial({INERTIAL_NODE: {**SETTINGS, **kind}}) for kind in FILTERS.values()]
    nominal = spectators[0].robot.link_body(TORSO).nominal_J.mass
    wave = MassWaveform(TORSO, "square", nominal, LOAD_KG / 2.0, LOAD_HZ)
    loop = robot.build(
        seed=seed, disturbances=[wave] if load else [], adaptation=False, spectators=spectators
    )
    stepping = _Stepping()
    loop.release(hoist_s)
    loop.run(duration_s, stepping)
    return dict(stepping.trace.columns())


def run(seeds: Sequence[int], progress: Progress, quick: bool) -> ExperimentResult:
    """Step in place per seed, once with the true mass constant, once with the square wave."""
    robot = RobotLoop("talos", HARDWARE)
    duration_s, settled_s = (2.4, 1.0) if quick else (DURATION_S, SETTLED_S)
    hoist_s = hoist_time(quick=quick)
    deviations: list[list[float]] = []
    shares: list[Array] = []
    instants: list[Array] = []
    counted: list[int] = []
    shown: list[dict[str, Array]] = []
    for i, seed in enumerate(seeds):
        progress(f"seed {seed}, constant mass", i / len(seeds))
        columns = _step_in_place(robot, seed, duration_s, hoist_s, load=False)
        settled = {name: values[columns["time"] > settled_s] for name, values in columns.items()}
        times, truth = settled["time"], settled["mass"]
        moments = np.concatenate([touchdowns(times, settled[foot]) for foot in _feet(columns)])
        counted.append(len(moments))
        deviations.append([touchdown_deviation(times, settled[name], truth, moments) for name in FILTERS])
        progress(f"seed {seed}, square wave", (i + 0.5) / len(seeds))
        loaded = _step_in_place(robot, seed, 0.5 if quick else duration_s, hoist_s, load=True)
        series = (loaded["time"], loaded["gated"], loaded["mass"])
        shares.append(followed_share(*series))
        instants.append(followed_share(*series, mean_over_s=0.0))
        shown = shown or [columns, loaded]
    peaks = dict(zip(FILTERS, np.array(deviations).T, strict=True))
    ratio = peaks["gated"] / peaks["ungated"]
    return ExperimentResult(
        seeds=tuple(seeds),
        rows=_rows(peaks, ratio, np.concatenate(shares), np.concatenate(instants), min(counted)),
        per_seed={**{f"{name}_kg": tuple(v) for name, v in peaks.items()}, "ratio": tuple(ratio)},
        settings={
            **{k: str(v) for k, v in SETTINGS.items()},
            **settings_in_words(HARDWARE),
            "load_kg": LOAD_KG,
            "load_hz": LOAD_HZ,
        },
        facts=(
            "Paper: spikes of the ungated estimate largely attenuated by the gate; no numbers given.",
            "On the default ground, with soft touchdowns and sensors in step, there are no spikes to gate.",
        ),
        panels=_panels(*shown),
    )


def _rows(
    peaks: dict[str, Array], ratio: Array, share: Array, instant: Array, counted: int
) -> tuple[TableRow, ...]:
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
            f"5 kg square wave, share followed in 0.5 s (mean of its last {MEAN_S:g} s), least of any jump",
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


def _feet(columns: dict[str, Array]) -> list[str]:
    return [name for name in columns if name not in ("time", "mass", *FILTERS)]


def _panels(columns: dict[str, Array], loaded: dict[str, Array]) -> tuple[Panel, ...]:
    label = "time [s]"
    panels = []
    for title, data in (("Torso, constant mass", columns), ("Torso, square wave of 5 kg", loaded)):
        curves = (
            thinned("true mass", data["time"], data["mass"], "reference"),
            thinned("ungated", data["time"], data["ungated"], "thin", colour=1),
            thinned("gated", data["time"], data["gated"], colour=0),
        )
        panels.append(Panel(title, label, "mass [kg]", curves))
    feet = _feet(columns)
    forces = tuple(
        thinned(foot.replace("_", " "), columns["time"], columns[foot], "thin", colour=2 + i)
        for i, foot in enumerate(feet)
    )
    return (*panels, Panel("Vertical force", label, "force [N]", forces))
