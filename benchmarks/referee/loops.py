"""Closed loops in simulation: what the controller gains by the estimates, a walk, a crawl under a load."""

from collections.abc import Sequence

import numpy as np

from benchmarks.referee.row import Better, Row, over_seeds
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.crawl_run import (
    CrawlSchedule,
    crawl_run,
    load_on_trunk,
    perturbed_robot,
    walk_outcome,
)
from inertial_estimation.experiments.foster_arm import ELBOW_OVERRIDES, elbow_run
from inertial_estimation.experiments.foster_torso import PELVIS_OVERRIDES, pelvis_run
from inertial_estimation.simulation.disturbances import Push

TOLERANCE = 0.1  # share of a figure; its spread over seeds is not affordable here
LENGTHS_S = {"elbow": 10.0, "pelvis": 14.0}
VARIANTS: dict[str, dict[str, dict[str, object]]] = {  # parameters that differ from the shipped ones
    "": {},
    "sensor errors estimated": {"inertial_ekf": {"sensor_errors.treatment": "estimated"}},
}
STEPS, STRIDE_M, WALK_S = 10, 0.15, 11.0
TRUNK, LOAD_N, LOAD_AT_B = "trunk", 100.0, (-0.5, 0.2, 0.0)  # of HyQ, near its hind end


def loop_rows(scene: str, seed: int, unlike: bool, variants: Sequence[str]) -> list[Row]:
    """Return how many times smaller an error is with the estimates, and how often the robot falls.

    The mass of a forearm (scene "elbow") or of the torso ("pelvis") varies; the settings of the filter are
    shipped but for those of the variants. The robot may be unlike its file (masses 3 %, places 3 mm).
    """
    overrides = dict(ELBOW_OVERRIDES if scene == "elbow" else PELVIS_OVERRIDES)
    overrides["inertial_ekf"] = {"links": overrides["inertial_ekf"]["links"]}
    without, falls = held(scene, seed, overrides, unlike, adaptation=False)
    rows = []
    for variant in variants:
        changed = {node: {**overrides[node], **values} for node, values in VARIANTS[variant].items()}
        error, fell = held(scene, seed, overrides | changed, unlike, adaptation=True)
        name = f"{scene}{', robot unlike its file' if unlike else ''}{', ' + variant if variant else ''}"
        ratio, falls = without / error, falls + fell
        rows.append(
            Row(f"{name}: error without / with estimates", ratio, "x", Better.HIGHER, TOLERANCE * ratio)
        )
    return rows if scene == "elbow" else [*rows, Row(f"{name}: falls", float(falls), "")]


def held(scene: str, seed: int, overrides: dict, unlike: bool, *, adaptation: bool) -> tuple[float, bool]:
    """Return the rms error of what is to be held, and whether the robot fell."""
    robot = RobotLoop("talos", overrides)
    urdf = perturbed_robot(robot, seed)[0] if unlike else ""
    options = {
        "adaptation": adaptation,
        "duration_s": LENGTHS_S[scene],
        "true_urdf": urdf,
    }
    if scene == "elbow":
        return float(np.sqrt(np.mean(elbow_run(robot, seed, **options)["error"] ** 2))), False
    columns, fell = pelvis_run(robot, seed, **options)
    return float(np.sqrt(np.mean((columns["height"] - columns["reference"]) ** 2))), fell


def walk_rows(seeds: Sequence[int]) -> list[Row]:
    """Return falls, way and lean of a TALOS unlike its file that is pushed while it walks."""
    found = []
    for seed in seeds:
        robot, rng = RobotLoop("talos"), np.random.default_rng([seed, 9])
        force = 150.0 * np.array([*rng.normal(size=2), 0.0]) / 1.4
        push = Push("base_link", force, float(rng.uniform(2.0, 5.0)), 0.2, (0.0, 0.0, 0.2))
        urdf = perturbed_robot(robot, seed)[0]
        loop = robot.build(seed=seed, inertial=False, adaptation=False, true_urdf=urdf, disturbances=[push])
        loop.release()
        loop.controller.push_walk_command(WalkCommand(STEPS, STRIDE_M))
        leans = []

        def record(loop, leans=leans):
            x, y = loop.simulation.truth().base.quaternion_xyzw[:2]
            leans.append(2.0 * np.degrees(np.hypot(x, y)))

        loop.run(WALK_S, record)
        x_m = loop.simulation.truth().base.p_WB[0]
        found.append(
            (float(loop.simulation.fallen), x_m / (STEPS * STRIDE_M), np.sqrt(np.mean(np.square(leans))))
        )
    falls, way, lean = np.array(found).T
    return [
        Row("TALOS walks and is pushed, unlike its file: falls", falls.sum(), "", note=f"of {len(seeds)}"),
        over_seeds("TALOS walks and is pushed: way over that commanded", way, "", Better.INFO),
        over_seeds("TALOS walks and is pushed: lean of the base, rms", lean, "deg"),
    ]


def crawl_rows(seed: int) -> list[Row]:
    """Return what becomes of a HyQ that crawls and is loaded, with its trunk identified and without."""
    load_s = float(np.random.default_rng([seed, 11]).uniform(6.0, 9.0))
    plan = CrawlSchedule(TRUNK, 0.3, 1.0, load_s, load_s + 18.0)
    robot, outcomes = RobotLoop("hyq"), []
    load = load_on_trunk(robot.inertial().robot, TRUNK, LOAD_N, LOAD_AT_B, load_s)
    for identifies in (True, False):
        loop = robot.build(seed=seed, payload=identifies, inertial=False, disturbances=[load])
        run = crawl_run(loop, plan)
        outcomes.append(walk_outcome(run))
    known, unknown = outcomes
    return [
        Row("HyQ crawls under 10 kg, trunk identified: falls", float(np.isfinite(known.fell)), ""),
        Row(
            "HyQ crawls under 10 kg, not identified: falls", float(np.isfinite(unknown.fell)), "", Better.INFO
        ),
        Row("HyQ crawls under 10 kg: time until the load is detected", known.detected, "s", spread=0.5),
        Row("HyQ crawls under 10 kg: time it stands to identify", known.stood, "s", spread=0.5),
        Row("HyQ crawls under 10 kg: centre of mass, error", known.error, "mm", spread=0.5),
        Row("HyQ crawls under 10 kg: mass of the trunk, error", known.mass_error, "%", spread=0.1),
    ]
