"""Closed loops in simulation: benefit of the estimates for the controller, and a walk."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.referee.row import Better, Row, figure
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.crawl_run import perturbed_robot
from inertial_estimation.experiments.foster_arm import ELBOW_OVERRIDES, elbow_run
from inertial_estimation.experiments.foster_torso import PELVIS_OVERRIDES, pelvis_run
from inertial_estimation.simulation.disturbances import Push

LENGTHS_S = {"elbow": 10.0, "pelvis": 14.0}
STEPS, STRIDE_M, WALK_S = 10, 0.15, 11.0


def loop_rows(scene: str, seed: int, perturbed: bool, variants: Sequence[bool]) -> list[Row]:
    """Return the ratio of the errors without and with the estimates, and the number of falls.

    The mass of a forearm (scene "elbow") or of the torso ("pelvis") varies; the filter has its shipped
    settings, except for the variants that also estimate sensor errors. The robot may differ from its
    description (masses 3 %, centres of mass 3 mm). A spread over seeds would take too long here.
    """
    overrides = dict(ELBOW_OVERRIDES if scene == "elbow" else PELVIS_OVERRIDES)
    overrides["inertial_ekf"] = {"links": overrides["inertial_ekf"]["links"]}
    without, falls = held(scene, seed, overrides, perturbed, adaptation=False)
    rows = []
    for estimated in variants:
        more = {"sensor_errors.treatment": "estimated"} if estimated else {}
        changed = {**overrides, "inertial_ekf": {**overrides["inertial_ekf"], **more}}
        error, fell = held(scene, seed, changed, perturbed, adaptation=True)
        name = f"{scene}{', robot unlike its file' * perturbed}{', sensor errors estimated' * estimated}"
        falls += fell
        rows.append(
            figure(
                f"{name}: error without / with estimates", without / error, "x", Better.HIGHER, tolerance=0.1
            )
        )
    return rows if scene == "elbow" else [*rows, figure(f"{name}: falls", falls)]


def held(
    scene: str, seed: int, overrides: dict[str, Any], perturbed: bool, *, adaptation: bool
) -> tuple[float, int]:
    """Return the rms error of the controlled quantity, and whether the robot fell."""
    robot = RobotLoop("talos", overrides)
    urdf = perturbed_robot(robot, seed)[0] if perturbed else ""
    options = {"adaptation": adaptation, "duration_s": LENGTHS_S[scene], "true_urdf": urdf}
    if scene == "elbow":
        return float(np.sqrt(np.mean(elbow_run(robot, seed, **options)["error"] ** 2))), 0
    columns, fell = pelvis_run(robot, seed, **options)
    return float(np.sqrt(np.mean((columns["height"] - columns["reference"]) ** 2))), int(fell)


def walk_rows(seeds: Sequence[int]) -> list[Row]:
    """Return falls, distance and lean of a TALOS that differs from its description and is pushed."""
    falls, way, lean = np.array([_walk(seed) for seed in seeds]).T
    head = "TALOS walks and is pushed"
    return [
        figure(f"{head}, unlike its file: falls", falls.sum(), note=f"of {len(seeds)}"),
        figure(f"{head}: way over that commanded", way, "", Better.INFO),
        figure(f"{head}: lean of the base, rms", lean, "deg"),
    ]


def _walk(seed: int) -> tuple[float, float, float]:
    robot, rng = RobotLoop("talos"), np.random.default_rng([seed, 9])
    force = 150.0 * np.array([*rng.normal(size=2), 0.0]) / 1.4
    push = Push("base_link", force, float(rng.uniform(2.0, 5.0)), 0.2, (0.0, 0.0, 0.2))
    urdf = perturbed_robot(robot, seed)[0]
    loop = robot.build(seed=seed, inertial=False, adaptation=False, true_urdf=urdf, disturbances=[push])
    loop.release()
    loop.controller.push_walk_command(WalkCommand(STEPS, STRIDE_M))
    leans = []

    def record(loop: Any) -> None:
        leans.append(2.0 * np.degrees(np.hypot(*loop.simulation.truth().base.quaternion_xyzw[:2])))

    loop.run(WALK_S, record)
    way = loop.simulation.truth().base.p_WB[0] / (STEPS * STRIDE_M)
    return float(loop.simulation.fallen), way, float(np.sqrt(np.mean(np.square(leans))))
