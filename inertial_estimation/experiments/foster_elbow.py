"""Foster et al., Tables I and II, Fig. 5: an elbow holds its pose while the forearm's mass varies.

The forearm of TALOS weighs 4.5 kg +- 3 kg at 1 Hz, by a sine, from 8 s on by a square wave; the controller
believes in the URDF, with and without the estimates, with the same compliant gains.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop, settings_in_words
from inertial_estimation.closed_loop.time_series import TimeSeries, rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series, Span, thinned
from inertial_estimation.signals import Array
from inertial_estimation.simulation.disturbances import MassWaveform

FOREARM, ELBOW = "arm_left_5_link", "arm_left_4_joint"
OFFSET_KG, AMPLITUDE_KG, FREQUENCY_HZ = 4.5, 3.0, 1.0  # Table I
SQUARE_FROM_S, DURATION_S = 8.0, 16.0
ELBOW_STIFFNESS = 8.0  # [1/s^2], so low that the unknown mass pulls the arm down by about a radian

ELBOW_OVERRIDES: Mapping[str, Mapping[str, Any]] = {
    SIMULATOR_NODE: {"actuators.torque_limit_scale": 2.0},
    CONTROLLER_NODE: {
        "torque_scale": 2.0,
        "posture.joints": [ELBOW],
        "posture.stiffnesses": [ELBOW_STIFFNESS],
        "inertias.links": [FOREARM],
    },
    INERTIAL_NODE: {
        "links": [FOREARM],
        "window": 0.03,
        "prior.memory": 1.0,
        "gate.reopen_after": 0.015,
        "hand_over_rate": 1000.0,
        "filter": "log_cholesky",  # the filter of the paper
    },
}


def elbow_disturbances() -> list[MassWaveform]:
    """Return the mass of the forearm over time (Table I)."""
    common = {"offset": OFFSET_KG, "amplitude": AMPLITUDE_KG, "frequency": FREQUENCY_HZ}
    return [
        MassWaveform(FOREARM, wave="sine", stop=SQUARE_FROM_S, **common),
        MassWaveform(FOREARM, wave="square", start=SQUARE_FROM_S, **common),
    ]


def elbow_run(
    robot: RobotLoop,
    seed: int,
    *,
    adaptation: bool,
    duration_s: float,
    hoist_s: float = HOIST_S,
    true_urdf: str = "",
) -> dict[str, Array]:
    """Run the experiment once.

    Args:
        robot: Builds the loop.
        seed: Of the sensor noise.
        adaptation: Whether the controller is given the estimates.
        duration_s: Length [s].
        hoist_s: Shortest time on the hoist [s].
        true_urdf: Description of the simulated robot; empty: that of estimators and controller.

    Returns:
        Columns time, error (of the elbow [rad]), mass (true [kg]), estimate, published.
    """
    loop = robot.build(
        disturbances=elbow_disturbances(), seed=seed, adaptation=adaptation, true_urdf=true_urdf
    )
    elbow = loop.simulation.robot.joint_index(ELBOW)
    loop.release(hoist_s)
    home = float(loop.simulation.truth().q[elbow])
    series = TimeSeries()

    def record(loop: ClosedLoop) -> None:
        truth = loop.simulation.truth((FOREARM,))
        assert loop.inertias is not None
        link = loop.inertias.links[0]
        series.add(
            loop.time_s,
            error=float(truth.q[elbow]) - home,
            mass=truth.inertias[FOREARM].mass,
            estimate=link.estimate.mass,
            published=link.published.mass,
        )

    loop.run(duration_s, record)
    return dict(series.columns())


@dataclass(frozen=True, eq=False)
class _Holds:
    """Runs without and with adaptation, as columns of `elbow_run`, one for each seed."""

    without: list[dict[str, Array]]
    adapted: list[dict[str, Array]]

    @property
    def rms(self) -> tuple[Array, Array]:
        """Rms of the elbow's error without and with adaptation [rad], shape (seeds,) each."""
        without, adapted = (
            np.array([rms(columns["error"]) for columns in runs]) for runs in (self.without, self.adapted)
        )
        return without, adapted


class FosterElbow(Experiment[_Holds]):
    """The elbow holds its pose without and with adaptation."""

    @property
    def duration_s(self) -> float:
        """Length of a run [s]."""
        return 0.2 if self.quick else DURATION_S

    def simulate(self, trials: Trials) -> _Holds:
        """Run with and without adaptation for every seed."""
        robot, seeds = RobotLoop("talos", ELBOW_OVERRIDES), self.seeds
        run = partial(elbow_run, robot, duration_s=self.duration_s, hoist_s=hoist_time(quick=self.quick))
        held = trials.by_case(
            {
                adaptation: [partial(run, seed, adaptation=adaptation) for seed in seeds]
                for adaptation in (False, True)
            }
        )
        return _Holds(without=held[False], adapted=held[True])

    def table(self, data: _Holds) -> tuple[TableRow, ...]:
        """Return the elbow's errors and their ratio."""
        rms_without, rms_with = data.rms
        return (
            TableRow.over_seeds("elbow RMSE without adaptation", "rad", rms_without, paper=1.0956),
            TableRow.over_seeds("elbow RMSE with adaptation", "rad", rms_with, paper=0.1499),
            TableRow.over_seeds(
                "without / with",
                "",
                rms_without / rms_with,
                paper=7.3,
                bound=Bound(">=", 7.3),
                aim=Bound(">=", 10.0),
            ),
            TableRow("without adaptation, at least", "rad", float(rms_without.min()), bound=Bound(">=", 0.5)),
            TableRow("without adaptation, at most", "rad", float(rms_without.max()), bound=Bound("<=", 1.5)),
        )

    def panels(self, data: _Holds) -> tuple[Panel, ...]:
        """Return elbow and mass over time, first seed (F Fig. 5)."""
        without, adapted = data.without[0], data.adapted[0]
        label = "time [s]"
        end = float(adapted["time"][-1])
        spans = (Span(SQUARE_FROM_S, end, "square wave"),) if end > SQUARE_FROM_S else ()
        errors: tuple[Series, ...] = (
            thinned("without adaptation", without["time"], without["error"], colour=1),
            thinned("with adaptation", adapted["time"], adapted["error"], colour=0),
        )
        masses = (
            thinned("true mass", adapted["time"], adapted["mass"], "reference"),
            thinned("estimate, with adaptation", adapted["time"], adapted["published"], colour=0),
        )
        return (
            Panel("Elbow", label, "error [rad]", errors, spans),
            Panel("Forearm", label, "mass [kg]", masses, spans),
        )

    def per_seed(self, data: _Holds) -> dict[str, tuple[float, ...]]:
        """Return the elbow's errors and their ratio."""
        rms_without, rms_with = data.rms
        ratio = rms_without / rms_with
        return {"rmse_without": tuple(rms_without), "rmse_with": tuple(rms_with), "ratio": tuple(ratio)}

    def settings(self, data: _Holds) -> Mapping[str, float | str]:
        """Return the parameters that differ from the robot's."""
        return settings_in_words(ELBOW_OVERRIDES)

    def facts(self, data: _Holds) -> tuple[str, ...]:
        """Return what is assumed, and how long the shortest run is."""
        ended = [columns["time"][-1] for columns in (*data.without, *data.adapted)]
        return (
            "The URDF's forearm (body with all fixed to it) is the nominal one; the waveform is absolute.",
            "Torque limits of robot and controller are doubled: TALOS' elbow (17.9 Nm) cannot hold 7.5 kg.",
            f"Shortest run: {min(ended):.1f} s of {self.duration_s:g} s.",
        )
