"""Settings of the Panda's identification, compared by cross-validation inside the fitted part (0-14 s).

Two folds: fitted 0-9.5 s and judged on 9.5-14 s, fitted 4.5-14 s and judged on 0.1-4.5 s. Judged by inverse
dynamics of the identified description and the friction through a 10 Hz zero-phase Butterworth filter, as a
replay is: the band of that metric does not depend on the setting. The part held out from 14 s on is not read.

Run: python -m benchmarks.identification_folds
"""

import os
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.body_reference import robot_with_bodies
from inertial_estimation.offline.identification_run import block_stream, run_identification
from inertial_estimation.offline.identification_setup import identification_config, identification_topics
from inertial_estimation.parameters import replace_value
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording, RecordingEntry
from inertial_estimation.replay.torque_prediction import prediction_error

ROOT = Path(__file__).parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
FOLDS = (((0.0, 9.5), (9.5, 14.0)), ((4.5, 14.0), (0.1, 4.5)))  # fitted, judged [s]
METHODS = ("ridge", "consistent", "least-squares")
SETTINGS: dict[str, dict[str, object]] = {
    "shipped (config/panda.yaml)": {},
    "differentiates positions": {"smoothing.differentiate": "position"},
    "differentiates velocities": {"smoothing.differentiate": "velocity"},
    "weights by residual": {"weighting": "residual"},
    "equal weights": {"weighting": "none"},
    "no presliding, 0.08 rad/s": {"friction.presliding": 0.0, "friction.smoothing_speed": 0.08},
    "presliding 0.5 mrad": {"friction.presliding": 0.5e-3},
    "presliding 1 mrad": {"friction.presliding": 1e-3},
    "presliding 2 mrad": {"friction.presliding": 2e-3},
}


def part(entries: list[RecordingEntry], topics: dict[str, str], span: tuple[float, float]) -> MemoryRecording:
    """Return a stretch of a recording, seconds after its beginning."""
    first, last = (entries[0].log_ns + round(1e9 * s) for s in span)
    return MemoryRecording(tuple(e for e in entries if first <= e.log_ns < last), topics)


def errors(config: IdentificationConfig, fitted: MemoryRecording, judged: MemoryRecording) -> list[float]:
    """Return the relative torque error of every method on the judged stretch."""
    urdf = read_urdf(config.robot.urdf)
    identifier, topics = Identifier(config, urdf), identification_topics(config, {})
    stream = block_stream(fitted, topics, identifier, config)
    run = run_identification(identifier, [stream], methods=list(METHODS))
    readings = [entry.sample for entry in judged.messages]
    found = []
    for result in run.report.methods.values():
        values = [body.inertia.vector for body in result.bodies]
        robot = robot_with_bodies(identifier.robot, identifier.parameters.bodies, values)
        found.append(
            prediction_error(
                robot,
                readings,
                result.friction,
                joints=robot.joint_names,
                coulomb=config.coulomb_law,
                config=config.robot,
            )
        )
    return found


def main() -> None:
    given = identification_config(load_configs(["panda"]))
    topics = identification_topics(given, {})
    with BagRecording(DATASETS / "panda_gaz2019" / "exciting_trajectory") as recording:
        entries = list(recording.entries([topics.joints]))
        kinds = {topics.joints: recording.topics[topics.joints]}
    parts = [[part(entries, kinds, span) for span in fold] for fold in FOLDS]
    print("mean error of the two folds [%]   " + " ".join(f"{name:>14}" for name in METHODS))
    for title, values in SETTINGS.items():
        config = given
        for name, value in values.items():
            config = replace_value(config, name, value)
        means = np.mean([errors(config, *fold) for fold in parts], axis=0)
        print(f"{title:<34}" + " ".join(f"{100 * mean:14.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
