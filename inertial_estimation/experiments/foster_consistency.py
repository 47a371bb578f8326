"""Foster et al., Fig. 3: the torso estimated while walking forward, by a linear KF and by the EKF.

Both filters receive the readings of one walk, with equal initial estimates and noise parameters; neither
moves the robot. A sample is inconsistent when no distribution of mass has those parameters: an eigenvalue
of the pseudo-inertia is not positive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import TimeSeries
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Level, Panel, thinned
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters, pseudo_inertia

TORSO = "torso_2_link"
STEPS, STEP_M, DURATION_S = 12, 0.15, 16.0
MOMENTS = ("ixx", "iyy", "izz")
SETTINGS = {"links": [TORSO], "prior.memory": 2.0, "window": 0.03}  # follows a load, as in foster-pelvis


def smallest_eigenvalue(link: LinkInertia) -> float:
    """Return the smallest eigenvalue of the pseudo-inertia about the centre of mass, [kg m^2] or [kg].

    About its centre of mass the pseudo-inertia is the second moments and the mass, side by side: it is
    positive definite exactly if mass and second moments are (F 16-21).
    """
    centred = InertialParameters(link.mass, np.zeros(3), link.inertia_Lcm)
    return float(linear_algebra.eigvalsh(pseudo_inertia(centred.vector))[0])


class _Walk:
    def __init__(self) -> None:
        self.series = {"ekf": TimeSeries(), "kf": TimeSeries()}
        self._walking = False

    def __call__(self, loop: ClosedLoop) -> None:
        if not self._walking and loop.time_s > 0.5:
            loop.controller.push_walk_command(WalkCommand(STEPS, STEP_M))
            self._walking = True
        for one, estimate in zip(self.series.values(), loop.watched, strict=True):
            if estimate is not None:
                link = estimate.links[0].estimate
                moments = dict(zip(MOMENTS, np.diag(link.inertia_Lcm).tolist(), strict=True))
                one.add(loop.time_s, mass=link.mass, smallest=smallest_eigenvalue(link), **moments)


@dataclass(frozen=True, eq=False)
class _Walks:
    """What both filters estimate while every seed walks.

    Attributes:
        columns: Of each seed, by filter: time, mass, moments and smallest eigenvalue, shape (n,) each.
        distances: Distance walked by each seed [m].
        nominal: What the estimates should be, by column.
    """

    columns: tuple[dict[str, dict[str, Array]], ...]
    distances: tuple[float, ...]
    nominal: dict[str, float]

    def inconsistent(self, name: str) -> tuple[float, ...]:
        """Return the number of inconsistent samples of a filter for each seed."""
        return tuple(float(np.count_nonzero(~(one[name]["smallest"] > 0.0))) for one in self.columns)


class FosterConsistency(Experiment[_Walks]):
    """Both filters watch one walk per seed."""

    figure_columns = 2

    def simulate(self, trials: Trials) -> _Walks:
        """Walk once per seed; both filters watch."""
        robot = RobotLoop("talos")
        walks = trials.results([partial(_walk, robot, seed, quick=self.quick) for seed in self.seeds])
        columns, distances = zip(*walks, strict=True)
        return _Walks(columns, distances, _nominal(robot))

    def table(self, data: _Walks) -> tuple[TableRow, ...]:
        """Return counts of inconsistent samples, and masses at the end."""
        shown = data.columns[0]
        samples = len(shown["ekf"]["time"])
        return (
            _count("inconsistent samples, EKF", data.inconsistent("ekf"), Bound("==", 0.0)),
            _count("inconsistent samples, linear KF", data.inconsistent("kf"), Bound(">", 0.0)),
            TableRow("samples of each filter and seed", "", float(samples)),
            TableRow("torso mass at the end, EKF", "kg", float(shown["ekf"]["mass"][-1])),
            TableRow("torso mass at the end, linear KF", "kg", float(shown["kf"]["mass"][-1])),
            TableRow("torso mass, true", "kg", data.nominal["mass"]),
            TableRow("distance walked, least", "m", min(data.distances)),
        )

    def panels(self, data: _Walks) -> list[Panel]:
        """Return mass, moments and smallest eigenvalue over time, first seed (F Fig. 3)."""
        shown, nominal, label = data.columns[0], data.nominal, "time [s]"
        panels = []
        for column, title, unit in (
            ("mass", "Mass", "kg"),
            *((moment, f"I{moment[1:]}", "kg m^2") for moment in MOMENTS),
            ("smallest", "Smallest eigenvalue of the pseudo-inertia", "kg m^2"),
        ):
            times = shown["ekf"]["time"]
            truth = thinned("true", times, np.full(len(times), nominal[column]), "reference")
            curves = [
                thinned(text, shown[name]["time"], shown[name][column], colour=colour)
                for name, text, colour in (("kf", "linear KF", 1), ("ekf", "EKF", 0))
            ]
            levels = () if column == "mass" else (Level(0.0),)
            panels.append(
                Panel(title, label, f"{title.split()[0]} [{unit}]", (truth, *curves), levels=levels)
            )
        return panels

    def per_seed(self, data: _Walks) -> dict[str, tuple[float, ...]]:
        """Return the number of inconsistent samples by filter."""
        return {name: data.inconsistent(name) for name in ("ekf", "kf")}

    def settings(self, data: _Walks) -> Mapping[str, float | str]:
        """Return parameters of the filters and the walk."""
        return {**{k: str(v) for k, v in SETTINGS.items()}, "steps": STEPS, "step_m": STEP_M}

    def facts(self, data: _Walks) -> tuple[str, ...]:
        """Return the details missing in the paper, and the reason why the moments are too small."""
        return (
            "Paper: the KF's moments become inconsistent almost at once, Ixx negative; no count is given.",
            "Moments come out too small with both: noisy slopes stand in the regressor, walking excites them "
            "little, and least squares attenuates. The EKF's stay possible.",
        )


def _count(name: str, values: Sequence[float], bound: Bound) -> TableRow:
    """Of all seeds together for the EKF's bound, and the least of them for the KF's."""
    worst = max(values) if bound.relation == "==" else min(values)
    text = "most of any seed" if bound.relation == "==" else "least of any seed"
    return TableRow(f"{name}, {text}", "", worst, bound=bound)


def _walk(robot: RobotLoop, seed: int, *, quick: bool) -> tuple[dict[str, dict[str, Array]], float]:
    """Return what both filters estimate during a walk, and the distance walked [m]."""
    spectators = [
        robot.inertial({INERTIAL_NODE: {**SETTINGS, "filter": kind}}) for kind in ("log_cholesky", "linear")
    ]
    loop = robot.build(seed=seed, adaptation=False, inertial=False, spectators=spectators)
    walk = _Walk()
    loop.release(hoist_time(quick=quick))
    loop.run(0.4 if quick else DURATION_S, walk)
    columns = {name: dict(one.columns()) for name, one in walk.series.items()}
    return columns, float(loop.simulation.truth().base.p_WB[0])


def _nominal(robot: RobotLoop) -> dict[str, float]:
    """Return what the estimates should be: the simulated robot is its description."""
    model = robot.inertial({INERTIAL_NODE: SETTINGS}).robot
    body = model.link_body(TORSO)
    value = InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse())
    link = LinkInertia(TORSO, value.mass, value.com_F, value.inertia_Fcm)
    moments = dict(zip(MOMENTS, np.diag(value.inertia_Fcm).tolist(), strict=True))
    return {"mass": value.mass, "smallest": smallest_eigenvalue(link), **moments}
