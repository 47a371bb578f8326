"""Closed loops: an elbow and a pelvis held while a mass varies, with the shipped settings of the filter."""

import numpy as np

from benchmarks.referee.row import Better, Row

SCENES = ("elbow", "pelvis")
TOLERANCE = 0.1  # share of a ratio; its spread over seeds is not affordable here
LENGTHS_S = {"elbow": 10.0, "pelvis": 14.0}  # of the square waves' beginnings


def loop_rows(scene: str, seed: int, *, unlike: bool) -> list[Row]:
    """Return how many times smaller an error is with the estimates, and whether the robot falls.

    Args:
        scene: One of `SCENES`.
        seed: Of noise, ground and robot.
        unlike: Whether masses and centres of mass of the robot are not those of its file (3 %, 3 mm).
    """
    from inertial_estimation.closed_loop.closed_loop import hoist_time
    from inertial_estimation.closed_loop.robot_loop import RobotLoop
    from inertial_estimation.experiments.crawl_run import perturbed_robot
    from inertial_estimation.experiments.foster_elbow import ELBOW_OVERRIDES, elbow_run
    from inertial_estimation.experiments.foster_pelvis import PELVIS_OVERRIDES, pelvis_run

    overrides = dict(ELBOW_OVERRIDES if scene == "elbow" else PELVIS_OVERRIDES)
    overrides["inertial_ekf"] = {"links": overrides["inertial_ekf"]["links"]}  # else as shipped
    robot = RobotLoop("talos", overrides)
    options = {
        "duration_s": LENGTHS_S[scene],
        "hoist_s": hoist_time(quick=False),
        "true_urdf": perturbed_robot(robot, seed)[0] if unlike else "",
    }
    errors, falls = [], 0
    for adaptation in (False, True):
        if scene == "elbow":
            errors.append(elbow_run(robot, seed, adaptation=adaptation, **options)["error"])
            continue
        columns, fell = pelvis_run(robot, seed, adaptation=adaptation, **options)
        errors.append(columns["height"] - columns["reference"])
        falls += fell
    without, with_estimates = (float(np.sqrt(np.mean(np.square(error)))) for error in errors)
    name = f"{scene}, shipped settings{', robot unlike its file' if unlike else ''}"
    ratio = without / with_estimates
    rows = [Row(f"{name}: error without / with estimates", ratio, "x", Better.HIGHER, TOLERANCE * ratio)]
    return rows if scene == "elbow" else [*rows, Row(f"{name}: falls", float(falls), "")]
