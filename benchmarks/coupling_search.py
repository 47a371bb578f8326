"""Whether joints of a recorded robot share motors: each neighbouring pair is given a coupling in turn.

A motor that turns with q_i + q_j or q_i - q_j (friction.couplings) adds its Coulomb and viscous friction and
its rotor inertia. Least squares with and without these three columns (directions below 1e-3 of the largest
left out) are fitted to the first two thirds of each recording and judged on the rest. Printed are the joints'
relative torque errors there; a true coupling lowers that of both joints by much.

Run: python -m benchmarks.coupling_search [panda ur10 go2]
"""

import argparse
import os
from itertools import pairwise
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.offline.identification_run import block_stream
from inertial_estimation.offline.identification_setup import identification_config, identification_topics
from inertial_estimation.parameters import build_config, replace_value
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import Array

ROOT = Path(__file__).parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
ARM = {
    "floating_base": False,
    "contact_wrenches": "none",
    "friction.joints": ["*"],
    "friction.terms": ["coulomb", "viscous", "offset", "armature"],
}
FOLDERS = {"panda": "panda_gaz2019", "ur10": "ur10_exciting", "go2": "go2_chirp"}
URDFS = {"ur10": "example-robot-data:ur10_robot", "go2": "example-robot-data:go2"}
FITTED_SHARE, SMALLEST = 0.66, 1e-3


def config_of(robot: str) -> IdentificationConfig:
    if robot == "panda":
        return identification_config(load_configs(["panda"]))
    return build_config(IdentificationConfig, {**ARM, "urdf": URDFS[robot]})


def bag_of(robot: str) -> Path:
    folder = DATASETS / FOLDERS[robot]
    return next(path for path in sorted(folder.rglob("*")) if path.suffix in (".mcap", ".db3"))


def pairs(joints: tuple[str, ...]) -> list[str]:
    """Neighbouring joints of one chain; of legs, three joints each."""
    size = 3 if len(joints) == 12 else len(joints)
    near = [(a, b) for i, (a, b) in enumerate(pairwise(joints)) if (i + 1) % size]
    return [f"{a} {sign} {b}" for a, b in near for sign in "+-"]


def rows_of(robot: str, couplings: list[str]) -> tuple[Identifier, list[Array], list[Array], list[Array]]:
    """Return the regressors, values and measured torques of fitted and other rows, shape (k, m, ...)."""
    config = replace_value(config_of(robot), "friction.couplings", couplings)
    identifier = Identifier(config, read_urdf(config.robot.urdf))
    topics = identification_topics(config, {})
    with BagRecording(bag_of(robot)) as recording:
        stream = block_stream(recording, topics, identifier, config)
        made = [identifier.rows(block) for block in stream.blocks() if block.size * block.step_s > 1.0]
    A, b, y = (
        np.concatenate([getattr(rows, name) for rows in made]) for name in ("regressor", "value", "measured")
    )
    cut = round(FITTED_SHARE * len(A))
    return identifier, [A[:cut], A[cut:]], [b[:cut], b[cut:]], [y[:cut], y[cut:]]


def errors(A: list[Array], b: list[Array], y: list[Array]) -> Array:
    """Return the relative error of every joint on the other rows, shape (m,)."""
    weights = 1.0 / np.sqrt((b[0] ** 2).mean(axis=0))
    rows, target = (weights[:, None] * A[0]).reshape(-1, A[0].shape[2]), (weights * b[0]).ravel()
    norms = np.maximum(np.linalg.norm(rows, axis=0), 1e-12)
    U, s, Vt = np.linalg.svd(rows / norms, full_matrices=False)
    kept = s > SMALLEST * s[0]
    x = Vt[kept].T @ ((U.T @ target)[kept] / s[kept]) / norms
    return np.linalg.norm(b[1] - A[1] @ x, axis=0) / np.linalg.norm(y[1], axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("robots", nargs="*", default=list(FOLDERS), metavar="ROBOT")
    for robot in parser.parse_args().robots:
        config = config_of(robot).robot
        joints = robot_from_config(config, read_urdf(config.urdf)).robot.joint_names
        couplings = pairs(joints)
        identifier, A, b, y = rows_of(robot, couplings)
        names = identifier.parameters.unknowns
        own = [i for i, name in enumerate(names) if name.rpartition("/")[0] not in couplings]
        before = errors([one[:, :, own] for one in A], b, y)
        print(f"{robot}: without coupling " + " ".join(f"{100 * e:.2f}" for e in before) + " %")
        for text in couplings:
            chosen = own + [i for i, name in enumerate(names) if name.rpartition("/")[0] == text]
            after = errors([one[:, :, chosen] for one in A], b, y)
            i, j = (joints.index(joint) for joint in (text.split()[0], text.split()[2]))
            change = " ".join(f"{100 * before[k]:.2f} -> {100 * after[k]:.2f} %" for k in (i, j))
            print(f"  {text:<46} {change}", flush=True)


if __name__ == "__main__":
    main()
