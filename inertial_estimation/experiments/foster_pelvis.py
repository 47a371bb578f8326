"""Foster et al., Tables I and II, Fig. 4: pelvis height over rough ground while the torso's mass varies.

TALOS walks over ground of random height; its torso weighs 30 kg +- 5 kg by a square wave at 0.2 Hz; the
controller believes in the URDF, with and without the estimates, with the same gains. It is done twice:
with the torso of the URDF, 17.6 kg, and with one that already weighs the mean of 30 kg, so that only the
square wave is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop, settings_in_words
from inertial_estimation.closed_loop.time_series import TimeSeries, rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import urdf_with_mass
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from inertial_estimation.signals import Array
from inertial_estimation.simulation.disturbances import MassWaveform
from inertial_estimation.simulation.ground_truth import GroundTruth

TORSO = "torso_2_link"
OFFSET_KG, AMPLITUDE_KG, FREQUENCY_HZ = 30.0, 5.0, 0.2  # Table I
WALK, WALK_S, DURATION_S = WalkCommand(16, 0.1), 1.0, 20.0
HEIGHT_STIFFNESS = 40.0  # [1/s^2], so low that the unknown mass pulls the pelvis down by centimetres

PELVIS_OVERRIDES: Mapping[str, Mapping[str, Any]] = {
    SIMULATOR_NODE: {"ground.terrain": "rough", "ground.roughness": 0.01, "ground.cell": 0.25},
    CONTROLLER_NODE: {
        "base_height.stiffness": HEIGHT_STIFFNESS,
        "base_height.damping": 2.0 * HEIGHT_STIFFNESS**0.5,
        "inertias.links": [TORSO],
    },
    INERTIAL_NODE: {
        "links": [TORSO],
        "window": 0.03,
        "prior.memory": 2.0,
        "gate.reopen_after": 0.05,
        "hand_over_rate": 1000.0,
        "filter": "log_cholesky",  # the filter of the paper
    },
}


def pelvis_disturbances() -> list[MassWaveform]:
    """Return the mass of the torso over time (Table I)."""
    return [MassWaveform(TORSO, "square", OFFSET_KG, AMPLITUDE_KG, FREQUENCY_HZ)]


def pelvis_ground(seed: int) -> Mapping[str, Mapping[str, Any]]:
    """Return the overrides that give each seed a different ground."""
    return {SIMULATOR_NODE: {"ground.seed": seed}}


class PelvisHeight:
    """Height of the base above the soles that carry the robot."""

    def __init__(self, robot: RobotModel, soles: Sequence[str]) -> None:
        """Look up the soles.

        Args:
            robot: The robot.
            soles: Frames of its contacts.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        self._dynamics = WholeBodyDynamics(robot, list(soles))
        self._still = np.zeros(robot.n_joints)

    def __call__(self, quaternion_xyzw: Array, q: Array, forces: Sequence[float]) -> float:
        """Return the height of the base origin above the soles, weighted by vertical force [m].

        Args:
            quaternion_xyzw: Orientation of the base in the world, shape (4,).
            q: Joint positions in the model's order [rad], shape (n_joints,).
            forces: Vertical force on each sole [N]; if no sole is loaded, all have equal weight.
        """
        base = BaseMotion(quaternion_xyzw, np.zeros(3), np.zeros(3))
        state = self._dynamics.compute(base, q, self._still)
        heights = np.array([-frame.p_BF_W[2] for frame in state.frames])
        weights = np.maximum(0.0, forces)
        return float(np.average(heights, weights=weights if weights.sum() > 0.0 else None))


def _true_height(height: PelvisHeight, truth: GroundTruth) -> float:
    forces = [wrench[2] for wrench in truth.wrenches_C.values()]
    return height(truth.base.quaternion_xyzw, truth.q, forces)


def pelvis_run(
    robot: RobotLoop,
    seed: int,
    *,
    adaptation: bool,
    duration_s: float,
    hoist_s: float = HOIST_S,
    true_urdf: str = "",
) -> tuple[dict[str, Array], bool]:
    """Run the experiment once.

    Args:
        robot: Builds the loop.
        seed: Of the ground and of the sensor noise.
        adaptation: Whether the controller is given the estimates.
        duration_s: Length [s].
        hoist_s: Shortest time on the hoist [s].
        true_urdf: Description of the simulated robot; empty: that of estimators and controller.

    Returns:
        Columns time, height and reference [m], mass, estimate (handed over) [kg]; whether it fell.
    """
    loop = robot.build(
        overrides=pelvis_ground(seed),
        disturbances=pelvis_disturbances(),
        seed=seed,
        adaptation=adaptation,
        true_urdf=true_urdf,
    )
    loop.release(hoist_s)
    height = PelvisHeight(loop.simulation.robot, loop.controller.config.robot.contact_frames)
    reference = _true_height(height, loop.simulation.truth())
    series = TimeSeries()

    def record(loop: ClosedLoop) -> None:
        before = series.last_time_s
        if before < WALK_S <= loop.time_s:
            loop.controller.push_walk_command(WALK)
        truth = loop.simulation.truth((TORSO,))
        assert loop.inertias is not None
        series.add(
            loop.time_s,
            height=_true_height(height, truth),
            reference=reference,
            mass=truth.inertias[TORSO].mass,
            published=loop.inertias.links[0].published.mass,
            x=float(truth.base.p_WB[0]),
            left=float(next(iter(truth.wrenches_C.values()))[2]),
        )

    loop.run(duration_s, record)
    return dict(series.columns()), loop.simulation.fallen


@dataclass(frozen=True, eq=False)
class _Walks:
    """Runs of all seeds, as columns of `pelvis_run`, by belief and whether it is adapted; and all falls."""

    runs: dict[tuple[str, bool], list[dict[str, Array]]]
    falls: int

    @property
    def errors(self) -> dict[tuple[str, bool], Array]:
        """Rms of the height's error [m], shape (seeds,) each."""
        return {
            key: np.array([rms(c["height"] - c["reference"]) for c in kept])
            for key, kept in self.runs.items()
        }


class FosterPelvis(Experiment[_Walks]):
    """Walks over rough ground, with either belief, with and without adaptation."""

    def simulate(self, trials: Trials) -> _Walks:
        """Run with and without adaptation, and with either belief, for every seed."""
        robot, seeds = RobotLoop("talos", PELVIS_OVERRIDES), self.seeds
        heavier = urdf_with_mass(robot.urdf, robot.inertial().robot, TORSO, OFFSET_KG)
        beliefs = {"URDF": robot, "30 kg": robot.believing(heavier)}
        run = partial(
            pelvis_run,
            duration_s=0.2 if self.quick else DURATION_S,
            hoist_s=hoist_time(quick=self.quick),
        )
        found = trials.by_case(
            {
                (belief, adaptation): [partial(run, loop, seed, adaptation=adaptation) for seed in seeds]
                for belief, loop in beliefs.items()
                for adaptation in (False, True)
            }
        )
        runs = {case: [columns for columns, _fell in walks] for case, walks in found.items()}
        return _Walks(runs, sum(fell for walks in found.values() for _columns, fell in walks))

    def table(self, data: _Walks) -> list[TableRow]:
        """Return errors of the height by belief, falls and distance."""
        every = [columns for kept in data.runs.values() for columns in kept]
        beliefs = dict.fromkeys(belief for belief, _ in data.runs)
        return [
            *(row for belief in beliefs for row in _belief_rows(data.errors, belief)),
            TableRow("falls", "", float(data.falls)),
            TableRow("distance walked, least", "m", min(float(columns["x"][-1]) for columns in every)),
        ]

    def panels(self, data: _Walks) -> tuple[Panel, ...]:
        """Return height, mass and force over time, first seed (F Fig. 4)."""
        without, adapted, known = (
            data.runs[key][0] for key in (("URDF", False), ("URDF", True), ("30 kg", False))
        )
        label = "time [s]"
        heights = (
            thinned("desired", adapted["time"], adapted["reference"], "reference"),
            thinned("without adaptation", without["time"], without["height"], colour=1),
            thinned("without, mean mass known", known["time"], known["height"], "dashed", colour=3),
            thinned("with adaptation", adapted["time"], adapted["height"], colour=0),
        )
        masses = (
            thinned("true mass", adapted["time"], adapted["mass"], "reference"),
            thinned("handed over", adapted["time"], adapted["published"], colour=0),
        )
        force = (thinned("left foot", adapted["time"], adapted["left"], "thin", colour=2),)
        return (
            Panel("Pelvis", label, "height above the soles [m]", heights),
            Panel("Torso", label, "mass [kg]", masses),
            Panel("Vertical force", label, "force [N]", force),
        )

    def per_seed(self, data: _Walks) -> dict[str, tuple[float, ...]]:
        """Return the height's errors by belief and adaptation."""
        return {f"{b}, {'with' if a else 'without'}": tuple(e) for (b, a), e in data.errors.items()}

    def settings(self, data: _Walks) -> Mapping[str, float | str]:
        """Return the parameters that differ from the robot's."""
        return settings_in_words(PELVIS_OVERRIDES)

    def facts(self, data: _Walks) -> tuple[str, ...]:
        """Return what the paper leaves open."""
        return (
            "The waveform is absolute, as in Table I; the paper does not say what its controller believes.",
            "Height: of the base above the soles that carry the robot, true, against that at the release.",
        )


def _belief_rows(errors: Mapping[tuple[str, bool], Array], belief: str) -> tuple[TableRow, ...]:
    without, adapted = errors[belief, False], errors[belief, True]
    ratio = without / adapted
    return (
        TableRow.over_seeds(f"height RMSE without adaptation, torso of {belief}", "m", without, paper=0.0352),
        TableRow.over_seeds(f"height RMSE with adaptation, torso of {belief}", "m", adapted, paper=0.0157),
        TableRow.over_seeds(
            f"without / with, torso of {belief}",
            "",
            ratio,
            paper=2.24,
            bound=Bound(">=", 2.24),
            aim=Bound(">=", 3.0),
        ),
    )
